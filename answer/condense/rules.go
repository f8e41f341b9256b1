package condense

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

const (
	maxQuestionBytes = 600  // bytes; longer questions are taken as self-contained
	maxAnswer        = 1200 // bytes of an answer that are read
	maxReplayed      = 8    // earlier questions that are made self-contained in turn, to find the topic of the last one
)

// Rules is the [Condenser] that needs no model. It works by the words that lang has of each language. Pronouns refer to the topic of the last question, and
// to the name in its answer if the question asked for one. In English, this replaces them; in other languages, it is appended. An incomplete
// question ("And in 2021?", "What about Lunden?", "Why?") changes the last one: a number replaces a number of the same form, a name a name.
// The zero value works. The error is always nil.
type Rules struct{}

// exchange is a self-contained question with its answer, and what its pronouns refer to.
type exchange struct {
	question, answer, what string
}

// Condense implements [Condenser]. It does not read the summary.
func (Rules) Condense(_ context.Context, question, _ string, history []event.Message) (string, error) {
	earlier := exchanges(history)
	if len(earlier) == 0 {
		return question, nil
	}
	var last exchange
	for _, e := range earlier {
		g := grammarOf(e.question + " " + last.question)
		e.question, e.what = g.standalone(e.question, last)
		if opening := g.opening.FindString(e.question); strings.Trim(opening, " ¿¡") != "" {
			e.question = capitalize(e.question[len(opening):])
		}
		last = e
	}
	done, _ := grammarOf(question+" "+last.question).standalone(question, last)
	return done, nil
}

// exchanges returns the last self-contained questions of a conversation with their answers.
func exchanges(history []event.Message) []exchange {
	var out []exchange
	for _, t := range history[max(0, len(history)-2*maxReplayed):] {
		s := strings.Join(strings.Fields(lang.Clean(lang.Truncate(t.Text, maxAnswer))), " ")
		switch {
		case s == "":
		case t.Role == event.RoleUser:
			out = append(out, exchange{question: s})
		case len(out) > 0 && out[len(out)-1].answer == "":
			out[len(out)-1].answer = withoutMarks(s)
		}
	}
	return out
}

// markRE matches a citation mark in an answer.
var markRE = regexp.MustCompile(`\s*(?:⟦+[0-9 ,;–-]*⟧+|\[[0-9]{1,3}\]|【[^】]{0,20}】)`)

// withoutMarks removes the citation marks from an answer.
func withoutMarks(s string) string { return markRE.ReplaceAllString(s, "") }

// standalone makes a question self-contained, given the last exchange, and returns what it refers to.
func (g *grammar) standalone(question string, last exchange) (done, what string) {
	q := strings.TrimSpace(question)
	if last.question == "" || len(last.question) > maxQuestionBytes || len(q) > maxQuestionBytes || q == "" || !utf8.ValidString(q) {
		return question, ""
	}
	if m := g.change.FindString(q); m != "" && len(m) < len(q) {
		return capitalize(q[len(m):]), ""
	}
	c := &rewriter{last: last, grammar: g}
	complete := c.complete
	if !g.spaced {
		complete = c.completeIdeographs
	}
	done = complete(q)
	if done == "" || len(done) > 2*maxQuestionBytes || strings.EqualFold(done, q) {
		return question, ""
	}
	if strings.HasPrefix(q, "¿") && !strings.HasPrefix(done, "¿") {
		done = "¿" + done
	}
	return done, c.what
}

// rewriter makes one question self-contained, given the last exchange.
type rewriter struct {
	*grammar
	last exchange
	what string // what the current question refers to
}

// complete returns the completed question, or "" if it is complete.
func (c *rewriter) complete(q string) string {
	body, joined := c.cutOpening(q)
	body, again := c.shift(body)
	if again {
		return body
	}
	if done := c.repeat(body); done != "" {
		return done
	}
	resolved, refers := c.refer(body)
	switch {
	case moreRE.MatchString(body), c.depends(body, joined):
		if refers {
			return capitalize(resolved)
		}
		return c.appendTopic(capitalize(body))
	case c.onlyQuestionWords(body):
		return c.replaceQuestionWords(strings.TrimRight(body, " ?.!"))
	case refers:
		return capitalize(resolved)
	case c.isFragment(body, joined):
		return c.replacePhrase(strings.TrimRight(body, " ?.!"))
	}
	return ""
}

// moreRE matches requests for more about the topic of the last question.
var moreRE = regexp.MustCompile(`(?i)^(?:please\s+)?(?:(?:can|could) you\s+)?(?:(?:tell|give|show) (?:me|us) )?(?:some )?(?:more(?: details?| information)?|further details?|details|(?:please )?(?:go on|continue|elaborate|explain)(?: more| further)?|mehr(?: dazu| details| informationen)?|erzähl(?:e)? mehr|weiter|erkläre?(?: das)?)(?: please| bitte)?\W*$`)

// depends reports whether a question names nothing of its own to ask about. "What is a riffle?" names a riffle, but "And what is the largest city?" may mean
// that of the country before.
func (c *rewriter) depends(q string, joined bool) bool {
	asks := c.wh.MatchString(q) || c.Asks(q) != "" && c.Asks(q) != lang.AsksDefinition
	limit := 0
	if joined {
		limit = 2
	}
	return asks && !c.onlyQuestionWords(q) && len(c.content(q)) <= limit
}

// appendTopic appends what the last question is about to a question, in parentheses.
func (c *rewriter) appendTopic(q string) string {
	if c.what = c.reference(); c.what == "" {
		return ""
	}
	return withReference(q, c.what)
}

// replaceQuestionWords replaces the question words of the last question ("why", "since when", "by whom").
func (c *rewriter) replaceQuestionWords(words string) string {
	prev := strings.TrimRight(c.last.question, " ?.!")
	if m := c.asks.FindStringSubmatch(prev); m != nil {
		return capitalize(words) + " " + m[2] + "?"
	}
	if c.Has(lang.Auxiliaries, firstWord(prev)) {
		return capitalize(words) + " " + c.lowerFirst(prev) + "?"
	}
	return c.appendTopic(capitalize(words) + "?")
}

// replacePhrase replaces the phrase of the last question that is most similar.
func (c *rewriter) replacePhrase(phrase string) string {
	prev := strings.TrimRight(c.last.question, " ?.!")
	end := "?"
	if !strings.Contains(c.last.question, "?") {
		end = ""
	}
	words := lang.Words(phrase)
	if len(words) == 0 {
		return ""
	}
	if done := c.replaceKind(prev, phrase); done != "" {
		return done + end
	}
	if len(words) > 1 && c.isArticle(words[0].Text) && c.isPreposition(words[1].Text) { // as in "el de"
		phrase, words = phrase[words[1].Start:], lang.Words(phrase[words[1].Start:])
	}
	first := words[0].Text
	if c.isPreposition(first) && len(words) > 1 {
		if old, ok := c.prepositional(prev, first, phrase[words[1].Start:]); ok {
			return strings.TrimRight(prev[:old.from], " ") + " " + c.lowerFirst(phrase) + prev[old.to:] + end
		}
	}
	if c.isPreposition(first) || c.IsStopWord(first) && !c.isArticle(first) || c.Has(lang.Adverbs, first) && len(words) <= 2 {
		return prev + " " + c.lowerFirst(phrase) + end
	}
	old, ok := c.similarPhrase(prev, phrase)
	if !ok {
		return c.appendTopic(capitalize(phrase) + "?")
	}
	if c.followsArticle(prev, old) {
		phrase = c.withoutArticle(phrase) // "the Silver plan" becomes "the Gold plan"
	}
	rest := prev[old.to:]
	if _, noun, ok := strings.Cut(phrase, " "); ok && strings.HasPrefix(rest, " "+noun) {
		rest = rest[len(noun)+1:]
	}
	if strings.HasSuffix(prev[old.from:old.to], "'s") && !strings.HasSuffix(phrase, "'s") {
		rest = "'s" + rest
	}
	if !c.isCapital(phrase) {
		phrase = c.lowerFirst(phrase)
	}
	return prev[:old.from] + phrase + rest + end
}

func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// lowerFirst lower-cases the first letter of a text that is not a name.
func (g *grammar) lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if unicode.IsUpper(r) && g.isFunctionWord(strings.ToLower(firstWord(s))) {
		return string(unicode.ToLower(r)) + s[n:]
	}
	return s
}

func firstWord(s string) string {
	if w := lang.Words(lang.Truncate(s, 200)); len(w) > 0 {
		return w[0].Text
	}
	return ""
}
