package cache

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

const (
	// checked is how many of the best passages of a repeated search are looked at. They must be among the first Remembered passages of the
	// earlier search, which are more, since changes elsewhere move the last passages a little.
	checked     = 20
	maxSearches = 4 // searches that are repeated for one answer, that of the question first

	// relevant is the score, 0..1, from which on a passage may change the answer. It is relative to the score of the best passage: see
	// [index.Fuse].
	relevant = 0.3
)

// Remembered is how many passages of a search the cache keeps.
const Remembered = 2 * checked

// Documents are the documents from which answers are made. It is safe for concurrent use.
type Documents interface {
	index.Versions
	// Search returns the best passages that a plain search finds for a question, at most limit.
	Search(ctx context.Context, collection, question string, limit int) ([]index.Hit, error)
}

// addDependencies sets the dependencies of an entry, and the chunks of its searches.
func addDependencies(ctx context.Context, docs Documents, e *Entry) error {
	var ids []corpus.DocumentID
	for _, s := range e.Sources {
		ids = append(ids, s.Document)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	hashes, err := docs.Hashes(ctx, e.Scope.Collection, ids)
	if err != nil {
		return err
	}
	e.Dependencies = nil
	for _, id := range ids {
		e.Dependencies = append(e.Dependencies, Dependency{id, hashes[id]})
	}
	if e.Abstained {
		e.Searches = nil // any change makes it stale
		return nil
	}
	given := e.Searches
	e.Searches = nil
	for _, s := range append([]Search{{Question: e.Question}}, given...) {
		if s.Question == "" || len(e.Searches) == maxSearches || slices.ContainsFunc(e.Searches, func(o Search) bool { return o.Question == s.Question }) {
			continue
		}
		if i := slices.IndexFunc(given, func(o Search) bool { return o.Question == s.Question && len(o.Chunks) > 0 }); i >= 0 {
			e.Searches = append(e.Searches, given[i])
			continue
		}
		hits, err := docs.Search(ctx, e.Scope.Collection, s.Question, Remembered)
		if err != nil {
			return err
		}
		for _, h := range hits {
			s.Chunks = append(s.Chunks, h.Chunk.ID)
		}
		e.Searches = append(e.Searches, s)
	}
	return nil
}

// fresh reports whether an answer is still valid. Even if the collection has the same version, the documents must be the same: a collection that
// was deleted and created anew may get an earlier version number.
func fresh(ctx context.Context, docs Documents, e *Entry, changed bool) (bool, error) {
	ids := make([]corpus.DocumentID, len(e.Dependencies))
	for i, r := range e.Dependencies {
		ids[i] = r.Document
	}
	hashes, err := docs.Hashes(ctx, e.Scope.Collection, ids)
	if err != nil {
		return false, err
	}
	for _, r := range e.Dependencies {
		if now, ok := hashes[r.Document]; !ok || now != r.Hash {
			return false, nil
		}
	}
	if !changed {
		return true, nil
	}
	if e.Abstained || len(e.Searches) == 0 {
		return false, nil
	}
	for _, s := range e.Searches {
		hits, err := docs.Search(ctx, e.Scope.Collection, s.Question, checked)
		if err != nil {
			return false, err
		}
		for _, h := range hits {
			if h.Score >= relevant && !slices.Contains(s.Chunks, h.Chunk.ID) {
				return false, nil
			}
		}
	}
	return true, nil
}
