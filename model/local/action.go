package local

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
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

// maxCommands is the maximum number of commands that are taken from long code.
const maxCommands = 2

// shorten reduces code that is too long to be quoted to the commands that best say to do what a question asks.
func (q *question) shorten(c *sentence) {
	if !c.code || len(c.text) <= maxCode || q.task == nil {
		return
	}
	type command struct {
		text string
		fit  float64
	}
	var found []command
	for line := range strings.Lines(lang.Truncate(c.text, maxPassage)) {
		if x := q.task.In(line); x >= minCommand {
			found = append(found, command{strings.TrimRight(line, "\n"), x})
		}
	}
	if len(found) > maxCommands {
		best := slices.MaxFunc(found, func(a, b command) int { return cmp.Compare(a.fit, b.fit) }).fit
		found = slices.DeleteFunc(found, func(x command) bool { return x.fit < best })
	}
	var lines []string
	for _, x := range found {
		lines = append(lines, x.text)
	}
	if text := strings.Join(lines, "\n"); len(found) > 0 && len(found) <= maxCommands && len(text) <= maxCode {
		c.text, c.own, c.whole = text, text, true
		c.readWords(q.lang)
	}
}

// minCommand is the minimum of [lang.Task.In] for a line of long code that is quoted alone, and for the first cell of a row that counts as a command.
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

// preferNamed lowers the fit of code outside the section whose headings name the task best: if there is one, code elsewhere that has the words is not the answer.
func (q *question) preferNamed(readings []*passageView) {
	most := 0.0
	for _, r := range readings {
		for _, c := range r.cs {
			most = max(most, c.named)
		}
	}
	if most < minNamed {
		return
	}
	for _, r := range readings {
		for _, c := range r.cs {
			if c.code {
				c.evid[isRequested] *= c.named / most
			}
		}
	}
}

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
