package condense

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// span is a part of a text: s[from:to].
type span struct{ from, to int }

// names returns the runs of capitalized words of a text, in order, with short words between them as in "Leonardo da Vinci". The first word of the text is none:
// any word has a capital there.
func (g *grammar) names(s string) (out []span) {
	ws := g.content(s)
	for i := 0; i < len(ws); i++ {
		if !isCapitalized(s[ws[i].Start:]) || strings.Trim(s[:ws[i].Start], " ¿¡\"“«") == "" {
			continue
		}
		n := span{ws[i].Start, ws[i].End}
		for k := i + 1; k < len(ws) && g.joinsName(s[n.to:ws[k].Start]); k++ {
			if isCapitalized(s[ws[k].Start:]) {
				n.to, i = ws[k].End, k
			} else if ws[k].End-ws[k].Start > maxParticle {
				break
			}
		}
		out = append(out, n)
	}
	return out
}

// maxParticle is the length of the longest particle in a name, in bytes.
const maxParticle = 3

// joinsName reports whether two words with a text between them can be of one name.
func (g *grammar) joinsName(between string) bool {
	return len(between) <= 12 && !strings.ContainsAny(between, ",;:.?!()\n") && !g.hasVerb(between)
}

// subject returns the first name of a question, with its article and the noun after it: the Brekke pump.
func (g *grammar) subject(q string) (n span, ok bool) {
	all := g.names(q)
	if len(all) == 0 {
		return span{}, false
	}
	n = all[0]
	before, ws := lang.Words(q[:n.from]), g.content(q)
	if last := len(before) - 1; last >= 0 && g.isArticle(before[last].Text) {
		n.from = before[last].Start
		noun := slices.IndexFunc(ws, func(w lang.Token) bool { return w.Start == n.to+1 && q[n.to] == ' ' })
		verb := last > 0 && g.Has(lang.Auxiliaries, before[last-1].Text) && before[0].Text != "how" && g.Asks(q) != lang.AsksDefinition // one follows the subject
		if noun > 0 && (!verb || noun+1 < len(ws) && ws[noun+1].Start == ws[noun].End+1 && !isCapitalized(q[ws[noun+1].Start:])) {
			n.to = ws[noun].End
		}
	}
	return n, true
}

// topic returns what a question is about: its first name, or the words from the first to the last one with a meaning of its own.
func (g *grammar) topic(q string) string {
	q = lang.Truncate(q, maxQuestionBytes)
	if n, ok := g.subject(q); ok {
		return withoutGenitive(q[n.from:n.to])
	}
	ws := g.content(q)
	if len(ws) == 0 {
		return ""
	}
	about := q[ws[0].Start:ws[len(ws)-1].End]
	if first := lang.Words(q)[0]; first.Start == ws[0].Start { // any word has a capital there
		about = strings.ToLower(q[first.Start:first.End]) + about[first.End-first.Start:]
	}
	return about
}

// followsArticle reports whether an article precedes a part of a text.
func (g *grammar) followsArticle(s string, at span) bool {
	before := lang.Words(s[:at.from])
	return len(before) > 0 && g.isArticle(before[len(before)-1].Text)
}

func withoutGenitive(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "'s"), "’s")
}

// asksName reports whether a question asks for the name of something, and whether that is a person: its question word is that of a person or place, or a noun
// follows it.
func (g *grammar) asksName(q string) (asks, person bool) {
	ws := lang.Words(q)
	i := slices.IndexFunc(ws, func(w lang.Token) bool { return g.Has(lang.QuestionWords, w.Text) }) + 1
	switch kind := g.Asks(q); {
	case kind == lang.AsksPerson, i > 0 && i+1 < len(ws) && ws[i-1].Text == "who" && (g.isArticle(ws[i+1].Text) || !g.Has(lang.Auxiliaries, ws[i].Text)):
		return true, true
	case kind == lang.AsksPlace:
		return true, false
	case kind == lang.AsksTime, kind == lang.AsksNumber:
		return false, false
	}
	return i > 0 && i < len(ws) && !g.IsStopWord(ws[i].Text) && !g.Has(lang.Auxiliaries, ws[i].Text), false
}

// nameIn returns the first name of an answer that the last question does not have, or "".
func (c *rewriter) nameIn(answer string) string {
	answer, asked := lang.Truncate(answer, maxAnswer), strings.ToLower(c.last.question)
	for _, one := range lang.Sentences(answer) {
		s := "\n" + answer[one.Start:one.End] // so that its first word may be one
		for _, n := range c.names(s) {
			name := strings.TrimLeft(s[n.from:n.to], "0123456789:. ") // 15:20 Ada Brook
			if before := strings.TrimRight(s[:n.from], " "); strings.Count(name, " ") > 1 && (strings.HasSuffix(before, ":") || strings.HasSuffix(before, ";")) {
				_, name, _ = strings.Cut(name, " ") // the name of a column: "Teacher Ada Brook"
			}
			alone := n.from > 1 || strings.Contains(name, " ") || strings.Trim(s[n.to:], " .") == ""
			if first := firstWord(name); alone && !c.Has(lang.Months, first) && !c.Has(lang.Days, first) && name != "" && !strings.ContainsAny(name, "0123456789") && !strings.Contains(asked, strings.ToLower(name)) {
				return withoutGenitive(name)
			}
		}
	}
	return ""
}

// similarPhrase returns the part of a question that a phrase replaces: the first name for a name, otherwise the last noun after an article, if possible after the same one.
func (g *grammar) similarPhrase(q, by string) (best span, ok bool) {
	if g.isCapital(by) {
		if all := g.names(q); len(all) > 0 && !g.isArticle(firstWord(by)) {
			return all[0], true
		}
		return g.subject(q)
	}
	article := firstWord(by)
	if !g.isArticle(article) {
		return span{}, false
	}
	ws := lang.Words(q)
	for i, w := range ws {
		if !g.isArticle(w.Text) {
			continue
		}
		k := i + 1
		for k < len(ws) && k <= i+maxNoun && strings.Trim(q[ws[k-1].End:ws[k].Start], " -") == "" && !g.isFunctionWord(ws[k].Text) {
			k++
		}
		if k > i+1 && (!ok || w.Text == article || firstWord(q[best.from:]) != article) {
			best, ok = span{w.Start, ws[k-1].End}, true
		}
	}
	return best, ok
}

// maxNoun is the maximum number of words of a noun phrase after its article.
const maxNoun = 2

// maxPhrase is the maximum number of words of a phrase with a preposition.
const maxPhrase = 6

// prepositional returns the last phrase of a question that starts with a preposition, if possible one that continues with a name, a number or another word, as a phrase does.
func (g *grammar) prepositional(q, with, phrase string) (best span, ok bool) {
	ws := lang.Words(q)
	for i := len(ws) - 2; i > 0; i-- {
		if ws[i].Text != with || g.Has(lang.QuestionWords, ws[i+1].Text) {
			continue
		}
		k := i + 2
		for k < len(ws) && k <= i+maxPhrase && !g.isPreposition(ws[k].Text) && !g.Has(lang.Auxiliaries, ws[k].Text) {
			k++
		}
		same := g.formOf(phrase) == g.formOf(q[ws[i+1].Start:])
		if same || !ok {
			best, ok = span{ws[i].Start, ws[k-1].End}, true
		}
		if same {
			break
		}
	}
	return best, ok
}

// formOf returns the category of the first character of a phrase without its article: a capital, a digit or another one.
func (g *grammar) formOf(phrase string) rune {
	switch r, _ := utf8.DecodeRuneInString(g.withoutArticle(phrase)); {
	case unicode.IsUpper(r):
		return 'A'
	case unicode.IsDigit(r):
		return '0'
	}
	return 'a'
}

// shapeOf returns A for the letters of a word and 9 for its digits, each as often as they alternate. Marks within a number do not count.
func shapeOf(s string) string {
	if strings.Trim(s, "0123456789.,") == "" {
		return "9"
	}
	var out []rune
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			r = 'A'
		case unicode.IsDigit(r):
			r = '9'
		}
		if len(out) == 0 || out[len(out)-1] != r {
			out = append(out, r)
		}
	}
	return string(out)
}

// isCapitalized reports whether a word starts with a capital or a digit.
func isCapitalized(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}
