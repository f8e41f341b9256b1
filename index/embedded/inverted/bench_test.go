package inverted_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-rag/sluice/index/embedded/inverted"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// documents makes n documents of 100 words, whose frequencies are as in a text: the word of rank k is in a share of about 1/k.
func documents(n int) []inverted.Document {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.1, 1, 50_000)
	out := make([]inverted.Document, n)
	for row := range out {
		tokens := make([]inverted.Token, 100)
		for i := range tokens {
			tokens[i] = inverted.Token{Term: fmt.Sprintf("word%d", zipf.Uint64()), Position: i}
		}
		out[row] = inverted.Document{Row: uint64(row), Fields: [][]inverted.Token{tokens}}
	}
	return out
}

// BenchmarkChange adds 5,000 documents of 100 words, and merges ten such segments.
func BenchmarkChange(b *testing.B) {
	all := documents(50_000)
	for b.Loop() {
		x, err := inverted.Open(b.TempDir(), options)
		require.NoError(b, err)
		for i := range 10 {
			require.NoError(b, x.Change(all[i*5000:(i+1)*5000], nil, nil))
		}
		x.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*50_000*100), "ns/word")
}

// BenchmarkEach reads the postings of a frequent word in 50,000 documents.
func BenchmarkEach(b *testing.B) {
	x, err := inverted.Open(b.TempDir(), options)
	require.NoError(b, err)
	defer x.Close()
	require.NoError(b, x.Change(documents(50_000), nil, nil))
	s := x.Snapshot()
	defer s.Close()
	terms, err := s.Terms(text, nil)
	require.NoError(b, err)
	n := 0
	for b.Loop() {
		require.NoError(b, terms.Each(b.Context(), "word1", func(int, uint32, uint32, uint32) { n++ }))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/posting")
}
