// Package attribute says how much of an answer comes from each source.
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

// Claim is a statement of an answer with the passages that bear it out; none, if it is unsupported.
type Claim struct {
	Text   string
	Chunks []corpus.ChunkID
}

// Verified gives the share of the answer's supported claims that each chunk accounts for, in the order of chunks. The shares
// add up to 1, or are all 0 where no claim is borne out: what the sources do not carry is nobody's. A claim counts with the
// weight of its terms and is divided among the chunks that bear it out as [Attribute] divides a sentence, evenly where none of
// them holds a term of it.
func Verified(claims []Claim, chunks []corpus.Chunk, stats index.TermStats) []float64 {
	d := divide(chunks, stats)
	for _, c := range claims {
		d.add(markRE.ReplaceAllString(c.Text, " "), func(k int) bool { return slices.Contains(c.Chunks, chunks[k].ID) }, true)
	}
	return d.normal()
}

// Attribute gives the share of the answer that each chunk accounts for, in the order of chunks, where nothing was verified. The
// shares add up to 1, or are all 0 where no chunk holds a term of the answer. Each sentence of the answer counts with the
// weight of its terms, and is divided among the chunks by the square of the share of those terms that each holds, so that a
// sentence goes to where it stands and not to all that speak of the same things. Terms weigh their inverse document frequency in
// stats, as written or stemmed; where stats are zero, all weigh the same.
func Attribute(answer string, chunks []corpus.Chunk, stats index.TermStats) []float64 {
	d := divide(chunks, stats)
	answer = markRE.ReplaceAllString(answer, " ")
	for _, sp := range lang.Sentences(answer) {
		d.add(answer[sp.Start:sp.End], func(int) bool { return true }, false)
	}
	return d.normal()
}

// division divides what is said among chunks.
type division struct {
	stats  index.TermStats
	held   []map[string]struct{} // stems of each chunk
	shares []float64
	sum    float64
}

func divide(chunks []corpus.Chunk, stats index.TermStats) *division {
	d := &division{stats: stats, held: make([]map[string]struct{}, len(chunks)), shares: make([]float64, len(chunks))}
	for i, c := range chunks {
		d.held[i] = lang.Set(c.Title + "\n" + strings.Join(c.Headings, "\n") + "\n" + c.Text)
	}
	return d
}

// add divides a statement among the chunks that may have a part of it; evenly says what is done where none holds a term.
func (d *division) add(statement string, may func(k int) bool, evenly bool) {
	terms := lang.Unique(statement)
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
