// Package search finds passages and documents by conditions on their attributes. A document is an uploaded file or a document of a folder.
package search

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/store"
)

// Limits of a search with a filter.
const (
	MaxFiltered = 10_000 // documents that the filter is evaluated for
	maxScoped   = 64     // documents that one search is restricted to
	maxHits     = 6_400  // hits that the filter is evaluated for
	step        = 500    // documents that are read at once
)

// Index is the part of an index that is read. Collections are the text forms of scopes, which package index/scope resolves.
type Index interface {
	index.Reader
	index.DocumentReader
}

// Searcher searches the documents of an index. It is safe for concurrent use.
type Searcher struct {
	Files *files.Service
	Index Index
	// Find finds passages.
	Find func(ctx context.Context, q index.Query) ([]index.Hit, error)
}

// Search is one search of a collection. It remembers the documents that it has read, and is not safe for concurrent use.
type Search struct {
	*Searcher
	collection string
	filter     *filter.Filter
	known      map[corpus.DocumentID]*Info
}

// New returns a search of a collection. A nil filter is true.
func (s *Searcher) New(collection string, f *filter.Filter) *Search {
	return &Search{s, collection, f, map[corpus.DocumentID]*Info{}}
}

// Documents returns the first documents that may match the filter, by id: at most limit without a filter, and otherwise all among the
// first [MaxFiltered] documents. Whether they match may depend on the passage.
func (x *Search) Documents(ctx context.Context, limit int) ([]corpus.DocumentID, error) {
	var out []corpus.DocumentID
	after := corpus.DocumentID("")
	if x.filter != nil {
		limit = step
	}
	for read := 0; read < MaxFiltered; {
		docs, err := x.Index.Documents(ctx, x.collection, after, limit)
		if err != nil {
			return nil, err
		}
		if x.filter == nil {
			for _, d := range docs {
				out = append(out, d.ID)
			}
			break
		}
		infos, err := x.Describe(ctx, docs)
		if err != nil {
			return nil, err
		}
		for i, d := range docs {
			after = d.ID
			if x.filter.Matches(infos[i].Attributes(nil)) != filter.No {
				out = append(out, after)
				x.known[after] = infos[i]
			}
		}
		if read += len(docs); len(docs) < limit {
			break
		}
	}
	return out, nil
}

// Hits returns the best hits of a query that match the filter, at most q.Limit. The collection of the query is that of the search. docs are
// the result of [Search.Documents], and need no more than a filter to be set. If few documents can match, only they are searched. Otherwise
// all are searched, with a limit that grows until there are enough matches.
func (x *Search) Hits(ctx context.Context, q index.Query, docs []corpus.DocumentID) ([]index.Hit, error) {
	q.Collection = x.collection
	if x.filter == nil {
		return x.Find(ctx, q)
	}
	if len(docs) == 0 {
		return nil, nil
	}
	if scope, ok := x.scope(docs); ok {
		q.Collection = scope
	}
	want := q.Limit
	for q.Limit = 4 * want; ; q.Limit *= 4 {
		all, err := x.Find(ctx, q)
		if err != nil {
			return nil, err
		}
		var out []index.Hit
		for _, h := range all {
			matches, err := x.Matches(ctx, h.Chunk)
			if err != nil {
				return nil, err
			}
			if matches {
				out = append(out, h)
			}
		}
		if len(out) >= want || len(all) < q.Limit || q.Limit >= maxHits {
			return out[:min(want, len(out))], nil
		}
	}
}

// scope returns the collection name that restricts a search to the documents, which must be few and all uploaded files.
func (x *Search) scope(docs []corpus.DocumentID) (name string, ok bool) {
	if len(docs) > maxScoped {
		return "", false
	}
	for _, d := range docs {
		if a := x.known[d]; a == nil || a.File.ID == "" || strings.Contains(string(d), ",") {
			return "", false
		}
	}
	return corpus.Scope{Documents: docs}.String(), true
}

// Matches reports whether a passage matches the filter.
func (x *Search) Matches(ctx context.Context, c corpus.Chunk) (bool, error) {
	if x.filter == nil {
		return true, nil
	}
	a, err := x.Info(ctx, c.Document)
	if err != nil {
		return false, err
	}
	return x.filter.Matches(a.Attributes(&c)) == filter.Yes, nil
}

// Info returns what is known about a document of the collection. A document that was just deleted has only its id.
func (x *Search) Info(ctx context.Context, id corpus.DocumentID) (*Info, error) {
	if a := x.known[id]; a != nil {
		return a, nil
	}
	docs, err := x.Index.DocumentsByID(ctx, x.collection, []corpus.DocumentID{id})
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		docs = []corpus.Document{{ID: id}}
	}
	infos, err := x.Describe(ctx, docs[:1])
	if err != nil {
		return nil, err
	}
	x.known[id] = infos[0]
	return infos[0], nil
}

// Describe returns what is known about documents.
func (s *Searcher) Describe(ctx context.Context, docs []corpus.Document) ([]*Info, error) {
	ids := make([]string, len(docs))
	for i := range docs {
		ids[i] = string(docs[i].ID)
	}
	byID, err := s.Files.FilesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*Info, len(docs))
	for i, d := range docs {
		out[i] = NewInfo(byID[ids[i]], d)
	}
	return out, s.AddAttributes(ctx, out)
}

// AddAttributes sets the metadata of documents that were not uploaded.
func (s *Searcher) AddAttributes(ctx context.Context, infos []*Info) error {
	var ids []string
	for _, a := range infos {
		ids = append(ids, a.ID())
	}
	all, err := s.Files.AttributesOf(ctx, ids)
	for _, a := range infos {
		if set := all[a.ID()]; set != nil {
			a.Metadata = set
		}
	}
	return err
}

// Info is what is known about a document.
type Info struct {
	File     store.File      // zero for a document of a folder that is not one of the server's own, and for a deleted one
	Document corpus.Document // as it is indexed; zero: not indexed
	Metadata map[string]any  // that users set
	title    string          // that users set
}

// NewInfo returns what is known about a document. One of both arguments may be zero.
func NewInfo(f store.File, d corpus.Document) *Info {
	var set struct {
		Title    string         `json:"title"`
		Metadata map[string]any `json:"metadata"`
	}
	if len(f.Fields) > 0 {
		_ = json.Unmarshal(f.Fields, &set) // it was checked when it was stored
	}
	return &Info{f, d, set.Metadata, set.Title}
}

// ID returns the id of the document.
func (a *Info) ID() string { return cmp.Or(a.File.ID, string(a.Document.ID)) }

// Name returns the name of the file, or else the last part of its location.
func (a *Info) Name() string {
	if a.File.Name != "" {
		return a.File.Name
	}
	if name := path.Base(strings.TrimSuffix(a.Document.URI, "/")); name != "." && name != "/" {
		return name
	}
	return cmp.Or(a.Document.Title, string(a.Document.ID))
}

// Title returns the title that a user set, or else that of the document.
func (a *Info) Title() string {
	if a.File.ID != "" {
		return cmp.Or(a.title, a.Document.Title, a.File.Name)
	}
	return a.Document.Title
}

// MediaType returns the media type of the document.
func (a *Info) MediaType() string { return cmp.Or(a.File.MediaType, a.Document.MediaType) }

// Matches reports whether a document matches a filter, whatever its passages are.
func (a *Info) Matches(f *filter.Filter) bool { return f.Matches(a.Attributes(nil)) == filter.Yes }

// Attributes returns the attributes of a passage, or of the whole document if c is nil: those of the file, those that users set, and those of
// [filter.OfDocument].
func (a *Info) Attributes(c *corpus.Chunk) filter.Attributes {
	ofDocument := filter.OfDocument(a.Document)
	return func(key string) (any, filter.Truth) {
		switch key {
		case "file_id":
			return a.ID(), filter.Yes
		case "filename", "name":
			return a.Name(), filter.Yes
		case "title":
			v, _ := ofDocument(key)
			return append(listOf(a.Title()), listOf(v)...), filter.Yes
		case "content_type", "mime_type", "file_type":
			return a.MediaType(), filter.Yes
		case "purpose":
			return a.File.Purpose, filter.Yes
		case "created_at":
			if a.File.CreatedAt.IsZero() {
				return 0.0, filter.Yes
			}
			return float64(a.File.CreatedAt.Unix()), filter.Yes
		case "bytes":
			return float64(max(a.File.Bytes, a.Document.Bytes)), filter.Yes
		}
		if filter.OfPassage(key) {
			if c == nil {
				return nil, filter.Unknown
			}
			return ofChunk(key, c)
		}
		v, t := ofDocument(key)
		set, ok := a.Metadata[key]
		switch {
		case !ok:
			return v, t
		case t != filter.Yes:
			return set, filter.Yes
		}
		return slices.Concat(listOf(set), listOf(v)), filter.Yes
	}
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func ofChunk(key string, c *corpus.Chunk) (any, filter.Truth) {
	switch key {
	case "segment_index":
		return float64(c.Ordinal), filter.Yes
	case "chunk_id":
		return string(c.ID), filter.Yes
	case "heading":
		return c.Heading(), filter.Yes
	}
	if len(c.Pages) == 0 {
		return nil, filter.No
	}
	return float64(c.Pages[0]), filter.Yes
}
