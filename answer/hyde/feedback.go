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
	feedback    = 8    // number of added terms
	maxWords    = 256  // words of a question that are searched for
	maxQuestion = 8192 // bytes of a question that are read
)

// Feedback is the [Writer] that needs no model: it adds the terms of the best passages to the question (pseudo-relevance
// feedback, Rocchio 1971).
type Feedback struct{}

// Write implements [Writer]. The error is always nil.
func (Feedback) Write(_ context.Context, question string, hits []index.Hit) (Draft, error) {
	q := feedbackTerms(question, hits)
	return Draft{Words: q, Passage: q, By: "feedback"}, nil
}

// feedbackTerms returns the question with the terms that are frequent in the best passages and not in the question. Without hits
// it returns the words of the question.
func feedbackTerms(question string, hits []index.Hit) string {
	counts := map[string]float64{}
	asked := map[string]bool{}
	var texts []string
	for _, h := range hits[:min(3, len(hits))] {
		texts = append(texts, h.Chunk.Text)
	}
	l := lang.OfQuestion(question, texts...)
	for _, t := range l.Terms(lang.Truncate(question, maxQuestion)) {
		asked[t] = true
	}
	first := map[string]string{}
	for i, text := range texts {
		seen := map[string]bool{}
		for _, w := range lang.Words(text) {
			stem := l.Stem(w.Text)
			if len(w.Text) < 3 || l.IsStopWord(w.Text) || asked[stem] {
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
	query := l.ContentWords(question, maxWords)
	for _, s := range stems[:min(feedback, len(stems))] {
		query = append(query, first[s])
	}
	return strings.Join(query, " ")
}
