// Package epub parses books in EPUB (ISO/IEC 23736; W3C EPUB 3.3).
package epub

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse/archive"
	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/xmltext"
)

// Parse parses the chapters of a book in their reading order, as HTML pages. The navigation document is left out.
func Parse(ctx context.Context, src document.Source) (document.Parsed, error) {
	z, err := archive.Open(src.Data)
	if err != nil {
		return document.Parsed{}, err
	}
	b := &book{items: map[string]item{}}
	if err := read(ctx, z, "META-INF/container.xml", xmltext.Handler{Start: func(e xmltext.Element) bool {
		if e.Name == "rootfile" && b.opf == "" {
			b.opf = archive.Resolve("", e.Attr("full-path"))
		}
		return true
	}}); err != nil {
		return document.Parsed{}, err
	}
	if !z.Has(b.opf) {
		return document.Parsed{}, document.Refuse(nil, "not valid EPUB")
	}
	if err := read(ctx, z, b.opf, b.handler()); err != nil {
		return document.Parsed{}, err
	}
	p := document.Parsed{Meta: b.meta, Title: b.meta.Title}
	size := 0
	for _, id := range b.spine {
		it := b.items[id]
		if strings.Contains(it.properties, "nav") || !z.Has(it.name) {
			continue
		}
		data, err := z.Read(it.name)
		if err != nil {
			return document.Parsed{}, err
		}
		chapter, err := src.Embed(ctx, document.Source{Name: "chapter.xhtml", Data: data})
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, document.ErrEmbedded) {
				return document.Parsed{}, err
			}
			continue // such as an empty page
		}
		for _, c := range chapter.Blocks {
			size += len(c.Text)
		}
		if p.Blocks = append(p.Blocks, chapter.Blocks...); size > src.Limits.Text || len(p.Blocks) > src.Limits.Blocks {
			break // package parse refuses it
		}
	}
	return p, nil
}

func read(ctx context.Context, z *archive.Zip, name string, h xmltext.Handler) error {
	data, err := z.Read(name)
	if err != nil {
		return err
	}
	return xmltext.Read(ctx, data, h)
}

// book is the package document of a book.
type book struct {
	opf   string // its name
	meta  corpus.DublinCore
	items map[string]item
	spine []string // ids of items
}

type item struct{ name, properties string }

func (b *book) handler() xmltext.Handler {
	var text strings.Builder
	return xmltext.Handler{
		Start: func(e xmltext.Element) bool {
			text.Reset()
			switch e.Name {
			case "item":
				if href, err := url.PathUnescape(e.Attr("href")); err == nil {
					b.items[e.Attr("id")] = item{archive.Resolve(b.opf, href), e.Attr("properties")}
				}
			case "itemref":
				b.spine = append(b.spine, e.Attr("idref"))
			}
			return true
		},
		Text: func(s string) { text.WriteString(s) },
		End: func(name string) {
			for _, m := range b.meta.Elements() {
				if s := document.OneLine(text.String()); m.Name == "dc_"+name && *m.Value == "" {
					*m.Value = s
				}
			}
			text.Reset()
		},
	}
}
