package local

import (
	"math"
	"strings"

	"github.com/sluice-rag/sluice/internal/text"
	"github.com/sluice-rag/sluice/model"
)

// evidence is what speaks for a sentence as an answer. Each figure is about 0..1.
type evidence struct {
	cover   float64 // share of the question's weighted terms in the sentence; a near word counts in part
	exact   float64 // the same without near words
	context float64 // the same, with the sentence before, headings and title counting half
	wide    float64 // the same of the whole passage with its headings
	named   float64 // share of the question's names and numbers in the passage
	pairs   float64 // share of neighbouring pairs of question terms that are near each other in the sentence
	similar float64 // cosine of the sentence's vector with the question's
	fit     float64 // whether something of the kind asked for is there
	rank    float64 // the passage's score over the best passage's
	headed  float64 // whether the heading over it speaks of nothing but what is asked about
	odd     float64 // very short or very long, a table's row, a question itself, code that was not asked for
	denied  bool    // the question asks for what is not, and the sentence denies nothing
}

// score is the evidence as one figure, 0..20. The weights are those of a softmax over the sentences of five passages, fitted
// to half of 725 reading-comprehension questions and rounded; on the other half the best sentence holds the answer in 75 of
// 100 cases and the best two in 85.
func (e evidence) score() float64 {
	return 2.5*e.cover + 0.5*e.exact + 4.5*e.context + e.wide + 1.2*e.named + 1.5*e.pairs + 3*e.similar + 2.6*e.fit +
		2.6*e.rank + e.headed - e.odd
}

// trust is how sure it is that the sentence answers: a logistic regression's linear part, fitted to answerable questions,
// to unanswerable ones about the same paragraphs, and to answerable ones with paragraphs about something else.
func (e evidence) trust() float64 {
	x := 1.8*e.context + 0.85*e.named + 1.1*e.similar
	if e.denied {
		x -= 1.45
	}
	return x
}

// enough is the trust at which an answer is given.
const enough = 2.22

// near is the cosine from which two words count as akin.
const near = 0.55

// covered gives for each question term how far the words of the sentence cover it, 0..1.
func (m *Model) covered(q *question, c *sentence) []float64 {
	out := make([]float64, len(q.terms))
	for _, s := range c.stems {
		if i, ok := q.index[s]; ok && s != "" {
			out[i] = 1
		}
	}
	for i, v := range q.vector {
		if v == nil || out[i] == 1 {
			continue
		}
		for k, s := range c.stems {
			if s == "" {
				continue
			}
			if x := m.cosine(v, c.words[k].Text); x > near {
				out[i] = max(out[i], 0.8*x)
			}
		}
	}
	return out
}

// cosine is that of a unit vector and the vector of a word.
func (m *Model) cosine(v []float32, word string) float64 {
	row, ok := m.table.row(word)
	if !ok {
		return 0
	}
	return m.table.dot(v, row)
}

func (q *question) share(covered []float64) float64 {
	if q.total == 0 {
		return 0
	}
	var sum float64
	for i, x := range covered {
		sum += x * q.weight[i]
	}
	return sum / q.total
}

// weigh fills in the evidence of a passage's sentences.
func (m *Model) weigh(q *question, p model.Passage, best float64, cs []*sentence) {
	over := make([]float64, len(q.terms))
	const half = 0.5 // what a term counts that stands over the sentence and not in it
	mark := func(dst []float64, s string) {
		for _, t := range text.Terms(s) {
			if i, ok := q.index[t]; ok {
				dst[i] = max(dst[i], half)
			}
		}
	}
	mark(over, p.Chunk.Title)
	for _, h := range p.Chunk.Headings {
		mark(over, h)
	}
	wide := make([]float64, len(q.terms))
	for i := range over {
		wide[i] = 2 * over[i]
	}
	covers := make([][]float64, len(cs))
	for k, c := range cs {
		covers[k] = m.covered(q, c)
		for i, x := range covers[k] {
			wide[i] = max(wide[i], x)
		}
	}
	named := 1.0
	if len(q.named) > 0 {
		named = 0
		for _, i := range q.named {
			if wide[i] == 1 {
				named += 1 / float64(len(q.named))
			}
		}
	}
	for k, c := range cs {
		e := &c.evid
		e.cover = q.share(covers[k])
		exact := make([]float64, len(q.terms))
		context := append([]float64(nil), over...)
		if c.heading != "" {
			mark(context, c.heading)
		}
		mark(context, c.head)
		for i, x := range covers[k] {
			exact[i] = math.Floor(x)
			context[i] = max(context[i], x)
			switch {
			case k > 0 && c.code:
				context[i] = max(context[i], 0.9*covers[k-1][i]) // what it is for is said before it
			case k > 0 && !c.row:
				context[i] = max(context[i], covers[k-1][i]/2)
			}
		}
		e.exact, e.context, e.wide = q.share(exact), q.share(context), q.share(wide)
		e.named = named
		e.pairs = q.pairs(c)
		e.similar = max(0, dot(q.sum, m.embed(c.text)))
		e.fit = q.fits(c)
		if best > 0 {
			e.rank = max(0, p.Score/best)
		}
		if len(p.Chunk.Headings) > 0 && !c.row && q.holds(c.heading) {
			e.headed = 1
			if c.under < 2 && q.names(c.heading) {
				e.context = max(e.context, 0.8)
			}
		}
		e.odd = q.oddity(c)
		c.covers = covers[k]
		e.denied = q.denies && !denies(c.words)
	}
}

// pairs is the share of neighbouring question terms that stand within four words of each other in the sentence.
func (q *question) pairs(c *sentence) float64 {
	if len(q.terms) < 2 {
		return 0
	}
	last := make([]int, len(q.terms))
	for i := range last {
		last[i] = -100
	}
	hit := make([]bool, len(q.terms))
	for k, s := range c.stems {
		i, ok := q.index[s]
		if !ok || s == "" {
			continue
		}
		last[i] = k
		if i > 0 && k-last[i-1] <= 4 {
			hit[i] = true
		}
		if i+1 < len(last) && k-last[i+1] <= 4 {
			hit[i+1] = true
		}
	}
	n := 0
	for _, h := range hit {
		if h {
			n++
		}
	}
	return float64(n) / float64(len(q.terms)-1)
}

func (q *question) oddity(c *sentence) float64 {
	x := 0.0
	switch n := len(c.words); {
	case c.code && q.code:
		return -1.5
	case c.code:
		return 10
	case n < 5:
		x = 0.6
	case n > 60:
		x = min(1, float64(n-60)/60)
	}
	switch {
	case c.row && (q.kind == aNumber || q.kind == aTime): // tables are where figures stand
		x = 0.5
	case c.row:
		x = 1.5
	}
	if c.follows {
		x = max(x, 1.5)
	}
	if c.text[len(c.text)-1] == '?' {
		x = 1
	}
	return x
}

// identifiers counts the words of s that are paths or names in code.
func identifiers(s string) int {
	n := 0
	for w := range strings.FieldsSeq(s) {
		if i := strings.IndexAny(w, "/_"); i > 0 && i < len(w)-1 && !strings.Contains(w, "://") {
			n++
		}
	}
	return n
}

func dot(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var x float64
	for i := range a {
		x += float64(a[i] * b[i])
	}
	return x
}

var denials = wordSet("not no never without cannot unable neither nor none nothing nobody except unlike lack lacks lacked fail failed")

// denies says whether a negation is among the words.
func denies(words []text.Token) bool {
	for _, w := range words {
		if _, ok := denials[w.Text]; ok || strings.HasSuffix(w.Text, "n't") {
			return true
		}
	}
	return false
}
