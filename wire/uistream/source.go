package uistream

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// mediaTypes are the media types of documents by the extension of their file.
var mediaTypes = map[string]string{
	".pdf": "application/pdf", ".md": "text/markdown", ".markdown": "text/markdown", ".html": "text/html", ".htm": "text/html", ".csv": "text/csv", ".tsv": "text/tab-separated-values",
	".json": "application/json", ".xml": "application/xml", ".eml": "message/rfc822", ".epub": "application/epub+zip", ".rtf": "application/rtf",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".odt": "application/vnd.oasis.opendocument.text",
}

func sourceID(n int) string { return "source-" + strconv.Itoa(n) }

// cited returns what parts and citations say of a source.
func (p *projection) cited(s *event.Source) CitedSource {
	c := CitedSource{Type: "source", SourceType: "document", ID: sourceID(s.N), Title: wire.Clip(cmp.Or(s.Title, s.Name, string(s.Document)), maxTitle)}
	if c.URL = wire.LinkOf(p.origin, s); c.URL != "" {
		c.SourceType = "url"
		return c
	}
	c.Filename = wire.Clip(s.Name, maxTitle)
	c.MediaType = cmp.Or(mediaTypes[strings.ToLower(path.Ext(s.Name))], "text/plain")
	return c
}

// source returns the part of a source at its first citation. A source that is not known yet gets it with the list of all.
func (p *projection) source(n int) []any {
	s := wire.SourceOf(&p.state, n)
	if s == nil || p.shown[n] {
		return nil
	}
	p.shown[n] = true
	about := SourceMetadata{Passage{N: n, ChunkID: string(s.Chunk), DocumentID: string(s.Document), Heading: wire.Clip(s.Heading, maxTitle), Pages: s.Pages[:min(len(s.Pages), maxPages)],
		Score: wire.Round(s.Score), Quote: wire.Clip(cmp.Or(s.CitedText(), s.Text), maxQuote)}}
	c := p.cited(s)
	if c.URL != "" {
		return []any{SourceURL{"source-url", c.ID, c.URL, c.Title, about}}
	}
	return []any{SourceDocument{"source-document", c.ID, c.MediaType, c.Title, c.Filename, about}}
}

// citations returns the citations of the text whose sources are known.
func (p *projection) citations() (out []Citation) {
	for _, part := range wire.CitedParts(&p.state) {
		out = append(out, Citation{p.cited(part.Source), part.Start, part.End, wire.Clip(part.Source.CitedText(), maxQuote)})
	}
	return out
}
