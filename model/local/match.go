package local

import (
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// nearCosine is the cosine from which two words count as related.
const nearCosine = 0.55

// match returns the term of the question that a stem matches, and how well, 0..1; 0 if none.
func (q *question) match(stem string) (int, float64) {
	if i, ok := q.index[stem]; ok {
		return i, 1
	}
	if m, ok := q.matched[stem]; ok {
		return m.term, m.value
	}
	best := partial{}
	if q.lang == lang.English { // the name of an agent: who keeps it is the keeper
		verb, agent := strings.CutSuffix(stem, "er")
		if i, ok := q.index[verb]; ok && agent {
			best = partial{i, 0.9}
		} else if i, ok := q.index[stem+"er"]; ok {
			best = partial{i, 0.9}
		}
	} else if len(stem) >= minPart {
		for i, t := range q.terms {
			if x := part(q.lang, stem, t.Stem); x > best.value {
				best = partial{i, x}
			}
		}
	}
	if len(q.matched) < maxMatched {
		q.matched[stem] = best
	}
	return best.term, best.value
}

// partial is a match of a part of a word.
type partial struct {
	term  int
	value float64
}

const (
	minPart    = 5 // letters of a part of a compound
	maxMatched = 20_000
)

// part returns how well two stems match: one is a part of the other, in a language of compounds, or both begin alike.
func part(l *lang.Language, a, b string) float64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(b) < minPart {
		return 0
	}
	if l.Compounds && (strings.HasSuffix(a, b) || strings.HasPrefix(a, b)) {
		return 0.8
	}
	n := 0
	for n < len(b) && a[n] == b[n] {
		n++
	}
	if n >= minPart && 3*n >= 2*len(a) {
		return 0.6
	}
	return 0
}

// termCoverage returns for each question term how well the sentence covers it, 0..1, and how near the nearest word is for those
// that are missing.
func (m *Model) termCoverage(q *question, c *sentence) (exact, covers, nearest []float64) {
	covers, nearest = make([]float64, len(q.terms)), make([]float64, len(q.terms))
	for _, s := range c.stems {
		if s == "" {
			continue
		}
		if i, x := q.match(s); x > 0 && x > covers[i] {
			covers[i], nearest[i] = x, x
		}
	}
	for _, w := range c.words {
		for _, part := range lang.IdentifierParts(c.own[w.Start:w.End]) {
			if i, x := q.match(q.stem(part)); x > 0 && x > covers[i] {
				covers[i], nearest[i] = x, x
			}
		}
	}
	q.markMoments(covers, c.own)
	exact = slices.Clone(covers)
	q.markMeant(covers, c.words)
	for k, s := range c.stems {
		if s == "" {
			continue
		}
		row, ok := m.table.row(c.words[k].Text)
		if !ok {
			continue
		}
		for i, v := range q.vector {
			if v != nil && covers[i] != 1 {
				nearest[i] = max(nearest[i], m.table.dot(v, row))
			}
		}
	}
	for i, x := range nearest {
		if covers[i] < 1 && x > nearCosine {
			covers[i] = max(covers[i], 0.8*x)
		}
	}
	return exact, covers, nearest
}
