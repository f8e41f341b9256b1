package rerank_test

import (
	"context"
	"errors"
	"sort"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

var _ rerank.Reranker = (*rerank.MaxSim)(nil)

func TestMaxSim(t *testing.T) {
	r := rerank.New(local.New(local.Options{}))
	chunks := []corpus.Chunk{
		{Text: "The bank raised its interest rate."},
		{Text: "A kitten slept on the rug."},
		{Text: "The cat slept on the carpet."},
		{Text: ""},
		{Text: "\xff\x1d"},
	}
	got, err := r.Rerank(context.Background(), "Where did the cat sleep?", chunks, index.TermStats{Chunks: 100, DF: map[string]int{"cat": 5, "sleep": 9}})
	require.NoError(t, err)
	if x := got.Scores; x[2] <= x[1] || x[1] <= x[0] || x[3] != 0 || x[4] != 0 || got.Method != "colbert" {
		t.Errorf("%s: scores %v", got.Method, x)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Rerank(ctx, "cat", chunks, index.TermStats{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestFloorBlendOnTuningSets measures the blend on the sets that the share was chosen with.
func TestFloorBlendOnTuningSets(t *testing.T) {
	blend(t, 0.005, "scifact", "squad", "hotpotqa", "musique")
}

// TestFloorBlend measures the blend on sets in languages that nothing was fitted to, of which the local model knows few words: a
// share of 0.4 was measured to cost up to 0.005.
func TestFloorBlend(t *testing.T) { blend(t, 0.015, "xquad-de", "xquad-es") }

// blend measures how a share of MaxSim changes the order by BM25, both normalised to 0..1 over 30 passages. A share of 0.4 may cost
// at most loss of nDCG@10.
func blend(t *testing.T, loss float64, names ...string) {
	race.Measure(t)
	r := rerank.New(local.New(local.Options{}))
	for _, name := range names {
		s := beir.Load(t, name)
		blends := []float64{0, 0.2, 0.4, 0.5, 1}
		sums := make([]float64, len(blends))
		n := 0.0
		for i, q := range s.Queries {
			if i%(1+len(s.Queries)/150) != 0 { // about 150 of each set
				continue
			}
			hits := s.Search(q.Text, 30)
			if len(q.Relevant) == 0 || len(hits) == 0 {
				continue
			}
			n++
			chunks := make([]corpus.Chunk, len(hits))
			first := make([]float64, len(hits))
			for i, h := range hits {
				chunks[i], first[i] = h.Chunk, h.Lexical
			}
			ranking, err := r.Rerank(context.Background(), q.Text, chunks, s.Stats(q.Text))
			require.NoError(t, err)
			normalise(first)
			normalise(ranking.Scores)
			for k, share := range blends {
				sums[k] += eval.NDCG(order(chunks, first, ranking.Scores, share), q.Relevant, 10)
			}
		}
		for k, share := range blends {
			t.Logf("%s: nDCG@10 with a share of %.1f is %.4f", name, share, sums[k]/n)
		}
		if sums[2] < sums[0]-loss*n {
			t.Errorf("%s: a share of 0.4 hurts", name)
		}
	}
}

func order(chunks []corpus.Chunk, first, second []float64, share float64) []string {
	at := make([]int, len(chunks))
	for i := range at {
		at[i] = i
	}
	blend := func(i int) float64 { return (1-share)*first[i] + share*second[i] }
	sort.SliceStable(at, func(i, j int) bool { return blend(at[i]) > blend(at[j]) })
	ids := make([]string, len(at))
	for i, k := range at {
		ids[i] = string(chunks[k].ID)
	}
	return ids
}

func normalise(v []float64) {
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	for i := range v {
		if hi > lo {
			v[i] = (v[i] - lo) / (hi - lo)
		}
	}
}

func BenchmarkRerank30(b *testing.B) {
	r := rerank.New(local.New(local.Options{}))
	chunks := make([]corpus.Chunk, 30)
	for i := range chunks {
		chunks[i].Text = strings.Repeat("Gold settles behind the riffles of the wooden box while running water carries gravel away. ", 8)
	}
	for b.Loop() {
		if _, err := r.Rerank(b.Context(), "Where does heavy metal collect in a sluice?", chunks, index.TermStats{}); err != nil {
			b.Fatal(err)
		}
	}
}
