package local

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// actionRE matches the beginning of an English question how to do something, up to the verb.
var actionRE = regexp.MustCompile(`(?i)\b(?:how|way) (?:(?:do|can|should|could|would|must) (?:i|you|we|one) |to )`)

// actionOf returns the term of the verb of a question how to do something; -1 if it asks nothing like that.
func (q *question) actionOf() int {
	at := actionRE.FindStringIndex(q.text)
	if at == nil || q.lang != lang.English {
		return -1
	}
	for _, w := range q.words {
		if w.Start < at[1] {
			continue
		}
		if i, ok := q.index[stemIn(q.lang, w.Text)]; ok {
			return i
		}
		return -1 // a verb such as get or do says nothing
	}
	return -1
}

// minAction is the least coverage of the verb by a text that is about the action: a word of the same meaning.
const minAction = 0.6

// actionFit returns how well code does what the question asks for: 1 if the code or what leads to it has the verb, or if it is the first code under a heading
// that has it; less if only the heading, or nothing near it, has it.
func (q *question) actionFit(c *sentence, cs []*sentence) float64 {
	if strings.HasPrefix(c.text, "(") && strings.HasSuffix(c.text, ")") {
		return 0 // a remark, such as an alias in a manual page
	}
	if q.action < 0 {
		return 1
	}
	has := func(s string) bool {
		covers := make([]float64, len(q.terms))
		q.mark(covers, s)
		return covers[q.action] >= minAction
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
	case has(before), c.exact[q.action] >= minAction, first && has(c.heading):
		return 1
	case has(c.heading):
		return 0.7
	}
	return 0.3
}
