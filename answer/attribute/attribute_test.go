package attribute_test

import (
	"math"
	"testing"

	"github.com/sluice-rag/sluice/answer/attribute"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

func chunks(texts ...string) []corpus.Chunk {
	out := make([]corpus.Chunk, len(texts))
	for i, s := range texts {
		out[i].Text = s
	}
	return out
}

func TestAttribute(t *testing.T) {
	cs := chunks("Gold settles behind riffles of the box.", "Water carries the gravel away from the box.", "Bread is baked.")
	for _, stats := range []index.TermStats{{}, {Chunks: 100, DF: map[string]int{"gold": 3, "riffl": 1, "box": 50}}} {
		got := attribute.Attribute("Gold settles behind riffles. ⟦1⟧ Water carries the gravel away [2].", cs, stats)
		if sum := got[0] + got[1] + got[2]; math.Abs(sum-1) > 1e-9 || got[2] != 0 || got[0] < 0.3 || got[1] < 0.2 {
			t.Errorf("shares %v", got)
		}
	}
	if got := attribute.Attribute("Gold settles behind riffles of the box.", cs, index.TermStats{}); got[0] < 0.85 {
		t.Errorf("a copied sentence gives its source %v", got[0])
	}
	for _, answer := range []string{"", "Elephants fly.", "\xff\x1d⟦"} {
		for _, x := range attribute.Attribute(answer, cs, index.TermStats{}) {
			if x != 0 {
				t.Errorf("%q: share %v", answer, x)
			}
		}
	}
	if got := attribute.Attribute("Gold.", nil, index.TermStats{}); len(got) != 0 {
		t.Errorf("shares %v of nothing", got)
	}
}

func TestVerified(t *testing.T) {
	cs := chunks("Gold settles behind riffles of the box.", "Water carries the gravel away from the box.", "Bread is baked.")
	for i := range cs {
		cs[i].ID = corpus.ChunkID(string(rune('a' + i)))
	}
	settles, carries := "Gold settles behind riffles. ⟦1⟧", "Water carries the gravel away [2]."
	for _, c := range []struct {
		name   string
		claims []attribute.Claim
		want   []float64
	}{
		{"no claims", nil, []float64{0, 0, 0}},
		{"none is borne out", []attribute.Claim{{Text: settles}, {Text: carries}}, []float64{0, 0, 0}},
		{"one is", []attribute.Claim{{Text: settles, Chunks: []corpus.ChunkID{"a"}}, {Text: carries}}, []float64{1, 0, 0}},
		{"each by its own", []attribute.Claim{{Text: settles, Chunks: []corpus.ChunkID{"a"}}, {Text: carries, Chunks: []corpus.ChunkID{"b"}}}, []float64{0.5, 0.5, 0}},
		{"by one that holds it and one that does not", []attribute.Claim{{Text: settles, Chunks: []corpus.ChunkID{"a", "c"}}}, []float64{1, 0, 0}},
		{"in other words", []attribute.Claim{{Text: "Nuggets sink.", Chunks: []corpus.ChunkID{"a", "b"}}}, []float64{0.5, 0.5, 0}},
		{"by what is not listed", []attribute.Claim{{Text: settles, Chunks: []corpus.ChunkID{"z"}}}, []float64{0, 0, 0}},
	} {
		got := attribute.Verified(c.claims, cs, index.TermStats{})
		for k := range got {
			if math.Abs(got[k]-c.want[k]) > 0.07 {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

func FuzzAttribute(f *testing.F) {
	f.Add("Gold settles.", "gold", 10, 3)
	f.Add("\xff⟦1⟧", "a\x00", -1, 5)
	f.Fuzz(func(t *testing.T, answer, source string, n, df int) {
		got := attribute.Attribute(answer, chunks(source, answer, ""), index.TermStats{Chunks: n, DF: map[string]int{"gold": df}})
		sum := 0.0
		for _, x := range got {
			sum += x
		}
		if math.IsNaN(sum) || sum != 0 && math.Abs(sum-1) > 1e-6 {
			t.Fatalf("shares %v", got)
		}
	})
}

func BenchmarkAttribute(b *testing.B) {
	cs := chunks("Gold settles behind riffles of the box.", "Water carries the gravel away from the box.", "Bread is baked.")
	for b.Loop() {
		attribute.Attribute("Gold settles behind riffles. Water carries the gravel away.", cs, index.TermStats{})
	}
}
