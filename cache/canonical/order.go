package canonical

import (
	"slices"
	"strings"
)

var (
	questionWords = set("what which who whom whose when where why how")
	modals        = set("will would can could shall should may might must")
	prepositions  = set(`in on at by for from to with during since until till before after under over into onto through between among against
without within of about than via per across along behind beyond near upon toward towards throughout despite besides except like as off
up down out around above below`)
	// movable are the prepositions whose phrase may be at the beginning or at the end.
	movable          = set("in on at by for from to with during since until till before after under into through between among against without within")
	articles         = set("a an the")
	pronouns         = set("i you he she it we they this that these those my your his her its our their him them me us")
	adverbs          = set("not also first originally ever never still already always officially finally usually often")
	timePrepositions = set("in on at by during since until till before after from")
	dimensions       = map[string]string{"tall": "height", "high": "height", "old": "age", "big": "size", "deep": "depth", "wide": "width", "heavy": "weight"}
	conjunctions     = set("and or but nor")
)

func isAuxiliary(w word) bool {
	return !w.name && (w.text == "be" || w.text == "do" || w.text == "have" || modals[w.text])
}

// isFunctionWord reports whether a word ends a noun phrase.
func isFunctionWord(w word) bool {
	return prepositions[w.text] || questionWords[w.text] || articles[w.text] || pronouns[w.text] || conjunctions[w.text] || isAuxiliary(w) || w.text[0] == '?'
}

// rewritePossessives rewrites France's capital to capital of France.
func rewritePossessives(words []word) []word {
	inverted := slices.ContainsFunc(words, func(w word) bool { return w.text == "do" })
	for range 3 {
		i := slices.IndexFunc(words, func(w word) bool { return w.possessive })
		if i < 0 {
			break
		}
		words[i].possessive = false
		from := i
		for from > 0 && i-from < 6 && !words[from-1].pause && !isFunctionWord(words[from-1]) && (!words[i].name || words[from-1].name) {
			from--
		}
		if from > 0 && articles[words[from-1].text] {
			from--
		}
		most := 3
		if inverted {
			most = 1 // what follows may be the verb
		}
		to := i + 1
		for to < len(words) && to-i <= most && !isFunctionWord(words[to]) && !words[to].participle && !(to > i+1 && words[to-1].pause) {
			to++
		}
		if to == i+1 || words[i].pause {
			continue
		}
		owner, thing := slices.Clone(words[from:i+1]), slices.Clone(words[i+1:to])
		thing[len(thing)-1].pause, owner[len(owner)-1].pause = false, thing[len(thing)-1].pause
		words = slices.Concat(words[:from], thing, []word{{text: "of", surface: "of"}}, owner, words[to:])
	}
	return words
}

// rewrites maps question words and phrases, in base form, to marks. The first match is used.
var rewrites = parseRewrites([][2]string{
	{"in what year", "?when"}, {"in which year", "?when"}, {"on what date", "?when"}, {"on which date", "?when"}, {"during what year", "?when"},
	{"during which year", "?when"}, {"what year", "?when"}, {"which year", "?when"}, {"what date", "?when"}, {"which date", "?when"}, {"at what date", "?when"},
	{"at what time", "?when"}, {"at which time", "?when"}, {"what time", "?when"}, {"in what place", "?where"}, {"in which place", "?where"},
	{"at what place", "?where"}, {"at which place", "?where"}, {"in what location", "?where"}, {"in which location", "?where"}, {"at what location", "?where"},
	{"at which location", "?where"}, {"what location", "?where"}, {"which location", "?where"}, {"which place", "?where"}, {"what place", "?where"}, {"for what reason", "?why"},
	{"for which reason", "?why"}, {"what be the reason that", "?why"}, {"what be the reason why", "?why"}, {"how come", "?why"}, {"what reason", "?why"},
	{"in what way", "?how"}, {"in which way", "?how"}, {"in what manner", "?how"}, {"in which manner", "?how"}, {"in what fashion", "?how"}, {"by what mean", "?how"},
	{"what be the number of", "?howmany"}, {"what be the total number of", "?howmany"}, {"what number of", "?howmany"}, {"how many", "?howmany"},
	{"how much", "?howmuch"}, {"what amount of", "?howmuch"}, {"what be the amount of", "?howmuch"}, {"what be the year when", "?when"}, {"what be the year that", "?when"}, {"what be the year in which", "?when"},
	{"what be the date when", "?when"}, {"what be the date on which", "?when"}, {"what be the place where", "?where"}, {"what be the reason for which", "?why"},
	{"what be the name of the", "?what be the"}, {"what the name of the", "?what the"},
	{"which person", "?who"}, {"what person", "?who"}, {"which individual", "?who"}, {"what individual", "?who"}, {"whom", "?who"}, {"who", "?who"},
	{"which", "?what"}, {"what", "?what"}, {"when", "?when"}, {"where", "?where"}, {"why", "?why"}, {"how", "?how"}, {"whose", "?whose"},
})

type rewrite struct{ from, to []string }

func parseRewrites(pairs [][2]string) []rewrite {
	var out []rewrite
	for _, p := range pairs {
		out = append(out, rewrite{strings.Fields(p[0]), strings.Fields(p[1])})
	}
	return out
}

// replaceQuestionWord replaces the question word by a mark and returns the position of the mark, or -1 for a yes-or-no question. The position of a word decides
// whether it is a question word or a relative pronoun.
func replaceQuestionWord(words []word) ([]word, int) {
	at := questionWord(words)
	if at < 0 {
		return words, -1
	}
	if k := at + 1; words[at].text == "how" && k+1 < len(words) && dimensions[words[k].text] != "" && words[k+1].text == "be" {
		of := dimensions[words[k].text] // how tall is: what is the height of
		head := []word{{text: "?what"}, words[k+1], {text: of, surface: of}, {text: "of", surface: "of"}}
		return slices.Concat(words[:at], head, words[k+2:]), at
	}
	for _, r := range rewrites {
		from := r.from
		start := at
		if prepositions[from[0]] {
			start--
		}
		if hasPhrase(words, start, from...) && !hasBoundary(words[start:start+len(from)-1]) {
			var to []word
			for _, t := range r.to {
				to = append(to, word{text: t, surface: t})
			}
			if to[0].text == "?when" {
				to[0].surface = from[len(from)-1]
			}
			to[len(to)-1].pause = words[start+len(from)-1].pause
			return slices.Concat(words[:start], to, words[start+len(from):]), start
		}
	}
	return words, -1
}

// questionWord returns the position of the question word: at the beginning or after a comma, after a preposition or a prepositional phrase at the
// beginning, at the end, or after a form of be; "what" and "how" anywhere.
func questionWord(words []word) int {
	weak := -1
	for i, w := range words {
		if !questionWords[w.text] || w.name && i > 0 {
			continue
		}
		before := i
		if i > 0 && prepositions[words[i-1].text] {
			before = i - 1
		}
		switch {
		case before == 0, words[before-1].pause:
			return i
		case prepositions[words[0].text] && i < 10 && !slices.ContainsFunc(words[:i], isAuxiliary):
			return i
		}
		end := i == len(words)-1
		if weak < 0 && (end || words[i-1].text == "be" || before < i && w.text != "where" || w.text == "what" || w.text == "how") {
			weak = i
		}
	}
	if weak >= 0 && isAuxiliary(words[0]) {
		return -1 // is this what …?
	}
	return weak
}

// toStatement puts a question into the order of a statement, with the mark in the place of the answer.
func toStatement(words []word, embedded, several bool) []word {
	words, at := replaceQuestionWord(words)
	var asked []word
	for i := range words { // who and which inside of a question relate
		if w := &words[i]; i != at && !w.name && (w.text == "who" || w.text == "which" || w.text == "that" || w.text == "whom") {
			w.text = "who"
		}
	}
	words, front, at := cutLeadingPhrase(words, at)
	switch {
	case at < 0 && len(words) > 0 && isAuxiliary(words[0]):
		words, asked = uninvert(words[1:], words[0]), []word{{text: "?yn"}}
	case at < 0:
		asked = []word{{text: "?yn"}}
	default:
		words, asked = cutQuestionPhrase(words, at, embedded)
	}
	if len(front) > 0 && (several || hasSeveralClauses(words)) {
		words = append(slices.Clip(words), word{text: "^"}) // of all of them, and not of the last
	}
	return slices.Concat(words, front, asked)
}

// hasSeveralClauses reports whether a phrase at the end may belong to only a part of the question.
func hasSeveralClauses(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool { return w.text == "who" || conjunctions[w.text] })
}

// cutLeadingPhrase removes a prepositional phrase from the beginning and returns it.
func cutLeadingPhrase(words []word, at int) (rest, front []word, place int) {
	if len(words) == 0 || !prepositions[words[0].text] || at == 0 || at == 1 && !words[0].pause {
		return words, nil, at
	}
	end := slices.IndexFunc(words, func(w word) bool { return w.pause }) + 1
	if end == 0 || at > 0 && end > at {
		end = at
		if at > 1 && prepositions[words[at-1].text] {
			end--
		}
	}
	if end <= 0 || end >= len(words) || at > 0 && end > at {
		return words, nil, at
	}
	front = slices.Clone(words[:end])
	front[len(front)-1].pause = false
	if at >= 0 {
		at -= end
	}
	return words[end:], front, at
}

// cutQuestionPhrase removes the interrogative phrase from the beginning if its answer would be at the end, and returns it.
func cutQuestionPhrase(words []word, at int, embedded bool) (rest, asked []word) {
	from := at
	if at > 0 && prepositions[words[at-1].text] {
		from--
	}
	if from > 0 {
		return words, nil // it stands there already
	}
	m := words[at].text
	adverbial := m == "?when" || m == "?where" || m == "?why" || m == "?how"
	aux := at + 1
	for aux < len(words) && aux < at+10 && !isAuxiliary(words[aux]) && !prepositions[words[aux].text] && words[aux].text != "who" {
		aux++
	}
	next := func(i int) bool { // a noun begins here
		return i < len(words) && (articles[words[i].text] || pronouns[words[i].text] || words[i].name || words[i].number())
	}
	if aux == len(words) || !isAuxiliary(words[aux]) {
		if adverbial && m != "?how" || from < at || (m == "?who" || m == "?how" && embedded) && next(at+1) || embedded && startsWithSubject(words[at+1:]) {
			return words[at+1:], words[:at+1]
		}
		return words, nil
	}
	a := words[aux]
	rest = words[aux+1:]
	if embedded && a.text == "be" && len(rest) == 0 && aux > at+1 && (m == "?what" || m == "?who") {
		return words[at+1 : aux], words[:at+1] // what photosynthesis is
	}
	if adverbial && (m != "?how" || next(at+1)) && aux > at+1 {
		return words[at+1:], words[:at+1] // where the house is
	}
	subject := !adverbial && from == at
	switch {
	case a.text == "do" && (len(rest) == 0 || prepositions[rest[0].text]):
		return words[at+1:], words[:at+1] // it is the verb
	case a.text == "do":
		subject = false
	case a.text == "be":
		k := 0
		for k < len(rest) && (adverbs[rest[k].text] || strings.HasSuffix(rest[k].text, "ly")) {
			k++
		}
		subject = subject && (len(rest) == 0 || k < len(rest) && (rest[k].participle && !rest[k].name || prepositions[rest[k].text] || strings.HasSuffix(rest[k].text, "ing")))
	default:
		subject = subject && !next(aux+1)
	}
	if subject {
		return words, nil
	}
	return uninvert(rest, a), words[:aux]
}

// startsWithSubject reports whether a name and a past verb follow "what".
func startsWithSubject(words []word) bool {
	n := 0
	if len(words) > 0 && articles[words[0].text] {
		return true
	}
	for n < len(words) && words[n].name {
		n++
	}
	return n > 0 && n < len(words) && words[n].past
}

// uninvert moves an auxiliary from before the subject to after it, or omits it if it only marks the tense, which is kept separately.
func uninvert(rest []word, aux word) []word {
	rest = slices.Clone(rest)
	if modals[aux.text] {
		return append([]word{aux}, rest...)
	}
	if aux.text == "do" {
		return rest
	}
	for i, w := range rest {
		if i > 0 && (w.participle && !w.name && !articles[rest[i-1].text] || aux.text == "have" && w.text == "be") {
			return slices.Insert(rest, i, aux)
		}
	}
	if aux.text == "have" {
		return append(rest, aux)
	}
	return rest
}
