package app

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

// ranks is a reranker that names itself.
type ranks string

func (r ranks) Rerank(_ context.Context, _ string, chunks []corpus.Chunk, _ index.TermStats) (rerank.Ranking, error) {
	return rerank.Ranking{Scores: make([]float64, len(chunks)), Method: string(r)}, nil
}

// embeds returns token vectors, or blocks until it is cancelled.
type embeds struct {
	hangs bool
	asked atomic.Int32
}

func (e *embeds) EmbedTokens(ctx context.Context, texts []string, _ model.Purpose) ([][]model.TokenVector, error) {
	e.asked.Add(1)
	if e.hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	out := make([][]model.TokenVector, len(texts))
	for i := range out {
		out[i] = []model.TokenVector{{Token: "a", Weight: 1, Vector: []float32{1}}}
	}
	return out, nil
}

// TestRerankerDoesNotWaitForServer checks that questions do not wait for a server that returns no token vectors, except for one
// question in each retry interval.
func TestRerankerDoesNotWaitForServer(t *testing.T) {
	t.Parallel()
	chunks := []corpus.Chunk{{ID: "c", Text: "a"}}
	rank := func(t *testing.T, l *lazyReranker) (method string, took time.Duration) {
		began := time.Now()
		r, err := l.Rerank(t.Context(), "a", chunks, index.TermStats{})
		require.NoError(t, err)
		return r.Method, time.Since(began)
	}
	synctest.Test(t, func(t *testing.T) {
		up, asked := false, 0
		l := newLazyReranker(func(ctx context.Context) bool {
			if asked++; !up {
				<-ctx.Done()
			}
			return up
		}, &embeds{}, "m", ranks("static"))
		if m, took := rank(t, l); m != "static" || took != perTokenTimeout {
			t.Errorf("first: %s after %v", m, took)
		}
		if m, took := rank(t, l); m != "static" || took != 0 || asked != 1 {
			t.Errorf("second: %s after %v, asked %d times", m, took, asked)
		}
		up = true
		time.Sleep(perTokenRetry) // of the bubble
		if m, took := rank(t, l); m != "colbert:m" || took != 0 {
			t.Errorf("once it is there: %s after %v", m, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := &embeds{hangs: true}
		l := newLazyReranker(func(context.Context) bool { return true }, e, "m", ranks("static"))
		if m, took := rank(t, l); m != "static" || took == 0 {
			t.Errorf("one that hangs: %s after %v", m, took)
		}
		asked := e.asked.Load()
		if m, took := rank(t, l); m != "static" || took != 0 || e.asked.Load() != asked {
			t.Errorf("the next question: %s after %v", m, took)
		}
		e.hangs = false
		time.Sleep(perTokenRetry)
		if m, _ := rank(t, l); m != "colbert:m" {
			t.Errorf("once it answers: %s", m)
		}
	})
}
