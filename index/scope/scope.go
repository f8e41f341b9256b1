// Package scope lets a question name what it asks of: collections, sets of uploaded files and single files, several at once.
package scope

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// FilePrefix stands before a document's id in a name that means this document alone.
const FilePrefix = "file:"

const (
	maxNames = 64
	maxBytes = 32 << 10 // of all names
)

// Base is the index that is read.
type Base interface {
	index.Reader
	index.Graph
	index.Versions
	index.DocumentReader
}

// Vectors places texts in the vector space that searches of a collection use.
type Vectors interface {
	SearchVector(ctx context.Context, collection, text string, p model.Purpose) (index.SearchVector, error)
}

// Options of a [Reader]. The zero value works.
type Options struct {
	Vectors Vectors // nil: words must do
}

// Reader reads an index by the names that askers give. Where the methods of the index take a collection, its own take names
// joined by commas, at most 64, of which each means
//
//   - the collection of that name, together with the set of that name among the uploaded files;
//   - if it is that of the collection of files, all uploaded files, also those in no set;
//   - behind "file:", the one document of that id: among the files, or else in the default collection.
//
// Order, repetition and blanks around names do not matter, and a name that nothing has holds nothing. A collection whose own
// name has a comma is meant by it where it is all that is named. Names of other than printable characters are a [fault.InvalidRequest] of "collection", as are too many.
//
// What names one collection or one part of it is handed through. Where names mean several, all are asked, one after the other:
// hits are weighed together by their scores for words and vectors, which suits parts of one engine; statistics and versions are
// sums; of documents and chunks of the same id the first counts.
//
// All methods may be called at once.
type Reader struct {
	base  Base
	files string
	opts  Options
}

var (
	_ Base    = (*Reader)(nil)
	_ Vectors = (*Reader)(nil)
)

// New gives a reader of base, whose collection files holds the uploaded files. An empty name of it means that there are none.
func New(base Base, files string, o Options) *Reader {
	return &Reader{base: base, files: files, opts: o}
}

// Canonical gives the names of a question's collection in order, each once, joined by commas: equal for those that mean the
// same. It is a [fault.InvalidRequest] where they are not names.
func Canonical(collection string) (string, error) {
	all, err := names(collection)
	return strings.Join(all, ","), err
}

func names(collection string) ([]string, error) {
	if collection == "" {
		return []string{corpus.DefaultCollection}, nil
	}
	if len(collection) > maxBytes {
		return nil, fault.Invalid("collection", "more than %d bytes", maxBytes)
	}
	if !utf8.ValidString(collection) || strings.ContainsFunc(collection, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, fault.Invalid("collection", "a name is of printable characters")
	}
	var out []string
	for name := range strings.SplitSeq(collection, ",") {
		if name = strings.TrimSpace(name); name != "" && name != FilePrefix {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	switch {
	case len(out) == 0:
		return nil, fault.Invalid("collection", "names nothing")
	case len(out) > maxNames:
		return nil, fault.Invalid("collection", "%d names; at most %d are searched at once", len(out), maxNames)
	}
	return out, nil
}

// asked is what names may mean.
type asked struct {
	collections []string
	sets        []string // of files
	documents   []corpus.DocumentID
}

// asked reads the names of a question's collection.
func (r *Reader) asked(ctx context.Context, collection string) (asked, error) {
	all, err := names(collection)
	if err != nil {
		return asked{}, err
	}
	if strings.Contains(collection, ",") && collection != r.files {
		if whole, err := r.holds(ctx, collection); err != nil || whole {
			return asked{collections: []string{collection}}, err
		}
	}
	var a asked
	for _, name := range all {
		if id, is := strings.CutPrefix(name, FilePrefix); is {
			a.documents = append(a.documents, corpus.DocumentID(strings.TrimSpace(id)))
			continue
		}
		a.collections = append(a.collections, name)
		if index.ValidSet(name) && r.files != "" {
			a.sets = append(a.sets, name)
		}
	}
	if r.allFiles(a) {
		a.sets = nil // they are among all files
	}
	return a, nil
}

// allFiles tells whether all uploaded files are asked for.
func (r *Reader) allFiles(a asked) bool {
	return r.files != "" && slices.Contains(a.collections, r.files)
}

// holds tells whether something is or was in a collection or a part of one.
func (r *Reader) holds(ctx context.Context, name string) (bool, error) {
	v, err := r.base.Version(ctx, name)
	if err != nil || v > 0 {
		return v > 0, err
	}
	docs, err := r.base.Documents(ctx, name, "", 1)
	return len(docs) > 0, err
}

// parts gives what a question's collection means, as the index names it. No document is in two of them, unless two have its id.
func (r *Reader) parts(ctx context.Context, collection string) (out []string, err error) {
	a, err := r.asked(ctx, collection)
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
	for _, c := range a.collections {
		if err := add(c); err != nil {
			return nil, err
		}
	}
	uploads, own, err := r.located(ctx, a.documents)
	if err != nil {
		return nil, err
	}
	if r.allFiles(a) {
		uploads = nil
	}
	if s := (index.Scope{Collection: r.files, Sets: a.sets, Documents: uploads}); !s.Whole() {
		if err := add(s.Name()); err != nil {
			return nil, err
		}
	}
	if len(own) > 0 && !slices.Contains(a.collections, corpus.DefaultCollection) {
		out = append(out, index.Scope{Collection: corpus.DefaultCollection, Documents: own}.Name())
	}
	return out, nil
}

// located gives which documents are among the files, and which of the others are in the default collection.
func (r *Reader) located(ctx context.Context, ids []corpus.DocumentID) (uploads, own []corpus.DocumentID, err error) {
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
		if _, there := files[id]; there {
			uploads = append(uploads, id)
		} else {
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 {
		return uploads, nil, nil
	}
	here, err := r.base.Hashes(ctx, corpus.DefaultCollection, rest)
	for _, id := range rest {
		if _, there := here[id]; there {
			own = append(own, id)
		}
	}
	return uploads, own, err
}

// SearchVector gives a text's vector in the space of the collection that holds most of what is named.
func (r *Reader) SearchVector(ctx context.Context, collection, text string, p model.Purpose) (index.SearchVector, error) {
	parts, err := r.parts(ctx, collection)
	if err != nil || r.opts.Vectors == nil {
		return index.SearchVector{}, err
	}
	best, most := corpus.DefaultCollection, -1
	for _, part := range parts {
		if len(parts) == 1 {
			best = part
			break
		}
		stats, err := r.base.Terms(ctx, part, nil)
		if err != nil {
			return index.SearchVector{}, err
		}
		if stats.Chunks > most {
			best, most = part, stats.Chunks
		}
	}
	s, err := index.ParseScope(best)
	if err != nil {
		return index.SearchVector{}, err
	}
	return r.opts.Vectors.SearchVector(ctx, s.Collection, text, p)
}

// Version implements [index.Versions]: the sum over all that the names may mean, so that it grows also when something comes to be.
func (r *Reader) Version(ctx context.Context, collection string) (uint64, error) {
	a, err := r.asked(ctx, collection)
	if err != nil {
		return 0, err
	}
	all := a.collections
	for _, s := range []index.Scope{{Collection: r.files, Sets: a.sets, Documents: a.documents}, {Collection: corpus.DefaultCollection, Documents: a.documents}} {
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
