package local

import (
	"context"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// NoAnswer is what [Model.Generate] says where the passages hold no answer.
const NoAnswer = "The documents do not seem to hold an answer to this question."

// Generate streams the sentences of the passages that answer the question: one or two for a simple question, more for a
// broad one, in the order of the passages and of their text, each followed by its citation. The text comes word by word,
// each word but the first with the space before it, and holds no control characters. Code, which is given where the
// question asks for a command or an example, comes line by line between fences, and may hold tabs. The time taken is linear in the
// passages; ctx is looked at between sentences.
func (m *Model) Generate(ctx context.Context, t model.Task) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		chosen, err := m.chooseAll(ctx, t)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		if len(chosen) == 0 {
			say(ctx, NoAnswer, true, yield)
			return
		}
		for i, c := range chosen {
			if !c.say(ctx, i == 0, yield) || !yield(model.Delta{Cite: t.Passages[c.passage].N}, nil) {
				return
			}
		}
	}
}

// say yields a sentence, or code as it stands.
func (c *sentence) say(ctx context.Context, first bool, yield func(model.Delta, error) bool) bool {
	code, ok := lang.Fence(c.text)
	if !c.code || !ok {
		return say(ctx, c.text, first, yield)
	}
	if err := ctx.Err(); err != nil {
		yield(model.Delta{}, err)
		return false
	}
	if !first && !yield(model.Delta{Text: "\n\n"}, nil) {
		return false
	}
	for line := range strings.Lines(code + "\n") {
		if !yield(model.Delta{Text: line}, nil) {
			return false
		}
	}
	return true
}

// say yields a sentence word by word, and false once nobody listens any more.
func say(ctx context.Context, s string, first bool, yield func(model.Delta, error) bool) bool {
	if err := ctx.Err(); err != nil {
		yield(model.Delta{}, err)
		return false
	}
	for w := range strings.FieldsSeq(s) {
		if !first {
			w = " " + w
		}
		first = false
		if !yield(model.Delta{Text: revealed(w)}, nil) {
			return false
		}
	}
	return true
}

// maxParts bounds the parts of a question that are answered by themselves.
const maxParts = 4

// chooseAll gives the sentences that answer each part of the question, those of the first part first and each once; where it has
// none, or nothing answers a part, those that answer it as a whole.
func (m *Model) chooseAll(ctx context.Context, t model.Task) ([]*sentence, error) {
	var chosen []*sentence
	for _, part := range t.SubQuestions[:min(len(t.SubQuestions), maxParts)] {
		one := t
		one.Question = part
		more, err := m.choose(ctx, one)
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			if !slices.ContainsFunc(chosen, func(o *sentence) bool { return o.passage == c.passage && o.at == c.at || o.text == c.text }) {
				chosen = append(chosen, c)
			}
		}
	}
	if len(chosen) > 0 {
		return chosen, nil
	}
	return m.choose(ctx, t)
}

// choose gives the sentences of the answer in the order in which they are said; none if nothing answers.
func (m *Model) choose(ctx context.Context, t model.Task) ([]*sentence, error) {
	if m.table == nil {
		return nil, nil
	}
	q, all, readings, err := m.rankAll(ctx, t)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	trusted := q.open || m.opts.Patience <= 0 || q.doubts(all[0], readings).trust() >= q.need()*m.opts.Patience
	chosen := q.stepwise(all[0], trusted, readings)
	switch {
	case chosen != nil:
	case t.Summary:
		chosen = q.account(t, all, readings, m.opts.Sentences)
	case !trusted:
		return nil, nil
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
	return chosen, nil
}

// rankAll gives the sentences that may be said, best first, and those of each passage.
func (m *Model) rankAll(ctx context.Context, t model.Task) (*question, []*sentence, []*reading, error) {
	q := m.ask(t)
	best := 0.0
	byPassage := make([][]*sentence, len(t.Passages))
	for i, p := range t.Passages {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		best = max(best, p.Score)
		byPassage[i] = sentences(p, i)
	}
	m.correct(q, byPassage)
	prose := false
	for _, cs := range byPassage {
		prose = prose || slices.ContainsFunc(cs, func(c *sentence) bool { return c.whole && !c.row && !c.code })
	}
	readings := make([]*reading, len(t.Passages))
	var all []*sentence
	for i, p := range t.Passages {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		cs := byPassage[i]
		readings[i] = m.read(q, p, cs)
		m.weigh(q, p, best, readings[i])
		for _, c := range cs {
			c.score = c.evid.score()
			if c.whole && (!c.code || q.shows(c)) && !(c.row && (q.broad || q.open) && prose) {
				all = append(all, c)
			}
		}
	}
	if q.open {
		m.central(all)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].score > all[j].score })
	q.prefer(all)
	return q, all, readings, nil
}

// shows says whether code may be the answer: it was asked for and stands under what was, or it does what was asked by name.
func (q *question) shows(c *sentence) bool {
	return q.code && c.evid.context >= 0.5 && c.evid.around >= 0.7 || q.way && c.evid.exact >= 0.85
}

// prefer puts code that was asked for, or a sentence that holds the kind of thing asked for, before a somewhat better one that
// cannot be the answer, as it is not or holds none.
func (q *question) prefer(ranked []*sentence) {
	if q.open || q.broad || len(ranked) == 0 || !q.code && (!q.typed() || ranked[0].evid.fit > 0) {
		return
	}
	top := ranked[0]
	right := func(c *sentence) bool {
		if q.code {
			return c.code && c.score >= 0.6*top.score && c.evid.around >= top.evid.around-0.2
		}
		return c.evid.fit == 1 && c.evid.context >= 0.6*top.evid.context && c.score >= 0.7*top.score && !(c.row && q.kind == aPlace)
	}
	best := -1
	for i, c := range ranked {
		if right(c) && (best < 0 || c.evid.context > ranked[best].evid.context+0.1) {
			best = i
		}
	}
	if best > 0 {
		c := ranked[best]
		copy(ranked[1:best+1], ranked[:best])
		ranked[0] = c
	}
}

// need is the trust that the first sentence must have; that of a broad question rests on several sentences.
func (q *question) need() float64 {
	if q.broad {
		return enough * 0.6
	}
	return enough
}

// central scores sentences for a question that says nothing of its subject: what is most like all the others, what stands
// first, what comes from the better passages.
func (m *Model) central(all []*sentence) {
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
		c.score = 10*max(0, dot(mean, vectors[i])) + 2*c.evid.rank - 4*c.evid.odd
		if c.at == 0 {
			c.score += 2
		}
	}
}

// limits gives how many sentences an answer that begins with the best may have, and what share of its score each needs.
func (q *question) limits(best *sentence, sentences int) (int, float64) {
	switch {
	case q.open, q.broad:
		return 4 * sentences, 0.7
	case q.kind == aMeaning && best.evid.fit >= 1: // a definition says it all
		return 1, 1
	case q.listed:
		return sentences + 1, 0.85
	}
	return sentences, 0.87
}

// maxPicks is how many candidates are looked at for what they add.
const maxPicks = 64

// pick takes the best candidate and then, again and again, the one that adds most: maximal marginal relevance, after
// J. Carbonell and J. Goldstein, The Use of MMR, 1998. A sentence that opens with a pronoun brings along the one before it.
func (q *question) pick(ranked []*sentence, readings []*reading, sentences int) []*sentence {
	pool := ranked[:min(len(ranked), maxPicks)]
	limit, share := q.limits(pool[0], sentences)
	floor := share * pool[0].score
	fit := pool[0].evid.fit
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
			if used[c] || c.score < floor || c != pool[0] && (len(chosen) == 0 || q.typed() && limit <= 4 && c.evid.fit < fit) {
				continue
			}
			twin := alike(c, chosen)
			if twin > 0.6 || limit <= 4 && len(chosen) > 0 && q.marginal(c, pool[0]) {
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
		if !lean(best, readings[best.passage].cs, limit-len(chosen), used, take) && len(chosen) > 0 {
			used[best] = true // it would hang in the air, and something is said already
			continue
		}
		take(best)
		if next := best.at + 1; q.echoes(best) && len(chosen) < limit && next < len(readings[best.passage].cs) {
			if c := readings[best.passage].cs[next]; c.whole && !c.row && !c.code && !used[c] {
				take(c) // what was asked is said before what answers it
			}
		}
	}
	return chosen
}

// account picks for an account of documents the best sentences of each in turn, but for those that say again what was said: how
// far one lags behind the best does not count.
func (q *question) account(t model.Task, ranked []*sentence, readings []*reading, sentences int) []*sentence {
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
				if !c.dangles && alike(c, chosen) <= 0.6 {
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

// marginal says whether a sentence is better left out of a short answer: a row, what would follow code that was asked
// for, or one of another passage that holds nothing of the question which the best lacks.
func (q *question) marginal(c, best *sentence) bool {
	switch {
	case c.row || best.code || q.typed() && best.evid.fit == 1 && c.passage != best.passage:
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

// lean takes the sentence before one that opens with a pronoun, and says whether the sentence can stand.
func lean(c *sentence, passage []*sentence, room int, used map[*sentence]bool, take func(*sentence)) bool {
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

// alike is the greatest share of terms that c has in common with one of the chosen, of those of the shorter of the two.
func alike(c *sentence, chosen []*sentence) float64 {
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
