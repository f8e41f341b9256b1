package condense

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/lang"
)

// grammar is a language with what the rules derive from its words.
type grammar struct {
	*lang.Language
	// replaces reports whether pronouns are replaced and noun phrases recognized, as in English and German. In other languages, what a question refers to
	// is appended in parentheses.
	replaces                          bool
	spaced                            bool // words are parted by spaces: not in Chinese and Japanese
	pronouns                          map[string]pronoun
	opening, about, change, expletive *regexp.Regexp
	returns                           *regexp.Regexp // matches what stands before the subject in "No, back to the pool: is it heated?"
	shifts                            *regexp.Regexp // matches a phrase for a time before or after another one
	asks                              *regexp.Regexp // splits a question into the question words and the rest, which begins with an auxiliary verb
	wh, aux, adverb                   *regexp.Regexp // match the question word, the auxiliary verb at the start of a question; an adverb of question alone
}

// grammars has the grammars of all languages.
var grammars = sync.OnceValue(func() map[string]*grammar {
	out := map[string]*grammar{}
	for code, l := range lang.Languages() {
		out[code] = newGrammar(l)
	}
	return out
})

// grammarOf returns the grammar of the language of a text; by default English.
func grammarOf(s string) *grammar {
	if l := lang.Detect(s); l != nil {
		return grammars()[l.Code]
	}
	return grammars()[lang.English.Code]
}

func newGrammar(l *lang.Language) *grammar {
	const start, end = `(?i)^[^\pL\pN]*`, `(?:[^\pL\pN]|$)`
	one := func(s lang.Section) string {
		all := l.List(s)
		for i, w := range all {
			all[i] = strings.ReplaceAll(regexp.QuoteMeta(w), "'", "['’]")
		}
		if len(all) == 0 {
			return `\x00` // matches nothing
		}
		return `(?:` + strings.Join(all, "|") + `)`
	}
	g := &grammar{Language: l, replaces: l.Code == "en" || l.Code == "de", spaced: l.Code != "zh" && l.Code != "ja", pronouns: map[string]pronoun{}}
	for _, s := range []struct {
		lang.Section
		pronoun
	}{{lang.He, pronoun{form: person}}, {lang.His, pronoun{form: person, possessive: true}}, {lang.It, pronoun{form: thing}}, {lang.Its, pronoun{form: thing, possessive: true}},
		{lang.They, pronoun{form: plural}}, {lang.Their, pronoun{form: plural, possessive: true}}, {lang.There, pronoun{form: place}}, {lang.This, pronoun{form: demonstrative}}} {
		for _, w := range l.List(s.Section) {
			g.pronouns[w] = s.pronoun
		}
	}
	for _, s := range l.List(lang.Gendered) {
		article, w, _ := strings.Cut(s, "=")
		p := g.pronouns[w]
		p.form, p.article = cmp.Or(p.form, thing), article
		g.pronouns[w] = p
	}
	gap := `(?:\s+|['’])`
	if !g.spaced {
		gap = ``
	}
	in, wh, aux := `(?:`+one(lang.Prepositions)+`\s+)?`, one(lang.QuestionWords), one(lang.Auxiliaries)
	g.opening = regexp.MustCompile(`(?i)^[¿¡\s]*(?:` + one(lang.Openings) + `[\s,.!:]+)*`)
	g.shifts = regexp.MustCompile(`(?i)(?:^|\s)` + in + `(?:` + one(lang.Articles) + `\s+)?(?:l['’])?(` + one(lang.Shifts) + `)(?:\s*[?.!]|$)`)
	g.about = regexp.MustCompile(`(?i)^` + one(lang.About) + `\s+`)
	g.change = regexp.MustCompile(start + one(lang.Change) + `\s*[:,.：，。-]+\s*`)
	g.returns = regexp.MustCompile(start + `(?:(?:` + one(lang.Openings) + `|` + one(lang.No) + `)[\s,.!:]+)*` + one(lang.Returns) + gap)
	g.expletive = regexp.MustCompile(`(?i)(?:^|[^\pL\pN])` + one(lang.Expletives) + end)
	g.asks = regexp.MustCompile(start + `(` + in + wh + `(?:\s+[\pL\pN'’-]+){0,4}?)\s+(` + aux + `(?:[^\pL\pN].*)?)$`)
	g.wh = regexp.MustCompile(start + `(` + in + wh + `)` + end)
	g.aux = regexp.MustCompile(start + aux + `\s`)
	g.adverb = regexp.MustCompile(`(?i)^` + in + `(?:when|where|why|how|wann|wo|wohin|woher|warum|wieso|weshalb|wie)$`)
	return g
}

func (g *grammar) isPreposition(w string) bool { return g.Has(lang.Prepositions, w) }
func (g *grammar) isArticle(w string) bool     { return g.Has(lang.Articles, w) }

// isFunctionWord reports whether a word at the start of a question is no name.
func (g *grammar) isFunctionWord(w string) bool {
	return g.IsStopWord(w) || imperativeRE.MatchString(w)
}

// content returns the words of a text that are neither stop words nor of its question phrases.
func (g *grammar) content(s string) []lang.Token {
	return slices.DeleteFunc(lang.Words(s), func(w lang.Token) bool {
		return g.IsStopWord(w.Text) || g.Has(lang.Auxiliaries, w.Text) || g.Has(lang.QuestionWords, w.Text) || g.pronouns[w.Text].form != none
	})
}

// onlyQuestionWords reports whether a question consists of question words.
func (g *grammar) onlyQuestionWords(q string) bool {
	q = strings.Trim(q, " ?.!¿")
	asks := false
	for _, w := range lang.Words(q) {
		asks = asks || g.Has(lang.QuestionWords, w.Text)
		if !g.Has(lang.QuestionWords, w.Text) && !g.isPreposition(w.Text) && !onlyWords[w.Text] {
			return onlyRE.MatchString(q)
		}
	}
	return asks
}

// onlyWords may stand beside a question word that is a question alone.
var onlyWords = words("not else exactly so nicht sonst genau noch")

// hasVerb reports whether a text has a known verb.
func (g *grammar) hasVerb(s string) bool {
	s = lang.Truncate(s, maxQuestionBytes)
	return slices.ContainsFunc(lang.Words(s), func(w lang.Token) bool {
		month := w.Start > 0 && g.Has(lang.Months, w.Text) && isCapitalized(s[w.Start:w.End]) // in late May
		return g.Has(lang.Auxiliaries, w.Text) && !month
	})
}

// cutOpening removes the words that connect a question to the last one, and reports whether there were any.
func (g *grammar) cutOpening(q string) (body string, connected bool) {
	body = q[len(g.opening.FindString(q)):]
	if body == "" {
		return q, false
	}
	connected = len(strings.Trim(q[:len(q)-len(body)], " ¿¡")) > 0
	if m := g.about.FindString(body); m != "" && len(m) < len(body) {
		rest := body[len(m):]
		if !g.hasVerb(rest) || g.wh.MatchString(rest) {
			return strings.TrimSuffix(strings.TrimRight(rest, " ?"), " aus"), true
		}
	}
	if !connected {
		return q, false
	}
	return body, connected
}

// isFragment reports whether a question is only a phrase that changes the last question. Without a connecting word it needs
// a question mark, because it may be a keyword search.
func (g *grammar) isFragment(q string, connected bool) bool {
	ws := lang.Words(q)
	if len(ws) == 0 || len(ws) > maxFragment || g.hasVerb(q) || imperativeRE.MatchString(q) || g.Has(lang.QuestionWords, ws[0].Text) {
		return false
	}
	if !g.replaces { // a question may begin with any verb
		asks := slices.ContainsFunc(ws, func(w lang.Token) bool { return g.Has(lang.QuestionWords, w.Text) })
		n := len(g.content(q))
		return !asks && (n <= 1 || connected && (n <= 2 || g.IsStopWord(ws[0].Text)) || g.isPreposition(ws[0].Text))
	}
	if connected {
		return true
	}
	asks := strings.HasSuffix(strings.TrimSpace(q), "?")
	return len(ws) <= 5 && asks || len(ws) <= 4 && g.isPreposition(ws[0].Text)
}

// isName reports whether a phrase is a name: it has a capital after its article.
func (g *grammar) isName(phrase string) bool { return isCapitalized(g.withoutArticle(phrase)) }

// withoutArticle returns a phrase without its article.
func (g *grammar) withoutArticle(phrase string) string {
	if head, rest, ok := strings.Cut(phrase, " "); ok && g.isArticle(strings.ToLower(head)) {
		return rest
	}
	return phrase
}
