package local

import (
	"testing"

	"github.com/sluice-rag/sluice/model"
)

// TestPickWhenUnsure: beside an uncertain sentence, another one is quoted that has less of the question, but no row and none of a few words.
func TestPickWhenUnsure(t *testing.T) {
	t.Parallel()
	q := New(Options{}).ask(model.Task{Question: "What is the lock of the gate?"})
	for name, c := range map[string]struct {
		certain float64
		change  func(*sentence)
		want    int
	}{
		"uncertain":                     {0, func(*sentence) {}, 2},
		"certain":                       {20, func(*sentence) {}, 1},
		"uncertain, before a row":       {0, func(s *sentence) { s.row = true }, 1},
		"uncertain, before a few words": {0, func(s *sentence) { s.evid[short] = 1 }, 1},
	} {
		best := &sentence{text: "The lock of the gate is new.", stems: []string{"lock", "gate", "new"}, whole: true, score: 9}
		best.evid[own], best.evid[certain] = 1, c.certain
		other := &sentence{text: "It is kept by Ada.", stems: []string{"kept", "ada"}, whole: true, score: 8.5, at: 1}
		other.evid[own] = 0.1
		c.change(other)
		all := []*sentence{best, other}
		for _, s := range all {
			s.exact, s.covers, s.over = make([]float64, len(q.terms)), make([]float64, len(q.terms)), make([]float64, len(q.terms))
		}
		if got := len(q.pick(all, []*passageView{{cs: all}}, 2)); got != c.want {
			t.Errorf("%s: %d sentences, want %d", name, got, c.want)
		}
	}
}
