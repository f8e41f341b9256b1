package wire_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/wire"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s     string
		limit int
		want  string
	}{{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "…"}, {"abcd", 4, "abcd"}, {"abcde", 4, "a…"}, {"aéé", 5, "aéé"}, {"aééé", 5, "a…"}, {"aééé", 6, "aé…"}} {
		if got := wire.Clip(c.s, c.limit); got != c.want {
			t.Errorf("%q to %d bytes: %q, want %q", c.s, c.limit, got, c.want)
		}
	}
	for limit := 3; limit < 40; limit++ {
		if got := wire.Clip(strings.Repeat("é🕯a", 9), limit); len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("to %d bytes: %q", limit, got)
		}
	}
}

func TestRound(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]float64{0.84721: 0.8472, 0.99996: 1, -0.00004: 0, math.Inf(1): 0, math.Inf(-1): 0} {
		if got := wire.Round(f); got != want {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
	}
	if got := wire.Round(math.NaN()); got != 0 {
		t.Errorf("NaN: %v", got)
	}
}
