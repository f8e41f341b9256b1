package local

import (
	"slices"

	"github.com/sluice-rag/sluice/lang"
)

// How well an alternative of the thesaurus matches a term of the question.
const (
	sameCredit   = 0.7 // a word of the same meaning
	answerCredit = 0.3 // a word that is typical of the answer
)

// alternative is a word or a phrase that can stand for terms of the question.
type alternative struct {
	stems []string
	terms []int
	value float64
}

// alternatives returns the alternatives for the terms of the question by their first stems.
func (q *question) alternatives() map[string][]alternative {
	out := map[string][]alternative{}
	for _, a := range q.lang.Alternatives(q.text) {
		x := alternative{value: answerCredit}
		if a.Same {
			x.value = sameCredit
		}
		for _, w := range a.Words {
			x.stems = append(x.stems, stemIn(q.lang, w))
		}
		for _, w := range a.For {
			if i, ok := q.index[stemIn(q.lang, w)]; ok && !slices.Contains(x.terms, i) {
				x.terms = append(x.terms, i)
			}
		}
		if len(x.terms) > 0 {
			out[x.stems[0]] = append(out[x.stems[0]], x)
		}
	}
	return out
}

// markMeant raises dst for the terms for which words have an alternative.
func (q *question) markMeant(dst []float64, words []lang.Token) {
	if len(q.meant) == 0 {
		return
	}
	for i, w := range words {
		for _, a := range q.meant[q.stem(w.Text)] {
			if !q.follow(words[i:], a.stems) {
				continue
			}
			for _, t := range a.terms {
				dst[t] = max(dst[t], a.value)
			}
		}
	}
}

// follow reports whether words begin with the stems.
func (q *question) follow(words []lang.Token, stems []string) bool {
	if len(words) < len(stems) {
		return false
	}
	for i, s := range stems {
		if q.stem(words[i].Text) != s {
			return false
		}
	}
	return true
}

// stem returns the stem of a word, which it keeps.
func (q *question) stem(word string) string {
	s, ok := q.stems[word]
	if !ok {
		s = stemIn(q.lang, word)
		if len(q.stems) < maxMatched {
			q.stems[word] = s
		}
	}
	return s
}
