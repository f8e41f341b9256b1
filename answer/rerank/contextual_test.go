package rerank_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// server gives tokens as a server does, from a function; nil stands for a good one.
type server func(ctx context.Context, texts []string, p model.Purpose) ([][]model.TokenVector, error)

func (s server) EmbedTokens(ctx context.Context, texts []string, p model.Purpose) ([][]model.TokenVector, error) {
	if s == nil {
		return embedded(texts), nil
	}
	return s(ctx, texts, p)
}

// embedded places each word by itself, with the marks of a model around them.
func embedded(texts []string) [][]model.TokenVector {
	axes := map[string][]float32{"gold": {1, 0, 0}, "metal": {0.8, 0.6, 0}, "riffles": {0, 1, 0}, "bread": {0, 0, 1}}
	out := make([][]model.TokenVector, len(texts))
	for i, s := range texts {
		out[i] = []model.TokenVector{{Token: "[CLS]", Vector: []float32{1, 0, 0}}, {Token: "", Vector: []float32{1, 0, 0}}, {Token: "gold"}}
		for w := range strings.FieldsSeq(strings.ToLower(s)) {
			if v := axes[w]; v != nil {
				out[i] = append(out[i], model.TokenVector{Token: w, Vector: v})
			}
		}
		out[i] = append(out[i], model.TokenVector{Token: "</s>", Vector: []float32{0, 1, 0}}, model.TokenVector{Token: " . ", Vector: []float32{0, 1, 0}})
	}
	return out
}

func passages(texts ...string) (out []corpus.Chunk) {
	for _, s := range texts {
		out = append(out, corpus.Chunk{Text: s})
	}
	return out
}

var free = rerank.New(local.New(local.Options{}))

func TestContextual(t *testing.T) {
	var calls, queries atomic.Int32
	s := server(func(_ context.Context, texts []string, p model.Purpose) ([][]model.TokenVector, error) {
		calls.Add(1)
		if p == model.ForQuery {
			queries.Add(1)
		}
		if len(texts) > 3 {
			t.Errorf("%d texts at once", len(texts))
		}
		for _, s := range texts {
			if len(s) > 2100 || strings.Contains(s, "\x00") {
				t.Errorf("a text of %d bytes", len(s))
			}
		}
		return embedded(texts), nil
	})
	ctx, told := modeltest.RecordTrace(t.Context())
	long := strings.Repeat("Nothing here. ", 1000) + "gold riffles"
	got, err := rerank.NewContextual(s, "bge-m3", free, rerank.Options{Batch: 3}).
		Rerank(ctx, "gold\x00 riffles", passages("bread", "metal riffles", "gold riffles", "", long, "gold", "metal"), index.TermStats{})
	want := rerank.Ranking{Scores: []float64{0, 0.9, 1, 0, 1, 0.5, 0.7}, Method: "colbert:bge-m3"}
	if err != nil || len(*told) != 0 || calls.Load() != 4 || queries.Load() != 1 || got.Method != want.Method || len(got.Scores) != len(want.Scores) {
		t.Fatalf("%+v, %v, told %q, %d calls, %d queries", got, err, *told, calls.Load(), queries.Load())
	}
	for i, x := range got.Scores {
		if math.Abs(x-want.Scores[i]) > 1e-6 {
			t.Errorf("passage %d scores %v, want %v", i, x, want.Scores[i])
		}
	}
}

func TestContextualFallsBack(t *testing.T) {
	chunks := passages("bread", "metal riffles", "gold riffles")
	ranked, err := free.Rerank(t.Context(), "gold riffles", chunks, index.TermStats{})
	require.NoError(t, err)
	// changed changes what a good server gives for passages.
	changed := func(f func(all [][]model.TokenVector) [][]model.TokenVector) server {
		return func(_ context.Context, texts []string, p model.Purpose) ([][]model.TokenVector, error) {
			if p == model.ForQuery {
				return embedded(texts), nil
			}
			return f(embedded(texts)), nil
		}
	}
	const malformed = "bge-m3 sent an invalid reply"
	for _, c := range []struct {
		name  string
		gives server
		told  string
		took  time.Duration
	}{
		{"it breaks", func(context.Context, []string, model.Purpose) ([][]model.TokenVector, error) {
			return nil, &model.Error{Model: "bge-m3", Failure: model.ServerError}
		}, "bge-m3 failed", 0},
		{"one batch breaks", func(ctx context.Context, texts []string, _ model.Purpose) ([][]model.TokenVector, error) {
			if strings.Contains(texts[0], "metal") {
				return nil, &model.Error{Model: "bge-m3", Failure: model.ServerError}
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}, "bge-m3 failed", 0},
		{"slow", func(ctx context.Context, _ []string, _ model.Purpose) ([][]model.TokenVector, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "bge-m3 took too long", 5 * time.Second},
		{"a list too few", changed(func(all [][]model.TokenVector) [][]model.TokenVector { return all[1:] }), malformed, 0},
		{"a list too many", changed(func(all [][]model.TokenVector) [][]model.TokenVector { return append(all, all[0]) }), malformed, 0},
		{"another dimension", changed(func(all [][]model.TokenVector) [][]model.TokenVector {
			all[0] = append(all[0], model.TokenVector{Token: "x", Vector: []float32{1, 0}})
			return all
		}), malformed, 0},
		{"no number", changed(func(all [][]model.TokenVector) [][]model.TokenVector {
			all[0] = append(all[0], model.TokenVector{Token: "x", Vector: []float32{float32(math.NaN()), 0, 0}})
			return all
		}), malformed, 0},
		{"a question without vectors", func(_ context.Context, texts []string, _ model.Purpose) ([][]model.TokenVector, error) {
			return make([][]model.TokenVector, len(texts)), nil
		}, malformed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, told := modeltest.RecordTrace(t.Context())
				ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
				defer cancel()
				began := time.Now()
				got, err := rerank.NewContextual(c.gives, "bge-m3", free, rerank.Options{Batch: 1}).Rerank(ctx, "gold riffles", chunks, index.TermStats{})
				if d := cmp.Diff(ranked, got); d != "" || err != nil || time.Since(began) != c.took {
					t.Error(d, err, time.Since(began))
				}
				if len(*told) != 1 || !strings.HasPrefix((*told)[0], c.told) || !strings.HasSuffix((*told)[0], "| bge-m3 > colbert") {
					t.Errorf("told %q", *told)
				}
			})
		})
	}
}

func TestContextualEndsWithItsCaller(t *testing.T) {
	ctx, told := modeltest.RecordTrace(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	_, err := rerank.NewContextual(server(func(ctx context.Context, _ []string, _ model.Purpose) ([][]model.TokenVector, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}), "bge-m3", free, rerank.Options{}).Rerank(ctx, "gold", passages("gold"), index.TermStats{})
	if !errors.Is(err, context.Canceled) || len(*told) != 0 {
		t.Errorf("%v, told %q", err, *told)
	}
	got, err := rerank.NewContextual(server(nil), "bge-m3", free, rerank.Options{}).Rerank(t.Context(), "gold", nil, index.TermStats{})
	if err != nil || len(got.Scores) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
