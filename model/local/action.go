package local

import (
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/model"
)

// taskDecay lowers the weight of a heading that names the task, for each sentence between the heading and the scored sentence. laterPart is the factor for a
// heading whose text is in an earlier passage.
const taskDecay, laterPart = 0.2, 0.7

// namedBy returns how well the headings over a sentence name the task of the question.
func (q *question) namedBy(c *sentence, p model.Passage, r *passageView) float64 {
	headings := slices.DeleteFunc(slices.Concat([]string{c.heading}, c.outer, []string{r.written}), func(h string) bool { return h == "" })
	named := q.task.NamedBy(p.Chunk.Text, headings...)
	if p.Chunk.Start > 0 && c.under == c.at && c.heading == p.Chunk.Heading() && !strings.Contains(p.Chunk.Text, c.heading) {
		named *= laterPart
	}
	lead := c.lead
	if c.label {
		lead = labelOf(c.text)
	}
	if lead != "" && len(strings.Fields(lead)) <= maxHeading { // a label, or a line before a list
		named = max(named, q.task.NamedBy(p.Chunk.Text, slices.Insert(headings, 0, lead)...))
	}
	return named
}

// minCommand is the minimum of [lang.Task.In] for the first cell of a row that counts as a command.
const minCommand = 0.5

// actionFit returns how well code does what the question asks for: the code or the text before it says to do it. Otherwise it is less if the verb is there, or
// if it is the first code under a heading that names the task.
func (q *question) actionFit(c *sentence, cs []*sentence) float64 {
	if strings.HasPrefix(c.text, "(") && strings.HasSuffix(c.text, ")") {
		return 0 // a remark, such as an alias in a manual page
	}
	if q.task == nil {
		return 1
	}
	before := ""
	for i := c.at - 1; i >= 0 && before == "" && cs[i].heading == c.heading; i-- {
		if !cs[i].code {
			before = cs[i].text
		}
	}
	fit := q.task.In(before)
	for line := range strings.Lines(c.text) {
		fit = max(fit, q.task.In(line))
	}
	if !c.coded {
		fit = max(fit, firstCode*c.named)
	}
	if q.task.HasVerb(before) || q.task.HasVerb(c.text) {
		fit = max(fit, verbOnly)
	}
	return fit
}

// How well code does what a question asks for, if nothing says so.
const (
	firstCode = 0.8 // the first code under a heading that names the task
	verbOnly  = 0.4 // the verb is there, and not the object
)

// leadIn returns the sentences that introduce code: the one before it or, if the heading over it names the task, all from the heading to the code.
func (q *question) leadIn(c *sentence, cs []*sentence) []*sentence {
	if q.task == nil || !c.code {
		return nil
	}
	from, size := c.at, 0
	for from > 0 && c.at-from < maxLeads {
		before := cs[from-1]
		if size += len(before.text); before.code || before.row || before.listed || before.heading != c.heading || size > maxLeadIn {
			break
		}
		from--
	}
	switch {
	case from == c.at || c.named >= minNamed && c.at-from == c.under:
		return cs[from:c.at]
	case strings.HasSuffix(cs[c.at-1].text, ":") || q.task.In(cs[c.at-1].text) > 0:
		return cs[c.at-1 : c.at]
	}
	return nil
}

// maxLeads is the maximum number of sentences that introduce code, and maxLeadIn that of their bytes.
const maxLeads, maxLeadIn = 4, 600

// minAction is the least coverage of a term by a text that is about it: a word of the same meaning.
const minAction = 0.6
