package condense

import (
	"cmp"
	"context"
	"regexp"
	"slices"
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

// Rules is the [Condenser] that needs no model. It works by the words that lang has of each language. It replaces pronouns by the topic of the last
// question, or by the name in its answer if the question asked for one; in languages other than English and German, it appends what they refer to. An
// incomplete question ("And in 2021?", "What about Lunden?", "Why?") changes the last one: a number replaces a number of the same form, a name a name.
// The zero value works. The error is always nil.
type Rules struct{}

// exchange is a self-contained question with its answer.
type exchange struct {
	question, answer string
	dated            string // the last question that names a time
	referents
}

// referents are the referents of a question's pronouns, which are used for those of the next question too.
type referents struct {
	who, what string
	changed   string // the phrase that replaced another one in the question
}

// Condense implements [Condenser]. It does not read the summary.
func (Rules) Condense(_ context.Context, question, _ string, history []event.Message) (string, error) {
	earlier := exchanges(history)
	if len(earlier) == 0 {
		return question, nil
	}
	var last exchange
	for _, e := range earlier {
		if changesLanguage(e.question, last.question) {
			last = exchange{}
		}
		g := grammarOf(e.question + " " + last.question)
		e.question, e.referents = g.standalone(e.question, last)
		if e.dated = e.question; !g.namesTime(e.question) {
			e.dated = last.dated
		}
		if opening := g.opening.FindString(e.question); strings.Trim(opening, " ¿¡") != "" {
			e.question = capitalize(e.question[len(opening):])
		}
		last = e
	}
	if changesLanguage(question, last.question) {
		return question, nil
	}
	done, _ := grammarOf(question+" "+last.question).standalone(question, last)
	return done, nil
}

// changesLanguage reports whether a question is in another language than the last one: both are recognized, and it has no stop word of the language of the last one.
// Rules cannot complete it with words of the other language.
func changesLanguage(question, last string) bool {
	now, then := lang.Detect(question), lang.Detect(last)
	return now != nil && then != nil && now != then && !slices.ContainsFunc(lang.Words(question), func(w lang.Token) bool { return then.IsStopWord(w.Text) })
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

// withoutMarks removes the citation marks from an answer.
func withoutMarks(s string) string { return markRE.ReplaceAllString(s, "") }

// standalone makes a question self-contained, given the last exchange, and returns the referents of its pronouns.
func (g *grammar) standalone(question string, last exchange) (string, referents) {
	q := strings.TrimSpace(question)
	if last.question == "" || len(last.question) > maxQuestionBytes || len(q) > maxQuestionBytes || q == "" || !utf8.ValidString(q) {
		return question, referents{}
	}
	if m := g.change.FindString(q); m != "" && len(m) < len(q) {
		return capitalize(q[len(m):]), referents{}
	}
	if subject, asked := g.returnsTo(q); subject != "" {
		return withReference(capitalize(asked), subject), referents{what: subject}
	}
	c := &rewriter{last: last, lastTopic: cmp.Or(last.what, g.topic(last.question)), question: q, grammar: g}
	complete := c.complete
	if !g.spaced {
		complete = c.completeIdeographs
	}
	done := complete(q)
	if done == "" || len(done) > 2*maxQuestionBytes || strings.EqualFold(done, q) {
		return question, referents{}
	}
	if strings.HasPrefix(q, "¿") && !strings.HasPrefix(done, "¿") {
		done = "¿" + done
	}
	if c.who != "" || c.what != "" {
		c.who, c.what = cmp.Or(c.who, last.who), cmp.Or(c.what, last.what)
	}
	return done, c.referents
}

// partingRE matches what ends the subject that a question returns to; a colon, or else a comma or a dash.
var partingRE = [...]*regexp.Regexp{regexp.MustCompile(`\s*(?::\s+|：)`), regexp.MustCompile(`\s*(?:,\s+|，|\s[–—-]\s)`)}

// maxReturn is the maximum length in bytes of such a subject.
const maxReturn = 80

// returnsTo splits a question such as "Back to the pool: is it heated?" into its subject, which has no verb, and what it asks. The subject is empty if there is none.
func (g *grammar) returnsTo(q string) (subject, asked string) {
	rest := q[len(g.returns.FindString(q)):]
	if rest == q {
		return "", ""
	}
	for _, parting := range partingRE {
		at := parting.FindStringIndex(rest)
		if at == nil || at[0] == 0 || at[0] > maxReturn {
			continue
		}
		subject, asked = rest[:at[0]], rest[at[1]:]
		asks := slices.ContainsFunc(lang.Words(subject), func(w lang.Token) bool { return g.Has(lang.QuestionWords, w.Text) || g.Has(lang.Auxiliaries, w.Text) })
		if !asks && (len(lang.Words(asked)) > 2 || !g.spaced) {
			return subject, asked
		}
	}
	return "", ""
}

// rewriter makes one question self-contained, given the last exchange.
type rewriter struct {
	*grammar
	question  string // the current question
	last      exchange
	lastTopic string // topic of the last question; empty: unknown
	referents        // referents found for the pronouns of the current question
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
	resolved := c.resolve(body)
	changed := resolved != body
	switch {
	case moreRE.MatchString(body):
		return c.askMore(body)
	case c.onlyQuestionWords(body):
		return c.replaceQuestionWords(strings.TrimRight(body, " ?.!"))
	case wholeRE.MatchString(body):
		return c.replaceQuestionWords(wholeRE.FindStringSubmatch(body)[1])
	case changed && c.isFragment(body, joined) && (c.isPart(body) || !c.replaces):
		if c.Code == "en" {
			return "What about " + c.lowerFirst(strings.TrimRight(resolved, " ?.!")) + "?"
		}
		return capitalize(resolved)
	case c.isFragment(body, joined):
		return c.replacePhrase(strings.TrimRight(resolved, " ?.!"))
	case changed:
		return capitalize(resolved)
	case c.lacksTopic(body) && (!definingRE.MatchString(body) || comparisonRE.MatchString(body)):
		return c.appendTopic(capitalize(body))
	case joined && attributeRE.MatchString(body) && !strings.ContainsFunc(body[1:], unicode.IsUpper), c.depends(body, joined):
		return c.appendTopic(capitalize(body)) // as in "And what is the largest city?"
	}
	return ""
}

// depends reports whether a question names nothing of its own to ask about: it has few words with a meaning. In English, it asks how much or which, and
// names nothing: "How high is the climb?"
func (c *rewriter) depends(q string, joined bool) bool {
	limit := 1
	if joined {
		limit = 2
	}
	asks := c.wh.MatchString(q) || c.Asks(q) != "" && c.Asks(q) != lang.AsksDefinition
	if c.Code == "en" {
		m := c.asks.FindStringSubmatch(q)
		asks = m != nil && strings.Contains(m[1], " ") && !strings.ContainsFunc(m[1][1:]+m[2], func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }) &&
			!slices.ContainsFunc(lang.Words(m[2]), func(w lang.Token) bool { return subjects[w.Text] })
		limit++
	}
	return asks && len(c.content(q)) <= limit
}

// isPart reports whether a phrase belongs to something ("its climate") and the last question has no similar phrase to
// replace.
func (c *rewriter) isPart(phrase string) bool {
	return whoseRE.MatchString(phrase) && !requestRE.MatchString(c.last.question) && !strings.Contains(c.last.question, "'s ") && !definesRE.MatchString(c.last.question)
}

// appendTopic appends the topic of the last question, in parentheses, to a question.
func (c *rewriter) appendTopic(q string) string {
	about := c.lastTopic
	if !c.replaces {
		about = c.reference()
		c.what = about
	}
	if about == "" {
		return ""
	}
	mark := ""
	if r, _ := utf8.DecodeLastRuneInString(q); strings.ContainsRune("?.!", r) {
		mark = string(r)
	}
	return strings.TrimRight(q, " ?.!") + " (" + about + ")" + mark
}

// askMore asks for more information about the topic of the last question.
func (c *rewriter) askMore(body string) string {
	if c.lastTopic == "" {
		return c.last.question
	}
	about := " about "
	if c.Code == "de" {
		about = " über "
	}
	if explainRE.MatchString(body) {
		about = " "
	}
	return capitalize(strings.TrimRight(body, " ?.!…")) + about + c.lastTopic + "."
}

// replaceQuestionWords replaces the question words of the last question ("why", "since when", "how tall").
func (c *rewriter) replaceQuestionWords(words string) string {
	prev := strings.TrimRight(c.last.question, " ?.!")
	m := c.wh.FindStringSubmatch(prev)
	if !c.replaces {
		return c.appendTopic(capitalize(words) + "?")
	}
	if m := c.asks.FindStringSubmatch(prev); m != nil && len(lang.Words(m[1])) <= maxHead {
		return capitalize(words) + " " + m[2] + "?"
	}
	if c.aux.MatchString(prev) {
		return capitalize(words) + " " + c.lowerFirst(prev) + "?"
	}
	if m != nil {
		and := ", and "
		if c.Code == "de" {
			if c.adverb.MatchString(m[1]) {
				return capitalize(words) + quantityRE.ReplaceAllString(prev[len(m[1]):], " ") + "?"
			}
			and = ", und "
		}
		return prev + and + c.lowerFirst(words) + "?"
	}
	return c.appendTopic(capitalize(words) + "?")
}

// quantityRE matches what follows the question word of a German question for a quantity.
var quantityRE = regexp.MustCompile(`(?i)^\s+(?:viele?|lange?|oft|weit|hoch|alt|groß|tief|breit|schwer|schnell|teuer)(?:\s|$)`)

// replacePhrase replaces the phrase of the last question that is most similar.
func (c *rewriter) replacePhrase(phrase string) string {
	prev := strings.TrimRight(c.last.question, " ?.!")
	if phrase == "" {
		return c.last.question
	}
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
	if old := lang.Words(prev); len(words) == 1 && len(old) > 1 && isEventVerb(words[0].Text) && isEventVerb(old[len(old)-1].Text) {
		return prev[:old[len(old)-1].Start] + c.lowerFirst(phrase) + end // as in "and repaired?"
	}
	if len(words) > 1 && c.isArticle(words[0].Text) && c.isPreposition(words[1].Text) { // as in "el de"
		phrase, words = phrase[words[1].Start:], lang.Words(phrase[words[1].Start:])
	}
	if c.isPreposition(words[0].Text) && len(words) > 1 {
		if from, to := placePhrase(prev); from >= 0 && placeRE.MatchString(phrase) {
			return prev[:from] + c.lowerFirst(phrase) + prev[to:] + end
		}
		if from, to := c.prepositional(prev, words[0].Text, phrase[words[1].Start:]); from >= 0 {
			return strings.TrimRight(prev[:from], " ") + " " + c.lowerFirst(phrase) + prev[to:] + end
		}
		return prev + " " + c.lowerFirst(phrase) + end
	}
	if c.IsStopWord(words[0].Text) && !c.isArticle(words[0].Text) && !c.replaces || c.Has(lang.Adverbs, words[0].Text) && len(words) <= 2 || datedRE.MatchString(phrase) {
		return prev + " " + c.lowerFirst(phrase) + end
	}
	if len(words) <= 2 && !c.isName(phrase) && !c.isArticle(words[0].Text) {
		if at := aboutNoun.FindStringSubmatchIndex(prev); at != nil && !c.isFunctionWord(strings.ToLower(prev[at[2]:at[3]])) {
			return prev[:at[2]] + phrase + end
		}
	}
	old := c.similarPhrase(prev, phrase)
	if c.Code == "en" && whoRE.MatchString(prev) && c.isName(phrase) && !c.isName(old) { // it may refer to another person
		return c.appendTopic("What about " + phrase + "?")
	}
	if old == "" {
		return c.appendTopic(capitalize(phrase) + "?")
	}
	at := strings.LastIndex(prev, old)
	if rest := prev[at+len(old):]; strings.HasPrefix(rest, "'s") || strings.HasPrefix(rest, "’s") {
		phrase = strings.TrimSuffix(strings.TrimSuffix(phrase, "'s"), "’s")
	}
	if !c.isName(phrase) {
		phrase = c.lowerFirst(phrase)
	}
	return prev[:at] + phrase + prev[at+len(old):] + end
}

// isEventVerb reports whether a word is a verb about something that happened to the topic.
func isEventVerb(w string) bool { return predicates[w] || strings.HasSuffix(w, "ed") }

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
