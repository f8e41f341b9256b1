package grade

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// The signals of [Signals], each 0..1.
const (
	Cover    = iota // share of the question's weighted terms in the passage; one in its title or headings only counts seven tenths
	Close           // the greatest share within so many words in a row
	Rare            // share of its two rarest terms, headings counting
	Named           // share of its names and numbers, headings counting; where it has none, Cover
	Titled          // share of the passage's title that the question holds: what the passage is about is asked for
	Cosine          // of the vectors
	nSignals = iota
)

// SignalNames are the names of the signals in files of calibrations, in order.
var SignalNames = [nSignals]string{"cover", "close", "rare", "named", "titled", "cosine"}

// Signals are what speaks for a passage. How it stands to the others is none of them: the first of a list where nothing is
// relevant is first, too. With it, scores are a little better among the passages of one search, and half as many again of those
// that answer nothing are taken for relevant.
type Signals [nSignals]float64

const (
	nearby       = 24  // words in which Close looks
	headingShare = 0.7 // of a term that only the headings hold
	maxNoted     = 512 // occurrences of the question's terms in a passage that are noted
)

// asked is a question taken apart.
type asked struct {
	terms   []lang.Term
	weights []float64 // adding up to 1
	at      map[string]int
	rare    []int // places of the rarest
	named   []int
	stems   map[string]int // of words met so far: the term's place, -1 for others
}

// Read gives the signals of passages in the order of retrieval; see [Grader.Grade] for stats. They are all 0 where the question
// has no words.
func Read(question string, chunks []Scored, stats index.TermStats) []Signals {
	return take(question, stats).signals(chunks)
}

func take(question string, stats index.TermStats) *asked {
	a := &asked{terms: lang.Unique(question), at: map[string]int{}, stems: map[string]int{}}
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
	a.name(question)
	return a
}

// name notes which terms are names, capitalised where no sentence begins, or numbers.
func (a *asked) name(question string) {
	for n, w := range lang.Words(question) {
		r, _ := utf8.DecodeRuneInString(question[w.Start:w.End])
		if i, ok := a.at[lang.Stem(w.Text)]; ok && (unicode.IsDigit(r) || n > 0 && unicode.IsUpper(r)) && !slices.Contains(a.named, i) {
			a.named = append(a.named, i)
		}
	}
}

// term gives the place of a word among the question's terms, and -1 where it is none.
func (a *asked) term(word string) int {
	i, ok := a.stems[word]
	if !ok {
		i = -1
		if !lang.Stop(word) {
			if k, ok := a.at[lang.Stem(word)]; ok {
				i = k
			}
		}
		a.stems[word] = i
	}
	return i
}

func (a *asked) signals(chunks []Scored) []Signals {
	out := make([]Signals, len(chunks))
	if len(a.terms) == 0 {
		return out
	}
	r := reading{asked: a, held: make([]float64, len(a.terms))}
	for i, c := range chunks {
		out[i] = r.read(c)
	}
	return out
}

// reading is what reading one passage after the other needs.
type reading struct {
	*asked
	held []float64 // what each term counts
	seen []place
}

// place is an occurrence of a term, by the number of the word.
type place struct{ word, term int }

func (r *reading) read(c Scored) Signals {
	s := Signals{Cosine: clamp(c.Cosine)}
	clear(r.held)
	r.seen = r.seen[:0]
	for n, w := range lang.Words(c.Chunk.Text) {
		if i := r.term(w.Text); i >= 0 {
			r.held[i] = 1
			if len(r.seen) < maxNoted {
				r.seen = append(r.seen, place{n, i})
			}
		}
	}
	base, _, _ := strings.Cut(c.Chunk.Title, " (")
	title, asked := 0, 0
	for _, w := range lang.Words(base) {
		if lang.Stop(w.Text) {
			continue
		}
		title++
		if r.above(w.Text) {
			asked++
		}
	}
	if title > 0 {
		s[Titled] = float64(asked) / float64(title)
	}
	for _, h := range c.Chunk.Headings {
		for _, w := range lang.Words(h) {
			r.above(w.Text)
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

// above notes a word above the passage, and says whether the question holds it.
func (r *reading) above(word string) bool {
	i := r.term(word)
	if i >= 0 {
		r.held[i] = max(r.held[i], headingShare)
	}
	return i >= 0
}

// share gives how many of the terms are held, none of them being 0.
func (r *reading) share(terms []int) float64 {
	n := 0
	for _, i := range terms {
		if r.held[i] > 0 {
			n++
		}
	}
	return float64(n) / float64(max(1, len(terms)))
}

// densest gives the greatest weight of different terms within nearby words.
func (r *reading) densest() float64 {
	best, sum, from := 0.0, 0.0, 0
	counts := make([]int16, len(r.terms))
	for _, p := range r.seen {
		if counts[p.term]++; counts[p.term] == 1 {
			sum += r.weights[p.term]
		}
		for ; r.seen[from].word <= p.word-nearby; from++ {
			t := r.seen[from].term
			if counts[t]--; counts[t] == 0 {
				sum -= r.weights[t]
			}
		}
		best = max(best, sum)
	}
	return min(1, best)
}
