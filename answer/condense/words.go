package condense

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

const (
	wh  = `who|whom|whose|what|which|when|where|why|how|wer|wen|wem|wessen|was|wann|wo|wohin|woher|warum|wieso|weshalb|wie|welche[rsnm]?|wieviele?`
	aux = `is|are|was|were|do|does|did|can|could|should|will|would|has|have|had|may|might|must|isn['’]t|doesn['’]t|didn['’]t|wasn['’]t|` +
		`ist|sind|war|waren|wird|werden|wurde|wurden|hat|haben|hatte|hatten|kann|können|soll|sollen|darf|dürfen|muss|müssen`
	prepositions = `in|on|at|by|for|since|from|to|with|of|about|before|after|during|under|over|near|between|until|without|within|into|through|` +
		`im|am|an|auf|bei|für|seit|von|vom|zu|zum|zur|mit|aus|nach|vor|während|unter|über|bis|ohne|um`
)

var (
	// markRE matches a citation mark in an answer.
	markRE = regexp.MustCompile(`\s*(?:⟦+[0-9 ,;–-]*⟧+|\[[0-9]{1,3}\]|【[^】]{0,20}】)`)
	// openingRE matches words that connect a question to the one before it.
	openingRE = regexp.MustCompile(`(?i)^[¿¡\s]*(?:(?:ok(?:ay)?|well|thanks|thank you|danke)[\s,.!]+)?(?:(?:and|but|so|then|also|now|und|aber|also|oder|or|y|et|e|en)\b[\s,]+)*`)
	aboutRE   = regexp.MustCompile(`(?i)^(?:(?:and|but|und) )?(?:what|how) (?:about|of)\s+|^(?:was ist|wie ist es|wie steht es|wie sieht es) (?:mit|bei)\s+|^et pour\s+|^qué (?:tal|hay de)\s+`)
	// asksRE splits a question into the question words and the rest, which begins with an auxiliary verb.
	asksRE = regexp.MustCompile(`(?i)^\W*((?:(?:` + prepositions + `)\s+)?(?:` + wh + `)(?:\s+[\pL\pN'’-]+){0,4}?)\s+((?:` + aux + `)\b.*)$`)
	whRE   = regexp.MustCompile(`(?i)^\W*((?:(?:` + prepositions + `)\s+)?(?:` + wh + `))\b`)
	auxRE  = regexp.MustCompile(`(?i)^\W*(?:` + aux + `)\s`)
	// onlyRE matches a question that consists of question words.
	onlyRE = regexp.MustCompile(`(?i)^(?:(?:` + prepositions + `)\s+)?(?:(?:` + wh + `)(?:\s+(?:not|else|exactly|so|nicht|sonst|genau|noch))?` +
		`|how\s+(?:many|much|long|often|far|tall|high|old|big|large|deep|wide|heavy|fast|expensive|hot|cold)|wie\s+(?:viele?|lang|lange|oft|weit|hoch|alt|groß|tief|breit|schwer|schnell|teuer)` +
		`|(?:which|what|welche[rsnm]?)\s+(?:year|date|day|month|century|city|country|town|time|place|company|person|film|book|part|version|page|colou?r|size|Jahr|Stadt|Land|Ort|Tag))$`)
	// wholeRE matches a question about the whole conversation.
	wholeRE      = regexp.MustCompile(`(?i)^(why|how|how come|since when|warum|wieso|seit wann)\s+(?:is|was|ist|war)\s+(?:that|this|it so|das|das so|dem so)\W*$`)
	datedRE      = regexp.MustCompile(`(?i)^(?:the )?(?:(?:last|next|previous|following) )?(?:year|month|week|day|decade|century)(?: (?:before|after|earlier|later))?$`)
	aboutNoun    = regexp.MustCompile(`(?i)\b(?:about|for|of|on|in|against|by|with) (\p{Ll}[\pL-]+)$`)
	doesRE       = regexp.MustCompile(`(?i)^\W*(?:(?:` + wh + `)\s(?:[\pL-]+\s){0,3}?)?(?:do|does|did|can|could|should|will|would|must)\s`)
	howRE        = regexp.MustCompile(`(?i)^how\s+(\w+)$`)
	adverbRE     = regexp.MustCompile(`(?i)^(?:(?:` + prepositions + `)\s+)?(?:when|where|why|how|wann|wo|wohin|woher|warum|wieso|weshalb|wie)$`)
	elseRE       = regexp.MustCompile(`(?i)\b(?:else|sonst|noch)\b`)
	moreRE       = regexp.MustCompile(`(?i)^(?:please\s+)?(?:(?:can|could) you\s+)?(?:(?:tell|give|show) (?:me|us) )?(?:some )?(?:more(?: details?| information)?|further details?|details|(?:please )?(?:go on|continue|elaborate|explain)(?: more| further)?|mehr(?: dazu| details| informationen)?|erzähl(?:e)? mehr|weiter|erkläre?(?: das)?)(?: please| bitte)?\W*$`)
	explainRE    = regexp.MustCompile(`(?i)^(?:explain|erkläre?)\W*$`)
	doubtRE      = regexp.MustCompile(`(?i)^(?:are you (?:really )?(?:sure|certain)|really|is (?:that|this|it) (?:really )?(?:right|true|correct|so)|bist du sicher|sicher|wirklich|stimmt das)\W*$`)
	politeRE     = regexp.MustCompile(`(?i)^\W*(?:thanks?(?: you)?(?: very much| a lot)?|ok(?:ay)?|yes|no|good|great|hello|hi|bye|danke(?: schön)?|ja|nein|gut|hallo)\W*$`)
	comparisonRE = regexp.MustCompile(`(?i)\b(?:\w{2,}er|more|less|most|\w{2,}est|first|last|better|worse|best|differ\w*|both|compare|them|one)\b`)
	pairRE       = regexp.MustCompile(`((?:(?:[Tt]he|[Aa]n?) )?\p{Lu}[\pL\pN'’.-]*(?: (?:of |the |at )?\p{Lu}[\pL\pN'’.-]*)* (?:and|or|und|oder) (?:(?:the|an?) )?\p{Lu}[\pL\pN'’.-]*(?: (?:of |the |at )?\p{Lu}[\pL\pN'’.-]*)*)`)
	yearRE       = regexp.MustCompile(`\b(?:1[0-9]{3}|20[0-9]{2})s?\b`)
	leaningRE    = regexp.MustCompile(`(?i)^(?:which|what|welche[rsnm]?)(?: (?:of (?:them|these|those|the two)|ones?))?\s+(?:is|was|are|were|came|has|have|lived|had|ist|war|kam)(?: the)? \w{2,}\W*$` +
		`|^(?:which|what|welche[rsnm]?) (?:ones?|of (?:them|these|those|the two))\b|^(?:what happened|who won|what (?:changed|next|then)|was geschah|was passierte)(?: (?:then|next|after(?:wards)?|dann|danach))?\W*$` +
		`|^(?:which|what) [\pL-]+ (?:is|are|was|were) (?:also )?[\pL]+ed\W*$` +
		`|^(?:how|where|can|do|does|should|when|why)\b[^,]{0,60}\s(?:one|another|any)\W*$` +
		`|^how (?:many|much) (?:is|are|was|were|of them|have)\b[^,]{0,40}$|^(?:please )?(?:give|show)(?: me| us)? (?:an(?:other)?|some|more)? ?examples?\W*$` +
		`|^(?:what|how) (?:is|are|was|were) the (?:differences?|similarit(?:y|ies)|reasons?|results?|consequences?|advantages|disadvantages|effects?|purpose|meaning|symptoms|causes?)\W*$`)
	// attributeRE matches a question for something that belongs to a topic.
	attributeRE = regexp.MustCompile(`(?i)^(?:what|who|how (?:many|much) [\pL-]+) (?:is|are|was|were)(?: the)?(?: [\pL-]+){0,6}\W*$`)
	// definingRE matches a question what a named thing is.
	definingRE   = regexp.MustCompile(`(?i)^what (?:is|are|was|were) [\pL-]+\W*$`)
	imperativeRE = regexp.MustCompile(`(?i)^(?:please\s+)?(?:tell|list|name|show|describe|explain|summari[sz]e|compare|give|define|find|translate|write|search|nenne|liste|zeige?|beschreibe?|erkläre?|fasse|vergleiche?|finde|suche)\b`)
)

// pair returns two names joined by a conjunction.
func pair(q string) string {
	if w := lang.Words(lang.Truncate(q, 100)); len(w) > 0 && isFunctionWord(w[0].Text) && !isArticle(w[0].Text) {
		q = q[w[0].End:]
	}
	return strings.TrimSpace(pairRE.FindString(q))
}

// maxHead is the maximum number of question words that are replaced.
const maxHead = 5

func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

var (
	prepositionWords = words(strings.ReplaceAll(prepositions, "|", " "))
	auxWords         = words("is are was were do does did can could should will would has have had may might must isn't doesn't didn't wasn't " +
		"ist sind war waren wird werden wurde wurden hat haben hatte hatten kann können soll sollen darf dürfen muss müssen")
	whWords       = words("who whom whose what which when where why how wer wen wem wessen was wann wo wohin woher warum wieso weshalb wie welche welcher welches welchen welchem who's what's where's when's how's why's")
	articleWords  = words("the a an der die das den dem des ein eine einen einem einer")
	adverbWords   = words("today yesterday tomorrow now later earlier nowadays currently tonight heute gestern morgen jetzt später früher")
	functionWords = words("the a an der die das den dem des ein eine and or but in on at by for since from to with of about before after during " +
		"is are was were do does did can could should will would has have had who whom whose what which when where why how tell list describe explain " +
		"im am an auf bei für seit von mit aus nach vor ist sind war wird wurde hat wer was wann wo warum wie this that these those it its he she they his her their")
	// predicates end a question and are not part of its topic.
	predicates = words("built made born found founded known written lit held won run begun made open closed available free located called named used situated " +
		"opened invented discovered released published designed directed established created formed caused old tall high big large heavy deep wide long fast " +
		"expensive dangerous important fought sold paid taken given lost spent sent brought caught chosen stolen gebaut erbaut geboren gegründet geschrieben gestorben eröffnet entdeckt bekannt hoch alt groß tief lang teuer offen geöffnet")
	germanWords = words("der die das den dem des ist sind war wurde wurden wird wer wann wo warum wie welche welcher welches und mit von ein eine kostet gibt nicht für auf")
)

func isPreposition(w string) bool  { return prepositionWords[w] }
func isArticle(w string) bool      { return articleWords[w] }
func isAdverb(w string) bool       { return adverbWords[w] }
func isFunctionWord(w string) bool { return functionWords[w] }
func isDegree(w string) bool {
	switch strings.ToLower(w) {
	case "many", "much", "often", "long", "far":
		return false
	}
	return true
}

// isGerman reports whether questions are in German.
func isGerman(asked ...string) bool {
	n, all := 0, 0
	for _, s := range asked {
		for _, w := range lang.Words(s) {
			all++
			if germanWords[w.Text] && w.Text != "was" {
				n++
			}
		}
	}
	return n > 0 && 6*n >= all
}

// cutOpening removes the words that connect a question to the last one, and reports whether there were any.
func cutOpening(q string) (body string, connected bool) {
	body = q[len(openingRE.FindString(q)):]
	if body == "" {
		return q, false
	}
	connected = len(strings.Trim(q[:len(q)-len(body)], " ¿¡")) > 0
	if m := aboutRE.FindString(body); m != "" && len(m) < len(body) {
		rest := body[len(m):]
		if !hasVerb(rest) || whRE.MatchString(rest) {
			return strings.TrimSuffix(strings.TrimRight(rest, " ?"), " aus"), true
		}
	}
	if !connected {
		return q, false
	}
	return body, connected
}

// onlyQuestionWords reports whether a question consists of question words.
func onlyQuestionWords(q string) bool { return onlyRE.MatchString(strings.Trim(q, " ?.!¿")) }

// hasVerb reports whether a text has a known verb.
func hasVerb(s string) bool {
	for _, w := range lang.Words(lang.Truncate(s, maxQuestionBytes)) {
		if auxWords[w.Text] {
			return true
		}
	}
	return false
}

// maxFragment is the maximum number of words of an incomplete question.
const maxFragment = 8

// isFragment reports whether a question is only a phrase that changes the last question. Without a connecting word it needs
// a question mark, because it may be a keyword search.
func isFragment(q string, connected bool) bool {
	ws := lang.Words(q)
	if len(ws) == 0 || len(ws) > maxFragment || hasVerb(q) || imperativeRE.MatchString(q) || whWords[ws[0].Text] {
		return false
	}
	if len(ws) > 1 && isPreposition(ws[0].Text) && whWords[ws[1].Text] {
		return false
	}
	if connected {
		return true
	}
	asks := strings.HasSuffix(strings.TrimSpace(q), "?")
	return len(ws) <= 5 && asks || len(ws) <= 4 && isPreposition(ws[0].Text)
}

// lacksTopic reports whether a question without a pronoun still leaves out its topic.
func (c *rewriter) lacksTopic(q string) bool { return leaningRE.MatchString(strings.TrimSpace(q)) }

// isCapitalized reports whether a word starts with a capital or contains a digit.
func isCapitalized(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}

// isName reports whether a phrase is a name: it has a capital after its article.
func isName(phrase string) bool { return isCapitalized(withoutArticle(phrase)) }

// withoutArticle returns a phrase without its article.
func withoutArticle(phrase string) string {
	if head, rest, ok := strings.Cut(phrase, " "); ok && isArticle(strings.ToLower(head)) {
		return rest
	}
	return phrase
}
