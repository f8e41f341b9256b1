package condense

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// phrase is a noun phrase of a question: s[from:to].
type phrase struct {
	from, to int
	name     bool // it contains a name
}

var (
	// kindRE matches the kind of information that a question asks for.
	kindRE = regexp.MustCompile(`(?i)^(?:(?:the|some|all|any|die|der|das)\s+)?(?:(?:different|main|first|most common|common|various|many|key|biggest|typical)\s+)*(?:types?|kinds?|sorts?|causes?|symptoms?|signs?|origins?|history|differences?|effects?|advantages?|disadvantages?|benefits?|purposes?|importance|` +
		`uses?|examples?|features?|parts?|members?|names?|height|size|age|length|price|cost|number|population|capital|meaning|definition|role|status|` +
		`Geschichte|Höhe|Größe|Preis|Arten|Ursachen|Symptome|Hauptstadt)\s+(?:of|for|in|between|von|des|der)\s+`)
	// identityRE matches questions for the name of something.
	identityRE = regexp.MustCompile(`(?i)^\W*(?:(?:which|what)\s+(?:[\pL'’-]+\s+){1,4}?(?:is|are|was|were|do|does|did|can|could|should|will|would|has|have|had|ist|sind|war|waren|wird|wurde|hat|kann|[\pL]+ed|won|wrote|made|built|led|holds?|ha[sd])\b|which\s+[\pL-]+\s+[\pL]{2,}s\b|which\s+[\pL-]+s\s+[\pL]{3,}\s` +
		`|(?:who|whose|wer|wessen)\b|(?:what|which|was|wie)\s+(?:is|was|are|were|ist|war|heißt|hieß)\s+(?:the|die|der|das)\s+[\pL\s'’-]{2,60}\s(?:of|for|in|von|des|der)\s|welche[rsnm]?\s)`)
	// definesRE matches questions what or who a named thing is.
	definesRE = regexp.MustCompile(`^\W*(?i:who|what|wer|was)(?i:['’]s|\s+(?:is|are|was|were|ist|sind|war|waren))\s+(\p{Lu}.*?|the(?: \p{Lu}[\pL-]*)+)\s*\??$`)
)

// topic returns what a question is about: its most prominent name, or else the words after the question words.
func (g *grammar) topic(q string) string {
	q = strings.TrimRight(strings.TrimSpace(lang.Truncate(q, maxQuestionBytes)), " ?.!")
	all := g.phrases(q)
	if !g.replaces {
		return g.subjectMatter(q)
	}
	if p, ok := g.salient(q, all); ok {
		p.from = g.ownerStart(q, all, p)
		return strings.TrimSuffix(strings.TrimSuffix(g.withoutVerb(q, p), "'s"), "’s")
	}
	rest := g.withoutQuestionWords(q)
	for range 3 {
		rest = kindRE.ReplaceAllString(rest, "")
	}
	return g.nounPhrase(rest)
}

// subjectMatter returns a question from its first content word to its last one.
func (g *grammar) subjectMatter(q string) string {
	ws := g.content(q)
	if len(ws) == 0 {
		return ""
	}
	return q[ws[0].Start:ws[len(ws)-1].End]
}

// salient returns the most prominent name of a question: the subject, which the next question most likely refers to (B. Grosz, A. Joshi and S.
// Weinstein, Centering: A Framework for Modeling the Local Coherence of Discourse, 1995), or else a possessor, or the first one.
func (g *grammar) salient(q string, all []phrase) (best phrase, ok bool) {
	most := -1
	for _, p := range all {
		if n := g.prominence(q, p); p.name && n > most {
			best, most = p, n
		}
	}
	return best, most >= 0
}

// ownerStart returns where the subject of a question begins that a name belongs to with "for", as in "How much is the deposit for flat 3?": what is asked
// next is about the deposit. Otherwise it returns where the name begins.
func (g *grammar) ownerStart(q string, all []phrase, name phrase) int {
	for _, p := range all {
		if between := strings.TrimSpace(q[min(p.to, name.from):name.from]); !p.name && g.prominence(q, p) == subjectRank && (between == "for" || between == "für") && !kindRE.MatchString(q[p.from:]) {
			return p.from
		}
	}
	return name.from
}

const subjectRank = 2

// prominence returns the rank of a phrase by its role in a question. That of a number is negative.
func (g *grammar) prominence(q string, p phrase) int {
	before := lang.Words(q[:p.from])
	last := ""
	if len(before) > 0 {
		last = before[len(before)-1].Text
	}
	switch {
	case q[p.from] >= '0' && q[p.from] <= '9' && p.to-p.from < 5, g.isDated(q[p.from:p.to]), g.isPreposition(last) && seasonRE.MatchString(q[p.from:p.to]):
		return -1
	case possessive(q, p):
		return 1
	case g.Has(lang.Auxiliaries, last):
		return subjectRank
	}
	return 0
}

// seasonRE matches a word in lower case and a year, which after a preposition say when: in autumn 2025.
var seasonRE = regexp.MustCompile(`^\p{Ll}+ (?:19|20)[0-9]{2}$`)

func (g *grammar) hasMonth(s string) bool {
	return slices.ContainsFunc(lang.Words(s), func(w lang.Token) bool { return g.Has(lang.Months, w.Text) })
}

// withoutVerb removes a verb from the end of a phrase, as in "does the Scottish Parliament meet?"
func (g *grammar) withoutVerb(q string, p phrase) string {
	s := q[p.from:p.to]
	before, after := lang.Words(q[:p.from]), firstWord(q[p.to:])
	ws := lang.Words(s)
	n := len(ws)
	if n < 3 || len(before) == 0 || !auxiliaries[before[len(before)-1].Text] {
		return s
	}
	for i := 2; i < n-1; i++ { // as in "did the Normans conquer England"
		if isCapitalized(s[ws[i-1].Start:]) && !isCapitalized(s[ws[i].Start:]) && !nameParticles[ws[i].Text] && ws[i].Text != "and" && isCapitalized(s[ws[i+1].Start:]) {
			return strings.TrimSpace(s[:ws[i].Start])
		}
	}
	if !predicates[after] && !isCapitalized(s[ws[n-1].Start:]) && s[ws[n-1].Start-1] != '-' {
		return strings.TrimSpace(s[:ws[n-1].Start])
	}
	return s
}

var requestRE = regexp.MustCompile(`(?i)^\W*(?:(?:please\s+)?(?:(?:can|could|would) you\s+(?:please\s+)?)?(?:tell (?:me|us)(?: more| something)? about|describe|explain|list|name|give (?:me|us)?|show (?:me|us)?|define|compare|summari[sz]e|beschreibe?|erkläre?|erzähle? (?:mir )?(?:etwas )?(?:über|von))\s+)`)

// withoutQuestionWords returns a question without its question words.
func (g *grammar) withoutQuestionWords(q string) string {
	if m := requestRE.FindString(q); m != "" {
		return q[len(m):]
	}
	if m := g.asks.FindStringSubmatch(q); m != nil {
		_, rest, _ := strings.Cut(m[2], " ")
		if all := g.undated(rest, true); len(all) > 0 && whoRE.MatchString(m[1]) { // as in "who will pay for the quay"
			return rest[all[len(all)-1].from:all[len(all)-1].to]
		}
		if ws := lang.Words(rest); len(ws) > 2 && subjects[ws[0].Text] { // as in "how do I reset the password"
			if all := g.phrases(rest); len(all) > 0 {
				return rest[all[0].from:all[0].to]
			}
			return rest[ws[2].Start:]
		}
		if auxiliaries[strings.ToLower(m[2][:len(m[2])-len(rest)-min(1, len(rest))])] {
			return g.cutVerb(rest)
		}
		if noun := countedRE.ReplaceAllString(m[1], ""); noun != "" && noun != m[1] && strings.HasSuffix(firstWord(rest), "ed") {
			return noun // as in "how much cargo was handled"
		}
		return rest
	}
	if m := g.wh.FindString(q); m != "" { // as in "who built the tower"
		rest := strings.TrimSpace(q[len(m):])
		if all := g.undated(rest, whoRE.MatchString(q)); len(all) > 0 {
			return rest[all[len(all)-1].from:all[len(all)-1].to]
		}
		return rest
	}
	return q
}

// undated returns the noun phrases of a text that have no date. If the question asks who does something, it leaves out those that say what another one belongs
// to: of "the boiler of the large pool", that is the boiler.
func (g *grammar) undated(s string, who bool) []phrase {
	return slices.DeleteFunc(g.phrases(s), func(p phrase) bool {
		return g.isDated(s[p.from:p.to]) || who && strings.HasSuffix(s[:p.from], " of ")
	})
}

func (g *grammar) isDated(s string) bool {
	return strings.ContainsAny(s, "0123456789") && g.hasMonth(s)
}

var countedRE = regexp.MustCompile(`(?i)^\W*(?:how (?:many|much)|which|what|wie viele?|welche[rsnm]?)(?: |$)`)

var auxiliaries = words("do does did can could should will would may might must has have had kann können soll darf muss")

// subjects are pronouns for the person who asks, or for anybody.
var subjects = words("i we you one ich wir man")

// cutVerb removes the last word, a verb, from the phrase before the first preposition.
func (g *grammar) cutVerb(s string) string {
	head := s
	for i, w := range lang.Words(s) {
		if i > 0 && g.isPreposition(w.Text) && s[w.Start-1] != '-' {
			head = strings.TrimSpace(s[:w.Start])
			break
		}
	}
	ws := lang.Words(head)
	if n := len(ws); n < 2 || n == 2 && g.isArticle(ws[0].Text) || head[ws[n-1].Start-1] == '-' {
		return head
	}
	return strings.TrimSpace(head[:ws[len(ws)-1].Start])
}

// maxTopic is the maximum number of words of a topic.
const maxTopic = 6

// nounPhrase returns the noun phrase at the start of a text: up to a verb, or to words of place, time or manner.
func (g *grammar) nounPhrase(s string) string {
	ws := lang.Words(s)
	end := len(s)
	for i, w := range ws {
		if i == 0 || s[w.Start-1] == '-' {
			continue
		}
		loose := g.isPreposition(w.Text) && w.Text != "of" && w.Text != "for" && w.Text != "von"
		if predicates[w.Text] && !g.isArticle(ws[i-1].Text) || strings.HasSuffix(w.Text, "ed") && !isCapitalized(s[w.Start:w.End]) || g.Has(lang.Auxiliaries, w.Text) || g.Has(lang.QuestionWords, w.Text) || loose || i == maxTopic || g.IsStopWord(w.Text) && w.Text != "of" && w.Text != "for" && w.Text != "von" && !g.isArticle(w.Text) {
			end = w.Start
			break
		}
	}
	s = strings.Trim(s[:end], " ,;:")
	switch ws := lang.Words(s); {
	case len(ws) == 0, len(ws) == 1 && (g.isFunctionWord(ws[0].Text) || g.IsStopWord(ws[0].Text)):
		return ""
	case ws[len(ws)-1].Text == "of" || ws[len(ws)-1].Text == "for":
		return strings.TrimSpace(s[:ws[len(ws)-1].Start])
	}
	return s
}

// phrases returns the names in a question and the phrases after articles, in order.
func (g *grammar) phrases(q string) []phrase {
	ws := lang.Words(q)
	var out []phrase
	for i := 0; i < len(ws); i++ {
		w := ws[i]
		written := q[w.Start:w.End]
		begins := i == 0
		switch {
		case g.isArticle(w.Text) && i+1 < len(ws):
			p := phrase{from: w.Start}
			k, most := i+1, i+2 // a noun with one word before it
			if ordinals[ws[k].Text] {
				most++
			}
			for ; k < len(ws) && k <= i+maxTopic; k++ {
				t := q[ws[k].Start:ws[k].End]
				hyphen := q[ws[k-1].End:ws[k].Start] == "-"
				if !hyphen && !adjacent(q, ws, k) {
					break
				}
				switch {
				case hyphen && k > i+1: // as in "the check-out" and "the DW-640"
					p.name = p.name || isCapitalized(t)
				case isCapitalized(t):
					p.name = true
				case p.name && g.Code == "de" && !nameParticles[ws[k].Text]:
					goto closed // in German each noun has a capital
				case p.name && ws[k].Text == "and" && k+1 < len(ws) && isCapitalized(q[ws[k+1].Start:ws[k+1].End]): // as in "the French and Indian War"
				case ws[k].Text == "of" && k > i+1 && !p.name && g.ofName(q, ws, k+1):
					goto closed // "the keeper of the Farland lighthouse" are two things
				case ws[k].Text == "of" && k > i+1 && k+1 < len(ws) && (isCapitalized(q[ws[k+1].Start:ws[k+1].End]) || g.isArticle(ws[k+1].Text)):
				case g.isArticle(ws[k].Text) && ws[k-1].Text == "of":
				case g.Code != "en" && p.name && nameParticles[ws[k].Text] && g.ofName(q, ws, k+1):
				case g.IsStopWord(ws[k].Text) || g.Has(lang.Auxiliaries, ws[k].Text) || k > i+1 && isEventVerb(ws[k].Text):
					goto closed
				case k > most && !p.name:
					goto closed
				}
			}
		closed:
			for k > i+1 && (ws[k-1].Text == "of" || g.isArticle(ws[k-1].Text)) {
				k--
			}
			if k > i+1 {
				p.to = ws[k-1].End
				out = append(out, p)
				i = k - 1
			}
		case isCapitalized(written) && written != "I" && !(begins && (g.isFunctionWord(w.Text) || g.Has(lang.QuestionWords, w.Text) || g.IsStopWord(w.Text) || imperativeRE.MatchString(q))):
			k := i + 1
			for ; k < len(ws) && k <= i+maxTopic+2; k++ {
				if q[ws[k-1].End:ws[k].Start] == "-" {
					continue // as in "Zia-ul-Haq"
				}
				if !adjacent(q, ws, k) {
					break
				}
				t := q[ws[k].Start:ws[k].End]
				if possessive(q, phrase{from: w.Start, to: ws[k-1].End}) {
					break
				}
				link := nameParticles[ws[k].Text] && k+1 < len(ws) && (isCapitalized(q[ws[k+1].Start:ws[k+1].End]) || ws[k+1].Text == "the")
				if !isCapitalized(t) && !link {
					break
				}
			}
			if begins && k == 1 && len(ws) > 1 {
				continue // any word may start a question
			}
			from := w.Start
			if i > 0 && k == i+1 && written[0] >= '0' && written[0] <= '9' && adjacent(q, ws, i) && !g.isFunctionWord(ws[i-1].Text) && !g.IsStopWord(ws[i-1].Text) {
				from = ws[i-1].Start // as in "lift 2"
			}
			out = append(out, phrase{from, ws[k-1].End, true})
			i = k - 1
		}
	}
	return out
}

var ordinals = words("first second third last next new old main only other same")

// nameParticles are lower-case words that may occur inside a name.
var nameParticles = words("of the de da di del la le von van der den at du bin al dos")

// ofName reports whether a name, perhaps with an article, starts at k.
func (g *grammar) ofName(q string, ws []lang.Token, k int) bool {
	if k < len(ws) && g.isArticle(ws[k].Text) {
		k++
	}
	return k < len(ws) && isCapitalized(q[ws[k].Start:ws[k].End])
}

// adjacent reports whether only a space precedes the word at k.
func adjacent(q string, ws []lang.Token, k int) bool {
	return strings.TrimSpace(q[ws[k-1].End:ws[k].Start]) == ""
}

// similarPhrase returns the phrase of a question that another one replaces: a name for a name, otherwise the topic.
func (g *grammar) similarPhrase(q, by string) string {
	all := g.phrases(q)
	name := g.isName(by)
	leads := g.isArticle(firstWord(by))
	best := ""
	for _, p := range all {
		s := q[p.from:p.to]
		switch {
		case name && p.name && best == "":
			best = s
			if !leads && g.isArticle(firstWord(s)) {
				best = g.capitals(s) // "the Silver plan" becomes "the Gold plan"
			}
		case !name && !p.name && (best == "" || !leads || firstWord(best) != firstWord(by) || firstWord(s) == firstWord(by)):
			best = s // the last one with the same article wins
		}
	}
	if best != "" {
		return best
	}
	if about := g.topic(q); g.replaces && about != "" && strings.Contains(q, about) {
		return about
	}
	return ""
}

// capitals returns the words with a capital at the start of a phrase, after its article.
func (g *grammar) capitals(phrase string) string {
	phrase = g.withoutArticle(phrase)
	for _, w := range lang.Words(phrase) {
		if !isCapitalized(phrase[w.Start:]) {
			return strings.TrimSpace(phrase[:w.Start])
		}
	}
	return phrase
}

// possessive reports whether a phrase is a possessor.
func possessive(q string, p phrase) bool {
	rest := q[p.to:]
	return strings.HasPrefix(rest, "'s") || strings.HasPrefix(rest, "’s") || strings.HasSuffix(q[p.from:p.to], "'s") || strings.HasSuffix(q[p.from:p.to], "’s")
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

// placePhrase returns the position of the last phrase of place with an article. from is negative if there is none.
func placePhrase(q string) (from, to int) {
	if all := placeRE.FindAllStringIndex(q, 8); len(all) > 0 {
		return all[len(all)-1][0], all[len(all)-1][1]
	}
	return -1, -1
}

var placeRE = regexp.MustCompile(`(?i)\b(?:in|on|at|near|inside|outside|under) (?:the|an?) [\pL-]+`)

// prepositional returns the position of the last phrase that starts with a preposition, if possible of one that continues with a name, a number or another
// word, as a phrase does. from is negative if there is none.
func (g *grammar) prepositional(q, with, phrase string) (from, to int) {
	ws := lang.Words(q)
	from, to = -1, -1
	for i := len(ws) - 2; i > 0; i-- {
		if ws[i].Text != with || g.Has(lang.QuestionWords, ws[i+1].Text) {
			continue
		}
		k := i + 1
		for k < len(ws) && !(k > i+1 && (g.isPreposition(ws[k].Text) || g.Has(lang.Auxiliaries, ws[k].Text) || predicates[ws[k].Text])) && k <= i+maxTopic {
			k++
		}
		if same := g.formOf(phrase) == g.formOf(q[ws[i+1].Start:]); same || from < 0 {
			from, to = ws[i].Start, ws[k-1].End
			if same {
				break
			}
		}
	}
	return from, to
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
