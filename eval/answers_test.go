package eval_test

import (
	"testing"

	"github.com/sluice-rag/sluice/eval"
)

func TestAnswerMeasures(t *testing.T) {
	for _, c := range []struct {
		name, answer     string
		expected         []string
		exact, f1, holds float64
	}{
		{"the same", "Denver Broncos", []string{"Denver Broncos"}, 1, 1, 1},
		{"articles, letters, punctuation and space", "The  Denver broncos!", []string{"Denver Broncos"}, 1, 1, 1},
		{"articles inside", "queen of the an island", []string{"Queen of Island"}, 1, 1, 1},
		{"hyphens go, as in SQuAD's script", "co-operative", []string{"cooperative"}, 1, 1, 1},
		{"no article inside a word", "another theatre", []string{"other atre"}, 0, 0, 0},
		{"an article before a letter of another alphabet", "aé", []string{"é"}, 0, 0, 0},
		{"a dash that is not ASCII parts words", "a–b", []string{"–b"}, 1, 1, 1},
		{"a sentence", "It was opened in 1932, and rebuilt.", []string{"1932"}, 0, 2 * 1 / 8.0, 1},
		{"the best of several", "in 1932", []string{"the year 1932", "1932"}, 0, 2.0 / 3, 1},
		{"words count as often as they stand", "no no no", []string{"no yes no"}, 0, 2.0 / 3, 0},
		{"part of a word", "19320", []string{"1932"}, 0, 0, 0},
		{"words apart", "Denver is home to the Broncos", []string{"Denver Broncos"}, 0, 2 * 2 / 7.0, 0},
		{"none expected, none given", "", nil, 1, 1, 0},
		{"none expected, one given", "1932", nil, 0, 0, 0},
		{"one expected, none given", "", []string{"1932"}, 0, 0, 0},
		{"nothing left of what is expected", "", []string{"the"}, 1, 1, 0},
		{"not UTF-8", "\xff 1932 \xc3", []string{"1932"}, 0, 0.5, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			near(t, "exact match", eval.ExactMatch(c.answer, c.expected), c.exact)
			near(t, "F1", eval.F1(c.answer, c.expected), c.f1)
			near(t, "holds", eval.ContainsGold(c.answer, c.expected), c.holds)
		})
	}
}
