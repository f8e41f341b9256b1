package parse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse/archive"
	"github.com/sluice-rag/sluice/ingest/parse/contentline"
	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/epub"
	"github.com/sluice-rag/sluice/ingest/parse/mail"
	"github.com/sluice-rag/sluice/ingest/parse/manpage"
	"github.com/sluice-rag/sluice/ingest/parse/markup"
	"github.com/sluice-rag/sluice/ingest/parse/notebook"
	"github.com/sluice-rag/sluice/ingest/parse/office"
	"github.com/sluice-rag/sluice/ingest/parse/rtf"
	"github.com/sluice-rag/sluice/ingest/parse/subtitle"
	"github.com/sluice-rag/sluice/ingest/parse/tree"
)

// formats are the formats that are selected by the extension of a name, unless the bytes identify another one. A format of a package of its
// own is one line here.
var formats = []struct {
	extensions string
	format     format
}{
	{".txt .text .log .org", formatText},
	{".rst .rest", formatRST},
	{".adoc .asciidoc", formatAsciiDoc},
	{".md .markdown .mdx .mkd", formatMarkdown},
	{".html .htm .xhtml", formatHTML},
	{".pdf", formatPDF},
	{".csv", formatCSV},
	{".tsv", formatTSV},
	{".srt", lines("application/x-subrip", "SubRip", subtitle.Parse)},
	{".vtt", lines("text/vtt", "WebVTT", subtitle.Parse)},
	{".eml", formatMessage},
	{".mbox", formatMbox},
	{".rtf", formatRTF},
	{".ics .ical .ifb", formatCalendar},
	{".vcf .vcard", formatContacts},
	{".zip", formatZip},
	{".tar", formatTar},
	{".gz .tgz .bz2 .tbz2 .zst .xz .txz", formatCompressed},
	{".json .jsonl .ndjson .geojson .webmanifest", formatJSON},
	{".xml .rss .atom .docbook .dbk .dita .ditamap .fb2 .plist .opml .tei .jats", formatXML},
	{".ipynb", shared("application/x-ipynb+json", "notebook", notebook.Parse)},
}

var (
	formatRST      = lines("text/x-rst", "reStructuredText", markup.ParseRST)
	formatAsciiDoc = lines("text/asciidoc", "AsciiDoc", markup.ParseAsciiDoc)

	formatMessage = shared("message/rfc822", "message", mail.Parse)
	formatMbox    = shared("application/mbox", "mbox", mail.ParseMbox)

	formatRTF      = container("application/rtf", "RTF", rtf.Parse)
	formatCalendar = lines("text/calendar", "iCalendar", contentline.ParseCalendar)
	formatContacts = lines("text/vcard", "vCard", contentline.ParseContacts)

	formatJSON = structured("application/json", "JSON", func(ctx context.Context, src source) (Parsed, error) {
		text := decode(src.data)
		if err := checkLines(text); err != nil {
			return Parsed{}, err
		}
		return tree.ParseJSON(ctx, text, src.limits)
	})
	formatXML = structured("application/xml", "XML", func(ctx context.Context, src source) (Parsed, error) {
		data := src.data
		if _, wide := utf16Order(data); wide {
			data = []byte(withoutEncoding(decode(data)))
		}
		return tree.ParseXML(ctx, document.Source{Name: src.name, Data: data, Limits: src.limits, Embed: src.embed})
	})

	formatManual = format{media: "text/troff", label: "manual page", parse: parseManual}

	formatZip        = container("application/zip", "ZIP", archive.ParseZip)
	formatTar        = container("application/x-tar", "tar", archive.ParseTar)
	formatCompressed = container("application/gzip", "compressed", archive.ParseCompressed)
)

// containers are the formats that are ZIP files, which one of the members identifies, or the media type in the first one.
var containers = []struct {
	extensions string
	member     string
	format     format
}{
	{".docx .docm .dotx", "word/document.xml", container("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "DOCX", office.ParseDOCX)},
	{".pptx .pptm .ppsx", "ppt/presentation.xml", container("application/vnd.openxmlformats-officedocument.presentationml.presentation", "PPTX", office.ParsePPTX)},
	{".xlsx .xlsm .xltx", "xl/workbook.xml", container("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "XLSX", office.ParseXLSX)},
	{".odt .ott", "", container("application/vnd.oasis.opendocument.text", "ODT", office.ParseODF)},
	{".odp .otp", "", container("application/vnd.oasis.opendocument.presentation", "ODP", office.ParseODF)},
	{".epub", "", container("application/epub+zip", "EPUB", epub.Parse)},
	{".ods .ots", "", container("application/vnd.oasis.opendocument.spreadsheet", "ODS", office.ParseODF)},
}

var byExtension = formatsByExtension()

func formatsByExtension() map[string]format {
	out := map[string]format{}
	add := func(extensions string, f format) {
		for e := range strings.FieldsSeq(extensions) {
			out[e] = f
		}
	}
	for _, f := range formats {
		add(f.extensions, f.format)
	}
	for _, c := range containers {
		add(c.extensions, c.format)
	}
	return out
}

// mediaTypes are the extensions of media types of formats that cannot always be detected from bytes.
var mediaTypes = map[string]string{
	"text/markdown": ".md", "text/x-markdown": ".md", "text/html": ".html", "application/xhtml+xml": ".html", "text/csv": ".csv",
	"text/tab-separated-values": ".tsv", "application/pdf": ".pdf", "message/rfc822": ".eml", "application/mbox": ".mbox", "application/x-ipynb+json": ".ipynb",
	"text/calendar": ".ics", "text/vcard": ".vcf", "text/x-vcard": ".vcf", "application/x-subrip": ".srt", "text/vtt": ".vtt",
}

// ExtensionOf returns an extension of the format of a media type, with its dot, or an empty text if the format is unknown or is always detected from the bytes.
func ExtensionOf(mediaType string) string { return mediaTypes[mediaType] }

func container(media, label string, p document.Parser) format {
	f := shared(media, label, p)
	f.container = true
	return f
}

// shared returns the format of a parser of another package.
func shared(media, label string, p document.Parser) format {
	return format{media: media, label: label, parse: func(ctx context.Context, src source) (Parsed, error) {
		return p(ctx, document.Source{Name: src.name, Data: src.data, Limits: src.limits, Embed: src.embed})
	}}
}

// recogniseContainer recognises a ZIP file that is a document.
func recogniseContainer(data []byte) (format, bool) {
	if !bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return format{}, false
	}
	z, err := archive.Open(data)
	if err != nil {
		// Its parser returns the error. A damaged directory says nothing of the format, but any parser reports it.
		return shared("application/zip", "ZIP", func(context.Context, document.Source) (Parsed, error) { return Parsed{}, err }), true
	}
	for _, c := range containers {
		if c.member != "" && z.Has(c.member) {
			return c.format, true
		}
	}
	media, _ := z.Read("mimetype")
	named := strings.TrimSuffix(strings.TrimSpace(string(media[:min(len(media), 200)])), "-template")
	for _, c := range containers {
		if named == c.format.media {
			return c.format, true
		}
	}
	return format{}, false
}

// lines returns the format of a parser of decoded text.
func lines(media, label string, p document.TextParser) format {
	return format{media: media, label: label, parse: func(ctx context.Context, src source) (Parsed, error) {
		text := decode(src.data)
		if err := checkLines(text); err != nil {
			return Parsed{}, err
		}
		return p(ctx, text, src.limits)
	}}
}

// structured returns a format that is read as structure by parse. Files that are not valid are read as source code.
func structured(media, label string, p func(context.Context, source) (Parsed, error)) format {
	return format{media: media, label: label, parse: func(ctx context.Context, src source) (Parsed, error) {
		out, err := p(ctx, src)
		if !errors.Is(err, tree.ErrNoTree) {
			return out, err
		}
		src.format.lang = byExt["."+strings.ToLower(label)]
		return parseCode(ctx, src)
	}}
}

var encodingRE = regexp.MustCompile(`^(<\?xml[^>]*?)\s+encoding\s*=\s*["'][^"']*["']`)

// withoutEncoding returns XML that is decoded without the encoding that it declares.
func withoutEncoding(s string) string {
	head := s[:min(len(s), 200)]
	return encodingRE.ReplaceAllString(head, "$1") + s[len(head):]
}

func parseManual(ctx context.Context, src source) (Parsed, error) {
	return lines("", "", func(ctx context.Context, s string, limits Limits) (Parsed, error) {
		return manpage.Parse(ctx, src.name, s, limits)
	}).parse(ctx, src)
}

// Limits of documents in documents, at all depths together.
const (
	maxNesting       = 8
	maxEmbedded      = 100_000
	maxEmbeddedBytes = 512 << 20
)

// nesting counts the documents that a document contains.
type nesting struct {
	depth int
	total *embedded
}

type embedded struct{ count, bytes int }

// embed returns the parser of documents in a document.
func (n nesting) embed(limits Limits) document.Parser {
	return func(ctx context.Context, inner document.Source) (Parsed, error) {
		n.total.count++
		n.total.bytes += len(inner.Data)
		switch {
		case n.depth >= maxNesting:
			return Parsed{}, tooNested("holds documents nested more than %d deep", maxNesting)
		case n.total.count > maxEmbedded:
			return Parsed{}, tooNested("holds more than %d documents", maxEmbedded)
		case n.total.bytes > maxEmbeddedBytes:
			return Parsed{}, tooNested("holds documents of more than %d bytes", maxEmbeddedBytes)
		case ctx.Err() != nil:
			return Parsed{}, ctx.Err()
		}
		return parseAs(ctx, inner.Name, inner.Data, limits, nesting{n.depth + 1, n.total})
	}
}

func tooNested(format string, limit int) error {
	return document.Refusal{Code: fault.TooLarge, Reason: fmt.Sprintf(format, limit), Cause: document.ErrEmbedded}
}
