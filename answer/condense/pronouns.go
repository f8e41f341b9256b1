package condense

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// form is the kind of a pronoun.
type form int

const (
	none          form = iota
	person             // he, her
	thing              // it
	plural             // they
	place              // there
	demonstrative      // this, that
)

// pronoun is a word that refers to something.
type pronoun struct {
	form       form
	possessive bool   // it is possessive
	article    string // article of its referent, if the pronoun determines it
}

// genders maps German pronouns to the articles of their possible referents.
var genders = map[string]map[string]bool{"der": words("der den"), "die": words("die"), "das": words("das")}

var (
	// expletiveRE matches "it" and "there" without a referent.
	expletiveRE = regexp.MustCompile(`(?i)\b(?:(?:is|was|would|will|be) (?:it|this) (?:also )?(?:possible|true|important|necessary|better|best|worth|ok|okay|legal|safe|hard|easy|common|normal|allowed|clear) (?:to|that|for|if)\b|` +
		`it (?:is|was|takes?|took) (?:possible|true|important|necessary|said|known|worth)|(?:does|did|do|will|would) it (?:rain|snow|take (?:\pL+ )?to|matter|make sense)|what time is it|what(?:['’]s| is) this about|` +
		`(?:is|are|was|were|be|been|will|isn['’]t|aren['’]t|do|does) there|there (?:is|are|was|were|be|been|exist)|gibt es|es gibt|wird es|ist es (?:möglich|erlaubt|wahr))\b`)
	// own are things of the user that no earlier question mentioned.
	ownRE       = regexp.MustCompile(`(?i)^(?:document|file|paper|text|report|page|collection|question|week|month|morning|year|chat|conversation|folder|article|website|case|way|time|kind|sort|type|dokument|datei)s?$`)
	clauseWords = map[string]bool{"and": true, "or": true, "but": true, "when": true, "if": true, "because": true, "while": true, "before": true, "after": true, "since": true, "und": true, "als": true, "wenn": true, "weil": true}
	// verbsBehind are verbs that may follow a demonstrative "that".
	verbsAfterThat = words("mean means work works cost costs happen happens happened matter matters include includes cause causes apply compare come take get made affect")
)

// resolve replaces the pronouns of a question that refer to the conversation.
func (c *rewriter) resolve(q string) string {
	if c.lastTopic == "" && c.last.answer == "" {
		return q
	}
	ws := lang.Words(q)
	spans := append(expletiveRE.FindAllStringIndex(q, -1), c.expletive.FindAllStringIndex(q, -1)...)
	var out strings.Builder
	done, appended := 0, ""
	for i, w := range ws {
		p, ok := c.pronouns[strings.ReplaceAll(w.Text, "’", "'")]
		if !ok || isCapitalized(q[w.Start:w.End]) && i > 0 || inside(spans, w.Start, w.End) || c.refersInside(q, ws, i, p) {
			continue
		}
		if c.Code != "en" && p.article == "" {
			appended = c.reference()
			continue
		}
		by, to := c.replacement(q, ws, i, p)
		if by == "" && (p.article != "" || p.form == person && whoRE.MatchString(c.last.question)) {
			appended = c.reference() // the last answer does not name the person
		}
		if by == "" {
			continue
		}
		switch {
		case p.form == person && c.Code != "de":
			c.who = cmp.Or(c.who, c.antecedent(p))
		case p.form != place:
			c.what = cmp.Or(c.what, c.antecedent(p))
		}
		out.WriteString(q[done:w.Start] + by)
		done = to
		if done >= len(q) {
			break
		}
	}
	resolved := out.String() + q[min(done, len(q)):]
	if appended != "" {
		c.what = cmp.Or(c.what, appended)
		return withReference(resolved, appended)
	}
	return resolved
}

// withReference appends what a question refers to, in parentheses.
func withReference(q, about string) string {
	end := strings.TrimRight(q, " ?.!？。")
	return end + " (" + about + ")" + strings.TrimLeft(q[len(end):], " ")
}

// reference returns what the last question is about, with the name in its answer if it asked for one.
func (c *rewriter) reference() string {
	about := cmp.Or(c.last.what, c.subjectMatter(c.last.question))
	if names := c.answerNames(); len(names) > 0 && c.asksName(c.last.question) && !strings.Contains(about, names[0]) {
		return names[0] + ", " + about
	}
	return about
}

// asksName reports whether a question in a language other than English and German asks for the name of something: its question word is
// that of a person, or a noun follows it.
func (g *grammar) asksName(q string) bool {
	switch g.Asks(q) {
	case lang.AsksPerson, lang.AsksPlace:
		return true
	case lang.AsksTime, lang.AsksNumber:
		return false
	}
	ws := lang.Words(q)
	for i, w := range ws {
		if g.Has(lang.QuestionWords, w.Text) {
			return i+1 < len(ws) && !g.IsStopWord(ws[i+1].Text) && !g.Has(lang.Auxiliaries, ws[i+1].Text)
		}
	}
	return false
}

func inside(spans [][]int, from, to int) bool {
	for _, s := range spans {
		if s[0] <= from && to <= s[1] {
			return true
		}
	}
	return false
}

// refersInside reports whether the pronoun at i refers to something in the question itself: a name before it, or the subject
// of an earlier clause.
func (c *rewriter) refersInside(q string, ws []lang.Token, i int, p pronoun) bool {
	if i == 0 || p.form == demonstrative || p.form == place {
		return false
	}
	clause := false
	for k := 1; k < i; k++ {
		clause = clause || clauseWords[ws[k].Text] || strings.ContainsAny(q[ws[k-1].End:ws[k].Start], ",;:")
	}
	for _, ph := range c.phrases(q[:ws[i].Start]) {
		said := q[ph.from:ph.to]
		if whose := p.possessive || p.form != thing; ph.name && (whose && c.Code != "de" || clause) && ph.from > 0 || clause && !ph.name && c.isArticle(firstWord(said)) {
			return true
		}
	}
	return false
}

// replacement returns the replacement of the pronoun at i and the end of the replaced text, or "" if it stays.
func (c *rewriter) replacement(q string, ws []lang.Token, i int, p pronoun) (by string, end int) {
	w := ws[i]
	end = w.End
	next := ""
	if i+1 < len(ws) && adjacent(q, ws, i+1) {
		next = ws[i+1].Text
	}
	switch {
	case p.form == demonstrative:
		return c.demonstrative(ws, i, next)
	case w.Text == "her" && next != "" && !c.IsStopWord(next) && !c.isPreposition(next) && !c.Has(lang.Adverbs, next):
		p.possessive = true
	}
	by = c.antecedent(p)
	if by == "" {
		return "", 0
	}
	if p.article != "" && !c.isName(by) || p.article != "" && c.Code == "de" && c.isArticle(firstWord(by)) {
		by = p.article + " " + c.withoutArticle(by)
	}
	return c.inflect(by, p, w.Text), end
}

// inflect returns the replacement in the grammatical form of the pronoun.
func (c *rewriter) inflect(by string, p pronoun, word string) string {
	switch {
	case p.possessive && c.Code == "de":
		by = "von " + by
	case p.possessive && strings.HasSuffix(by, "s"):
		by += "'"
	case p.possessive:
		by += "'s"
	case p.form == place:
		by = "in " + by
	case strings.HasSuffix(word, "'s") || strings.HasSuffix(word, "’s"):
		by += " is"
	}
	return by
}

// demonstrative returns the replacement of this, that, these and those.
func (c *rewriter) demonstrative(ws []lang.Token, i int, next string) (by string, end int) {
	w := ws[i]
	plain := next == "" || c.Has(lang.Auxiliaries, next) || verbsAfterThat[next] || c.isPreposition(next)
	before := ""
	if i > 0 {
		before = ws[i-1].Text
	}
	switch {
	case w.Text == "that" && i > 0 && strings.HasSuffix(next, "ed"):
		return "", 0 // for example "the treaty that ended it"
	case plain:
		by = c.antecedent(pronoun{form: thing})
		if by == "" {
			return "", 0
		}
		return by, w.End
	case ownRE.MatchString(next) && next != "year" && next != "time", c.IsStopWord(next):
		return "", 0
	case w.Text == "that" && i > 0 && !c.Has(lang.Auxiliaries, before) && !c.isPreposition(before) && !c.Has(lang.QuestionWords, before) && !precedesObject(before):
		return "", 0 // a relative clause
	}
	noun := ws[i+1]
	if next == "year" || next == "time" {
		if year := yearRE.FindString(c.last.answer); year != "" && w.Text != "this" {
			return year, noun.End
		}
		return "", 0
	}
	by = c.antecedent(pronoun{form: thing})
	return by, noun.End // "this tower" becomes "the tower of Farland"
}

func precedesObject(w string) bool {
	return w == "about" || w == "find" || w == "use" || w == "built" || w == "made" || w == "wrote" || w == "does" || strings.HasSuffix(w, "ed")
}

// antecedent returns the referent of a pronoun: the name that the last answer gave if the question asked for one, or the
// topic of the question.
func (c *rewriter) antecedent(p pronoun) string {
	prev := c.last.question
	defined := definesRE.MatchString(strings.TrimRight(prev, " .!"))
	who := whoRE.MatchString(prev)
	where := asksWhere.MatchString(prev)
	given := c.answerNames()
	switch p.form {
	case person:
		if c.Code == "de" {
			break // er and sie also refer to things
		}
		given = slices.DeleteFunc(given, func(s string) bool { return c.isArticle(firstWord(s)) && isCapitalized(c.withoutArticle(s)) }) // for example "the Kingdom of Sicily"
		if who && !defined && len(given) > 0 {
			one, _, _ := strings.Cut(given[0], " at ")
			return one
		}
		if n := cmp.Or(c.last.who, c.personName(prev)); n != "" {
			return n
		}
		if len(given) > 0 || who && !defined {
			return cmp.Or(append(given, "")...) // a person whom the answer does not name is not what the question was about
		}
	case plural:
		if who && !defined && len(given) > 1 && !oneRE.MatchString(prev) {
			return strings.Join(given[:min(len(given), 3)], " and ")
		}
		if two := c.pair(prev); two != "" {
			return two
		}
	case place:
		if c.keepsSubject() {
			break
		}
		if len(given) > 0 && (where || identityRE.MatchString(prev) && !who && (!attributeOfRE.MatchString(prev) || c.saysIs(given[0]))) {
			return given[0]
		}
	case thing, demonstrative:
		if !c.keepsSubject() && !who && !defined && len(given) > 0 && !severalRE.MatchString(prev) && (identityRE.MatchString(prev) || where && bornRE.MatchString(prev)) {
			return given[0]
		}
	}
	if subject, ok := c.subjectPerson(prev); ok && p.article != "das" && !madeRE.MatchString(c.question) {
		return subject
	}
	if of := genders[p.article]; of != nil {
		all := c.phrases(prev)
		for _, p := range slices.Backward(all) {
			if s := prev[p.from:p.to]; of[firstWord(s)] && (!who || len(given) == 0 || madeRE.MatchString(c.question)) {
				return s
			}
		}
	}
	if c.Code == "de" && who && !defined && p.form == person && len(given) > 0 && p.article != "das" && !madeRE.MatchString(c.question) {
		if n := c.personName(prev); n == "" || c.isArticle(firstWord(n)) {
			return given[0]
		}
	}
	if p.form == place {
		_, name, ok := strings.Cut(c.lastTopic, " for ")
		if !ok {
			_, name, ok = strings.Cut(c.lastTopic, " für ")
		}
		if ok && c.isName(name) {
			return name // the fare for Lunden is no place
		}
	}
	return c.lastTopic
}

var (
	whoRE = regexp.MustCompile(`(?i)^\W*(?:(?:by |from )?whom?|(?:von )?we[rm])\b`)
	oneRE = regexp.MustCompile(`(?i)^\W*(?:who|wer)(?: is| was|['’]s| ist| war)\b`) // it asks for one person
	// attributeOfRE matches a question for an attribute, which may be a number.
	attributeOfRE = regexp.MustCompile(`(?i)^\W*(?:what|was) (?:is|was|are|were|ist|war) (?:the|der|die|das)\b`)
	isRE          = regexp.MustCompile(`(?i)(?:^|\b(?:is|was|ist|war)) ?$`)
	severalRE     = regexp.MustCompile(`(?i)^\W*(?:which|what) [\pL-]+[^s\W]s\b`) // it asks for several things
	whoseRE       = regexp.MustCompile(`(?i)^(?:its|his|her|their|seine?|ihre?)\b`)
	madeRE        = regexp.MustCompile(`(?i)\b(?:(?:ge|er)baut|errichtet|eröffnet|hoch|lang|breit|tief|schwer|teuer|kostet)\b`) // it asks about a thing
	asksWhere     = regexp.MustCompile(`(?i)^\W*(?:where|in (?:which|what)|from where|wo|woher|wohin)\b`)
	bornRE        = regexp.MustCompile(`(?i)\b(?:born|die[ds]?|live[ds]?|grow|grew|stud(?:y|ied)|raised|buried|work(?:s|ed)?|from|geboren|gestorben|lebte?)\b`)
)

// answerNames returns the names in the last answer that are not in the question: those of its first sentence with such names. Before a colon stands a label or
// a heading, which counts if there is no other name. If a person was asked for, names of several words come first.
func (c *rewriter) answerNames() []string {
	asked := strings.ToLower(c.last.question)
	who := whoRE.MatchString(c.last.question)
	person := who || c.Asks(c.last.question) == lang.AsksPerson
	answer := asideRE.ReplaceAllString(lang.Truncate(c.last.answer, maxAnswer), "")
	var labels []string
	for _, s := range lang.Sentences(answer) {
		one := answer[s.Start:s.End]
		var out []string
		for _, p := range c.phrases(one) {
			name := strings.TrimLeft(one[p.from:p.to], "0123456789:. ") // 15:20 Ada Brook
			before := one[:p.from]
			if column := strings.TrimRight(before, " "); person && (strings.HasSuffix(column, ":") || strings.HasSuffix(column, ";")) && strings.Count(name, " ") > 1 {
				_, name, _ = strings.Cut(name, " ") // the name of a column: "Teacher Ada Brook"
			}
			if !p.name || name == "" || indefinite[firstWord(name)] || c.IsStopWord(strings.ToLower(name)) || strings.Contains(asked, strings.ToLower(c.withoutArticle(name))) || !unicode.IsUpper([]rune(c.withoutArticle(name))[0]) || months[strings.ToLower(firstWord(name))] {
				continue
			}
			name = c.nameInQuestion(name, p.from == 0)
			lower := strings.ToLower(before)
			switch {
			case strings.HasPrefix(one[p.to:], ":"):
				labels = append(labels, name)
			case who && byRE.MatchString(lower) && strings.Contains(lower, strings.ToLower(c.withoutArticle(c.lastTopic))):
				out = slices.Insert(out, 0, name) // the agent of a passive sentence
			default:
				out = append(out, name)
			}
		}
		if len(out) > 0 {
			if person && !c.isFullName(out[0]) {
				slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(strings.Count(b, " "), strings.Count(a, " ")) })
			}
			return out
		}
	}
	return labels
}

// isFullName reports whether a name has several words.
func (c *rewriter) isFullName(name string) bool { return strings.Contains(c.withoutArticle(name), " ") }

// saysIs reports whether the last answer says that what was asked for is this: the capital is Lunden.
func (c *rewriter) saysIs(name string) bool {
	before, _, ok := strings.Cut(c.last.answer, name)
	return ok && isRE.MatchString(before)
}

// keepsSubject reports whether the subject of the last question is a named thing, to which the next question then refers: "it" after "Which area
// did Japan conquer?" is Japan, and after "Which film did Ines Calloway direct?" the film. Names of two words without an article are those of people.
func (c *rewriter) keepsSubject() bool {
	prev := c.last.question
	p, ok := c.salient(prev, c.phrases(prev))
	if !ok || c.prominence(prev, p) < subjectRank || definesRE.MatchString(strings.TrimRight(prev, " .!")) {
		return false
	}
	name := prev[p.from:p.to]
	return c.isArticle(firstWord(name)) || len(strings.Fields(name)) == 1
}

// indefinite are articles before what is no name, as in "a Roman Catholic archdiocese".
var indefinite = words("a an ein eine einen einem einer")

var (
	asideRE = regexp.MustCompile(`\s*\([^()]*\)`)
	byRE    = regexp.MustCompile(`(?i)\b(?:by|von) $`)
)

// nameInQuestion returns a name of an answer in the form used in a question: without a following verb, and with a lower-case
// article if that only began the answer.
func (g *grammar) nameInQuestion(name string, opens bool) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, "'s"), "’s")
	ws := strings.Fields(name)
	if n := len(ws); n > 1 && !isCapitalized(ws[n-1]) && strings.HasSuffix(ws[n-1], "s") {
		ws = ws[:n-1]
	}
	if opens && len(ws) == 2 && g.isArticle(strings.ToLower(ws[0])) {
		ws[0] = strings.ToLower(ws[0])
	}
	return strings.Join(ws, " ")
}

var months = words("january february march april may june july august september october november december monday tuesday wednesday thursday friday saturday sunday januar februar märz mai juni juli oktober dezember")

// subjectPerson returns the subject of a German question if it is a name of two words, as those of people are.
func (c *rewriter) subjectPerson(q string) (string, bool) {
	p, ok := c.salient(q, c.phrases(q))
	if !ok || c.Code != "de" || c.prominence(q, p) < subjectRank {
		return "", false
	}
	words := strings.Fields(q[p.from:p.to])
	return q[p.from:p.to], len(words) == 2 && !c.isArticle(strings.ToLower(words[0])) && isCapitalized(words[1])
}

// personName returns the most prominent name of a question that has no article: people have names without one.
func (g *grammar) personName(q string) string {
	all := slices.DeleteFunc(g.phrases(q), func(p phrase) bool {
		return g.isArticle(firstWord(q[p.from:p.to])) || strings.ContainsAny(q[p.from:p.to], "0123456789")
	})
	if p, ok := g.salient(q, all); ok {
		return strings.TrimSuffix(strings.TrimSuffix(q[p.from:p.to], "'s"), "’s")
	}
	return ""
}
