// Package attribute says how much of an answer comes from each source.
package attribute

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
)

var markRE = regexp.MustCompile(`⟦[^⟧]{0,20}⟧|\[[0-9, ]{1,20}\]`)

// Attribute gives the share of the answer that each chunk accounts for, in the order of chunks. The shares add up to 1, or
// are all 0 where no chunk holds a term of the answer. Each sentence of the answer counts with the weight of its terms, and
// is divided among the chunks by the square of the share of those terms that each holds, so that a sentence goes to where
// it stands and not to all that speak of the same things. Terms weigh their inverse document frequency in stats, as written
// or stemmed; where stats are zero, all weigh the same.
func Attribute(answer string, chunks []corpus.Chunk, stats index.TermStats) []float64 {
	shares := make([]float64, len(chunks))
	held := make([]map[string]struct{}, len(chunks))
	for i, c := range chunks {
		held[i] = text.Set(c.Title + "\n" + strings.Join(c.Headings, "\n") + "\n" + c.Text)
	}
	answer = markRE.ReplaceAllString(answer, " ")
	sum := 0.0
	for _, sp := range text.Sentences(answer) {
		terms := text.Unique(answer[sp.Start:sp.End])
		weights := make([]float64, len(terms))
		total := 0.0
		for i, t := range terms {
			weights[i] = weight(t, stats)
			total += weights[i]
		}
		squares, all := make([]float64, len(chunks)), 0.0
		for k := range chunks {
			cover := 0.0
			for i, t := range terms {
				if _, ok := held[k][t.Stem]; ok {
					cover += weights[i]
				}
			}
			squares[k] = cover * cover
			all += squares[k]
		}
		if all == 0 {
			continue
		}
		for k := range chunks {
			shares[k] += total * squares[k] / all
		}
		sum += total
	}
	if sum > 0 {
		for k := range shares {
			shares[k] /= sum
		}
	}
	return shares
}

func weight(t text.Term, stats index.TermStats) float64 {
	df, ok := stats.DF[t.Word]
	if !ok {
		df = stats.DF[t.Stem]
	}
	return text.IDF(stats.Chunks, df)
}
