package lang

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Matcher finds the words of texts that stand for the terms of a question: other forms of a term, other spellings of its accents and umlauts, compounds
// that contain it or are part of it, and misspellings. It is not safe for concurrent use.
type Matcher struct {
	*Language
	Terms []Term   // of the question
	Held  []int    // number of passages that have a form of each term
	Words [][]Word // of each passage, in order; nobody changes them

	asked   *asked
	unknown []int                // indexes of the terms that may be misspelled
	known   map[string]*Compared // nil without such terms
}

// Word is a word of a passage that was compared with the terms of a question.
type Word struct {
	Token
	*Compared
}

// Compared is the result of the comparison of a word. It is shared, so nobody changes it.
type Compared struct {
	Stop    bool    // it is a stop word
	Matches []Match // the terms for which it stands; nil if there are none
}

// asked is what the matchers of a question share. It may be used concurrently.
type asked struct {
	*Language
	terms   []Term
	stems   map[string]int     // index of the term, by stem; of one spelled without accents too
	similar map[string][]Match // by the stem of a word of the same meaning
	known   *Recent[*Compared]
}

// The matchers of recent questions: a question is compared with passages in several steps. The sizes limit the memory to about 100 KB for each question.
const (
	maxQuestions       = 64
	maxQuestion        = 1000 // length of a question that is kept, in bytes
	maxWordsOfQuestion = 1 << 11
	maxWord            = 64 // length of a word that is kept, in bytes
)

var questions = NewRecent[*asked](maxQuestions)

// Match says that a word stands for a term.
type Match struct {
	Term   int     // index in Matcher.Terms
	Credit float64 // 1 for a form of the term, less for a compound or a similar word
}

// similarCredit is the credit of a word of the same meaning, of a compound that contains a term, of a part of it, and of a word that is similar to a misspelled one.
const similarCredit = 0.8

// minPart is the length of the shortest part of a compound that is recognized, and of the shortest word that may be misspelled, in characters.
const minPart = 5

// maxRead is the number of passages by which the language of a question is recognized if its own words do not show it.
const maxRead = 3

// NewMatcher returns a matcher for the terms of a question in passages. df holds the document frequencies of words that are known. A term with the
// frequency 0 may be misspelled if no passage has a form of it.
func NewMatcher(question string, passages []string, df map[string]int) *Matcher {
	l := OfQuestion(question, passages[:min(len(passages), maxRead)]...)
	of := questions.Get(l.Code+" "+question, maxQuestion, func(key string) *asked { return l.read(key[len(l.Code)+1:]) })
	m := &Matcher{Language: l, Terms: of.terms, asked: of}
	m.count(passages)
	var unknown []int
	for i, t := range m.Terms {
		if n, ok := df[t.Word]; ok && n == 0 && m.Held[i] == 0 {
			unknown = append(unknown, i)
		}
	}
	if unknown != nil {
		m.unknown, m.known = unknown, map[string]*Compared{}
		for _, words := range m.Words {
			for k := range words {
				words[k].Compared = m.compare(words[k].Text)
			}
		}
	}
	return m
}

// read returns what matchers of a question need.
func (l *Language) read(question string) *asked {
	a := &asked{Language: l, terms: l.UniqueTerms(question), stems: map[string]int{}, similar: map[string][]Match{}, known: NewRecent[*Compared](maxWordsOfQuestion)}
	for i, t := range a.terms {
		a.stems[t.Stem] = i
	}
	for i, t := range a.terms {
		for _, s := range l.spellings(t.Word) {
			if _, ok := a.stems[s]; !ok {
				a.stems[s] = i
			}
		}
	}
	for _, o := range l.Alternatives(question) {
		if len(o.Words) > 1 || !o.Same {
			continue
		}
		stem := l.Stem(o.Words[0])
		for i, t := range a.terms {
			if slices.Contains(o.For, t.Word) && !slices.Contains(a.similar[stem], Match{i, similarCredit}) {
				a.similar[stem] = append(a.similar[stem], Match{i, similarCredit})
			}
		}
	}
	return a
}

// count splits the passages into words, and counts those that hold each term.
func (m *Matcher) count(passages []string) {
	m.Held, m.Words = make([]int, len(m.Terms)), make([][]Word, len(passages))
	last := make([]int, len(m.Terms))
	for n, s := range passages {
		tokens := Words(s)
		words := make([]Word, len(tokens))
		for k, w := range tokens {
			words[k] = Word{w, m.compare(w.Text)}
			for _, t := range words[k].Matches {
				if last[t.Term] <= n {
					last[t.Term] = n + 1
					m.Held[t.Term]++
				}
			}
		}
		m.Words[n] = words
	}
}

// spellings returns the stems of a word as people write it without accents and umlauts: Geräte, Gerate and Geraete have one in common.
func (l *Language) spellings(word string) []string {
	if isASCII(word) && !l.umlauts {
		return nil
	}
	plain := FoldAccents(word)
	out := []string{l.Stem(plain)}
	if l.umlauts {
		out = append(out, digraphs.Replace(l.Stem(word)), digraphs.Replace(out[0]))
	}
	return out
}

var digraphs = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Match returns the terms for which a lower-cased word of [Words] stands; nil if there are none. The caller must not change the result.
func (m *Matcher) Match(word string) []Match { return m.compare(word).Matches }

func (m *Matcher) compare(word string) *Compared {
	if m.unknown == nil {
		return m.asked.known.Get(word, maxWord, func(word string) *Compared { return m.asked.compare(word, nil) })
	}
	out, ok := m.known[word]
	if !ok {
		out = m.asked.compare(word, m.unknown)
		m.known[word] = out
	}
	return out
}

// compare compares a word with the terms. unknown has the indexes of those that may be misspelled.
func (a *asked) compare(word string, unknown []int) *Compared {
	if a.IsStopWord(word) {
		return &Compared{Stop: true}
	}
	return &Compared{Matches: a.match(word, unknown)}
}

// match returns the terms for which a word that is no stop word stands. unknown has the indexes of those that may be misspelled.
func (a *asked) match(word string, unknown []int) []Match {
	stem := a.Stem(word)
	if i, ok := a.stems[stem]; ok {
		return []Match{{i, 1}}
	}
	for _, s := range a.spellings(word) {
		if i, ok := a.stems[s]; ok {
			return []Match{{i, 1}}
		}
	}
	if same, ok := a.similar[stem]; ok {
		return same
	}
	var out []Match
	if a.Compounds {
		for i, t := range a.terms {
			if IsPart(t.Stem, stem) || IsPart(stem, t.Stem) {
				out = append(out, Match{i, similarCredit})
			}
		}
	}
	for _, i := range unknown {
		if Similar(FoldAccents(a.terms[i].Word), FoldAccents(word)) {
			out = append(out, Match{i, similarCredit})
		}
	}
	return out
}

// SameWord reports whether two words are forms or spellings of one word.
func (l *Language) SameWord(a, b string) bool {
	of := append(l.spellings(a), l.Stem(a))
	return slices.ContainsFunc(append(l.spellings(b), l.Stem(b)), func(s string) bool { return slices.Contains(of, s) })
}

// IsPart reports whether a stem of at least five letters begins or ends a compound.
func IsPart(stem, compound string) bool {
	return len(compound) >= len(stem)+3 && utf8.RuneCountInString(stem) >= minPart && (strings.HasPrefix(compound, stem) || strings.HasSuffix(compound, stem))
}

// Edits returns the number of typing errors that a word of this length may have: none below five letters, two from eight.
func Edits(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < minPart || n > maxStem || word[0] >= '0' && word[0] <= '9':
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// Similar reports whether a word differs from another by at most as many typing errors as are allowed for its length; see [Edits].
func Similar(word, other string) bool {
	most := Edits(word)
	if d := len(word) - len(other); most == 0 || d > most || -d > most || other == "" || Edits(other) == 0 {
		return false
	}
	return distance(word, other) <= most
}
