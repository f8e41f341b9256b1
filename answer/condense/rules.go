package condense

import (
	"cmp"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

const (
	maxAsked    = 600  // bytes; longer questions are taken as self-contained
	maxAnswer   = 1200 // bytes of an answer that are read
	maxReplayed = 8    // earlier questions that are made self-contained in turn, to find the topic of the last one
)

// Rules is the [Condenser] that needs no model. It replaces pronouns by the topic of the last question, or by the name in
// its answer if the question asked for one. An incomplete question ("And in 2021?", "What about Lunden?", "Why?") changes
// the last one. It supports English and common German; in other languages it completes short questions with numbers and
// names. The zero value works. The error is always nil.
type Rules struct{}

// exchange is a self-contained question with its answer.
type exchange struct {
	asked, answer string
	held
}

// held are the referents of a question's pronouns, which are used for those of the next question too.
type held struct{ who, what string }

// Condense implements [Condenser].
func (Rules) Condense(_ context.Context, question string, history []event.Turn) (string, error) {
	said := exchanges(history)
	if len(said) == 0 {
		return question, nil
	}
	var before, last exchange
	for _, e := range said {
		e.asked, e.held = standalone(e.asked, last, before)
		if tie := openingRE.FindString(e.asked); strings.Trim(tie, " ¿¡") != "" {
			e.asked = capital(e.asked[len(tie):])
		}
		before, last = last, e
	}
	done, _ := standalone(question, last, before)
	return done, nil
}

// exchanges returns the last self-contained questions of a conversation with their answers.
func exchanges(history []event.Turn) []exchange {
	var out []exchange
	for _, t := range history[max(0, len(history)-2*maxReplayed):] {
		s := strings.Join(strings.Fields(lang.Clean(lang.Truncate(t.Text, maxAnswer))), " ")
		switch {
		case s == "":
		case t.Role == event.RoleUser:
			out = append(out, exchange{asked: s})
		case len(out) > 0 && out[len(out)-1].answer == "":
			out[len(out)-1].answer = unmarked(s)
		}
	}
	return out
}

// unmarked removes the citation marks from an answer.
func unmarked(s string) string { return markRE.ReplaceAllString(s, "") }

// standalone makes a question self-contained, given the last two exchanges, and returns the referents of its pronouns.
func standalone(question string, last, before exchange) (string, held) {
	q := strings.TrimSpace(question)
	if last.asked == "" || len(last.asked) > maxAsked || len(q) > maxAsked || q == "" || !utf8.ValidString(q) || polite.MatchString(q) {
		return question, held{}
	}
	c := &talk{last: last, before: before, about: cmp.Or(last.what, topic(last.asked)), now: q, german: german(q, last.asked)}
	if last.what == "" && last.who != "" && strings.EqualFold(c.about, last.who) {
		c.thing = topic(before.asked)
	}
	done := c.complete(q)
	if done == "" || len(done) > 2*maxAsked || strings.EqualFold(done, q) {
		return question, held{}
	}
	if c.held != (held{}) {
		c.who, c.what = cmp.Or(c.who, last.who), cmp.Or(c.what, last.what)
	}
	return done, c.held
}

// talk is the context for completing a question.
type talk struct {
	now          string // the current question
	last, before exchange
	about        string // topic of the last question; empty: unknown
	thing        string // referent of "it" if it differs from about
	held                // referents found for the pronouns of the current question
	german       bool
}

// complete returns the completed question, or "" if it is complete.
func (c *talk) complete(q string) string {
	body, joined := cutOpening(q)
	resolved := c.resolve(body)
	changed := resolved != body
	switch {
	case doubting.MatchString(q):
		return c.last.asked
	case more.MatchString(body):
		return c.more(body)
	case onlyAsks(body):
		return c.ask(strings.TrimRight(body, " ?.!"))
	case wholeRE.MatchString(body):
		return c.ask(wholeRE.FindStringSubmatch(body)[1])
	case changed && fragment(body, joined) && c.parts(body):
		if c.german {
			return "Was ist mit " + strings.TrimRight(resolved, " ?.!") + "?"
		}
		return "What about " + small(strings.TrimRight(resolved, " ?.!")) + "?"
	case fragment(body, joined):
		return c.instead(strings.TrimRight(resolved, " ?.!"))
	case changed:
		return capital(resolved)
	case c.leans(body) && (!definingRE.MatchString(body) || compares.MatchString(body)):
		return c.beside(capital(body))
	case joined && body != q && hasVerb(body):
		return "" // "And when is the tower open?" is complete
	}
	return ""
}

// parts reports whether a phrase belongs to something ("its climate") and the last question has no similar phrase to
// replace.
func (c *talk) parts(phrase string) bool {
	return whoseRE.MatchString(phrase) && !openedRE.MatchString(c.last.asked) && !strings.Contains(c.last.asked, "'s ") && !definesRE.MatchString(c.last.asked)
}

// beside appends the topic of the last question to a question that needs it and has no place for it.
func (c *talk) beside(q string) string {
	about := c.about
	if compares.MatchString(q) {
		if both := c.both(); both != "" {
			about = both
		}
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

// both returns the two things that one or two questions asked about.
func (c *talk) both() string {
	if two := pair(c.last.asked); two != "" {
		return two
	}
	if one := topic(c.before.asked); one != "" && c.about != "" && !strings.EqualFold(one, c.about) {
		return one + " and " + c.about
	}
	return ""
}

// more asks for more about the topic of the last question.
func (c *talk) more(body string) string {
	if c.about == "" {
		return c.last.asked
	}
	about := " about "
	if c.german {
		about = " über "
	}
	if explains.MatchString(body) {
		about = " "
	}
	return capital(strings.TrimRight(body, " ?.!…")) + about + c.about + "."
}

// ask replaces the question words of the last question ("why", "since when", "how tall").
func (c *talk) ask(words string) string {
	if elses.MatchString(words) {
		return c.elses(words)
	}
	if m := howRE.FindStringSubmatch(words); m != nil && c.about != "" && describing(m[1]) {
		return capital(words) + " is " + c.about + "?"
	}
	prev := strings.TrimRight(c.last.asked, " ?.!")
	if m := asksRE.FindStringSubmatch(prev); m != nil && len(lang.Words(m[1])) <= maxHead {
		return capital(words) + " " + m[2] + "?"
	}
	if auxRE.MatchString(prev) {
		return capital(words) + " " + small(prev) + "?"
	}
	if m := whRE.FindStringSubmatch(prev); m != nil {
		and := ", and "
		if c.german {
			if adverbs.MatchString(m[1]) {
				return capital(words) + prev[len(m[1]):] + "?"
			}
			and = ", und "
		}
		return prev + and + small(words) + "?"
	}
	return c.beside(capital(words) + "?")
}

// elses asks for others than the answer: "who else?".
func (c *talk) elses(words string) string {
	prev := strings.TrimRight(c.last.asked, " ?.!")
	if m := whRE.FindStringSubmatch(prev); m != nil {
		return capital(words) + prev[len(m[1]):] + "?"
	}
	return c.beside(capital(words) + "?")
}

// instead replaces the phrase of the last question that is most similar.
func (c *talk) instead(phrase string) string {
	prev := strings.TrimRight(c.last.asked, " ?.!")
	if phrase == "" {
		return c.last.asked
	}
	end := "?"
	if !strings.Contains(c.last.asked, "?") {
		end = ""
	}
	words := lang.Words(phrase)
	if len(words) == 0 {
		return ""
	}
	// A year replaces a year, with or without its preposition.
	if at := yearRE.FindStringIndex(phrase); at != nil && len(words) <= 4 {
		if old := yearRE.FindStringIndex(prev); old != nil {
			return prev[:old[0]] + phrase[at[0]:at[1]] + prev[old[1]:] + end
		}
		if len(words) == 1 {
			phrase = "in " + phrase
		}
		return prev + " " + small(phrase) + end
	}
	if from, to := numbered(prev, phrase); from >= 0 {
		return prev[:from] + phrase + prev[to:] + end
	}
	if old := lang.Words(prev); len(words) == 1 && len(old) > 1 && happens(words[0].Text) && happens(old[len(old)-1].Text) {
		return prev[:old[len(old)-1].Start] + small(phrase) + end // as in "and repaired?"
	}
	if preposition(words[0].Text) && len(words) > 1 {
		if from, to := sited(prev); from >= 0 && sitedRE.MatchString(phrase) {
			return prev[:from] + small(phrase) + prev[to:] + end
		}
		if from, to := prepositional(prev, words[0].Text); from >= 0 {
			return strings.TrimRight(prev[:from], " ") + " " + small(phrase) + prev[to:] + end
		}
		return prev + " " + small(phrase) + end
	}
	if adverb(words[0].Text) && len(words) <= 2 || datedRE.MatchString(phrase) {
		return prev + " " + small(phrase) + end
	}
	if len(words) <= 2 && !named(phrase) && !article(words[0].Text) {
		if at := aboutNoun.FindStringSubmatchIndex(prev); at != nil && !function(strings.ToLower(prev[at[2]:at[3]])) {
			return prev[:at[2]] + phrase + end
		}
	}
	if len(words) <= 2 && !article(words[0].Text) && doesRE.MatchString(prev) && strings.ToLower(phrase) == lowered(phrase) {
		return c.beside(capital(phrase) + "?") // no similar phrase
	}
	old := like(prev, phrase)
	if whoRE.MatchString(prev) && named(phrase) && !named(old) { // it may refer to another person
		return c.beside("What about " + phrase + "?")
	}
	if old == "" {
		return c.beside(capital(phrase) + "?")
	}
	at := strings.LastIndex(prev, old)
	if !named(phrase) {
		phrase = small(phrase)
	}
	if noun := bare(old); noun != old && !article(words[0].Text) && !named(phrase) {
		// "the oven" is replaced by "lamps" with its article; with "lamp" the article stays.
		if len(words) == 1 && !strings.HasSuffix(words[0].Text, "s") {
			phrase = old[:len(old)-len(noun)] + phrase
		}
	}
	return prev[:at] + phrase + prev[at+len(old):] + end
}

// happens reports whether a word is a verb about something that happened to the topic.
func happens(w string) bool { return predicates[w] || strings.HasSuffix(w, "ed") }

// lowered returns a phrase in lower case unless it is a name. The capital at the start of a question does not make a name.
func lowered(phrase string) string {
	if strings.Contains(phrase, " ") || !upper(phrase) {
		return phrase
	}
	return strings.ToLower(phrase)
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// small lower-cases the first letter of a text that is not a name.
func small(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if unicode.IsUpper(r) && function(strings.ToLower(first(s))) {
		return string(unicode.ToLower(r)) + s[n:]
	}
	return s
}

func first(s string) string {
	if w := lang.Words(lang.Truncate(s, 200)); len(w) > 0 {
		return w[0].Text
	}
	return ""
}
