package condense

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// replaceKind replaces a word of the last question by one of the same kind: a number or code by one of the same form, a month by a month, a group of people by
// another one. The other words of the phrase come with it, but not those of a condition: "if I take 50 of them?" changes only the number. It returns "" if the
// phrase has no such word.
func (c *rewriter) replaceKind(prev, phrase string) string {
	words, olds := lang.Words(phrase), lang.Words(prev)
	if c.Has(lang.If, words[0].Text) {
		number, old := onlyNumber(phrase), onlyNumber(prev)
		if number == nil || old == nil {
			return ""
		}
		return c.put(prev, old[0], old[1], phrase[number[0]:number[1]])
	}
	content := c.content(phrase)
	if len(content) == 0 {
		return ""
	}
	last := content[len(content)-1]
	kind := c.kindOf(phrase, last)
	if kind == "" {
		if old := c.last.changed; old != "" && !c.isName(phrase) && len(words) == 1 && strings.Contains(prev, old) {
			from := strings.Index(prev, old)
			if first := lang.Words(old)[0]; c.isPreposition(first.Text) && !c.startsWithPreposition(phrase) {
				phrase = old[:first.End] + " " + phrase
			}
			return c.put(prev, from, from+len(old), phrase) // what changed last changes again
		}
		return ""
	}
	at := slices.IndexFunc(olds, func(w lang.Token) bool { return c.kindOf(prev, w) == kind })
	if at < 0 {
		return ""
	}
	from, to := at, at+1
	if len(content) > 1 && kind != string(lang.People) { // as in "section 4": all words must have a counterpart
		n := len(content) - 1
		if at < n {
			return ""
		}
		for i, w := range content[:n] {
			old := olds[at-n+i]
			if old.Text != w.Text && c.kindOf(prev, old) != c.kindOf(phrase, w) || c.kindOf(phrase, w) == "" && old.Text != w.Text {
				return ""
			}
		}
		from = at - n
	}
	begin := content[0].Start
	for from > 0 && c.isArticle(olds[from-1].Text) {
		from--
	}
	for begin > 0 && !c.startsWithPreposition(phrase) {
		begin = 0
	}
	if from > 0 && (c.isPreposition(olds[from-1].Text) && c.startsWithPreposition(phrase) || olds[from-1].Text == words[0].Text && content[0].Start > 0) {
		from, begin = from-1, 0
	}
	if unit := strings.TrimSpace(phrase[words[len(words)-1].End:]); unit != "" && strings.HasPrefix(strings.TrimSpace(prev[olds[to-1].End:]), unit) {
		phrase = strings.TrimSpace(strings.TrimSuffix(phrase, unit)) // as in "below 95 %", whose sign stands already
	}
	return c.put(prev, olds[from].Start, olds[to-1].End, phrase[begin:])
}

// numberRE matches a number that is a word of its own, as the first group.
var numberRE = regexp.MustCompile(`(?:^|\s)([0-9](?:[0-9.,]*[0-9])?)(?:[\s?.!]|$)`)

// onlyNumber returns where the only number of a text begins and ends; nil if it has none or several.
func onlyNumber(s string) []int {
	all := numberRE.FindAllStringSubmatchIndex(s, 2)
	if len(all) != 1 {
		return nil
	}
	return all[0][2:]
}

// put replaces part of a question by a phrase.
func (c *rewriter) put(q string, from, to int, phrase string) string {
	c.changed = phrase
	if from == 0 {
		return capitalize(phrase) + q[to:]
	}
	return q[:from] + c.lowerFirst(phrase) + q[to:]
}

func (g *grammar) startsWithPreposition(phrase string) bool {
	return g.isPreposition(firstWord(phrase))
}

// kindOf returns the kind of a word: the shape of a number or code, or the section of its language; empty for other words.
func (g *grammar) kindOf(s string, w lang.Token) string {
	for _, section := range []lang.Section{lang.People, lang.Months, lang.Days} {
		if g.Has(section, w.Text) {
			return string(section)
		}
	}
	switch {
	case len(w.Text) == 4 && yearRE.MatchString(w.Text):
		return "year"
	case strings.ContainsFunc(w.Text, unicode.IsDigit):
		return shapeOf(s[w.Start:w.End])
	}
	return ""
}

// completeIdeographs returns the completed question in Chinese or Japanese, or "" if it is complete.
func (c *rewriter) completeIdeographs(q string) string {
	const marks = " ?？。！!、，,"
	body := q
	for _, w := range c.List(lang.Openings) {
		rest, ok := strings.CutPrefix(q, w)
		people := slices.ContainsFunc(c.List(lang.People), func(w string) bool { return strings.HasPrefix(rest, w) })
		if ok && (people || c.pronouns[firstIdeographs(q, 2)].form == none) { // 那儿 is a pronoun, but not in 那儿童
			body = strings.TrimLeft(rest, marks)
			break
		}
	}
	phrase := strings.TrimRight(body, marks)
	for _, w := range c.List(lang.Closings) {
		if rest, ok := strings.CutSuffix(phrase, w); ok && !c.asksIn(rest) {
			phrase = rest
			break
		}
	}
	refers := false
	for w := range c.pronouns {
		refers = refers || strings.Contains(body, w)
	}
	switch {
	case phrase == "":
		return ""
	case !c.asksIn(body) && (body != q || phrase != strings.TrimRight(body, marks)):
		return c.replaceIdeographs(strings.TrimRight(c.last.question, marks), phrase) + "？"
	case refers, len(c.content(body)) <= 1:
		c.what = c.reference()
		return withReference(body, c.what)
	}
	return ""
}

// asksIn reports whether a text has a question word.
func (g *grammar) asksIn(s string) bool {
	return g.Asks(s) != "" || slices.ContainsFunc(g.List(lang.QuestionWords), func(w string) bool { return strings.Contains(s, w) })
}

func firstIdeographs(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}

// replaceIdeographs replaces the part of a question that has most characters in common with a phrase of the same length, or the part before a topic
// marker, or puts the phrase before the question.
func (c *rewriter) replaceIdeographs(prev, phrase string) string {
	old, by := []rune(prev), []rune(phrase)
	best, at := 0, 0
	for i := 0; i+len(by) <= len(old); i++ {
		same := 0
		for k, r := range by {
			if old[i+k] == r {
				same++
			}
		}
		if same > best {
			best, at = same, i
		}
	}
	if best > 0 {
		return string(old[:at]) + phrase + string(old[at+len(by):])
	}
	if i := strings.Index(prev, "は"); i > 0 && c.Code == "ja" {
		return phrase + prev[i:]
	}
	return phrase + "，" + prev
}
