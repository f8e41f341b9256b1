package local

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// The features of a sentence as an answer. Shares are of the question's terms by weight, 0..1.
const (
	own          = iota // share in the sentence; a related word counts in part
	exactFar            // the same with the headings, what leads to it, the names of columns and the title
	near                // share in it, the innermost heading, what leads to it, and the names of columns
	far                 // the same with the title and the other headings
	around              // the same with the sentences before and after
	wide                // share in the whole passage with its headings
	rarest              // weight of the rarest term that is in none of sentence, headings and title
	elsewhere           // weight of the terms that are elsewhere in the passage, and not near the sentence
	pairs               // share of adjacent terms that are near each other in the sentence
	phrase              // share of the question's word pairs, stop words included
	copied              // word pairs in the longest run that both share
	similar             // cosine of the vectors
	related             // mean cosine of the nearest words, for terms that are missing
	fit                 // whether it holds the requested type of thing
	fitNear             // whether only the heading, or what leads to it, holds that
	defines             // how well it defines the subject of the question
	unfit               // a type can be recognized, and neither holds it
	passage             // the grade of the passage
	rank                // that over the best passage's grade
	names               // number of names and numbers of the question that are not in sentence, headings and title
	unknownNames        // number of those that are in no passage
	numbers             // number of numbers of the question that are not in the sentence
	headed              // the heading over it is about nothing but the question's terms
	tasked              // how well the headings over it name what the question asks how to do
	acts                // how well it says to do what the question asks how to do
	first               // it is the first after a heading
	isRow               // a row
	figure              // a row, for a question for a number or a time
	rowKey              // of a row: share of the terms in its cells
	rowColumn           // of a row: share of the terms in the names of its columns
	isItem              // an item of a list
	isListed            // an item, for a question for a list or for steps
	isCode              // code that was not requested
	isRequested         // code that was requested
	isLabel             // a line with a label
	labelled            // share of the terms in its label
	short               // fewer than five words
	long                // more than forty words, by the number of words
	asks                // it is a question
	hangs               // it begins with a pronoun or a connective
	repeats             // it says nothing that the question does not say
	opposed             // number of missing terms with an antonym in the sentence
	flipped             // a word that flips the meaning, such as first or only, is in the question and not in the sentence
	negated             // the question is negated and the sentence is not
	terms               // number of terms of the question
	foreign             // the question is not in English
	measured            // it holds the quantity that is asked for
	amount              // it has a number directly before the thing whose amount is asked for
	unmeasured          // neither it nor what leads to it holds that
	inRange             // a number of the question is in a range of the row or the item, 5 to 10 years, or the row meets another condition of the question
	outOfRange          // it is in none of these
	rowExact            // of a row: how exactly a cell names what the question is about
	keyed               // it, its heading or its row begins with a number or code of the question: clause 4.2
	unstated            // no part that was read holds the quantity or the fact that is asked for
	literal             // it holds an option or another identifier that the question names literally; half if only what leads to it does
	unnamed             // no part that was read holds such an identifier of the question
	// Of the best sentence, compared with the others:
	aheadOfSome // how much more that is than the mean of the next four scores
	certain     // its share of the sum of exp(score) of all sentences
	nFeatures   = iota
)

// evidence are the features of a sentence.
type evidence [nFeatures]float64

// score returns the weighted sum of the features.
func (e *evidence) score() float64 {
	sum := 0.0
	for i, x := range e {
		sum += rankWeights[i] * x
	}
	return sum
}

// compare sets the features of the best sentence that compare it with the others. scores are those of all sentences, the highest first.
func (e *evidence) compare(scores []float64) {
	e[aheadOfSome] = maxAhead
	if next := scores[1:min(len(scores), 5)]; len(next) == 4 {
		e[aheadOfSome] = min(maxAhead, scores[0]-(next[0]+next[1]+next[2]+next[3])/4)
	}
	sum := 0.0
	for _, s := range scores {
		sum += math.Exp(s - scores[0])
	}
	e[certain] = 1 / sum
}

// maxAhead is the greatest lead that counts.
const maxAhead = 5

// answerability returns the probability that the best sentence answers the question. Trick questions are mostly asked about English prose.
func (e *evidence) answerability() float64 {
	t := &trustOther
	if e.isProse() {
		t = &trustProse
	}
	sum := t.bias
	for i, x := range e {
		sum += t.weights[i] * x
	}
	return logistic(sum)
}

// trust is a logistic regression.
type trust struct {
	bias    float64
	weights evidence
}

// isProse reports whether a sentence is English prose.
func (e *evidence) isProse() bool {
	return e[foreign]+e[isRow]+e[isItem]+e[isListed]+e[isLabel]+e[isCode]+e[isRequested] == 0
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// passageView is a passage analyzed for a question.
type passageView struct {
	cs      []*sentence
	written string    // the title
	named   bool      // the question contains the title
	title   []string  // its stems
	over    []float64 // coverage of each term by the title and the headings
	wide    []float64 // coverage of each term by the passage with title and headings
}

// mark raises dst for the terms of the question that s contains.
func (q *question) mark(dst []float64, s string) {
	for _, t := range stemsIn(q.lang, s) {
		if i, x := q.match(t); x > 0 {
			dst[i] = max(dst[i], x)
		}
	}
	q.markMeant(dst, lang.Words(s))
	q.markMoments(dst, s)
}

// markRelated is mark, and counts related words in part.
func (m *Model) markRelated(q *question, dst []float64, s string) {
	q.mark(dst, s)
	for _, w := range lang.Words(s) {
		row, ok := m.table.row(w.Text)
		if !ok || q.lang.IsStopWord(w.Text) {
			continue
		}
		for i, v := range q.vector {
			if v != nil && dst[i] < 1 {
				if x := m.table.dot(v, row); x > nearCosine {
					dst[i] = max(dst[i], 0.8*x)
				}
			}
		}
	}
}

// read finds the question's terms in a passage.
func (m *Model) read(q *question, p model.Passage, cs []*sentence) *passageView {
	title, _, _ := strings.Cut(lang.Truncate(p.Chunk.Title, 400), " (")
	title = strings.TrimSpace(title)
	n := len(q.terms)
	r := &passageView{cs: cs, title: stemsIn(q.lang, title), named: titleIn(q.text, title), written: title, over: make([]float64, n), wide: make([]float64, n)}
	q.mark(r.over, fileName.Replace(p.Chunk.Title))
	for _, h := range p.Chunk.Headings {
		q.mark(r.over, h)
	}
	copy(r.wide, r.over)
	var last *sentence
	for _, c := range cs {
		if last != nil && c.heading == last.heading && c.lead == last.lead && slices.Equal(c.columns, last.columns) {
			c.near, c.over = last.near, last.over
		} else {
			c.near = make([]float64, n)
			m.markRelated(q, c.near, c.heading)
			m.markRelated(q, c.near, c.lead)
			for _, column := range c.columns {
				m.markRelated(q, c.near, column)
			}
			c.over = slices.Clone(r.over)
			raise(c.over, c.near)
			raise(r.wide, c.near)
		}
		if q.task != nil {
			c.named = q.namedBy(c, p, r)
		} else if q.isAskedBy(c.heading) {
			c.named = q.share(c.over)
		}
		last = c
		c.exact, c.covers, c.nearest = m.termCoverage(q, c)
		raise(r.wide, c.covers)
	}
	return r
}

// fileName separates the words of the name of a file.
var fileName = strings.NewReplacer("-", " ", "_", " ", ".csv", "", ".tsv", "", ".md", "", ".txt", "", ".html", "", ".pdf", "", ".docx", "", ".xlsx", "")

// raise sets each value of dst to the greater one.
func raise(dst, src []float64) {
	for i, x := range src {
		dst[i] = max(dst[i], x)
	}
}

// share returns the weighted share of the question's terms that are covered by the best of several sources.
func (q *question) share(covers ...[]float64) float64 {
	if q.plainTotal == 0 {
		return 0
	}
	sum := 0.0
	for i, w := range q.plain {
		most := 0.0
		for _, c := range covers {
			most = max(most, c[i])
		}
		sum += w * most
	}
	return sum / q.plainTotal
}

// shareOf returns the share of a text.
func (q *question) shareOf(s string) float64 {
	covers := make([]float64, len(q.terms))
	q.mark(covers, s)
	return q.share(covers)
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

// rarestOf returns the weight of the rarest term that no source covers. Related words do not count: trick questions have them.
func (q *question) rarestOf(covers ...[]float64) float64 {
	most := 0.0
	for i, w := range q.plain {
		held := 0.0
		for _, c := range covers {
			if c[i] == 1 || q.lang != lang.English {
				held = max(held, c[i])
			}
		}
		most = max(most, w*(1-held))
	}
	return most
}

// weigh computes the features of a passage's sentences. unknown are the terms that no passage has.
func (m *Model) weigh(q *question, p model.Passage, best float64, r *passageView, unknown []bool) {
	for k, c := range r.cs {
		e := &c.evid
		if c.dangles && k > 0 { // it is about what the sentence before says
			c.near, c.over = slices.Clone(c.near), slices.Clone(c.over)
			raise(c.near, r.cs[k-1].exact)
			if r.cs[k-1].dangles { // and that about the one before it
				raise(c.near, r.cs[k-1].near)
			}
			raise(c.over, c.near)
		}
		before, after := r.cs[max(0, k-1)].covers, r.cs[min(len(r.cs)-1, k+1)].covers
		e[own] = q.share(c.covers)
		e[exactFar] = q.share(c.exact, c.over)
		e[near] = q.share(c.covers, c.near)
		e[far] = q.share(c.covers, c.over)
		e[around] = q.share(c.covers, c.over, before, after)
		e[wide] = q.share(r.wide)
		e[rarest] = q.rarestOf(c.covers, c.over)
		for i, w := range q.plain {
			if r.wide[i] == 1 && max(c.exact[i], c.over[i], before[i], after[i]) < 1 {
				e[elsewhere] += w
			}
		}
		e[pairs] = q.pairs(c)
		var longest int
		e[phrase], longest = q.phrases(c)
		e[copied] = float64(longest)
		e[similar] = max(0, dot(q.sum, m.embed(c.text)))
		for i := range q.terms {
			if c.covers[i] < 1 && c.over[i] < 1 {
				e[related] += q.plain[i] * c.nearest[i] / max(q.plainTotal, 1e-9)
			}
		}
		e[passage] = p.Score
		if best > 0 {
			e[rank] = max(0, p.Score/best)
		}
		for _, i := range q.named {
			if c.exact[i] < 0.6 && c.over[i] < 1 {
				e[names] += value(!slices.Contains(q.numbers, i))
				e[unknownNames] += value(unknown[i])
			}
		}
		for _, i := range q.numbers {
			e[numbers] += value(c.exact[i] < 1 && c.over[i] < 1)
		}
		e[headed] = value(c.heading != "" && q.onlyAbout(c.heading))
		e[tasked] = c.named / (1 + taskDecay*float64(c.under))
		if !c.code {
			e[acts] = q.task.In(c.own)
		}
		e[first] = value(c.under == 0)
		m.weighForm(q, c, r.cs)
		e[terms], e[foreign] = float64(len(q.terms)), value(q.lang != lang.English)
	}
}

// weighForm computes the features of what kind of text a sentence is.
func (m *Model) weighForm(q *question, c *sentence, cs []*sentence) {
	e := &c.evid
	if q.kind == definitionKind && q.lang == lang.English {
		e[defines] = q.definitionFit(c)
	} else {
		e[fit] = q.typeFit(c, c.own)
	}
	if c.under == 0 && q.hasType() && c.named >= minHeaded && q.task == nil {
		e[fit] = 1 // the heading asks for it
	}
	if q.hasType() && e[fit] == 0 {
		e[fitNear] = q.typeFit(c, c.leadingText())
		if c.setting {
			e[fitNear] = 0 // its value answers, and not its comment
		}
		e[unfit] = value(e[fitNear] == 0)
	}
	if c.row {
		q.weighRow(c)
	}
	e[measured], e[amount] = value(q.isMeasured(c)), value(q.holdsAmount(c))
	isSize := q.measure != nil && q.measure.phrases == lang.AsksSize && e[fit] == 1 // a choir has 32 singers
	e[unmeasured] = value(q.measure != nil && e[measured] == 0 && !isSize && !q.measure.in(q.lang, c.leadingText()))
	q.weighFact(c)
	e[literal] = q.literalFit(c)
	if next := q.continuation(c, cs); next != nil && !next.code { // it is said too
		e[fitNear], e[unfit], e[unmeasured] = 1, 0, 0
		e[near] = q.share(c.covers, c.near, next.covers)
		e[rarest] = q.rarestOf(c.covers, c.over, next.covers)
		c.reason = q.kind == reasonKind && q.typeFit(next, next.own) == 1
	}
	c.reason = c.reason || q.kind == reasonKind && e[fit] == 1
	x := q.rangeFit(c)
	e[inRange], e[outOfRange] = max(0, x), max(0, -x)
	several := q.kind == listKind || q.listed
	e[isItem] = value(c.listed)
	switch {
	case c.listed && (several || q.kind == instructionKind), several && c.label && c.group > 0 && e[unknownNames] == 0 && q.onlyAbout(numberingRE.ReplaceAllString(c.heading, "")):
		e[isListed] = 1
	case q.kind == definitionKind && c.label && c.group > 0 && q.share(c.near) >= minForm && q.shareOf(cmp.Or(labelOf(c.text), c.lead)) == 0:
		e[isListed] = 1 // who is the emergency contact: what the form says under that heading
	case several && !c.row && e[unknownNames] == 0 && enumerates(c.text) && (q.negated || !hasNegation(q.lang, c.words)):
		e[isListed] = 0.5
	}
	if c.code {
		if q.code || q.way || q.kind == instructionKind {
			e[isRequested] = q.actionFit(c, cs)
		} else {
			e[isCode] = 1
		}
	}
	if c.label {
		e[isLabel], e[labelled] = 1, q.shareOf(cmp.Or(labelOf(c.text), c.lead))
	}
	if c.setting {
		e[isLabel], e[labelled] = 1, q.shareOf(c.key)
	}
	if q.who && !c.row {
		e[labelled] = max(e[labelled], q.roleShare(c.own))
	}
	if q.kind == reasonKind && e[fit] < 1 { // its key and its label say what it is about, and its cells seldom why
		e[rowExact], e[labelled] = 0, 0
	}
	n := len(c.words)
	e[short], e[long] = value(n < 5 && !c.row && !c.label && !c.setting), max(0, min(1, float64(n-40)/40))
	e[asks] = value(strings.HasSuffix(strings.TrimRight(removeMarks(c.text), " "), "?"))
	e[hangs] = value(c.dangles || c.follows)
	e[repeats] = value(e[fitNear] == 0 && !q.mayConfirm(c) && !q.saysMore(c, cs) && q.repeatsQuestion(c) || q.repeatsValue(c))
	e[keyed] = max(e[keyed], value(q.isKey(c.own) || q.isKey(c.heading) || q.namesCode(c)))
	if q.lang == lang.English {
		said := map[string]struct{}{}
		for _, w := range c.words {
			said[w.Text] = struct{}{}
			said[stemIn(q.lang, w.Text)] = struct{}{}
		}
		e[opposed], e[flipped] = q.contradictions(said)
	}
	e[negated] = value(q.negated && q.kind != reasonKind && !hasNegation(q.lang, c.words) && !hasNegation(q.lang, lang.Words(c.leadingText()))) // why not: because it was refused
}

// roleRE matches a role in parentheses after a name: Ada Vale (treasurer), Bo Lind (hereinafter "the landlord").
var roleRE = regexp.MustCompile(`\p{Lu}[\pL'’.-]+[^()]{0,80}\(([^()]{2,60})\)`)

// roleShare returns the share of the question's terms in a role in parentheses that has at most one other word.
func (q *question) roleShare(text string) (most float64) {
	for _, m := range roleRE.FindAllStringSubmatch(text, 16) {
		others := 0
		for _, s := range stemsIn(q.lang, m[1]) {
			if _, asked := q.index[s]; !asked {
				others++
			}
		}
		if others <= 1 {
			most = max(most, q.shareOf(m[1]))
		}
	}
	return most
}

// minForm is the least share of the question's terms in the heading over the fields of a form that say together what the heading names.
const minForm = 0.7

// leadingText returns the headings over a sentence and what leads to it.
func (c *sentence) leadingText() string {
	return strings.Join(append(slices.Clone(c.outer), c.heading, c.lead), " ")
}

func value(b bool) float64 {
	if b {
		return 1
	}
	return 0
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

// saysMore reports whether a sentence that repeats the question is quoted with the one after it.
func (q *question) saysMore(c *sentence, cs []*sentence) bool {
	if c.listed || c.at+1 >= len(cs) {
		return false
	}
	next := cs[c.at+1]
	return next.whole && !next.row && !next.code && next.heading == c.heading
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
