package local

import (
	"math"
	"testing"
)

func TestEmbeddedTable(t *testing.T) {
	tb, err := parseTable(vectorsBin)
	if err != nil {
		t.Fatal(err)
	}
	if tb.n < 50000 || tb.dim != 100 || len(vectorsBin) > 8<<20 {
		t.Errorf("%d words of %d dimensions in %d bytes", tb.n, tb.dim, len(vectorsBin))
	}
	for i := 1; i < tb.n; i++ {
		if tb.word(i-1) >= tb.word(i) {
			t.Fatalf("words out of order: %q, %q", tb.word(i-1), tb.word(i))
		}
	}
	if row, ok := tb.row("the"); !ok || tb.rank(row) != 0 {
		t.Errorf("the is not the most frequent word")
	}
	if _, ok := tb.row("zzzzqqq"); ok {
		t.Errorf("found a word that is none")
	}
}

// FuzzTable holds that whatever parses can be used: no lookup panics and every vector is finite.
func FuzzTable(f *testing.F) {
	f.Add([]byte(tableMagic))
	small := []byte(tableMagic)
	small = append(small, 2, 0, 2, 0, 0, 0, 2, 0, 0, 0)                    // dim 2, 2 words, 2 bytes
	small = append(small, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0)              // offsets
	small = append(small, 'a', 'b', 0, 0, 1, 0, 0, 0, 128, 63, 0, 0, 0xc0) // words, ranks, scales
	small = append(small, 0x7f, 1, 2, 3, 4)
	f.Add(small)
	f.Fuzz(func(t *testing.T, b []byte) {
		tb, err := parseTable(string(b))
		if err != nil {
			return
		}
		for i := range min(tb.n, 100) {
			tb.word(i)
			tb.rank(i)
			v := make([]float32, tb.dim)
			tb.add(v, i, 1)
			if x := tb.dot(v, i); math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("dot is %v", x)
			}
			tb.row(tb.word(i))
		}
		tb.row("a")
	})
}

func BenchmarkParseTable(b *testing.B) {
	for b.Loop() {
		if _, err := parseTable(vectorsBin); err != nil {
			b.Fatal(err)
		}
	}
}
