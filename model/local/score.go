package local

import (
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// evidence holds the features of a sentence as an answer. Each is about 0..1.
type evidence struct {
	cover   float64 // share of the question's weighted terms in the sentence; a near word counts in part
	exact   float64 // the same without near words
	context float64 // the same; the sentence before, headings and title count half
	wide    float64 // the same of the whole passage with its headings
	named   float64 // share of the question's names and numbers in the passage
	pairs   float64 // share of neighbouring pairs of question terms that are near each other in the sentence
	similar float64 // cosine of the sentence's vector with the question's
	fit     float64 // whether it holds something of the requested type
	rank    float64 // the passage's score over the best passage's
	headed  float64 // whether the heading over it is the subject of the question
	unusual float64 // very short or very long, a table row, a question, or code that was not requested
	phrase  float64 // share of the question's word pairs, stop words included, in the sentence
	related float64 // mean cosine of the nearest words for terms that are not in the sentence, title or headings
	around  float64 // share of the question's weighted terms in the sentence and its neighbours, or in title and headings
	numbers float64 // minus one for each number of the question that is not in the sentence, and another if it is not in the passage
}

// score returns the weighted sum of the features, 0..40. The weights are those of a softmax over the sentences of five
// passages, fitted to halves of 725 reading-comprehension questions and rounded: first those of base, then the others. TestFit
// computes them. On the other half, the best sentence holds the answer in 79 of 100 cases.
func (e evidence) score() float64 {
	return e.base() + 5*e.phrase + 4.8*e.related + 5*e.around + 0.8*e.numbers
}

func (e evidence) base() float64 {
	return 2.5*e.cover + 0.5*e.exact + 4.5*e.context + e.wide + 1.2*e.named + 1.5*e.pairs + 3*e.similar + 2.6*e.fit +
		2.6*e.rank + e.headed - e.unusual
}

// nearCosine is the cosine from which two words count as related.
const nearCosine = 0.55

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

// termCoverage returns for each question term how well the sentence covers it, 0..1, and how near the nearest word is for those
// that are missing.
func (m *Model) termCoverage(q *question, c *sentence) (covers, nearest []float64) {
	covers, nearest = make([]float64, len(q.terms)), make([]float64, len(q.terms))
	for _, s := range c.stems {
		if i, ok := q.index[s]; ok && s != "" {
			covers[i], nearest[i] = 1, 1
		}
	}
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
		if covers[i] != 1 && x > nearCosine {
			covers[i] = 0.8 * x
		}
	}
	return covers, nearest
}

// passageView is a passage analyzed for a question.
type passageView struct {
	cs      []*sentence
	written string    // the title
	named   bool      // the question contains the title
	title   []string  // its stems
	over    []float64 // for each term, contextWeight if it is in the title or a heading
	wide    []float64 // coverage of each term by the passage with title and headings
}

// contextWeight is the weight of a term that is in the headings and not in the sentence.
const contextWeight = 0.5

// mark sets dst for the terms of the question that s contains.
func (q *question) mark(dst []float64, s string) {
	for _, t := range stems(s) {
		if i, ok := q.index[t]; ok {
			dst[i] = max(dst[i], contextWeight)
		}
	}
}

// read finds the question's terms in a passage.
func (m *Model) read(q *question, p model.Passage, cs []*sentence) *passageView {
	title, _, _ := strings.Cut(lang.Truncate(p.Chunk.Title, 400), " (")
	title = strings.TrimSpace(title)
	r := &passageView{cs: cs, title: stems(title), named: titleIn(q.text, title), written: title, over: make([]float64, len(q.terms)), wide: make([]float64, len(q.terms))}
	q.mark(r.over, p.Chunk.Title)
	for _, h := range p.Chunk.Headings {
		q.mark(r.over, h)
	}
	for i := range r.over {
		r.wide[i] = 2 * r.over[i]
	}
	for _, c := range cs {
		c.covers, c.nearest = m.termCoverage(q, c)
		for i, x := range c.covers {
			r.wide[i] = max(r.wide[i], x)
		}
	}
	return r
}

// coverage returns the weighted share of the question's terms that are fully covered.
func (q *question) coverage(covers ...[]float64) float64 {
	var sum float64
	for i, w := range q.plain {
		for _, c := range covers {
			if c[i] == 1 {
				sum += w
				break
			}
		}
	}
	return sum / max(q.plainTotal, 1e-9)
}

// weigh computes the features of a passage's sentences.
func (m *Model) weigh(q *question, p model.Passage, best float64, r *passageView) {
	named := 1.0
	if len(q.named) > 0 {
		named = 0
		for _, i := range q.named {
			if r.wide[i] == 1 {
				named += 1 / float64(len(q.named))
			}
		}
	}
	over, heading, head := r.over, "", ""
	for k, c := range r.cs {
		if c.heading != heading || c.head != head {
			over, heading, head = slices.Clone(r.over), c.heading, c.head
			q.mark(over, heading)
			q.mark(over, head)
		}
		e := &c.evid
		e.cover = q.share(c.covers)
		exact := make([]float64, len(q.terms))
		context := slices.Clone(over)
		c.over = make([]float64, len(q.terms))
		for i, x := range context {
			c.over[i] = 2 * x
		}
		for i, x := range c.covers {
			exact[i] = math.Floor(x)
			context[i] = max(context[i], x)
			switch {
			case k > 0 && c.code:
				context[i] = max(context[i], 0.9*r.cs[k-1].covers[i]) // what it is for is said before it
			case k > 0 && !c.row:
				context[i] = max(context[i], r.cs[k-1].covers[i]/2)
			}
			if c.covers[i] != 1 && c.over[i] != 1 {
				e.related += q.plain[i] * c.nearest[i] / max(q.plainTotal, 1e-9)
			}
		}
		e.exact, e.context, e.wide = q.share(exact), q.share(context), q.share(r.wide)
		e.named = named
		for _, i := range q.numbers {
			if c.covers[i] != 1 && c.over[i] != 1 {
				e.numbers--
			}
			if r.wide[i] != 1 {
				e.numbers--
			}
		}
		before, after := r.cs[max(0, k-1)].covers, r.cs[min(len(r.cs)-1, k+1)].covers
		e.around = q.coverage(c.over, c.covers, before, after)
		e.pairs = q.pairs(c)
		e.phrase, _ = q.phrases(c)
		e.similar = max(0, dot(q.sum, m.embed(c.text)))
		e.fit = q.typeFit(c)
		if best > 0 {
			e.rank = max(0, p.Score/best)
		}
		if len(p.Chunk.Headings) > 0 && !c.row && q.onlyAbout(c.heading) {
			e.headed = 1
			if c.under < 2 && q.isSubject(c.heading) {
				e.context = max(e.context, 0.8)
			}
		}
		e.unusual = q.oddity(c)
	}
}

// phrases returns the share of the question's word pairs, stop words included, that are in the sentence, and the number of
// pairs of the longest run.
func (q *question) phrases(c *sentence) (share float64, longest int) {
	if len(q.words) < 2 {
		return 0, 0
	}
	found := make([]bool, len(q.words))
	for k := 1; k < len(c.words); k++ {
		at := q.follows[[2]string{c.words[k-1].Text, c.words[k].Text}]
		if len(at) == 0 || found[at[0]] {
			continue // the two were seen, maybe thousands of times
		}
		for _, i := range at {
			found[i] = true
		}
	}
	n, run := 0, 0
	for _, ok := range found {
		if !ok {
			run = 0
			continue
		}
		n, run = n+1, run+1
		longest = max(longest, run)
	}
	return float64(n) / float64(len(q.words)-1), longest
}

// pairs returns the share of adjacent question terms that are within four words of each other in the sentence.
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
	case c.code && q.way:
		return 0
	case c.code:
		return 10
	case n < 5:
		x = 0.6
	case n > 60:
		x = min(1, float64(n-60)/60)
	}
	switch {
	case c.row && (q.kind == numberKind || q.kind == timeKind): // tables are where figures stand
		x = 0.5
	case c.row && q.kind == definitionKind && c.evid.fit < 0.5:
		x = 5 // it says something of what stands in its first cell
	case c.row:
		x = 1.5
	}
	if c.follows {
		x = max(x, 1.5)
	}
	if strings.HasSuffix(strings.TrimRight(removeMarks(c.text), " "), "?") {
		x = max(x, 1)
	}
	if q.repeatsQuestion(c) {
		x += 3
	}
	return x
}

// repeatsQuestion reports whether a sentence says hardly more than the question.
func (q *question) repeatsQuestion(c *sentence) bool {
	if q.open || c.code || c.row || q.subject != nil {
		return false
	}
	news, old := 0, 0
	for _, s := range c.stems {
		if s == "" {
			continue
		}
		if _, asked := q.index[s]; asked {
			old++
		} else {
			news++
		}
	}
	return old >= 2 && news == 0
}

// identifiers returns the number of words that are paths or identifiers of code.
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
