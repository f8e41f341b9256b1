// Package xmltext reads XML from outside as a stream of elements, within limits of depth and count. Entities that a document declares are
// not expanded.
package xmltext

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"

	"golang.org/x/net/html/charset"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// Limits of an XML document.
const (
	MaxDepth    = 512
	MaxElements = 10_000_000 // elements and texts
)

// Element is the start of an element. Its name has no prefix.
type Element struct {
	Name  string
	Space string // the URI of its namespace, or the prefix if it is not declared
	attrs []xml.Attr
}

// Attr returns the value of the attribute with a name without a prefix, or "".
func (e Element) Attr(name string) string {
	for _, a := range e.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// Attrs calls f with each attribute but the declarations of namespaces.
func (e Element) Attrs(f func(name, value string)) {
	for _, a := range e.attrs {
		if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
			f(a.Name.Local, a.Value)
		}
	}
}

// Handler receives the parts of a document in their order. A nil function ignores its part. If Start returns false, the element is
// skipped: neither its content nor its end is reported.
type Handler struct {
	Start func(Element) bool
	End   func(name string)
	Text  func(string)
}

// Read reads a document. The encoding is that of its declaration, or UTF-8.
func Read(ctx context.Context, data []byte, h Handler) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict, d.Entity, d.CharsetReader = false, xml.HTMLEntity, charset.NewReaderLabel
	depth, skipped := 0, 0 // skipped: depth of the skipped element, or 0
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if n > MaxElements {
			return document.TooLarge("holds more than %d XML elements", MaxElements)
		}
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return document.Refuse(err, "holds XML that is not valid")
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > MaxDepth {
				return document.TooLarge("holds XML elements nested more than %d deep", MaxDepth)
			}
			if skipped == 0 && h.Start != nil && !h.Start(Element{t.Name.Local, t.Name.Space, t.Attr}) {
				skipped = depth
			}
		case xml.EndElement:
			if skipped == 0 && h.End != nil {
				h.End(t.Name.Local)
			}
			if skipped == depth {
				skipped = 0
			}
			depth--
		case xml.CharData:
			if skipped == 0 && h.Text != nil {
				h.Text(string(t))
			}
		}
	}
}
