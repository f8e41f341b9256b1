package parse

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/ingest/parse/archive"
	"github.com/sluice-rag/sluice/ingest/parse/contentline"
	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/mail"
	"github.com/sluice-rag/sluice/ingest/parse/manpage"
	"github.com/sluice-rag/sluice/ingest/parse/markup"
)

// source is the input of a parser.
type source struct {
	name   string
	data   []byte
	format format
	limits Limits
	embed  document.Parser
}

// format is a document format and its parser.
type format struct {
	media string
	label string // for messages: "not valid <label>"
	parse func(context.Context, source) (Parsed, error)
	lang  *language // of source code

	container bool // only recognised by its bytes
}

var (
	formatText     = format{media: "text/plain", label: "text", parse: parseText}
	formatMarkdown = format{media: "text/markdown", label: "Markdown", parse: parseMarkdown}
	formatHTML     = format{media: "text/html", label: "HTML", parse: parseHTML}
	formatPDF      = format{media: "application/pdf", label: "PDF", parse: parsePDF}
	formatCSV      = format{media: "text/csv", label: "CSV", parse: parseTable}
	formatTSV      = format{media: "text/tab-separated-values", label: "TSV", parse: parseTable}
)

// Supported reports whether a name's extension is that of a supported format. [Parse] also accepts other names if the bytes are text.
func Supported(name string) bool {
	ext := extOf(name)
	_, ok := byExtension[ext]
	return ok || languageOf(name) != nil
}

var manualRE = regexp.MustCompile(`^\.(?:[1-9nl][a-z]{0,4}|man|mdoc)$`)

// manualName reports whether a name can be that of a manual page, such as ls.1.
func manualName(name string) bool { return manualRE.MatchString(extOf(name)) }

func extOf(name string) string {
	if strings.Contains(name, "://") {
		name, _, _ = strings.Cut(name, "#")
		name, _, _ = strings.Cut(name, "?")
	}
	return strings.ToLower(path.Ext(name))
}

const aPicture = "a picture"

// binaries are formats that users may expect to work and that are not supported, by their magic bytes.
var binaries = []struct{ magic, what string }{
	{"PK\x03\x04", "a ZIP archive"}, {"PK\x05\x06", "a ZIP archive"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or protected Office document"},
	{"\x89PNG\r\n", aPicture}, {"\xff\xd8\xff", aPicture}, {"II*\x00", aPicture}, {"MM\x00*", aPicture}, {"GIF8", "an animation"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\x7fELF", "a program"}, {"SQLite format 3\x00", "a database"},
}

// recognise detects the format from content where that is certain, and else from the extension.
func recognise(name string, data []byte) (format, error) {
	if len(data) == 0 {
		return format{}, refuse(nil, "the file is empty")
	}
	head := data[:min(len(data), 1024)]
	if i := bytes.Index(head, []byte("%PDF-")); i == 0 || i > 0 && extOf(name) == ".pdf" {
		return formatPDF, nil
	}
	if bytes.HasPrefix(head, []byte(`{\rtf`)) {
		return formatRTF, nil
	}
	if f, ok := recogniseContainer(data); ok {
		return f, nil
	}
	if f, ok := recogniseArchive(name, data); ok {
		return f, nil
	}
	for _, b := range binaries {
		if bytes.HasPrefix(head, []byte(b.magic)) {
			var cause error
			if b.what == aPicture {
				cause = ErrPictures
			}
			return format{}, refuse(cause, "%s cannot be read", b.what)
		}
	}
	f, known := byExtension[extOf(name)]
	if known && (f.media == formatPDF.media || f.container) {
		return format{}, refuse(nil, "not valid %s", f.label)
	}
	if isBinary(data) {
		return format{}, refuse(nil, "a binary file cannot be read")
	}
	if (!known && languageOf(name) == nil || manualName(name)) && manpage.Looks(data) {
		return formatManual, nil
	}
	if known && f.media == formatText.media && strings.HasPrefix(extOf(name), ".t") { // not logs
		return recogniseText(data), nil
	}
	if known {
		return f, nil
	}
	if l := languageOf(name); l != nil {
		return format{media: l.media, label: l.name, parse: parseCode, lang: l}, nil
	}
	switch {
	case looksHTML(head):
		return formatHTML, nil
	case bytes.HasPrefix(bytes.TrimPrefix(head, []byte("\ufeff")), []byte("<?xml")):
		return formatXML, nil
	case bytes.HasPrefix(head, []byte("From ")) && mail.Looks(afterLine(data)):
		return formatMbox, nil
	case mail.Looks(data):
		return formatMessage, nil
	case contentline.Looks(head, "VCALENDAR"):
		return formatCalendar, nil
	case contentline.Looks(head, "VCARD"):
		return formatContacts, nil
	}
	if l := shebang(head); l != nil {
		return format{media: l.media, label: l.name, parse: parseCode, lang: l}, nil
	}
	return recogniseText(data), nil
}

// recogniseText recognises markup in a file whose name says no more than that it is a text.
func recogniseText(data []byte) format {
	switch rst, asciiDoc := markup.Looks(data[:min(len(data), 32<<10)]); {
	case rst:
		return formatRST
	case asciiDoc:
		return formatAsciiDoc
	}
	return formatText
}

// recogniseArchive recognises archives and compressed files. A ZIP file that has the name of a document and is none is damaged.
func recogniseArchive(name string, data []byte) (format, bool) {
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		known := byExtension[extOf(name)]
		return formatZip, !known.container || known.media == formatZip.media
	case archive.IsTar(data):
		return formatTar, true
	}
	return formatCompressed, archive.IsCompressed(data)
}

func afterLine(data []byte) []byte {
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	return rest
}

// isBinary reports whether data contains NUL bytes, and is not UTF-16, or many control characters.
func isBinary(data []byte) bool {
	if _, ok := utf16Order(data); ok {
		return false
	}
	head := data[:min(len(data), 64<<10)]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	odd := 0
	for _, c := range head {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b {
			odd++
		}
	}
	return odd*20 > len(head) || odd*100 > len(head) && !utf8.Valid(head)
}

func looksHTML(head []byte) bool {
	s := strings.ToLower(strings.TrimLeft(strings.TrimPrefix(string(head), "\ufeff"), " \t\r\n"))
	return strings.HasPrefix(s, "<!doctype html") || strings.HasPrefix(s, "<html") ||
		strings.HasPrefix(s, "<") && (strings.Contains(s, "<html") || strings.Contains(s, "<body"))
}
