// Package office parses the documents, slides and spreadsheets of Office Open XML (ISO/IEC 29500: DOCX, PPTX, XLSX) and OpenDocument
// (ISO/IEC 26300: ODT, ODP, ODS).
//
// Comments, deleted text of tracked changes, hidden text, slides and sheets, and the heads and feet of pages are left out. A footnote follows the paragraph
// that refers to it, and the notes of a speaker follow the slide.
package office

import (
	"context"
	"path"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse/archive"
	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/xmltext"
)

// maxCells limits the cells of a spreadsheet, empty ones included, which the file may not contain one by one.
const maxCells = 4_000_000

// file is an open document.
type file struct {
	ctx context.Context
	zip *archive.Zip
}

func open(ctx context.Context, src document.Source) (*file, error) {
	z, err := archive.Open(src.Data)
	if err != nil {
		return nil, err
	}
	return &file{ctx, z}, nil
}

// read reads a member as XML. A missing member is empty.
func (f *file) read(name string, h xmltext.Handler) error {
	data, err := f.zip.Read(name)
	if err != nil || data == nil {
		return err
	}
	return xmltext.Read(f.ctx, data, h)
}

// isOn reports whether the value of an attribute is true.
func isOn(value string) bool { return value == "1" || value == "true" || value == "on" }

// relation is a reference of a part to another one, or to a URL.
type relation struct{ kind, target string }

// relations returns the relations of a part by their ids (ISO/IEC 29500-2, 9). Targets are names of members, except for links.
func (f *file) relations(part string) (map[string]relation, error) {
	out := map[string]relation{}
	err := f.read(path.Dir(part)+"/_rels/"+path.Base(part)+".rels", xmltext.Handler{Start: func(e xmltext.Element) bool {
		if e.Name == "Relationship" {
			r := relation{path.Base(e.Attr("Type")), e.Attr("Target")}
			if e.Attr("TargetMode") != "External" {
				r.target = archive.Resolve(part, r.target)
			}
			out[e.Attr("Id")] = r
		}
		return true
	}})
	return out, err
}

// related returns the first target of a kind, in no order.
func related(relations map[string]relation, kind string) string {
	for _, r := range relations {
		if r.kind == kind {
			return r.target
		}
	}
	return ""
}

// main returns the name of the main part of an Office Open XML file, or a default.
func (f *file) main(otherwise string) string {
	name := otherwise
	_ = f.read("_rels/.rels", xmltext.Handler{Start: func(e xmltext.Element) bool {
		if e.Name == "Relationship" && path.Base(e.Attr("Type")) == "officeDocument" {
			if n := archive.Resolve("", e.Attr("Target")); f.zip.Has(n) {
				name = n
			}
		}
		return true
	}})
	return name
}

// properties reads the metadata of docProps/core.xml or meta.xml. Damaged metadata is left out.
func (f *file) properties(member string) corpus.DublinCore {
	values := map[string]string{}
	var name string
	var text strings.Builder
	_ = f.read(member, xmltext.Handler{
		Start: func(e xmltext.Element) bool { name = e.Name; text.Reset(); return true },
		Text:  func(s string) { text.WriteString(s) },
		End: func(ended string) {
			if s := document.OneLine(text.String()); ended == name && s != "" {
				if values[name] != "" && name == "keyword" {
					s = document.Clip(values[name], corpus.MaxElement) + ", " + s
				}
				values[name] = s
			}
			text.Reset()
		},
	})
	first := func(names ...string) string {
		for _, n := range names {
			if values[n] != "" {
				return values[n]
			}
		}
		return ""
	}
	date := first("modified", "date", "created", "creation-date")
	if day, _, ok := strings.Cut(date, "T"); ok {
		date = day
	}
	return corpus.DublinCore{
		Title: first("title"), Creator: first("initial-creator", "creator"), Subject: first("keywords", "keyword", "subject", "category"),
		Description: first("description"), Publisher: first("publisher"), Date: date, Language: first("language"),
		Rights: first("rights"), Identifier: first("identifier"),
	}
}

// titleOf returns the first heading of the highest level, if the metadata has no title.
func titleOf(meta corpus.DublinCore, blocks []document.Block) string {
	if meta.Title != "" {
		return meta.Title
	}
	for _, b := range blocks {
		if b.Kind == document.Heading && b.Level == 1 {
			return b.Text
		}
	}
	return ""
}
