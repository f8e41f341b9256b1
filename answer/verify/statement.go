package verify

import (
	"regexp"

	"github.com/sluice-rag/sluice/index"
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
	strict    bool   // it says "all" or "always"
	sure      bool   // it has no hedge word
}

// maxClaim is how many bytes of a claim are read.
const maxClaim = 4000

var markRE = regexp.MustCompile(`⟦[^⟧]{0,20}⟧|\[[0-9, ]{1,20}\]`)

// readClaim tokenizes a claim in its language. All terms have equal weight until [statement.weigh].
func readClaim(c Claim) *statement {
	claim := markRE.ReplaceAllString(lang.Truncate(c.Text, maxClaim), " ")
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
	s.strict, s.sure = containsAny(s.words, absoluteWords), !containsAny(s.words, hedgeWords)
	s.locateTerms()
	return s
}

// weigh sets the weights of the terms by rarity, less steeply than in search, because common words are part of a claim
// too. For a term that is not in stats, the embedder's weight says how rare it is; without that it counts as much as the
// rarest.
func (s *statement) weigh(stats index.TermStats, vectors []model.TokenVector) {
	if stats.Chunks == 0 && vectors == nil {
		return
	}
	s.total = 0
	for i, t := range s.terms {
		df, ok := stats.DF[t.Word]
		if !ok {
			df, ok = stats.DF[t.Stem]
		}
		w := rarest
		switch {
		case ok && stats.Chunks > 0:
			w = lang.IDF(stats.Chunks, df)
		case vectors != nil && vectors[i].Weight > 0:
			w = rarest * vectors[i].Weight
		case stats.Chunks > 0:
			w = lang.IDF(stats.Chunks, 1)
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

// absoluteWords say that a statement holds in all cases, partialWords in some; hedgeWords make it uncertain.
var (
	absoluteWords = lang.WordSet("all every always entirely everyone everybody only solely exclusively completely")
	partialWords  = lang.WordSet("some few several many most often sometimes partly mostly largely usually")
	hedgeWords    = lang.WordSet("might perhaps possibly allegedly reportedly supposedly rumoured rumored planned proposed unconfirmed")
)

func containsAny(ws []word, set map[string]struct{}) bool {
	for _, w := range ws {
		if in(set, w.text) {
			return true
		}
	}
	return false
}

// score is the covered share less the missing share divided by the number of terms, because a missing word matters more in
// a short claim.
func (s *statement) score(covered []float64) float64 {
	share := min(1, s.share(covered))
	return max(0, share-(1-share)/float64(max(1, len(s.terms))))
}

// phraseStarts are words that start a phrase. A phrase also starts with a clause.
var phraseStarts = lang.WordSet("and or by because of in at for with to after before during from through via since due on into as when while which who that " +
	"whose where if under over between among against without within upon near so until")

// lightWords add no meaning by themselves.
var lightWords = lang.WordSet("lead leads led make makes made use uses used involve involves involved show shows shown become becomes became include includes " +
	"included occur occurs result results associated related influence influences affect affects like such known called based located")

// verbatim is the score of the rest of a claim from which a missing phrase is an addition. Below it, the claim may be a
// paraphrase.
const verbatim = 0.95

// addsPhrase reports whether a phrase of the claim is missing completely while the others are present.
func (s *statement) addsPhrase(covered []float64) bool {
	var restWeight, restCovered, phraseWeight, phraseCovered float64
	missing := false
	end := func() {
		if phraseWeight > 0 && phraseCovered == 0 {
			missing = true
		} else {
			restWeight, restCovered = restWeight+phraseWeight, restCovered+phraseCovered
		}
		phraseWeight, phraseCovered = 0, 0
	}
	seen := make([]bool, len(s.terms))
	for _, w := range s.words {
		if w.startsClause || in(phraseStarts, w.text) {
			end()
		}
		if k, ok := s.at[w.stem]; ok && !seen[k] && !in(lightWords, w.text) && !abbreviates(w, s.words) {
			seen[k] = true
			phraseWeight += s.weights[k]
			if covered[k] > otherSentenceCredit {
				phraseCovered += s.weights[k] * covered[k]
			}
		}
	}
	end()
	return missing && restCovered >= verbatim*restWeight
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
