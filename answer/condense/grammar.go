package condense

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/lang"
)

// grammar is a language with what the rules derive from its words.
type grammar struct {
	*lang.Language
	spaced                            bool // words are parted by spaces: not in Chinese and Japanese
	pronouns                          map[string]lang.Section
	opening, about, change, expletive *regexp.Regexp
	shifts                            *regexp.Regexp // matches a phrase for a time before or after another one
	asks                              *regexp.Regexp // splits a question into the question words and the rest, which begins with an auxiliary verb
	wh                                *regexp.Regexp // matches the question word at the start of a question
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
	g := &grammar{Language: l, spaced: l.Code != "zh" && l.Code != "ja", pronouns: map[string]lang.Section{}}
	for _, s := range []lang.Section{lang.He, lang.His, lang.It, lang.Its, lang.They, lang.Their, lang.There, lang.This} {
		for _, w := range l.List(s) {
			g.pronouns[w] = s
		}
	}
	in, wh, aux := `(?:`+one(lang.Prepositions)+`\s+)?`, one(lang.QuestionWords), one(lang.Auxiliaries)
	g.opening = regexp.MustCompile(`(?i)^[¿¡\s]*(?:` + one(lang.Openings) + `[\s,.!:]+)*`)
	g.shifts = regexp.MustCompile(`(?i)(?:^|\s)` + in + `(?:` + one(lang.Articles) + `\s+)?(?:l['’])?(` + one(lang.Shifts) + `)(?:\s*[?.!]|$)`)
	g.about = regexp.MustCompile(`(?i)^` + one(lang.About) + `\s+`)
	g.change = regexp.MustCompile(start + one(lang.Change) + `\s*[:,.：，。-]+\s*`)
	g.expletive = regexp.MustCompile(`(?i)(?:^|[^\pL\pN])` + one(lang.Expletives) + end)
	g.asks = regexp.MustCompile(start + `(` + in + wh + `(?:\s+[\pL\pN'’-]+){0,4}?)\s+(` + aux + `(?:[^\pL\pN].*)?)$`)
	g.wh = regexp.MustCompile(start + `(` + in + wh + `)` + end)
	return g
}

func (g *grammar) isPreposition(w string) bool { return g.Has(lang.Prepositions, w) }
func (g *grammar) isArticle(w string) bool     { return g.Has(lang.Articles, w) }

// isFunctionWord reports whether a word belongs to no name and no noun.
func (g *grammar) isFunctionWord(w string) bool {
	return g.IsStopWord(w) || g.isPreposition(w) || g.Has(lang.Auxiliaries, w) || g.Has(lang.QuestionWords, w)
}

// content returns the words of a text that are neither stop words nor of its question phrases.
func (g *grammar) content(s string) []lang.Token {
	return slices.DeleteFunc(lang.Words(s), func(w lang.Token) bool {
		return g.IsStopWord(w.Text) || g.Has(lang.Auxiliaries, w.Text) || g.Has(lang.QuestionWords, w.Text) || g.pronouns[w.Text] != ""
	})
}

// onlyQuestionWords reports whether a question consists of question words.
func (g *grammar) onlyQuestionWords(q string) bool {
	asks := false
	for _, w := range lang.Words(q) {
		asks = asks || g.Has(lang.QuestionWords, w.Text)
		if !g.Has(lang.QuestionWords, w.Text) && !g.isPreposition(w.Text) {
			return false
		}
	}
	return asks
}

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

// isFragment reports whether a question is only a phrase that changes the last question. Without a word that connects it, it has a question mark and one
// word with a meaning of its own, or begins with a preposition, because it may be a keyword search.
func (g *grammar) isFragment(q string, connected bool) bool {
	ws := lang.Words(q)
	if len(ws) == 0 || len(ws) > maxFragment || g.hasVerb(q) || slices.ContainsFunc(ws, func(w lang.Token) bool { return g.Has(lang.QuestionWords, w.Text) }) {
		return false
	}
	n := len(g.content(q))
	if !connected && !g.isPreposition(ws[0].Text) && !strings.Contains(q, "?") {
		return false
	}
	return n <= 1 || connected && (n <= 2 || g.IsStopWord(ws[0].Text)) || g.isPreposition(ws[0].Text)
}

// maxFragment is the maximum number of words of an incomplete question.
const maxFragment = 8

// isCapital reports whether a phrase has a capital after its article.
func (g *grammar) isCapital(phrase string) bool { return isCapitalized(g.withoutArticle(phrase)) }

// withoutArticle returns a phrase without its article.
func (g *grammar) withoutArticle(phrase string) string {
	if head, rest, ok := strings.Cut(phrase, " "); ok && g.isArticle(strings.ToLower(head)) {
		return rest
	}
	return phrase
}
