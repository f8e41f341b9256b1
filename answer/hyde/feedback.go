package hyde

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

const (
	feedback    = 8    // terms that are added
	maxWords    = 256  // of a question that are searched for
	maxQuestion = 8192 // bytes of a question that are read
)

// Feedback is the [Writer] that needs no model: the terms of the best passages stand in for the answer (pseudo-relevance
// feedback, Rocchio 1971).
type Feedback struct{}

// Write implements [Writer]. There is no error.
func (Feedback) Write(_ context.Context, question string, hits []index.Hit) (Draft, error) {
	q := fedBack(question, hits)
	return Draft{Words: q, Passage: q, By: "feedback"}, nil
}

// fedBack is the question with the terms that set the best passages apart: those that are frequent in them and are not asked
// for. It is the question's own words where nothing was found.
func fedBack(question string, hits []index.Hit) string {
	counts := map[string]float64{}
	asked := map[string]bool{}
	for _, t := range lang.Terms(lang.Head(question, maxQuestion)) {
		asked[t] = true
	}
	first := map[string]string{}
	for i, h := range hits[:min(3, len(hits))] {
		seen := map[string]bool{}
		for _, w := range lang.Words(h.Chunk.Text) {
			stem := lang.Stem(w.Text)
			if len(w.Text) < 3 || lang.Stop(w.Text) || asked[stem] {
				continue
			}
			if first[stem] == "" {
				first[stem] = w.Text
			}
			if !seen[stem] {
				counts[stem] += 1 / float64(i+1)
			}
			counts[stem] += 0.1
			seen[stem] = true
		}
	}
	stems := make([]string, 0, len(counts))
	for s := range counts {
		stems = append(stems, s)
	}
	slices.SortFunc(stems, func(a, b string) int {
		if d := counts[b] - counts[a]; math.Abs(d) > 1e-9 {
			return int(math.Copysign(1, d))
		}
		return strings.Compare(a, b)
	})
	query := lang.Content(question, maxWords)
	for _, s := range stems[:min(feedback, len(stems))] {
		query = append(query, first[s])
	}
	return strings.Join(query, " ")
}
