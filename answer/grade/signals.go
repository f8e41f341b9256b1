package grade

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// The indexes of [Signals], each a value 0..1.
const (
	Cover    = iota // share of the question's weighted terms in the passage; a term that occurs only in its title or headings counts seven tenths
	Close           // the highest such share within a window of words
	Rare            // share of the question's two rarest terms, including headings
	Named           // share of the question's names and numbers, including headings; Cover if it has none
	Titled          // share of the passage's title that the question contains
	Cosine          // cosine of the vectors
	nSignals = iota
)

// SignalNames are the names of the signals in calibration files, in order.
var SignalNames = [nSignals]string{"cover", "close", "rare", "named", "titled", "cosine"}

// Signals are the evidence that a passage is relevant. The rank of a passage is not a signal, because even a list of
// irrelevant passages has a first one. Adding it improved the order within one search slightly, and increased the number
// of irrelevant passages that were taken for relevant by half.
type Signals [nSignals]float64

const (
	windowSize     = 24  // size of the window of Close, in words
	headingShare   = 0.7 // weight of a term that only occurs in the headings
	maxOccurrences = 512 // maximum number of occurrences of the question's terms that are recorded per passage
)

// questionTerms is a tokenized question.
type questionTerms struct {
	terms   []lang.Term
	weights []float64 // sum is 1
	at      map[string]int
	rare    []int // indexes of the rarest
	named   []int
	stems   map[string]int // of words seen so far: index of the term, or -1
}

// Read returns the signals of passages in the order of retrieval; see [Grader.Grade] for stats. They are all 0 if the
// question has no words.
func Read(question string, chunks []Scored, stats index.TermStats) []Signals {
	return readQuestion(question, stats).signals(chunks)
}

func readQuestion(question string, stats index.TermStats) *questionTerms {
	a := &questionTerms{terms: lang.UniqueTerms(question), at: map[string]int{}, stems: map[string]int{}}
	total := 0.0
	for i, t := range a.terms {
		w := weight(t, stats)
		if _, ok := vague[t.Stem]; ok && len(a.terms) > 1 {
			w *= 0.3
		}
		a.at[t.Stem] = i
		a.weights = append(a.weights, w)
		a.rare = append(a.rare, i)
		total += w
	}
	if total <= 0 {
		a.terms = nil
		return a
	}
	slices.SortStableFunc(a.rare, func(i, k int) int {
		switch {
		case a.weights[i] > a.weights[k]:
			return -1
		case a.weights[i] < a.weights[k]:
			return 1
		}
		return 0
	})
	a.rare = a.rare[:min(2, len(a.rare))]
	for i := range a.weights {
		a.weights[i] /= total
	}
	a.findNames(question)
	return a
}

// findNames finds the terms that are names, capitalized words not at the start of a sentence, or numbers.
func (a *questionTerms) findNames(question string) {
	for n, w := range lang.Words(question) {
		r, _ := utf8.DecodeRuneInString(question[w.Start:w.End])
		if i, ok := a.at[lang.Stem(w.Text)]; ok && (unicode.IsDigit(r) || n > 0 && unicode.IsUpper(r)) && !slices.Contains(a.named, i) {
			a.named = append(a.named, i)
		}
	}
}

// term returns the index of a word among the question's terms, or -1.
func (a *questionTerms) term(word string) int {
	i, ok := a.stems[word]
	if !ok {
		i = -1
		if !lang.IsStopWord(word) {
			if k, ok := a.at[lang.Stem(word)]; ok {
				i = k
			}
		}
		a.stems[word] = i
	}
	return i
}

func (a *questionTerms) signals(chunks []Scored) []Signals {
	out := make([]Signals, len(chunks))
	if len(a.terms) == 0 {
		return out
	}
	r := reading{questionTerms: a, held: make([]float64, len(a.terms))}
	for i, c := range chunks {
		out[i] = r.read(c)
	}
	return out
}

// reading holds the buffers that are reused between passages.
type reading struct {
	*questionTerms
	held []float64 // weight of each term
	seen []occurrence
}

// occurrence is an occurrence of a term, by word number.
type occurrence struct{ word, term int }

func (r *reading) read(c Scored) Signals {
	s := Signals{Cosine: clamp(c.Cosine)}
	clear(r.held)
	r.seen = r.seen[:0]
	for n, w := range lang.Words(c.Chunk.Text) {
		if i := r.term(w.Text); i >= 0 {
			r.held[i] = 1
			if len(r.seen) < maxOccurrences {
				r.seen = append(r.seen, occurrence{n, i})
			}
		}
	}
	base, _, _ := strings.Cut(c.Chunk.Title, " (")
	title, asked := 0, 0
	for _, w := range lang.Words(base) {
		if lang.IsStopWord(w.Text) {
			continue
		}
		title++
		if r.addHeadingWord(w.Text) {
			asked++
		}
	}
	if title > 0 {
		s[Titled] = float64(asked) / float64(title)
	}
	for _, h := range c.Chunk.Headings {
		for _, w := range lang.Words(h) {
			r.addHeadingWord(w.Text)
		}
	}
	for i, x := range r.held {
		s[Cover] += x * r.weights[i]
	}
	s[Close] = r.densest()
	s[Rare] = r.share(r.rare)
	s[Named] = s[Cover]
	if len(r.named) > 0 {
		s[Named] = r.share(r.named)
	}
	return s
}

// addHeadingWord records a word of the title or headings and reports whether the question contains it.
func (r *reading) addHeadingWord(word string) bool {
	i := r.term(word)
	if i >= 0 {
		r.held[i] = max(r.held[i], headingShare)
	}
	return i >= 0
}

// share returns the share of the given terms that the passage contains.
func (r *reading) share(terms []int) float64 {
	n := 0
	for _, i := range terms {
		if r.held[i] > 0 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(terms)))
}

// densest returns the highest weight of distinct terms within nearby words.
func (r *reading) densest() float64 {
	best, sum, from := 0.0, 0.0, 0
	counts := make([]int16, len(r.terms))
	for _, p := range r.seen {
		if counts[p.term]++; counts[p.term] == 1 {
			sum += r.weights[p.term]
		}
		for ; r.seen[from].word <= p.word-windowSize; from++ {
			t := r.seen[from].term
			if counts[t]--; counts[t] == 0 {
				sum -= r.weights[t]
			}
		}
		best = max(best, sum)
	}
	return min(1, best)
}
