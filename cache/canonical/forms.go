package canonical

import "strings"

// irregular maps irregular forms to the base form.
var irregular = parseForms(`
be am is are was were been|have has had having|do does did done|go went gone|become became|begin began begun|bear bore born|beat beaten|
break broke broken|bring brought|build built|buy bought|catch caught|choose chose chosen|come came|cost|deal dealt|draw drew drawn
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled|fly flew flown
forget forgot forgotten|freeze froze frozen|get got gotten|give gave given|grow grew grown|hear heard|hide hid hidden|hold held
keep kept|know knew known|lay laid|lead led|leave left|lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden
rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone|shoot shot|show shown
sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|spring sprang|stand stood|steal stole stolen
stick stuck|strike struck|swear swore sworn|swim swam swum|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|understand understood|wake woke woken|wear wore worn|win won|write wrote written|withdraw withdrew withdrawn
overcome overcame|undergo underwent|undertake undertook|forbid forbade forbidden|arise arose arisen|bind bound|die died dies|lie lied
tie tied ties|dig dug|hang hung|learn learnt|burn burnt|shrink shrank shrunk|swing swung|weave wove woven|bleed bled|breed bred
person people persons|man men|woman women|child children|foot feet|tooth teeth|mouse mice|goose geese|wife wives|life lives|knife knives|leaf leaves
half halves|wolf wolves|shelf shelves|thief thieves|criterion criteria|phenomenon phenomena|index indices|series|species|means|news
bus buses|gas gases|lens lenses|virus viruses|campus campuses|status statuses|movie movies|cookie cookies|hero heroes|potato potatoes
`)

// pastForms are irregular past forms; participles are irregular forms that may follow "was" in the passive voice.
var (
	pastForms = set(`was were did had became began bore broke brought built bought caught chose came dealt drew drank drove ate fell fed felt fought
found fled flew forgot froze got gave grew heard hid held kept knew laid led left lent lost made meant met paid rode rose ran said saw
sought sold sent shook shone shot sang sank sat slept spoke spent sprang stood stole stuck struck swore swam took taught tore told
thought threw understood woke wore won wrote withdrew overcame underwent undertook forbade arose went bound died`)
	participles = set(`born broken brought built bought caught chosen drawn driven eaten fed fought found forgotten frozen given grown heard
hidden held kept known laid led left lent lost made meant met paid run said seen sought sold sent shaken shot shown sung sunk spoken spent
stolen struck sworn taken taught torn told thought thrown understood worn won written withdrawn overcome undertaken forbidden bound cut
put set hit hurt cast shut split spread beaten bitten blown done read`)
	// unchanged are verbs with the same form in the past and, except in the third person, in the present.
	unchanged = set("cut put set hit hurt cast shut split spread beat read let cost bet quit burst")
	notPast   = set(`need indeed speed seed feed breed hundred sacred red bed shed united exceed succeed proceed agreed bleed greed deed weed reed
wed fed led aged embed`)
)

func parseForms(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == '\n' }) {
		words := strings.Fields(line)
		for _, w := range words {
			if _, taken := out[w]; !taken {
				out[w] = words[0]
			}
		}
	}
	return out
}

// isPast reports whether a word may be the past form of a verb.
func isPast(w string) bool {
	return pastForms[w] || regularPast(w)
}

func regularPast(w string) bool { return len(w) > 3 && strings.HasSuffix(w, "ed") && !notPast[w] }

// isParticiple reports whether a word may be a past participle.
func isParticiple(w string) bool { return participles[w] || regularPast(w) }

// base returns the base form of a word, the singular or infinitive, by the rules of English inflection. It keeps derived words apart. Where the
// rules are wrong about a word, the result is at least the same in each question.
func base(w string) string {
	if b, ok := irregular[w]; ok {
		return b
	}
	w = american(w)
	if len(w) < 4 {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ied") && len(w) > 4, strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case regularPast(w):
		return stripPast(w[:len(w)-2])
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "zzes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"), strings.HasSuffix(w, "as"), strings.HasSuffix(w, "os"):
		return w
	case strings.HasSuffix(w, "s"):
		return trimFinalE(w[:len(w)-1])
	}
	return trimFinalE(w)
}

// shortE are short verbs that end in e. The past form of a longer word does not show whether its verb ends in e, so a final e is removed from all
// longer words.
var shortE = set(`use name move close place score base serve solve raise cause cease issue vote rate date face force judge like live love
note price prove rule save share shape store trade tune type unite value argue hate joke care dance cure fire hire bake code cite dine
dive fade file fine gaze glue hope jade lace line mine pace pile pose race rise robe site size smoke stage state style taste time tire
trace tribe urge wage waste wire carve curve curse nurse horse house pause phase praise prize quote range scale scare seize sense shave
slice solve space spare spice stare stone table title tease theme twice voice write owe die tie lie able argue blame bribe chase
crave drive erase evade evoke grade grave guide imply plane probe prune ridge rinse shade shine skate slave slide smile snare
stake store strike stroke surge swipe swore trade verge weave whole`)

// american replaces British spellings by American ones. It also changes some words that are not British, in the same way in each question.
func american(w string) string {
	n := len(w)
	switch {
	case n < 6:
	case strings.Contains(w[3:], "isation"):
		return strings.Replace(w, "isation", "ization", 1)
	case strings.HasSuffix(w, "ise"), strings.HasSuffix(w, "yse"):
		return w[:n-2] + "ze"
	case strings.HasSuffix(w, "ised"), strings.HasSuffix(w, "ises"), strings.HasSuffix(w, "iser"), strings.HasSuffix(w, "ysed"), strings.HasSuffix(w, "yses"):
		return w[:n-3] + "z" + w[n-2:]
	case strings.HasSuffix(w, "ising"):
		return w[:n-4] + "zing"
	case strings.HasSuffix(w, "our"):
		return w[:n-3] + "or"
	case strings.HasSuffix(w, "ours"), strings.HasSuffix(w, "oured"):
		return strings.Replace(w, "our", "or", 1)
	case strings.HasSuffix(w, "ll"):
		return w[:n-1]
	}
	return w
}

// stripPast returns the base form for a past form without its ending: stop for stopp, move for mov.
func stripPast(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && (n > 5 || w[n-1] != 'l') && !strings.ContainsRune("aeiousfz", rune(w[n-1])) {
		return w[:n-1]
	}
	if shortE[w+"e"] {
		return w + "e"
	}
	return trimFinalE(w)
}

func trimFinalE(w string) string {
	if len(w) > 5 && w[len(w)-1] == 'e' && w[len(w)-2] != 'e' {
		return w[:len(w)-1]
	}
	return w
}
