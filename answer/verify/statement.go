package verify

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// statement is a tokenized claim.
type statement struct {
	language  *lang.Language
	words     []word
	terms     []lang.Term
	weights   []float64
	total     float64
	at        map[string]int // index of each stem among the terms
	plain     []bool         // of each term: not a name, a number or an antonym, so that a synonym may replace it
	values    []value
	names     []int // positions of words
	negations int
	poles     map[int8]int8
	than      int    // position of the word "than"; -1: none
	left      []bool // of each term: it precedes "than"
	both      []bool // of each term: it occurs on both sides
}

// maxClaim is how many bytes of a claim are read.
const maxClaim = 4000

var markRE = regexp.MustCompile(`⟦[^⟧]{0,20}⟧|\[[0-9, ]{1,20}\]`)

// readClaim tokenizes a claim in its language. All terms have equal weight until [statement.weigh].
func readClaim(c Claim) *statement {
	claim := withoutCount(markRE.ReplaceAllString(lang.Truncate(c.Text, maxClaim), " "))
	var texts []string
	for _, chunk := range c.Cited[:min(len(c.Cited), 2)] {
		texts = append(texts, chunk.Text)
	}
	l := lang.OfQuestion(claim, texts...)
	s := &statement{language: l, words: wordsOf(l, claim), terms: l.UniqueTerms(claim), at: map[string]int{}}
	for i, t := range s.terms {
		s.at[t.Stem] = i
		s.weights = append(s.weights, 1)
	}
	s.total = float64(len(s.terms))
	s.values = valuesIn(l, claim, s.words)
	s.poles = s.polesOf(s.words)
	s.negations = s.countNegations(s.words)
	s.than = than(s.words)
	s.locateTerms()
	return s
}

// weigh sets the weights of the terms by rarity, less steeply than in search, because common words are part of a claim
// too. The embedder's weight says how rare a term is; a term without one counts as much as the rarest.
func (s *statement) weigh(vectors []model.TokenVector) {
	if vectors == nil {
		return
	}
	s.total = 0
	for i := range s.terms {
		w := rarest
		if vectors[i].Weight > 0 {
			w = rarest * vectors[i].Weight
		}
		s.weights[i] = 1 + w
		s.total += 1 + w
	}
}

// rarest is about the inverse document frequency of a term that occurs in one of a few thousand passages.
const rarest = 8.0

// locateTerms finds the positions of the terms, and which of them cannot be replaced by synonyms.
func (s *statement) locateTerms() {
	s.left, s.both, s.plain = make([]bool, len(s.terms)), make([]bool, len(s.terms)), make([]bool, len(s.terms))
	seen := make([]bool, len(s.terms))
	for i, w := range s.words {
		if w.inName {
			s.names = append(s.names, i)
		}
		k, ok := s.at[w.stem]
		if !ok {
			continue
		}
		if before := i < s.than; !seen[k] {
			s.left[k], seen[k] = before, true
			_, end := s.pole(w.stem)
			s.plain[k] = !w.inName && !end && w.text[0] > '9'
		} else if s.left[k] != before {
			s.both[k] = true
		}
	}
}

// score is the covered share less the missing share divided by the number of terms, because a missing word matters more in
// a short claim.
func (s *statement) score(covered []float64) float64 {
	share := min(1, s.share(covered))
	return max(0, share-(1-share)/float64(max(1, len(s.terms))))
}

// share returns how much of the claim's weight is covered.
func (s *statement) share(covered []float64) float64 {
	if s.total == 0 {
		return 0
	}
	sum := 0.0
	for i, x := range covered {
		sum += x * s.weights[i]
	}
	return sum / s.total
}

// countRE matches the number of things before a list of them: "2: Eagle; Marmot."
var countRE = regexp.MustCompile(`^\s*([0-9]+): `)

// withoutCount removes the number before a list that has as many items. No passage has to state it.
func withoutCount(claim string) string {
	m := countRE.FindStringSubmatchIndex(claim)
	if m == nil || claim[m[2]:m[3]] != strconv.Itoa(strings.Count(claim, ";")+1) {
		return claim
	}
	return claim[m[1]:]
}
