package local

import (
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// actionOf returns the term of the verb of a question how to do something; -1 if it asks nothing like that.
func (q *question) actionOf() int {
	verb, _ := lang.Action(q.text)
	if i, ok := q.index[verb]; ok && q.lang == lang.English {
		return i
	}
	return -1
}

// objectOf returns the term of the object of the verb: the next one; -1: none.
func (q *question) objectOf() int {
	if q.action < 0 || q.action+1 >= len(q.terms) {
		return -1
	}
	return q.action + 1
}

// maxActionGap is the number of words that may be between the verb and its object.
const maxActionGap = 4

// hasAction reports whether a text has the verb of a question how to do something, and whether that is near its object. Without an object it is.
func (q *question) hasAction(s string) (found, near bool) {
	object := q.objectOf()
	whole := make([]float64, len(q.terms))
	if q.mark(whole, s); whole[q.action] < minAction {
		return false, false
	}
	verb, thing := -2*maxActionGap, -4*maxActionGap
	for k, w := range lang.Words(s) {
		covers := make([]float64, len(q.terms))
		q.mark(covers, w.Text)
		if covers[q.action] >= minAction {
			verb = k
		}
		if object >= 0 && covers[object] >= minAction {
			thing = k
		}
		near = near || max(verb-thing, thing-verb) <= maxActionGap+1
	}
	return true, near || object < 0
}

// minAction is the least coverage of the verb by a text that is about the action: a word of the same meaning.
const minAction = 0.6

// maxCommands is the maximum number of commands that are taken from long code.
const maxCommands = 2

// shorten reduces code that is too long to be quoted to its commands that have the verb of a question how to do something near its object.
func (q *question) shorten(c *sentence) {
	if !c.code || len(c.text) <= maxCode || q.objectOf() < 0 {
		return
	}
	var found []string
	for line := range strings.Lines(lang.Truncate(c.text, maxPassage)) {
		if _, near := q.hasAction(line); near {
			found = append(found, strings.TrimRight(line, "\n"))
		}
	}
	if text := strings.Join(found, "\n"); len(found) > 0 && len(found) <= maxCommands && len(text) <= maxCode {
		c.text, c.own, c.whole = text, text, true
		c.readWords(q.lang)
	}
}

// actionFit returns how well code does what the question asks for: 1 if the code or what leads to it has the verb, or if it is the first code under a heading
// that has it; less if only the heading, or nothing near it, has it.
func (q *question) actionFit(c *sentence, cs []*sentence) float64 {
	if strings.HasPrefix(c.text, "(") && strings.HasSuffix(c.text, ")") {
		return 0 // a remark, such as an alias in a manual page
	}
	if q.action < 0 {
		return 1
	}
	object := false // the verb was found near the object
	has := func(s string) bool {
		found, near := q.hasAction(s)
		object = object || near
		return found
	}
	before := ""
	first := true // no code before it under this heading
	for i := c.at - 1; i >= 0 && cs[i].heading == c.heading; i-- {
		if before == "" && !cs[i].code {
			before = cs[i].text
		}
		first = first && !cs[i].code
	}
	switch {
	case has(before), has(c.text), first && has(c.heading):
		if !object {
			return 0.85
		}
		return 1
	case has(c.heading):
		return 0.7
	}
	return 0.3
}
