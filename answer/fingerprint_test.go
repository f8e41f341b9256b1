package answer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// words returns n words of a vocabulary.
func words(r *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", r.IntN(500))
	}
	return out
}

// exact returns the Jaccard coefficient of the sequences of words of two texts.
func exact(a, b []string) float64 {
	set := func(w []string) map[string]bool {
		out := map[string]bool{}
		for i := range max(0, len(w)-shingleWords+1) {
			out[strings.Join(w[i:i+shingleWords], " ")] = true
		}
		return out
	}
	x, y := set(a), set(b)
	both := 0
	for s := range x {
		if y[s] {
			both++
		}
	}
	return float64(both) / float64(max(1, len(x)+len(y)-both))
}

// TestSimilarity compares the estimate with the coefficient: texts of any length, of which a part is changed.
func TestSimilarity(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a := words(r, r.IntN(400))
		b := append([]string{}, a...)
		for range r.IntN(20) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = "changed"
			}
		}
		x, y := fingerprintOf(strings.Join(a, " ")), fingerprintOf(strings.Join(b, ", "))
		got, want := x.similarity(&y), exact(a, b)
		if most := 0.21; math.Abs(got-want) > most || len(a)+len(b) < sketchSize && math.Abs(got-want) > 1e-9 {
			t.Errorf("%d words: similarity %.3f, want %.3f", len(a), got, want)
		}
		if (x.all == y.all) != (strings.Join(a, " ") == strings.Join(b, " ")) {
			t.Errorf("%q and %q", a, b)
		}
	}
	empty := fingerprintOf(" .")
	if empty.similarity(&empty) != 0 {
		t.Error("texts without words are similar")
	}
}

func BenchmarkFingerprint(b *testing.B) {
	text := strings.Join(words(rand.New(rand.NewPCG(1, 2)), 180), " ")
	b.ReportAllocs()
	for b.Loop() {
		fingerprintOf(text)
	}
}
