package grade

import (
	"cmp"
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
	*lang.Matcher
	weights []float64 // of Matcher.Terms; sum is 1
	rare    []int     // indexes of the rarest
	named   []int
}

// Read returns the signals of passages in the order of retrieval; see [Grader.Grade] for stats. They are all 0 if the
// question has no words.
func Read(question string, chunks []Scored, stats index.TermStats) []Signals {
	return readQuestion(question, chunks, stats).signals(chunks)
}

func readQuestion(question string, chunks []Scored, stats index.TermStats) *questionTerms {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = c.Chunk.WithHeadings()
	}
	a := &questionTerms{Matcher: lang.NewMatcher(question, texts, stats.DF)}
	total := 0.0
	for i, t := range a.Terms {
		w := weight(t, stats, a.Held[i])
		a.weights = append(a.weights, w)
		a.rare = append(a.rare, i)
		total += w
	}
	if total <= 0 {
		a.Terms = nil
		return a
	}
	slices.SortStableFunc(a.rare, func(i, k int) int { return cmp.Compare(a.weights[k], a.weights[i]) })
	a.rare = a.rare[:min(2, len(a.rare))]
	for i := range a.weights {
		a.weights[i] /= total
	}
	a.findNames(question)
	return a
}

// findNames finds the terms that are numbers or names: capitalized words not at the start of a sentence, unless all nouns are capitalized.
func (a *questionTerms) findNames(question string) {
	for n, w := range lang.Words(question) {
		r, _ := utf8.DecodeRuneInString(question[w.Start:w.End])
		if !unicode.IsDigit(r) && (n == 0 || !unicode.IsUpper(r) || a.CapitalNouns) {
			continue
		}
		for _, t := range a.Match(w.Text) {
			if t.Credit == 1 && !slices.Contains(a.named, t.Term) {
				a.named = append(a.named, t.Term)
			}
		}
	}
}

func (a *questionTerms) signals(chunks []Scored) []Signals {
	out := make([]Signals, len(chunks))
	if len(a.Terms) == 0 {
		return out
	}
	r := reading{questionTerms: a, held: make([]float64, len(a.Terms))}
	for i, c := range chunks {
		out[i] = r.read(c, a.Words[i])
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

// read returns the signals of a passage. words are those of the text with the headings.
func (r *reading) read(c Scored, words []lang.Word) Signals {
	s := Signals{Cosine: clamp(c.Cosine)}
	clear(r.held)
	r.seen = r.seen[:0]
	base, _, _ := strings.Cut(c.Chunk.Title, " (")
	text := len(c.Chunk.Title) + 1
	for _, h := range c.Chunk.Headings {
		text += len(h) + 1
	}
	from, title, asked := 0, 0, 0
	for _, w := range words {
		if w.Start >= text {
			break
		}
		from++
		if w.Start > len(c.Chunk.Title) {
			r.addHeadingWord(w)
		} else if w.Start < len(base) && !w.Stop {
			title++
			if r.addHeadingWord(w) {
				asked++
			}
		}
	}
	if title > 0 {
		s[Titled] = float64(asked) / float64(title)
	}
	for n, w := range words[from:] {
		for _, t := range w.Matches {
			r.held[t.Term] = max(r.held[t.Term], t.Credit)
			if len(r.seen) < maxOccurrences {
				r.seen = append(r.seen, occurrence{n, t.Term})
			}
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
func (r *reading) addHeadingWord(w lang.Word) bool {
	for _, t := range w.Matches {
		r.held[t.Term] = max(r.held[t.Term], headingShare*t.Credit)
	}
	return len(w.Matches) > 0
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
	counts := make([]int16, len(r.Terms))
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
