// Package meaning tells by rules whether two questions ask for the same.
//
// A question is brought into one form: without what politeness adds, contractions undone, numbers and dates written in one way,
// words in their basic form and synonyms as one of them, and its parts in the order of a statement whose doer comes first, in which a
// mark stands for what is asked. Two questions mean the same if that form is the same. So nothing of weight can be left over on
// either side: another year, name, negation, superlative or order of the parts is another question. What the rules do not see
// through costs an answer that might have been found, and no wrong one. Vectors of words are not asked: they put 2023 beside
// 2024, and winter beside summer.
package meaning

import (
	"cmp"
	"slices"
	"strings"
)

// Question is what a question asks.
type Question struct {
	key   string
	words []word          // in the order of the form
	said  map[string]bool // words as written
	one   bool            // it has is or was
	many  bool            // it has are or were
}

// The bounds over which a question is compared as it is written.
const (
	maxBytes = 2048
	maxWords = 96
)

// Of reads a question. It takes time in proportion to its length, and never fails: of what is no question in English, the form is
// about the text itself.
func Of(question string) Question {
	words := []word(nil)
	if len(question) <= maxBytes {
		words = read(question)
	}
	if len(words) == 0 || len(words) > maxWords {
		return Question{key: "=" + strings.Join(strings.Fields(question), " ")}
	}
	q := Question{said: map[string]bool{}}
	for _, w := range words {
		q.said[w.face] = true
	}
	words, framed := bare(expand(words))
	if !english(words) {
		for i := range words {
			if i > 0 && words[i].raw != "" {
				words[i].text = words[i].raw // which may tell, as it does of the German for her and your
			}
		}
		q.words, q.key = words, "="+strings.Join(texts(words), " ")
		return q
	}
	words = count(weighty(words))
	for i := range words {
		w := &words[i]
		w.past, w.part = !w.name && inPast(w.text), participle(w.text)
		q.one = q.one || w.face == "is" || w.face == "was"
		q.many = q.many || w.face == "are" || w.face == "were"
	}
	tense := tenses(words)
	words = settle(words)
	several := severalVerbs(words)
	words, perfect := perfected(declare(genitives(existing(words)), framed, several))
	words, moods := apart(doers(words))
	q.words = coordinated(words)
	if !several {
		q.words = timed(q.words)
	}
	q.words = defined(placed(q.words))
	if tense == "present " && born(q.words) {
		tense = "past "
	}
	q.key = tense + perfect + moods + "|" + strings.Join(texts(q.words), " ")
	return q
}

// Key is the same for questions that mean the same, and for few others.
func (q Question) Key() string { return q.key }

// Same tells whether two questions mean the same. Names must be the same to the letter, whatever the key makes of them.
func (q Question) Same(o Question) bool {
	if q.key != o.key || len(q.words) != len(o.words) || q.one && !q.many && o.many && !o.one || q.many && !q.one && o.one && !o.many {
		return false
	}
	for i, w := range q.words {
		v, unit := o.words[i], i > 0 && q.words[i-1].number() && len(w.raw) < 3
		if differ(w, v) || unit && w.face == v.face && w.raw != v.raw { // 5 m are not 5 M
			return false
		}
	}
	return true
}

// differ tells whether words of the same form are written so that they are not the same.
func differ(w, v word) bool {
	switch {
	case w.face == v.face:
		if !strings.EqualFold(w.raw, v.raw) || w.raw == v.raw {
			return false
		}
		upper := func(s string) bool { return strings.ToLower(s) != s }
		return w.raw[0] == '-' || w.number() || upper(w.raw) && upper(v.raw) // -v and -V, MB and Mb
	case w.text == "?when": // what year is not what time
		return w.face != "when" && v.face != "when" || w.face == "time" || v.face == "time"
	case w.name, v.name, w.cap && v.cap:
		return true
	}
	a, b := strings.TrimSuffix(w.face, "s"), strings.TrimSuffix(v.face, "s")
	return a+"e" == b || b+"e" == a // locale and local
}

// english tells whether a question may be one in English, so that English forms may be seen in its words.
func english(words []word) bool {
	return auxiliary(word{text: base(words[0].text)}) || slices.ContainsFunc(words, func(w word) bool { return asks[w.text] || tellsEnglish[w.text] })
}

var tellsEnglish = set("the is are were did does has have")

// weighty leaves out the words that add nothing.
func weighty(words []word) []word {
	var out []word
	for i, w := range words {
		limits := i+1 < len(words) && (words[i+1].number() || counts[words[i+1].text] != "" || quantities[words[i+1].text]) // exactly two are not two or more
		if !empty[w.text] || w.name || w.stop || limits {
			out = append(out, w)
		}
	}
	return out
}

// existing leaves out the there of there is, which is no place.
func existing(words []word) []word {
	var out []word
	for i, w := range words {
		if w.text != "there" || w.name || !(i > 0 && words[i-1].text == "be" || i+1 < len(words) && words[i+1].text == "be") {
			out = append(out, w)
		}
	}
	return out
}

// severalVerbs tells whether there is a verb beside that of the question, as in "the man born in 1990", to which a phrase may belong.
func severalVerbs(words []word) bool {
	n, helped := 0, 0
	for _, w := range words {
		switch {
		case w.name:
		case w.text == "do", modals[w.text]:
			helped = 1
		case (w.past || w.part) && !auxiliary(w):
			n++
		}
	}
	return n+helped > 1
}

// perfected takes have out before a participle, wherever they stand, and tells that it did.
func perfected(words []word) ([]word, string) {
	for i, w := range words {
		if w.text != "have" || w.name || severalClauses(words) {
			continue
		}
		verb := i + 1
		for verb < len(words) && (adverbs[words[verb].text] || strings.HasSuffix(words[verb].text, "ly")) {
			verb++
		}
		if verb < len(words) && (words[verb].text == "be" || words[verb].part && !words[verb].name) {
			return slices.Concat(words[:i], words[i+1:]), "perfect "
		}
	}
	return words, ""
}

// Similarity tells how many of their words two questions share, 0..1: Dice's coefficient, halved towards 1, since they mean the same.
func (q Question) Similarity(o Question) float64 {
	if len(q.said)+len(o.said) == 0 {
		return 1
	}
	both := 0
	for w := range q.said {
		if o.said[w] {
			both++
		}
	}
	return 0.5 + float64(both)/float64(len(q.said)+len(o.said))
}

// tenses tells of which times a question speaks: by its auxiliaries, and where it has none, by its verbs.
func tenses(words []word) string {
	was, is, by, bare, open := 0, 0, false, false, false
	for _, w := range words {
		if w.name {
			continue
		}
		switch w.text {
		case "did", "was", "were", "had":
			was++
		case "do", "have": // of which "did" and "will" tell more
			bare = true
		case "does", "is", "are", "am", "has":
			is++
		}
		by = by || w.past
		open = open || unchanged[w.text]
	}
	switch {
	case was+is == 0 && !by && open:
		return "either " // who set the record?
	case was+is == 0 && by && !bare:
		was = 1
	case was+is == 0:
		is = 1
	}
	return strings.Repeat("past ", was) + strings.Repeat("present ", is)
}

// empty are words that add nothing to a question.
var empty = set("exactly precisely actually really")

// births are things by which one asks where and when somebody was born.
var births = map[string]string{"birthplac": "?where", "birthdat": "?when", "birthday": "?when"}

// born asks for the place of birth of somebody as where somebody was born. It tells whether it did, as it is the past then.
func born(words []word) bool {
	n := len(words)
	if n < 4 || births[words[0].text] == "" || words[1].text != "of" || words[n-1].text != "?what" {
		return false
	}
	mark := births[words[0].text]
	copy(words, words[2:n-1])
	copy(words[n-3:], []word{{text: "*"}, {text: "bear", face: "born"}, {text: mark, face: "when"}})
	return true
}

// placed asks where something is located as where it is.
func placed(words []word) []word {
	for i := 0; i+2 < len(words); i++ {
		next := words[i+2].text
		if words[i].text == "*" && words[i+1].text == "locat" && (next == "?where" || prepositions[next] && i+3 < len(words) && words[i+3].text == "?what") {
			return slices.Concat(words[:i], words[i+2:])
		}
	}
	return words
}

// defined asks what something means as what its meaning is.
func defined(words []word) []word {
	n := len(words)
	switch {
	case n > 2 && words[n-2].text == "mean" && words[n-1].text == "?what":
		return slices.Concat([]word{{text: "meaning"}, {text: "of"}}, words[:n-2], words[n-1:])
	case n > 3 && words[0].text == "definition" && words[1].text == "of" && words[n-1].text == "?what":
		words[0].text = "meaning"
	}
	return words
}

// doers turns the first clause in the passive whose doer is told into the active, and marks one whose doer is not.
func doers(words []word) []word {
	for b, w := range words {
		if w.text != "be" || b == 0 || words[b-1].text == "who" {
			continue
		}
		verb := b + 1
		for verb < len(words) && (adverbs[words[verb].text] || strings.HasSuffix(words[verb].text, "ly")) {
			verb++
		}
		if verb >= len(words) || !words[verb].part || words[verb].name {
			continue
		}
		patient, between, rest := words[:b], words[b+1:verb], words[verb+1:]
		by := slices.IndexFunc(rest, func(w word) bool { return w.text == "by" || w.text == "who" })
		if by < 0 || rest[by].text != "by" || by+1 == len(rest) || rest[by+1].number() || strings.HasSuffix(rest[by+1].text, "ing") {
			if w := &words[verb]; w.text == "name" && (verb+1 == len(words) || words[verb+1].text[0] == '?') {
				w.text = "call" // what is it named?
			}
			return slices.Concat(patient, []word{{text: "*"}}, words[b+1:])
		}
		end := by + 1
		for end < len(rest) && !free[rest[end].text] && rest[end].text != "who" && (end == by+1 || !rest[end-1].stop && rest[end].text[0] != '?' && (!rest[end].part || rest[end].name)) {
			end++
		}
		return slices.Concat(rest[by+1:end], between, words[verb:verb+1], patient, rest[:by], rest[end:])
	}
	return words
}

// apart takes out the words that say nothing, and the moods and negations of a question of one clause, whose place is of no
// consequence.
func apart(words []word) ([]word, string) {
	clauses := severalClauses(words)
	moods, not := []string{}, 0
	out := words[:0:0]
	for i, w := range words {
		switch {
		case w.text == "a", w.text == "an": // few is not a few, and vitamin A deficiency not a vitamin deficiency
			w.text, w.face = "a", "a"
		case w.text == "the", w.text == "be", w.text == "year" && len(out) > 0 && i+1 < len(words) && timely[out[len(out)-1].text] && year(words[i+1].text): // in the year 2023
			continue
		case w.text == "not" && !clauses && ofWhole(words, i):
			not++
			continue
		case modals[w.text] && !w.name && !clauses && ofWhole(words, i):
			moods = append(moods, w.text)
			continue
		}
		out = append(out, w)
	}
	slices.Sort(moods)
	return out, strings.Join(moods, " ") + strings.Repeat(" not", not)
}

// quantities are words of which a negation or a mood may say another thing than of the whole: not all, all not.
var quantities = set("all every each any some most many much both only always either neither few several half everyone everybody everything anyone anybody anything")

// ofWhole tells whether the negation or mood at i is that of the whole question: only a subject stands before it.
func ofWhole(words []word, i int) bool {
	if i+1 < len(words) && (words[i+1].text == "to" || strings.HasSuffix(words[i+1].face, "ing")) {
		return false
	}
	if slices.ContainsFunc(words, func(w word) bool { return quantities[w.text] }) {
		return false
	}
	return !slices.ContainsFunc(words[:i], func(w word) bool {
		return !w.name && (w.past || w.part || prepositions[w.text]) && !auxiliary(w) || w.stop
	})
}

// coordinated puts two names between which "and" or "or" stands at the end, and a comma or "between" or "both" before them, into one
// order.
func coordinated(words []word) []word {
	for i, w := range words {
		if w.text != "or" && w.text != "and" {
			continue
		}
		from, to := i, i+1
		for from > 0 && words[from-1].name && (from == i || !words[from-1].stop) {
			from--
		}
		for to < len(words) && words[to].name {
			to++
		}
		tail := to == len(words) || words[to].text[0] == '?'
		open := from > 0 && (words[from-1].stop || words[from-1].text == "between" || words[from-1].text == "both")
		if from == i || to == i+1 || !tail || !open {
			continue
		}
		a, b := words[from:i], words[i+1:to]
		if slices.CompareFunc(a, b, func(a, b word) int { return cmp.Compare(a.text, b.text) }) > 0 {
			return slices.Concat(words[:from], b, words[i:i+1], a, words[to:])
		}
	}
	return words
}

// timed puts the only phrase of time to the end: in 2023, whatever happened happened in 2023.
func timed(words []word) []word {
	at, n := -1, 0
	if severalClauses(words) {
		return words
	}
	for i, w := range words {
		if i == 0 || !w.number() || !timely[words[i-1].text] || !(year(w.text) || strings.ContainsAny(w.text[1:], "-s")) {
			continue
		}
		if at >= 0 {
			return words
		}
		at, n = i-1, 2
	}
	if at < 0 {
		return words
	}
	phrase := slices.Clone(words[at : at+n])
	if phrase[0].text == "during" {
		phrase[0].text = "in"
	}
	return slices.Concat(words[:at], words[at+n:], phrase)
}
