package cache

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

const (
	// best is how many of the passages that a search finds now are looked at, and among how many of those that it found then
	// they must be: a change elsewhere moves the last ones a little.
	best      = 20
	bestThen  = 2 * best
	maxAnchor = 4 // searches that are repeated for one answer, the question's own first

	// ofWeight is the score, 0..1, below which a passage has too little to do with a question to change its answer. It is a share
	// of the best passage's: see [index.Fuse].
	ofWeight = 0.3
)

// Documents are what answers are made from. Its methods may be called at once.
type Documents interface {
	index.Versions
	// Search gives the passages that a plain search finds for a question, best first, at most limit.
	Search(ctx context.Context, collection, question string, limit int) ([]index.Hit, error)
}

// fill says in an entry what it rests on.
func fill(ctx context.Context, docs Documents, e *Entry) error {
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
	e.Rests = nil
	for _, id := range ids {
		e.Rests = append(e.Rests, Rest{id, hashes[id]})
	}
	if e.Abstained {
		e.Searches = nil // any change ends it
		return nil
	}
	asked := []string{e.Question}
	for _, s := range e.Searches {
		if s.Question != "" && !slices.Contains(asked, s.Question) && len(asked) < maxAnchor {
			asked = append(asked, s.Question)
		}
	}
	e.Searches = nil
	for _, q := range asked {
		hits, err := docs.Search(ctx, e.Scope.Collection, q, bestThen)
		if err != nil {
			return err
		}
		s := Search{Question: q}
		for _, h := range hits {
			s.Chunks = append(s.Chunks, h.Chunk.ID)
		}
		e.Searches = append(e.Searches, s)
	}
	return nil
}

// check tells whether an answer stands. If the collection has not changed, it is enough that the documents are there: the
// version of one that was deleted and made anew may be the same by chance.
func check(ctx context.Context, docs Documents, e *Entry, changed bool) (bool, error) {
	ids := make([]corpus.DocumentID, len(e.Rests))
	for i, r := range e.Rests {
		ids[i] = r.Document
	}
	hashes, err := docs.Hashes(ctx, e.Scope.Collection, ids)
	if err != nil {
		return false, err
	}
	for _, r := range e.Rests {
		if now, there := hashes[r.Document]; !there || now != r.Hash {
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
		hits, err := docs.Search(ctx, e.Scope.Collection, s.Question, best)
		if err != nil {
			return false, err
		}
		for _, h := range hits {
			if h.Score >= ofWeight && !slices.Contains(s.Chunks, h.Chunk.ID) {
				return false, nil
			}
		}
	}
	return true, nil
}
