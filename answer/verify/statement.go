package verify

import (
	"regexp"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// statement is a claim taken apart.
type statement struct {
	words   []word
	terms   []lang.Term
	weights []float64
	total   float64
	at      map[string]int // of a stem among the terms
	plain   []bool         // of each term: neither a name nor a number nor the end of an axis, so that another word may stand for it
	values  []value
	names   []int // places among the words
	denials int
	sides   map[int8]int8
	than    int    // the place of the word among words; -1: none
	left    []bool // of each term: it stands before it
	both    []bool // of each term: on both of its sides
	strict  bool   // it speaks of all or always
	sure    bool   // it has no hedge
}

// maxClaim is how many bytes of a claim are read.
const maxClaim = 4000

var markRE = regexp.MustCompile(`⟦[^⟧]{0,20}⟧|\[[0-9, ]{1,20}\]`)

// read takes a claim apart. Its terms all weigh the same until [statement.weigh].
func read(claim string) *statement {
	claim = markRE.ReplaceAllString(lang.Head(claim, maxClaim), " ")
	s := &statement{words: wordsOf(claim), terms: lang.Unique(claim), at: map[string]int{}}
	for i, t := range s.terms {
		s.at[t.Stem] = i
		s.weights = append(s.weights, 1)
	}
	s.total = float64(len(s.terms))
	s.values = valuesIn(claim, s.words)
	s.sides = sidesOf(s.words)
	s.denials = denied(s.words, s.mentions)
	s.than = than(s.words)
	s.strict, s.sure = holds(s.words, absolutes), !holds(s.words, hedges)
	s.place()
	return s
}

// weigh gives the terms weights by how rare they are, flatter than for search: common words carry a claim too. Where stats do
// not know a term, vectors say how rare it is in general; where neither does, it counts as much as the rarest.
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

// rarest is about the inverse document frequency of a term that one passage of a few thousand holds.
const rarest = 8.0

// place tells where the terms stand, and which of them nothing may replace.
func (s *statement) place() {
	s.left, s.both, s.plain = make([]bool, len(s.terms)), make([]bool, len(s.terms)), make([]bool, len(s.terms))
	seen := make([]bool, len(s.terms))
	for i, w := range s.words {
		if w.upper {
			s.names = append(s.names, i)
		}
		k, ok := s.at[w.stem]
		if !ok {
			continue
		}
		if before := i < s.than; !seen[k] {
			s.left[k], seen[k] = before, true
			_, end := sides[w.stem]
			s.plain[k] = !w.upper && !end && w.text[0] > '9'
		} else if s.left[k] != before {
			s.both[k] = true
		}
	}
}

// absolutes say of all what their contraries say of some; hedges say that a thing may be.
var (
	absolutes = wordSet("all every always entirely everyone everybody only solely exclusively completely")
	partials  = wordSet("some few several many most often sometimes partly mostly largely usually")
	hedges    = wordSet("might perhaps possibly allegedly reportedly supposedly rumoured rumored planned proposed unconfirmed")
)

func holds(ws []word, set map[string]struct{}) bool {
	for _, w := range ws {
		if in(set, w.text) {
			return true
		}
	}
	return false
}

// score is the share that is covered, less what is missing once more, divided by the number of terms: a word that is missing
// says more of a short claim.
func (s *statement) score(covered []float64) float64 {
	share := min(1, s.share(covered))
	return max(0, share-(1-share)/float64(max(1, len(s.terms))))
}

// phrases begin with these words, or where a clause does.
var phrases = wordSet("and or by because of in at for with to after before during from through via since due on into as when while which who that " +
	"whose where if under over between among against without within upon near so until")

// light are words that add nothing by themselves.
var light = wordSet("lead leads led make makes made use uses used involve involves involved show shows shown become becomes became include includes " +
	"included occur occurs result results associated related influence influences affect affects like such known called based located")

// verbatim is the score of the rest of a claim from which a phrase that is missing is an addition; less may be said in other words.
const verbatim = 0.95

// adds says whether a phrase of the claim is missing altogether, while the others are there.
func (s *statement) adds(covered []float64) bool {
	var rest, held, phrase, there float64
	missing := false
	end := func() {
		if phrase > 0 && there == 0 {
			missing = true
		} else {
			rest, held = rest+phrase, held+there
		}
		phrase, there = 0, 0
	}
	seen := make([]bool, len(s.terms))
	for _, w := range s.words {
		if w.cut || in(phrases, w.text) {
			end()
		}
		if k, ok := s.at[w.stem]; ok && !seen[k] && !in(light, w.text) && !abbreviates(w, s.words) {
			seen[k] = true
			phrase += s.weights[k]
			if covered[k] > elsewhere {
				there += s.weights[k] * covered[k]
			}
		}
	}
	end()
	return missing && held >= verbatim*rest
}

// share gives how much of the claim's weight is covered, each term to its own degree.
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
