package embedded_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const (
	benchPassages = 20_000
	benchDim      = 100
)

// benchText returns passages and questions. With SLUICE_DATA they come from public sets, repeated if needed; otherwise they are random
// words with Zipf's distribution.
func benchText(b *testing.B, n int) (passages, questions []string) {
	if root := os.Getenv("SLUICE_DATA"); root != "" {
		for _, name := range []string{"squad", "scifact", "hotpotqa", "2wiki", "musique"} {
			s, err := eval.Load(filepath.Join(root, name))
			require.NoError(b, err)
			for _, d := range s.Docs {
				passages = append(passages, d.Text)
			}
			for _, q := range s.Questions[:40] {
				questions = append(questions, q.Text)
			}
		}
		for i := 0; len(passages) < n; i++ {
			passages = append(passages, passages[i])
		}
		return passages[:n], questions
	}
	r := rand.New(rand.NewPCG(1, 1))
	z := rand.NewZipf(r, 1.1, 8, 60_000)
	words := func(n int) string {
		var s strings.Builder
		for range n {
			fmt.Fprintf(&s, "w%dx ", z.Uint64())
		}
		return s.String()
	}
	for range n {
		passages = append(passages, words(100))
	}
	for range 200 {
		questions = append(questions, words(10))
	}
	return passages, questions
}

func randomVector(r *rand.Rand) []float32 {
	v := make([]float32, benchDim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func benchPut(b *testing.B, x index.Writer, passages []string) {
	r := rand.New(rand.NewPCG(2, 2))
	var docs []corpus.Document
	var entries [][]index.Entry
	for i, p := range passages {
		id := fmt.Sprintf("doc%06d", i)
		docs = append(docs, corpus.Document{ID: corpus.DocumentID(id), Collection: "c"})
		entries = append(entries, []index.Entry{{Vector: randomVector(r), Chunk: corpus.Chunk{ID: corpus.ChunkID(id),
			Level: corpus.Passage, Title: id, Text: p}}})
	}
	require.NoError(b, x.Put(b.Context(), docs, entries))
}

func benchIndex(b *testing.B) (*embedded.Index, []string) {
	passages, questions := benchText(b, benchPassages)
	x, err := embedded.Open(b.Context(), b.TempDir(), embedded.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { _ = x.Close() })
	benchPut(b, x, passages)
	return x, questions
}

func BenchmarkSearch(b *testing.B) {
	x, questions := benchIndex(b)
	r := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		name           string
		words, vectors bool
	}{{"lexical", true, false}, {"vector", false, true}, {"hybrid", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			v := randomVector(r)
			i := 0
			for b.Loop() {
				q := index.Query{Collection: "c"}
				if c.words {
					q.Text = questions[i%len(questions)]
				}
				if c.vectors {
					q.Vector = v
				}
				i++
				if _, err := x.Search(context.Background(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("terms", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			if _, err := x.Terms(context.Background(), "c", strings.Fields(questions[i%len(questions)])); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPut(b *testing.B) {
	passages, _ := benchText(b, 2000)
	for b.Loop() {
		x, err := embedded.Open(b.Context(), b.TempDir(), embedded.Options{})
		require.NoError(b, err)
		benchPut(b, x, passages)
		require.NoError(b, x.Close())
	}
	b.ReportMetric(math.Round(float64(b.N*len(passages))/b.Elapsed().Seconds()), "passages/s")
}

func BenchmarkReopen(b *testing.B) {
	passages, _ := benchText(b, benchPassages)
	dir := b.TempDir()
	x, err := embedded.Open(b.Context(), dir, embedded.Options{})
	require.NoError(b, err)
	benchPut(b, x, passages)
	for b.Loop() {
		require.NoError(b, x.Close())
		if x, err = embedded.Open(b.Context(), dir, embedded.Options{}); err != nil {
			b.Fatal(err)
		}
		if hits, err := x.Search(context.Background(), index.Query{Collection: "c", Text: passages[0]}); err != nil || len(hits) == 0 {
			b.Fatal(hits, err)
		}
	}
	_ = x.Close()
}
