package local

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// NoAnswer is the answer if the passages hold none.
const NoAnswer = lang.NoAnswer

// Generate streams the sentences of the passages that answer the question: one or two for a simple question, more for a broad
// one, in the order of the passages, each followed by its citation. The text is streamed by word, with the space before the
// word, and without control characters. Code is streamed by line between fences. The time is linear in the passages; ctx is
// checked between sentences.
func (m *Model) Generate(ctx context.Context, t model.Task) iter.Seq2[model.Delta, error] {
	m.observe(t)
	return func(yield func(model.Delta, error) bool) {
		chosen, unanswered, answerability, err := m.selectAll(ctx, t)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		if len(chosen) == 0 {
			streamWords(ctx, NoAnswer, "", yield)
			return
		}
		gap := ""
		for _, c := range chosen {
			if !c.stream(ctx, gap, yield) || !yield(model.Delta{Cite: t.Passages[c.passage].N}, nil) {
				return
			}
			if gap = " "; c.code {
				gap = paragraph
			}
		}
		for _, part := range unanswered {
			part = addedRE.ReplaceAllString(part, "?")
			if !streamWords(ctx, languageOf(part, t.Passages).Unanswered(part), paragraph, yield) {
				return
			}
		}
		if answerability > 0 {
			yield(model.Delta{Answerability: answerability}, nil)
		}
	}
}

// paragraph is what stands between code and the sentences around it.
const paragraph = "\n\n"

// stream yields a sentence, or code, after a gap.
func (c *sentence) stream(ctx context.Context, gap string, yield func(model.Delta, error) bool) bool {
	code, ok := lang.Fence(c.text)
	if !c.code || !ok {
		return streamWords(ctx, c.text, gap, yield)
	}
	if err := ctx.Err(); err != nil {
		yield(model.Delta{}, err)
		return false
	}
	if gap != "" && !yield(model.Delta{Text: paragraph}, nil) {
		return false
	}
	for line := range strings.Lines(code + "\n") {
		if !yield(model.Delta{Text: line}, nil) {
			return false
		}
	}
	return true
}

// streamWords yields a sentence by word, after a gap. It returns false if the consumer has stopped.
func streamWords(ctx context.Context, s, gap string, yield func(model.Delta, error) bool) bool {
	if err := ctx.Err(); err != nil {
		yield(model.Delta{}, err)
		return false
	}
	for w := range strings.FieldsSeq(s) {
		if !yield(model.Delta{Text: gap + showMarks(w)}, nil) {
			return false
		}
		gap = " "
	}
	return true
}

// maxParts is the maximum number of sub-questions that are answered separately.
const maxParts = 4

// selectAll returns the sentences that answer each sub-question, without duplicates, the sub-questions that have no answer, and the lowest answerability of these.
// Without sub-questions, or if none has an answer, it returns the answer to the whole question. If the passages do not seem to answer a question that was
// rewritten, it is judged by the words that the user said: the passages are about the subject already, and rules may have added a wrong name.
func (m *Model) selectAll(ctx context.Context, t model.Task) (chosen []*sentence, unanswered []string, answerability float64, err error) {
	lowest := 1.0
	for i, part := range t.SubQuestions[:min(len(t.SubQuestions), maxParts)] {
		one := t
		one.Question = part
		if i > 0 && len(chosen) > 0 { // it may ask for another cell of the row that answers the one before
			one.Asked, one.History = part, []model.Message{{Role: model.User, Text: t.SubQuestions[i-1]}, {Role: model.Assistant, Text: said(chosen)}}
		}
		more, answerability, err := m.selectSentences(ctx, one)
		if err != nil {
			return nil, nil, 0, err
		}
		if len(more) == 0 {
			unanswered = append(unanswered, part)
		}
		lowest = min(lowest, answerability)
		for _, c := range more {
			at := slices.IndexFunc(chosen, func(o *sentence) bool { return o.passage == c.passage && o.at == c.at || o.text == c.text })
			switch {
			case at < 0:
				chosen = append(chosen, c)
			case c.row:
				chosen[at].text = withCells(chosen[at].text, c.text)
			}
		}
	}
	if len(chosen) > 0 {
		return chosen, slices.DeleteFunc(unanswered, func(part string) bool { return isSaid(part, chosen) }), lowest, nil
	}
	chosen, answerability, err = m.selectSentences(ctx, t)
	if len(chosen) == 0 && err == nil && namesThing(t.Asked) {
		t.Question = t.Asked
		chosen, answerability, err = m.selectSentences(ctx, t)
	}
	return chosen, nil, answerability, err
}

// said returns the text of sentences.
func said(sentences []*sentence) string {
	out := make([]string, len(sentences))
	for i, c := range sentences {
		out[i] = c.text
	}
	return strings.Join(out, " ")
}

// withCells returns the text of a row with the cells of another text of it that it lacks. Both begin with the same name.
func withCells(text, other string) string {
	same := 0
	for same < min(len(text), len(other)) && text[same] == other[same] {
		same++
	}
	if i := strings.LastIndex(other[:same], ": "); i >= 0 {
		other = other[i+2:]
	}
	for cell := range strings.SplitSeq(strings.TrimSuffix(other, "."), "; ") {
		if !strings.Contains(text, cell) {
			text = strings.TrimSuffix(text, ".") + "; " + cell + "."
		}
	}
	return text
}

// addedRE matches what rules have added to a sub-question.
var addedRE = regexp.MustCompile(` \([^()]*\)\?$`)

// isSaid reports whether sentences have at least half of the terms of a question.
func isSaid(question string, sentences []*sentence) bool {
	l := lang.OfQuestion(question)
	terms := l.UniqueTerms(addedRE.ReplaceAllString(question, "?"))
	said := 0
	for _, t := range terms {
		stem := stemIn(l, t.Word)
		if slices.ContainsFunc(sentences, func(c *sentence) bool { return slices.Contains(c.stems, stem) }) {
			said++
		}
	}
	return 2*said >= len(terms)
}

// namesThing reports whether a question has a subject of its own, and not only a number or a day: and in 2025?
func namesThing(asked string) bool {
	l := lang.OfQuestion(asked)
	return slices.ContainsFunc(l.UniqueTerms(asked), func(t lang.Term) bool {
		return utf8.RuneCountInString(t.Word) > 1 && !strings.ContainsAny(t.Word, "0123456789") && !l.Has(lang.Days, t.Word) && !l.Has(lang.Months, t.Word)
	})
}

// selectSentences returns the sentences of the answer in order; none if there is no answer. It also returns the answerability of the
// best sentence, or 0 if the question asks for no particular sentence.
func (m *Model) selectSentences(ctx context.Context, t model.Task) ([]*sentence, float64, error) {
	if m.table == nil {
		return nil, 0, nil
	}
	q, all, readings, err := m.rankAll(ctx, t)
	if err != nil || len(all) == 0 {
		return nil, 0, err
	}
	answerability := 0.0
	if !q.open {
		answerability = all[0].evid.answerability()
	}
	trusted := q.open || m.opts.Patience <= 0 || answerability >= q.minTrust(all[0])*m.opts.Patience && q.mayReason(all[0]) && !q.isArbitrary(all[0], readings) && !q.isOfAnother(all[0], readings)
	var chosen []*sentence
	if !t.Summary {
		if chosen = q.account(t, all[0], readings, m.opts.Sentences); chosen != nil {
			// A section that is named after the topic answers about as often as a sentence of this answerability.
			return q.compose(chosen, chosen[0], readings), max(answerability, minSure), nil
		}
	}
	if top := all[0]; !top.row && !top.code {
		chosen = q.multiDocument(top, trusted, readings)
	}
	switch {
	case chosen != nil:
	case t.Summary:
		answerability = 0
		chosen = q.summarize(t, all, readings, m.opts.Sentences)
	case !trusted:
		return nil, answerability, nil
	default:
		chosen = q.pick(all, readings, m.opts.Sentences)
	}
	sort.SliceStable(chosen, func(i, j int) bool {
		a, b := chosen[i], chosen[j]
		if a.passage != b.passage {
			return a.passage < b.passage
		}
		return a.at < b.at
	})
	answer := q.compose(chosen, all[0], readings)
	if q.lacksPrice(all[0], answer) && m.opts.Patience > 0 {
		return nil, answerability, nil
	}
	return answer, answerability, nil
}

// rankAll returns the quotable sentences, best first, and the passages.
func (m *Model) rankAll(ctx context.Context, t model.Task) (*question, []*sentence, []*passageView, error) {
	q := m.ask(t)
	best := 0.0
	byPassage := make([][]*sentence, len(t.Passages))
	for i, p := range t.Passages {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		best = max(best, p.Score)
		byPassage[i] = sentences(p, i, q.lang)
	}
	joinParts(t.Passages, byPassage)
	m.correctTypos(q, byPassage)
	for _, cs := range byPassage {
		for _, c := range cs {
			c.whole = c.whole && (!c.header || q.message)
		}
	}
	prose := false
	for _, cs := range byPassage {
		prose = prose || slices.ContainsFunc(cs, func(c *sentence) bool { return c.whole && !c.row && !c.code && !c.label })
	}
	readings := make([]*passageView, len(t.Passages))
	unknown := make([]bool, len(q.terms))
	for i, p := range t.Passages {
		readings[i] = m.read(q, p, byPassage[i])
	}
	for k := range unknown {
		unknown[k] = !slices.ContainsFunc(readings, func(r *passageView) bool { return r.wide[k] >= 0.6 })
	}
	var all []*sentence
	q.before.findQuotes(t.Passages, byPassage)
	for i, p := range t.Passages {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		m.weigh(q, p, best, readings[i], unknown)
	}
	q.selectRows(t.Passages, byPassage)
	for _, cs := range byPassage {
		for _, c := range cs {
			c.score = c.evid.score()
		}
	}
	q.weighTurn(t.Passages, byPassage)
	for _, cs := range byPassage {
		for _, c := range cs {
			if c.whole && (!c.code || q.isRequestedCode(c)) && !((c.row || c.label && c.evid[labelled] == 0) && (q.broad || q.open) && prose) {
				all = append(all, c)
			}
		}
	}
	if q.open {
		m.centrality(all)
	} else {
		none := q.isUnstated(readings)
		named := q.isNamed(t.Passages, readings)
		for _, c := range all {
			c.evid[unstated], c.evid[unnamed] = value(none), value(!named)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].score > all[j].score })
	q.preferNewest(all, t.Passages)
	if !q.open && len(all) > 0 {
		var scores []float64
		for i, c := range all {
			if i == 0 || !c.met || c.table != all[0].table { // rows that meet the same condition are one answer
				scores = append(scores, c.score)
			}
		}
		all[0].evid.compare(scores)
	}
	return q, all, readings, nil
}

// minOfCommand is the least share of the question's terms around code, for a question that asks for a command: nothing else is one.
const minOfCommand = 0.12

// isRequestedCode reports whether code may be the answer: the question asks for code on this subject, or names it.
func (q *question) isRequestedCode(c *sentence) bool {
	return q.command && q.code && c.evid[around] >= minOfCommand || q.code && c.evid[far] >= 0.4 && c.evid[around] >= 0.6 || (q.way || q.kind == instructionKind) && c.evid[around] >= 0.4
}

// minTrust returns the answerability that the first sentence needs. Answers to broad questions need several sentences, and those to yes/no questions
// seldom repeat the words of the question: "No dogs" answers a question about a poodle. If headings name what the question asks how to do, the text under
// them is about it. Few sentences give a reason, so one that does needs less evidence.
func (q *question) minTrust(best *sentence) float64 {
	if q.broad || q.whether || best.reason || best.named >= minHeaded {
		return minAnswerability * 0.6
	}
	return minAnswerability
}

// minHeaded is how well headings must name a task, so that the text under them needs less evidence: at least the whole object.
const minHeaded = 0.5

// mayReason reports whether the best sentence gives the reason that the question asks for, or is completed by a sentence that may do so without a word for a
// reason.
func (q *question) mayReason(best *sentence) bool {
	return q.kind != reasonKind || best.reason || best.evid[fitNear] > 0
}

// isArbitrary reports whether the best sentence is a row that nothing distinguishes from the others of its table: no cell has a word of the question, and it meets
// no condition. Words of Chinese and Japanese questions are not separated well enough to say so.
func (q *question) isArbitrary(best *sentence, readings []*passageView) bool {
	e := &best.evid
	if !best.row || best.met || best.moment > 0 || e[far] >= minAbout && e[names] == 0 || e[rowExact]+e[keyed]+e[inRange] > 0 || q.listed || q.kind == listKind || q.before.answer != "" || q.lang.Code == "zh" || q.lang.Code == "ja" {
		return false
	}
	for i := range q.terms {
		if best.covers[i] > best.over[i] {
			return false
		}
	}
	rows := 0
	for _, r := range readings {
		for _, c := range r.cs {
			if c.row && c.table == best.table {
				rows++
			}
		}
	}
	return rows >= minArbitrary
}

// minAbout is the share of the terms of a question in the title, the headings and the names of the columns of a table that is about nothing else.
const minAbout = 0.75

// minArbitrary is the number of rows from which a table shows which one is meant.
const minArbitrary = 3

// isOfAnother reports whether the question asks for an age, a telephone number or an e-mail address, and the best sentence has none or may have that of somebody
// else: a name of the question is in another passage, and not in this one.
func (q *question) isOfAnother(best *sentence, readings []*passageView) bool {
	if q.measure == nil || !q.measure.recognized {
		return false
	}
	return best.evid[unmeasured] > 0 || slices.ContainsFunc(q.named, func(i int) bool {
		return !slices.Contains(q.numbers, i) && readings[best.passage].wide[i] < 0.6 && slices.ContainsFunc(readings, func(r *passageView) bool { return r.wide[i] >= 0.6 })
	})
}

// centrality scores sentences for a question without a subject: by similarity to all others, position and rank of the passage.
func (m *Model) centrality(all []*sentence) {
	mean := make([]float32, m.dim())
	vectors := make([][]float32, len(all))
	for i, c := range all {
		vectors[i] = m.embed(c.text)
		for k, x := range vectors[i] {
			mean[k] += x
		}
	}
	mean = unit(mean)
	for i, c := range all {
		c.score = 10*max(0, dot(mean, vectors[i])) + 2*c.evid[rank] - 4*(c.evid[short]+c.evid[isCode]+c.evid[isRow])
		if c.at == 0 {
			c.score += 2
		}
	}
}

// limits returns the maximum number of sentences of an answer with this best sentence, and by how much their scores may be lower.
func (q *question) limits(best *sentence, sentences int) (int, float64) {
	switch {
	case q.open, q.broad:
		return 4 * sentences, 6
	case q.kind == definitionKind && best.evid[defines] >= 1: // a definition says it all
		return 1, 0
	case q.listed:
		return sentences + 1, 1.5
	}
	return sentences, 1.6
}

// minSure is the answerability below which a second sentence is quoted that is less like the question, or of another passage.
const minSure = 0.45

// maxPicks is the maximum number of candidates that are compared.
const maxPicks = 64

// pick selects sentences by maximal marginal relevance: J. Carbonell and J. Goldstein, The Use of MMR, 1998. A sentence that
// begins with a pronoun is preceded by the one before it.
func (q *question) pick(ranked []*sentence, readings []*passageView, sentences int) []*sentence {
	pool := ranked[:min(len(ranked), maxPicks)]
	limit, margin := q.limits(pool[0], sentences)
	floor := pool[0].score - margin
	typed := pool[0].evid[fit]
	sure := pool[0].evid.answerability() >= minSure
	var chosen []*sentence
	used := map[*sentence]bool{}
	from := map[int]int{}
	take := func(c *sentence) {
		used[c] = true
		chosen = append(chosen, c)
		from[c.passage]++
	}
	for len(chosen) < limit {
		var best *sentence
		bestGain := 0.0
		for _, c := range pool {
			strict := limit <= 4 && c != pool[0] && (sure || c.row || c.code || c.evid[short] > 0)
			if used[c] || c.score < floor || c != pool[0] && len(chosen) == 0 || strict && q.hasType() && c.evid[fit] < typed {
				continue
			}
			if strict && c.evid[own] < pool[0].evid[own]/2 {
				continue // it is about something else
			}
			twin := maxOverlap(c, chosen)
			if twin > 0.6 || strict && len(chosen) > 0 && q.redundant(c, pool[0]) {
				continue
			}
			gain := c.score * (1 - 0.7*twin)
			if limit > 4 {
				gain -= float64(from[c.passage]) * 0.08 * pool[0].score // an account draws on several passages
			}
			if gain > bestGain {
				best, bestGain = c, gain
			}
		}
		if best == nil {
			break
		}
		if !withContext(best, readings[best.passage].cs, limit-len(chosen), used, take) && len(chosen) > 0 {
			used[best] = true // it would hang in the air, and something is said already
			continue
		}
		take(best)
		if cs := readings[best.passage].cs; len(chosen) < limit && !q.whether && q.repeatsQuestion(best) && q.saysMore(best, cs) && !used[cs[best.at+1]] {
			take(cs[best.at+1]) // what was asked is said before what answers it
		}
	}
	return chosen
}

// summarize selects the best sentences of each document in turn, without repetitions.
func (q *question) summarize(t model.Task, ranked []*sentence, readings []*passageView, sentences int) []*sentence {
	var order []corpus.DocumentID
	of := map[corpus.DocumentID][]*sentence{}
	for _, c := range ranked {
		id := t.Passages[c.passage].Chunk.Document
		if of[id] == nil {
			order = append(order, id)
		}
		of[id] = append(of[id], c)
	}
	limit, _ := q.limits(ranked[0], sentences)
	var chosen []*sentence
	for left := true; left && len(chosen) < limit; {
		left = false
		for _, id := range order {
			for len(of[id]) > 0 && len(chosen) < limit {
				c := of[id][0]
				of[id] = of[id][1:]
				if !c.dangles && maxOverlap(c, chosen) <= 0.6 {
					chosen, left = append(chosen, c), true
					break
				}
			}
		}
	}
	if len(chosen) == 0 {
		return q.pick(ranked, readings, sentences)
	}
	return chosen
}

// redundant reports whether a short answer is better without a sentence: a table row, anything after the requested code or amount, or a
// sentence of another passage that adds nothing of the question.
func (q *question) redundant(c, best *sentence) bool {
	switch {
	case best.evid[amount] > c.evid[amount] && !coversMore(c, best):
		return true
	case c.row || best.code || c.passage != best.passage && (q.hasType() && best.evid[fit] == 1 || q.measure != nil && q.measure != money && best.evid[unmeasured] == 0):
		return true
	case c.passage == best.passage || c.code:
		return false
	}
	for i, x := range c.covers {
		if x-best.covers[i] > 0.3 {
			return false
		}
	}
	return true
}

// coversMore reports whether a sentence has a term of the question that another one lacks.
func coversMore(c, other *sentence) bool {
	for i, x := range c.exact {
		if x == 1 && other.exact[i] < 1 {
			return true
		}
	}
	return false
}

// withContext takes the sentence before one that begins with a pronoun. It reports whether the sentence can be quoted.
func withContext(c *sentence, passage []*sentence, room int, used map[*sentence]bool, take func(*sentence)) bool {
	if !c.dangles || c.at == 0 {
		return !c.dangles
	}
	before := passage[c.at-1]
	if used[before] {
		return true
	}
	if room < 2 || !before.whole || before.dangles || len(before.words) > 45 {
		return false
	}
	take(before)
	return true
}

// maxOverlap returns the greatest share of terms, of the shorter sentence, that c has in common with one of the chosen.
func maxOverlap(c *sentence, chosen []*sentence) float64 {
	most := 0.0
	mine := termSet(c)
	for _, o := range chosen {
		other := termSet(o)
		both := 0
		for t := range mine {
			if _, ok := other[t]; ok {
				both++
			}
		}
		if n := min(len(mine), len(other)); n > 0 {
			most = max(most, float64(both)/float64(n))
		}
	}
	return most
}

func termSet(c *sentence) map[string]struct{} {
	m := make(map[string]struct{}, len(c.stems))
	for _, s := range c.stems {
		if s != "" {
			m[s] = struct{}{}
		}
	}
	return m
}
