// Package canonical decides by rules whether two questions are equivalent.
//
// A question is brought to its canonical form: filler phrases are removed, contractions expanded, numbers and dates written in one notation, words
// replaced by their base forms and synonyms by one of them, and the parts are put in the order of an active statement, in which a mark replaces
// the question word. Two questions are equivalent if their canonical forms are equal. So a question with another year, name, negation, superlative or word order
// is a different question. If the rules do not recognize an equivalent question, an answer is not found in the cache; a wrong
// answer is never returned. Word vectors are not used: they place 2023 close to 2024, and winter close to summer.
package canonical

import (
	"slices"
	"strings"
)

// Question is a question in canonical form.
type Question struct {
	key      string
	words    []word          // in the order of the canonical form
	surfaces map[string]bool // words as written, lower-cased
	singular bool            // contains is or was
	plural   bool            // contains are or were
}

// Longer questions are compared as written.
const (
	maxBytes = 2048
	maxWords = 96
)

// Parse brings a question to its canonical form. It takes time linear in the length. The canonical form of a text that is not an English question is
// roughly the text itself.
func Parse(question string) Question {
	words := []word(nil)
	if len(question) <= maxBytes {
		words = tokenize(question)
	}
	if len(words) == 0 || len(words) > maxWords {
		return Question{key: "=" + strings.Join(strings.Fields(question), " ")}
	}
	q := Question{surfaces: map[string]bool{}}
	for _, w := range words {
		q.surfaces[w.surface] = true
	}
	words, embedded := removeFillers(expandContractions(words))
	if !isEnglish(words) {
		for i := range words {
			if i > 0 && words[i].raw != "" {
				words[i].text = words[i].raw // which may distinguish words, as Ihr and ihr in German
			}
		}
		q.words, q.key = words, "="+strings.Join(texts(words), " ")
		return q
	}
	words = normalizeNumbers(words)
	for i := range words {
		w := &words[i]
		w.past, w.participle = !w.name && isPast(w.text), isParticiple(w.text)
		q.singular = q.singular || w.surface == "is" || w.surface == "was"
		q.plural = q.plural || w.surface == "are" || w.surface == "were"
	}
	tense := tenseMarks(words)
	words = replaceSynonyms(words)
	several := hasSeveralVerbs(words)
	words, moods := extractModals(toActive(toStatement(rewritePossessives(words), embedded, several)))
	q.words, q.key = words, tense+moods+"|"+strings.Join(texts(words), " ")
	return q
}

// Key returns a key that is equal for equivalent questions, and for few others.
func (q Question) Key() string { return q.key }

// Same reports whether two questions are equivalent. Names must be identical, even if their keys are equal.
func (q Question) Same(o Question) bool {
	if q.key != o.key || len(q.words) != len(o.words) || q.singular && !q.plural && o.plural && !o.singular || q.plural && !q.singular && o.singular && !o.plural {
		return false
	}
	for i, w := range q.words {
		v, unit := o.words[i], i > 0 && q.words[i-1].number() && len(w.raw) < 3
		if spellingsDiffer(w, v) || unit && w.surface == v.surface && w.raw != v.raw { // 5 m are not 5 M
			return false
		}
	}
	return true
}

// spellingsDiffer reports whether words with the same canonical form have spellings with different meanings.
func spellingsDiffer(w, v word) bool {
	switch {
	case w.surface == v.surface:
		if !strings.EqualFold(w.raw, v.raw) || w.raw == v.raw {
			return false
		}
		upper := func(s string) bool { return strings.ToLower(s) != s }
		return w.raw[0] == '-' || w.number() || upper(w.raw) && upper(v.raw) // -v and -V, MB and Mb
	case w.text == "?when": // what year is not what time
		return w.surface != "when" && v.surface != "when" || w.surface == "time" || v.surface == "time"
	case w.name, v.name, w.capitalized && v.capitalized:
		return true
	}
	a, b := strings.TrimSuffix(w.surface, "s"), strings.TrimSuffix(v.surface, "s")
	return a+"e" == b || b+"e" == a // locale and local
}

// isEnglish reports whether a question may be in English, so that the rules for English apply.
func isEnglish(words []word) bool {
	return isAuxiliary(word{text: base(words[0].text)}) || slices.ContainsFunc(words, func(w word) bool { return questionWords[w.text] || englishWords[w.text] })
}

var englishWords = set("the is are were did does has have")

// hasSeveralVerbs reports whether a question has a second verb to which a phrase may belong, as in "the man born in 1990".
func hasSeveralVerbs(words []word) bool {
	n, helped := 0, 0
	for _, w := range words {
		switch {
		case w.name:
		case w.text == "do", modals[w.text]:
			helped = 1
		case (w.past || w.participle) && !isAuxiliary(w):
			n++
		}
	}
	return n+helped > 1
}

// Similarity is the similarity of the wording of two equivalent questions, 0.5..1: Dice's coefficient of their words, mapped to that range.
func (q Question) Similarity(o Question) float64 {
	if len(q.surfaces)+len(o.surfaces) == 0 {
		return 1
	}
	both := 0
	for w := range q.surfaces {
		if o.surfaces[w] {
			both++
		}
	}
	return 0.5 + float64(both)/float64(len(q.surfaces)+len(o.surfaces))
}

// tenseMarks returns marks for the tenses of a question: those of its auxiliaries or, without auxiliaries, that of its verbs.
func tenseMarks(words []word) string {
	was, is, by, bare, open := 0, 0, false, false, false
	for _, w := range words {
		if w.name {
			continue
		}
		switch w.text {
		case "did", "was", "were", "had":
			was++
		case "do", "have": // the tense follows from the other words
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

// toActive rewrites the first passive clause with an agent ("by X") to the active voice, and marks one without an agent.
func toActive(words []word) []word {
	for b, w := range words {
		if w.text != "be" || b == 0 || words[b-1].text == "who" {
			continue
		}
		verb := b + 1
		for verb < len(words) && (adverbs[words[verb].text] || strings.HasSuffix(words[verb].text, "ly")) {
			verb++
		}
		if verb >= len(words) || !words[verb].participle || words[verb].name {
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
		for end < len(rest) && !movable[rest[end].text] && rest[end].text != "who" && (end == by+1 || !rest[end-1].pause && rest[end].text[0] != '?' && (!rest[end].participle || rest[end].name)) {
			end++
		}
		return slices.Concat(rest[by+1:end], between, words[verb:verb+1], patient, rest[:by], rest[end:])
	}
	return words
}

// extractModals removes words without meaning and, if the question has one clause, its modal verbs and negations, whose position does not matter. It returns
// those separately.
func extractModals(words []word) ([]word, string) {
	clauses := hasSeveralClauses(words)
	moods, not := []string{}, 0
	out := words[:0:0]
	for i, w := range words {
		switch {
		case w.text == "a", w.text == "an": // few is not a few, and vitamin A deficiency not a vitamin deficiency
			w.text, w.surface = "a", "a"
		case w.text == "the", w.text == "be", w.text == "year" && len(out) > 0 && i+1 < len(words) && timePrepositions[out[len(out)-1].text] && isYear(words[i+1].text): // in the year 2023
			continue
		case w.text == "not" && !clauses && modifiesMainClause(words, i):
			not++
			continue
		case modals[w.text] && !w.name && !clauses && modifiesMainClause(words, i):
			moods = append(moods, w.text)
			continue
		}
		out = append(out, w)
	}
	slices.Sort(moods)
	return out, strings.Join(moods, " ") + strings.Repeat(" not", not)
}

// quantifiers are words that make the position of a negation or modal verb significant: not all, all not.
var quantifiers = set("all every each any some most many much both only always either neither few several half everyone everybody everything anyone anybody anything")

// modifiesMainClause reports whether the negation or modal verb at i modifies the whole question: only a subject is before it.
func modifiesMainClause(words []word, i int) bool {
	if i+1 < len(words) && (words[i+1].text == "to" || strings.HasSuffix(words[i+1].surface, "ing")) {
		return false
	}
	if slices.ContainsFunc(words, func(w word) bool { return quantifiers[w.text] }) {
		return false
	}
	return !slices.ContainsFunc(words[:i], func(w word) bool {
		return !w.name && (w.past || w.participle || prepositions[w.text]) && !isAuxiliary(w) || w.pause
	})
}
