// Package scope reads an index through scopes that span several collections, sets of uploaded files and single documents.
package scope

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// Base is the index that is read.
type Base interface {
	index.Reader
	index.Graph
	index.Versions
	index.DocumentReader
}

// Vectors embeds texts in the vector space that searches of a collection use.
type Vectors interface {
	SearchVector(ctx context.Context, collection, text string, p model.Purpose) (index.SearchVector, error)
}

// Options of a [Reader]. The zero value works.
type Options struct {
	Vectors    Vectors // nil: searches are lexical
	Collection string  // of folders: its documents can be selected by their ids, and the empty text selects it; default [corpus.DefaultCollection]
}

// Reader reads an index by scopes. Where a method of the index takes a collection, the reader's takes the text form of a
// [corpus.Scope], of which
//
//   - a name selects the collection of that name and the set of that name among the uploaded files;
//   - the name of the collection of uploaded files selects all of them, also those in no set;
//   - a document's id selects that document among the uploaded files, or else in the collection of folders.
//
// Unknown names select nothing. The name of a collection that contains a comma selects that collection if it is the whole text.
//
// A scope of one part is passed to the index as it is. Several parts are read one after the other: hits are fused again by
// their lexical scores and cosines, which suits parts of one engine; statistics and versions are added up; of documents and
// chunks with the same id the first is returned.
//
// It is safe for concurrent use.
type Reader struct {
	base  Base
	files string
	opts  Options
}

var (
	_ Base    = (*Reader)(nil)
	_ Vectors = (*Reader)(nil)
)

// New returns a reader of base. The collection files holds the uploaded files; an empty name means that there are none.
func New(base Base, files string, o Options) *Reader {
	o.Collection = cmp.Or(o.Collection, corpus.DefaultCollection)
	return &Reader{base: base, files: files, opts: o}
}

// candidates are the collections, sets and documents that a scope may select, whether they exist or not.
type candidates struct {
	collections []string
	sets        []string // of uploaded files
	documents   []corpus.DocumentID
}

func (r *Reader) candidates(ctx context.Context, text string) (candidates, error) {
	text = cmp.Or(text, r.opts.Collection)
	s, err := corpus.ParseScope(text)
	if err != nil {
		return candidates{}, err
	}
	if strings.Contains(text, ",") && text != r.files {
		if whole, err := r.holds(ctx, text); err != nil || whole {
			return candidates{collections: []string{text}}, err
		}
	}
	c := candidates{collections: s.Collections, documents: s.Documents}
	if r.files != "" && !r.allFiles(c) { // the sets are part of all files
		for _, name := range s.Collections {
			if index.ValidSet(name) {
				c.sets = append(c.sets, name)
			}
		}
	}
	return c, nil
}

// allFiles reports whether all uploaded files are selected.
func (r *Reader) allFiles(c candidates) bool {
	return r.files != "" && slices.Contains(c.collections, r.files)
}

// holds reports whether a collection or a part of one has documents or had some.
func (r *Reader) holds(ctx context.Context, name string) (bool, error) {
	v, err := r.base.Version(ctx, name)
	if err != nil || v > 0 {
		return v > 0, err
	}
	docs, err := r.base.Documents(ctx, name, "", 1)
	return len(docs) > 0, err
}

// parts returns the names of the [index.Scope]s that a scope selects. They share no document, except for documents that have
// the same id in two collections.
func (r *Reader) parts(ctx context.Context, text string) (out []string, err error) {
	c, err := r.candidates(ctx, text)
	if err != nil {
		return nil, err
	}
	add := func(name string) error {
		held, err := r.holds(ctx, name)
		if held {
			out = append(out, name)
		}
		return err
	}
	for _, collection := range c.collections {
		if err := add(collection); err != nil {
			return nil, err
		}
	}
	uploads, own, err := r.locate(ctx, c.documents)
	if err != nil {
		return nil, err
	}
	if r.allFiles(c) {
		uploads = nil
	}
	if s := (index.Scope{Collection: r.files, Sets: c.sets, Documents: uploads}); !s.Whole() {
		if err := add(s.Name()); err != nil {
			return nil, err
		}
	}
	if len(own) > 0 && !slices.Contains(c.collections, r.opts.Collection) {
		out = append(out, index.Scope{Collection: r.opts.Collection, Documents: own}.Name())
	}
	return out, nil
}

// locate returns which documents are uploaded files, and which of the others are in the collection of folders.
func (r *Reader) locate(ctx context.Context, ids []corpus.DocumentID) (uploads, own []corpus.DocumentID, err error) {
	if len(ids) == 0 {
		return nil, nil, nil
	}
	var files map[corpus.DocumentID]string
	if r.files != "" {
		if files, err = r.base.Hashes(ctx, r.files, ids); err != nil {
			return nil, nil, err
		}
	}
	var rest []corpus.DocumentID
	for _, id := range ids {
		if _, ok := files[id]; ok {
			uploads = append(uploads, id)
		} else {
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 {
		return uploads, nil, nil
	}
	found, err := r.base.Hashes(ctx, r.opts.Collection, rest)
	for _, id := range rest {
		if _, ok := found[id]; ok {
			own = append(own, id)
		}
	}
	return uploads, own, err
}

// SearchVector returns a text's vector in the space of the largest collection that is selected.
func (r *Reader) SearchVector(ctx context.Context, collection, text string, p model.Purpose) (index.SearchVector, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil || r.opts.Vectors == nil {
		return index.SearchVector{}, err
	}
	largest, most := r.opts.Collection, -1
	for _, part := range parts {
		if len(parts) == 1 {
			largest = part
			break
		}
		stats, err := r.base.Terms(ctx, part, nil)
		if err != nil {
			return index.SearchVector{}, err
		}
		if stats.Chunks > most {
			largest, most = part, stats.Chunks
		}
	}
	s, err := index.ParseScope(largest)
	if err != nil {
		return index.SearchVector{}, err
	}
	return r.opts.Vectors.SearchVector(ctx, s.Collection, text, p)
}

// Version implements [index.Versions]. It is the sum of the versions of all candidates, so that it also grows when one of them
// gets its first document.
func (r *Reader) Version(ctx context.Context, collection string) (uint64, error) {
	c, err := r.candidates(ctx, collection)
	if err != nil {
		return 0, err
	}
	all := c.collections
	for _, s := range []index.Scope{{Collection: r.files, Sets: c.sets, Documents: c.documents}, {Collection: r.opts.Collection, Documents: c.documents}} {
		if !s.Whole() && s.Collection != "" {
			all = append(all, s.Name())
		}
	}
	var sum uint64
	for _, name := range all {
		v, err := r.base.Version(ctx, name)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}
