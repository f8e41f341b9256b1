package files

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/store"
)

// Limits of pages.
const (
	pageText     = 3000    // bytes of a page if the format has none: as many whole passages as fit, at least one
	maxPages     = 200     // in one call
	maxPageBytes = 2 << 20 // bytes of pages in one call, approximately
)

// HasOriginal reports whether [Service.Open] can open the bytes of the document, unless they were changed or deleted.
func (d Document) HasOriginal() bool {
	return d.File.SHA256 != "" || d.Document.Collection != Collection && ingest.HasOriginal(d.Document)
}

// folderDocument returns the document with an id in the collections of folders, or a zero Document.
func (s *Service) folderDocument(ctx context.Context, id string) (corpus.Document, error) {
	for _, collection := range s.opts.Collections {
		docs, err := s.opts.Index.DocumentsByID(ctx, collection, []corpus.DocumentID{corpus.DocumentID(id)})
		if err != nil || len(docs) > 0 {
			return append(docs, corpus.Document{})[0], err
		}
	}
	return corpus.Document{}, nil
}

// find returns a file or, if no file has the id, a document of a folder. doc is zero if the file is not indexed.
func (s *Service) find(ctx context.Context, id string) (f store.File, doc corpus.Document, err error) {
	f, err = s.File(ctx, id)
	if err == nil {
		docs, err := s.opts.Index.DocumentsByID(ctx, Collection, []corpus.DocumentID{corpus.DocumentID(id)})
		return f, append(docs, doc)[0], err
	}
	if fault.Public(err).Code != fault.NotFound {
		return f, doc, err
	}
	doc, failed := s.folderDocument(ctx, id)
	if failed != nil || doc.ID == "" {
		return f, doc, errors.Join(failed, err)
	}
	return asFile(doc), doc, nil
}

// asFile returns a file record for a document of a folder.
func asFile(doc corpus.Document) store.File {
	return store.File{ID: string(doc.ID), Name: parse.PrintableName(path.Base(doc.URI)), MediaType: doc.MediaType, Purpose: "general", Bytes: doc.Bytes,
		Status: store.Completed, CreatedAt: doc.IndexedAt, UpdatedAt: doc.IndexedAt}
}

// Document returns a file with the passages of its text beginning at the ordinal from, at most limit. Documents of folders in
// Options.Collections are found by their ids too.
func (s *Service) Document(ctx context.Context, id string, from, limit int) (Document, error) {
	f, doc, err := s.find(ctx, id)
	if err != nil {
		return Document{}, err
	}
	out := Document{File: f, Document: doc}
	if out.Stores, err = s.StoresOf(ctx, id); err != nil || doc.ID == "" {
		return out, err
	}
	if doc.Collection != Collection {
		out.Stores = []string{doc.Collection}
	}
	if limit <= 0 {
		return out, nil
	}
	limit = min(limit, s.opts.MaxListed)
	out.Segments, err = s.opts.Index.DocumentChunks(ctx, doc.Collection, doc.ID, corpus.Passage, max(from, 0), limit+1)
	if out.More = len(out.Segments) > limit; out.More {
		out.Segments = out.Segments[:limit]
	}
	return out, err
}

// Pages returns the pages from..to of a document, counted from 1, at most 200. A from of 0 is the first page, a to of 0 the last one. If the
// format has pages, a passage is on the page where it begins, and also on the following pages where no other passage begins. Otherwise a page
// is as many whole passages as fit 3,000 bytes.
func (s *Service) Pages(ctx context.Context, id string, from, to int) ([]Page, error) {
	_, doc, err := s.find(ctx, id)
	if err != nil || doc.ID == "" {
		return nil, err
	}
	p := &pager{own: doc.Pages > 0, from: max(from, 1), to: to}
	for at := 0; ; {
		chunks, err := s.opts.Index.DocumentChunks(ctx, doc.Collection, doc.ID, corpus.Passage, at, 500)
		if err != nil || len(chunks) == 0 {
			return p.end(), err
		}
		for _, c := range chunks {
			if at = c.Ordinal + 1; !p.add(c) {
				return p.end(), nil
			}
		}
	}
}

// pager collects passages into pages.
type pager struct {
	own      bool // the format has pages
	from, to int
	out      []Page
	size     int

	number int // of the current page; 0: none
	text   []string
	bytes  int
	last   corpus.Chunk // the previous passage
}

// add puts a passage on its page and reports whether more passages are needed.
func (p *pager) add(c corpus.Chunk) bool {
	switch {
	case p.own:
		begins := max(p.number, 1)
		if len(c.Pages) > 0 {
			begins = max(begins, c.Pages[0])
		}
		for p.number < begins {
			if p.turn(); p.number < begins && slices.Contains(p.last.Pages, p.number) {
				p.text = append(p.text, p.last.Text)
			}
		}
	case p.number == 0 || p.bytes+len(c.Text) > pageText:
		p.turn()
	}
	if p.full() {
		return false
	}
	p.text, p.last = append(p.text, c.Text), c
	p.bytes += len(c.Text) + 2
	return true
}

func (p *pager) full() bool {
	return p.to > 0 && p.number > p.to || len(p.out) >= maxPages || p.size > maxPageBytes
}

// turn ends the current page and begins the next one.
func (p *pager) turn() {
	if len(p.text) > 0 && p.number >= p.from && !p.full() {
		text := strings.Join(p.text, "\n\n")
		p.out = append(p.out, Page{Number: p.number, Text: text})
		p.size += len(text)
	}
	p.number++
	p.text, p.bytes = nil, 0
}

// end returns the pages, including those that only the last passage covers.
func (p *pager) end() []Page {
	if p.number > 0 {
		p.turn()
		for p.own && slices.Contains(p.last.Pages, p.number) {
			p.text = []string{p.last.Text}
			p.turn()
		}
	}
	return p.out
}
