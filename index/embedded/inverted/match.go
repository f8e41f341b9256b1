package inverted

import (
	"fmt"
	"sync"

	"github.com/blevesearch/vellum"
	"github.com/blevesearch/vellum/levenshtein"
	"github.com/blevesearch/vellum/regexp"
)

// Pattern returns an automaton that accepts the terms that a regular expression matches wholly. It has all states of the expression, so repetitions with
// limits make it slow to build.
func Pattern(expression string) (vellum.Automaton, error) { return regexp.New(expression) }

// MaxEdits is the greatest number of edits of [Near].
const MaxEdits = 2

// nearBuilders make the automatons for 1 and 2 edits. They take long to make.
var nearBuilders = sync.OnceValues(func() (out [MaxEdits]*levenshtein.LevenshteinAutomatonBuilder, err error) {
	for i := range out {
		if out[i], err = levenshtein.NewLevenshteinAutomatonBuilder(uint8(i+1), true); err != nil {
			return out, err
		}
	}
	return out, nil
})

// Near returns an automaton that accepts the terms within 1 to [MaxEdits] edits of a term: an inserted, missing or other letter, or two in another order.
func Near(term string, edits int) (vellum.Automaton, error) {
	if edits < 1 || edits > MaxEdits {
		return nil, fmt.Errorf("%d edits of a term: they must be 1 to %d", edits, MaxEdits)
	}
	builders, err := nearBuilders()
	if err != nil {
		return nil, err
	}
	return builders[edits-1].BuildDfa(term, uint8(edits))
}
