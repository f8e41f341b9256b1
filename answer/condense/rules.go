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
	maxAsked    = 600  // bytes of a question that leaves something out: a longer one says all itself
	maxAnswer   = 1200 // bytes that are read of an answer
	maxReplayed = 8    // questions that are made self-contained one after the other, to know what the last is about
)

// Rules is the [Condenser] that needs no model. Pronouns are replaced by what the last question is about, or by the name that its
// answer gave where it asked for one; a question that is none by itself ("And in 2021?", "What about Lunden?", "Why?") changes
// the last one. It knows English, and of German what is common; of other languages it completes short questions with
// numbers and names. The zero value works. There is no error.
type Rules struct{}

// exchange is a question that stands by itself, with its answer.
type exchange struct {
	asked, answer string
	held
}

// held is what pronouns of a question stood for, which they go on to stand for in the next ones.
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

// exchanges gives the last questions of a conversation with what was answered.
func exchanges(history []event.Turn) []exchange {
	var out []exchange
	for _, t := range history[max(0, len(history)-2*maxReplayed):] {
		s := strings.Join(strings.Fields(lang.Clean(lang.Head(t.Text, maxAnswer))), " ")
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

// unmarked gives an answer without the marks of its citations.
func unmarked(s string) string { return markRE.ReplaceAllString(s, "") }

// standalone makes a question self-contained, given what was asked last and before that, and tells what its pronouns stand for.
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

// talk is what a question may leave to the conversation.
type talk struct {
	now          string // the question
	last, before exchange
	about        string // what the last question is about; empty: nobody knows
	thing        string // what "it" stands for, if it is not that
	held                // what the pronouns of this one were found to stand for
	german       bool
}

// complete gives the question with what it lacks; empty where it lacks nothing.
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
		return "" // "And when is the tower open?" says all
	}
	return ""
}

// parts tells whether a phrase is of something ("its climate") and the last question has nothing like it that it could replace.
func (c *talk) parts(phrase string) bool {
	return whoseRE.MatchString(phrase) && !openedRE.MatchString(c.last.asked) && !strings.Contains(c.last.asked, "'s ") && !definesRE.MatchString(c.last.asked)
}

// beside puts what the last question is about behind a question that needs it and has no place for it.
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

// both gives the two things that were asked about, in one question or in two.
func (c *talk) both() string {
	if two := pair(c.last.asked); two != "" {
		return two
	}
	if one := topic(c.before.asked); one != "" && c.about != "" && !strings.EqualFold(one, c.about) {
		return one + " and " + c.about
	}
	return ""
}

// more asks for more of what the last question is about.
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

// ask puts the words that ask ("why", "since when", "how tall") in the place of those of the last question.
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

// elses asks for others than the answer gave: "who else?".
func (c *talk) elses(words string) string {
	prev := strings.TrimRight(c.last.asked, " ?.!")
	if m := whRE.FindStringSubmatch(prev); m != nil {
		return capital(words) + prev[len(m[1]):] + "?"
	}
	return c.beside(capital(words) + "?")
}

// instead puts a phrase in the place of the one in the last question that is like it.
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
	// A year in a year's place, with or without the word before it.
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
		return prev[:old[len(old)-1].Start] + small(phrase) + end // and repaired?
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
		return c.beside(capital(phrase) + "?") // what it is to stand for, nobody knows
	}
	old := like(prev, phrase)
	if whoRE.MatchString(prev) && named(phrase) && !named(old) { // maybe another who is meant
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
		// "the oven" by "lamps": the article goes with the noun; by "lamp" alone it stays.
		if len(words) == 1 && !strings.HasSuffix(words[0].Text, "s") {
			phrase = old[:len(old)-len(noun)] + phrase
		}
	}
	return prev[:at] + phrase + prev[at+len(old):] + end
}

// happens tells whether a word says what became of something.
func happens(w string) bool { return predicates[w] || strings.HasSuffix(w, "ed") }

// lowered gives a phrase as it stands in a sentence, where it is no name: a capital that only opened the question counts for none.
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

// small begins with a small letter what began a sentence and is no name.
func small(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if unicode.IsUpper(r) && function(strings.ToLower(first(s))) {
		return string(unicode.ToLower(r)) + s[n:]
	}
	return s
}

func first(s string) string {
	if w := lang.Words(lang.Head(s, 200)); len(w) > 0 {
		return w[0].Text
	}
	return ""
}
