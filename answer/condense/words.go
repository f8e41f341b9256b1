package condense

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// markRE matches a citation mark in an answer.
	markRE = regexp.MustCompile(`\s*(?:⟦+[0-9 ,;–-]*⟧+|\[[0-9]{1,3}\]|【[^】]{0,20}】)`)
	// onlyRE matches a question that consists of question words.
	onlyRE = regexp.MustCompile(`(?i)^(?:\pL+\s+)?(?:how\s+(?:many|much|long|often|far|tall|high|old|big|large|deep|wide|heavy|fast|expensive|hot|cold)|wie\s+(?:viele?|lang|lange|oft|weit|hoch|alt|groß|tief|breit|schwer|schnell|teuer)` +
		`|(?:which|what|welche[rsnm]?)\s+(?:year|date|day|month|century|city|country|town|time|place|company|person|film|book|part|version|page|colou?r|size|Jahr|Stadt|Land|Ort|Tag))$`)
	// wholeRE matches a question about the whole conversation.
	wholeRE      = regexp.MustCompile(`(?i)^(why|how|how come|since when|warum|wieso|seit wann)\s+(?:is|was|ist|war)\s+(?:that|this|it so|das|das so|dem so)\W*$`)
	datedRE      = regexp.MustCompile(`(?i)^(?:the )?(?:(?:last|next|previous|following) )?(?:year|month|week|day|decade|century)(?: (?:before|after|earlier|later))?$`)
	aboutNoun    = regexp.MustCompile(`(?i)\b(?:about|for|of|on|in|against|by|with) (\p{Ll}[\pL-]+)$`)
	moreRE       = regexp.MustCompile(`(?i)^(?:please\s+)?(?:(?:can|could) you\s+)?(?:(?:tell|give|show) (?:me|us) )?(?:some )?(?:more(?: details?| information)?|further details?|details|(?:please )?(?:go on|continue|elaborate|explain)(?: more| further)?|mehr(?: dazu| details| informationen)?|erzähl(?:e)? mehr|weiter|erkläre?(?: das)?)(?: please| bitte)?\W*$`)
	explainRE    = regexp.MustCompile(`(?i)^(?:explain|erkläre?)\W*$`)
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
func (g *grammar) pair(q string) string {
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

// predicates end a question and are not part of its topic.
var predicates = words("built made born found founded known written lit held won run begun made open closed available free located called named used situated " +
	"opened invented discovered released published designed directed established created formed caused old tall high big large heavy deep wide long fast " +
	"expensive dangerous important fought sold paid taken given lost spent sent brought caught chosen stolen gebaut erbaut geboren gegründet geschrieben gestorben eröffnet entdeckt bekannt hoch alt groß tief lang teuer offen geöffnet")

// maxFragment is the maximum number of words of an incomplete question.
const maxFragment = 8

// lacksTopic reports whether a question without a pronoun still leaves out its topic.
func (c *rewriter) lacksTopic(q string) bool { return leaningRE.MatchString(strings.TrimSpace(q)) }

// isCapitalized reports whether a word starts with a capital or contains a digit.
func isCapitalized(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r) || unicode.IsDigit(r)
}
