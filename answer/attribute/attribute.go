// Package attribute computes how much of an answer comes from each source.
package attribute

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

var markRE = regexp.MustCompile(`⟦[^⟧]{0,20}⟧|\[[0-9, ]{1,20}\]`)

// Claim is a statement of an answer with the passages that support it, or none.
type Claim struct {
	Text   string
	Chunks []corpus.ChunkID
}

// Verified returns the share of each chunk in the supported claims of the answer, in the order of the chunks. The shares
// add up to 1, or are all 0 if no claim is supported. A claim has the weight of its terms, which is divided among its
// supporting chunks as [Attribute] divides a sentence, or evenly if none of them contains one of its terms.
func Verified(claims []Claim, chunks []corpus.Chunk, stats index.TermStats) []float64 {
	d := divide(language(claims), chunks, stats)
	for _, c := range claims {
		d.add(markRE.ReplaceAllString(c.Text, " "), func(k int) bool { return slices.Contains(c.Chunks, chunks[k].ID) }, true)
	}
	return d.normal()
}

// Attribute returns the share of each chunk in an unverified answer, in the order of the chunks. The shares add up to 1,
// or are all 0 if no chunk contains a term of the answer. Each sentence of the answer has the weight of its terms, which
// is divided among the chunks in proportion to the square of the share of these terms that each contains. The square
// favours the chunk that the sentence was taken from. The weight of a term is its inverse document frequency in stats, as
// written or stemmed; with zero stats all weights are equal.
func Attribute(answer string, chunks []corpus.Chunk, stats index.TermStats) []float64 {
	d := divide(lang.OfQuestion(answer), chunks, stats)
	answer = markRE.ReplaceAllString(answer, " ")
	for _, sp := range lang.Sentences(answer) {
		d.add(answer[sp.Start:sp.End], func(int) bool { return true }, false)
	}
	return d.normal()
}

// language returns the language of an answer.
func language(claims []Claim) *lang.Language {
	var all strings.Builder
	for _, c := range claims {
		all.WriteString(c.Text + "\n")
	}
	return lang.OfQuestion(all.String())
}

// division accumulates the shares of chunks.
type division struct {
	language *lang.Language // of the answer
	stats    index.TermStats
	held     []map[string]struct{} // stems in each chunk
	shares   []float64
	sum      float64
}

func divide(l *lang.Language, chunks []corpus.Chunk, stats index.TermStats) *division {
	d := &division{language: l, stats: stats, held: make([]map[string]struct{}, len(chunks)), shares: make([]float64, len(chunks))}
	for i, c := range chunks {
		d.held[i] = l.TermSet(c.WithHeadings())
	}
	return d
}

// add divides a statement among the chunks that may allows. If none of them contains a term of it, it is divided evenly
// or, if evenly is false, not at all.
func (d *division) add(statement string, may func(k int) bool, evenly bool) {
	terms := d.language.UniqueTerms(statement)
	weights := make([]float64, len(terms))
	total := 0.0
	for i, t := range terms {
		weights[i] = weight(t, d.stats)
		total += weights[i]
	}
	squares, all, some := make([]float64, len(d.shares)), 0.0, 0
	for k := range squares {
		if !may(k) {
			squares[k] = -1
			continue
		}
		some++
		cover := 0.0
		for i, t := range terms {
			if _, ok := d.held[k][t.Stem]; ok {
				cover += weights[i]
			}
		}
		squares[k] = cover * cover
		all += squares[k]
	}
	if some == 0 || all == 0 && !evenly {
		return
	}
	for k, x := range squares {
		switch {
		case x < 0:
		case all > 0:
			d.shares[k] += total * x / all
		default:
			d.shares[k] += total / float64(some)
		}
	}
	d.sum += total
}

func (d *division) normal() []float64 {
	for k := range d.shares {
		if d.sum > 0 {
			d.shares[k] /= d.sum
		}
	}
	return d.shares
}

func weight(t lang.Term, stats index.TermStats) float64 {
	df, ok := stats.DF[t.Word]
	if !ok {
		df = stats.DF[t.Stem]
	}
	return lang.IDF(stats.Chunks, df)
}
