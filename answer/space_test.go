package answer_test

import (
	"context"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
)

// spaces is a grader that records the vector spaces of the passages.
type spaces struct {
	grade.Coverage
	mu   sync.Mutex
	seen map[string]bool
}

// Grade implements [grade.Grader].
func (s *spaces) Grade(ctx context.Context, question string, chunks []grade.Scored, stats index.TermStats) (grade.Grades, error) {
	s.mu.Lock()
	for _, c := range chunks {
		s.seen[c.Space] = true
	}
	s.mu.Unlock()
	return s.Coverage.Grade(ctx, question, chunks, stats)
}

// TestGradersGetVectorSpace checks that graders get the vector space: the meaning of a cosine differs between embedders.
func TestGradersGetVectorSpace(t *testing.T) {
	t.Parallel()
	const question = "Who is the keeper of the Farland lighthouse?"
	p := library()
	space := ""
	if placed, err := p.Vectors.SearchVector(t.Context(), "", question, 0); err == nil {
		space = placed.Space
	}
	for _, vectors := range []bool{true, false} {
		seen := &spaces{seen: map[string]bool{}}
		with := *p
		with.Grader = seen
		if !vectors {
			with.Vectors = nil
		}
		s := event.Fold(askDirect(t, &with, question))
		if s.Status != event.Finished || space == "" || seen.seen[space] != vectors || seen.seen[""] == vectors {
			t.Errorf("vectors %v: %s, spaces %v", vectors, s.Status, seen.seen)
		}
	}
}
