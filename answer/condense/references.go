package condense

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// refer inserts what the pronouns of a question refer to, and reports whether it has such a pronoun: in English in their place, in other
// languages, which inflect words, in parentheses after the question.
func (c *rewriter) refer(q string) (string, bool) {
	name, about, person := c.referents()
	if name+about == "" {
		return q, false
	}
	ws := lang.Words(q)
	fixed := c.expletive.FindAllStringIndex(q, -1)
	var out strings.Builder
	done, found := 0, false
	for i, w := range ws {
		p, ok := c.pronouns[strings.ReplaceAll(w.Text, "’", "'")]
		if !ok || i > 0 && isCapitalized(q[w.Start:]) || c.refersInside(q, ws, i, p) ||
			slices.ContainsFunc(fixed, func(s []int) bool { return s[0] <= w.Start && w.End <= s[1] }) {
			continue
		}
		found = true
		noun := i+1 < len(ws) && !c.isFunctionWord(ws[i+1].Text)
		what := about
		switch {
		case p == lang.He, p == lang.His:
			if what = cmp.Or(name, about); !strings.ContainsFunc(what, unicode.IsLetter) {
				continue // a number is no person
			}
		case name != "" && (!person || p == lang.They || p == lang.Their):
			continue // it is either
		}
		if by := inPlace(what, w.Text, p, noun); by != "" && c.Code == "en" && c.isCapital(what) {
			out.WriteString(q[done:w.Start] + by)
			done, c.what = w.End, what
		}
	}
	switch {
	case !found:
		return q, false
	case done == 0:
		c.what = c.reference()
		q = withReference(q, c.what)
	default:
		q = out.String() + q[done:]
	}
	return q, true
}

// inPlace returns what replaces an English pronoun, or "" if nothing can.
func inPlace(about, word string, p lang.Section, noun bool) string {
	switch {
	case p == lang.This && noun: // this tower
		return ""
	case p == lang.His, p == lang.Its, p == lang.Their, word == "her" && noun:
		if strings.HasSuffix(about, "s") {
			return about + "'"
		}
		return about + "'s"
	case p == lang.There:
		return "in " + about
	case strings.HasSuffix(word, "'s"):
		return about + " is"
	case strings.HasSuffix(word, "'re"):
		return about + " are"
	}
	return about
}

// refersInside reports whether the word at i refers to nothing outside of a question: "that" after a noun begins a relative clause, and a pronoun in the second part
// of a question refers to a name in the first one.
func (c *rewriter) refersInside(q string, ws []lang.Token, i int, p lang.Section) bool {
	switch {
	case p == lang.This && i == len(ws)-1, i == 0, p == lang.There:
		return false
	case p != lang.This:
		names := c.names(q[:ws[i].Start])
		return len(names) > 0 && (p == lang.His || p == lang.Its || p == lang.Their || slices.ContainsFunc(ws[:i], func(w lang.Token) bool {
			return w.Start > names[0].to && c.Has(lang.Openings, w.Text)
		}))
	}
	before := ws[i-1].Text
	return !c.Has(lang.Auxiliaries, before) && !c.isPreposition(before) && !c.Has(lang.QuestionWords, before)
}

// withReference appends what a question refers to, in parentheses.
func withReference(q, about string) string {
	end := strings.TrimRight(q, " ?.!？。")
	return end + " (" + about + ")" + strings.TrimLeft(q[len(end):], " ")
}

// referents returns the name in the last answer if the last question asked for one, whether for that of a person, and what that question is about.
func (c *rewriter) referents() (name, about string, person bool) {
	about = cmp.Or(c.last.what, c.topic(c.last.question))
	asks, person := c.asksName(c.last.question)
	if asks {
		name = c.nameIn(c.last.answer)
	}
	if strings.Contains(about, name) {
		name = ""
	}
	return name, about, person
}

// reference returns both in one text.
func (c *rewriter) reference() string {
	name, about, _ := c.referents()
	if name != "" && about != "" {
		return name + ", " + about
	}
	return name + about
}
