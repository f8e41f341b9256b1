package rpc

import (
	"context"
	"testing"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestRerank checks that the scores of the reranker decide the order.
func TestRerank(t *testing.T) {
	t.Parallel()
	d := &documents{&Options{Rerank: func(context.Context, string, string, []index.Hit) ([]float64, error) {
		return []float64{0.2, 0.9, 0.5}, nil
	}}}
	hits := []index.Hit{{Score: 1, Lexical: 1}, {Score: 0.9, Lexical: 2}, {Score: 0.8, Lexical: 3}}
	require.NoError(t, d.rerank(t.Context(), "default", "gold", hits))
	for i, want := range []index.Hit{{Score: 0.9, Lexical: 2}, {Score: 0.5, Lexical: 3}, {Score: 0.2, Lexical: 1}} {
		if got := hits[i]; got.Score != want.Score || got.Lexical != want.Lexical {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
}
