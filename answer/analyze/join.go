package analyze

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// comparedRE matches the two sides of a comparison of any kind.
var comparedRE = regexp.MustCompile(`(?i)(?:^\W*(?:compare|contrast)\s+(.+?)\s+(?:with|to|and|against|versus|vs\.?)|\bdifferences?\s+between\s+(.+?)\s+and)\s+(.+?)[\s?.!]*$`)

// incompleteRE matches the end of a phrase that is incomplete without the other side.
var incompleteRE = regexp.MustCompile(`(?i)\b(?:ones?|others?|it|them|that|this|these|those)$`)

// maxQuestions is the maximum number of sub-questions.
const maxQuestions = 4

// splitQuestions decomposes several questions in one, in any language whose questions begin with a question word: "When was it built, and who built it?"
// References in the later ones to the subject of the first are resolved. It returns nil for a single question.
func splitQuestions(question string) []string {
	l, words := lang.OfQuestion(question), lang.Words(question)
	if asked := questionWord(l, words); asked < 0 && (len(words) == 0 || !l.Has(lang.Auxiliaries, words[0].Text)) {
		return nil
	}
	var out []string
	from := 0 // the first word of the current question
	add := func(to int) {
		end := len(question)
		if to < len(words) {
			end = words[to].Start
		}
		out = append(out, strings.Join(strings.Fields(strings.TrimRight(question[words[from].Start:end], " \t\n?.!,;")), " "))
	}
	for i := minWords; i < len(words) && len(out) < maxQuestions-1; i++ {
		if next := nextQuestion(l, question, words, from, i); next > 0 && i-from >= minWords {
			add(i)
			from, i = next, next
		}
	}
	if len(out) == 0 || len(words)-from < minWords {
		return nil
	}
	add(len(words))
	joined := out[:1] // fragments belong to the question before
	for _, q := range out[1:] {
		if last := len(joined) - 1; isFragment(l, q, joined[last]) {
			joined[last] += ", " + q
		} else {
			joined = append(joined, q)
		}
	}
	if out = joined; len(out) == 1 {
		return nil
	}
	about := subject(l, out[0])
	for i, q := range out {
		if i > 0 && about != "" && slices.ContainsFunc(lang.Words(q), func(w lang.Token) bool { return refers(l, w.Text) }) {
			q += " (" + about + ")"
		}
		out[i] = q + "?"
	}
	return out
}

// Maximum numbers of words of phrases such as in which week. In other languages than English, longer ones may have a verb that is no auxiliary.
const (
	maxPhrase        = 3
	maxEnglishPhrase = 4 // under which contract number
)

// isFragment reports whether a later question means nothing without the one before, and refers to it by no pronoun: "Who coaches the team, and on which
// day?" asks for two things of one row or sentence. So does one that begins alike and adds no word: "How much was it in 2024, and how much in 2025?"
func isFragment(l *lang.Language, q, before string) bool {
	words, earlier := lang.Words(q), lang.Words(before)
	if slices.ContainsFunc(words, func(w lang.Token) bool { return refers(l, w.Text) }) {
		return false
	}
	longest := maxPhrase
	if l == lang.English {
		longest = maxEnglishPhrase
	}
	if len(words) <= longest && l.Has(lang.Prepositions, words[0].Text) && !slices.ContainsFunc(words, func(w lang.Token) bool {
		return l.Has(lang.Auxiliaries, w.Text) || l.Has(lang.AsksPerson, w.Text)
	}) {
		return true
	}
	asked, first := questionWord(l, words), questionWord(l, earlier)
	alike := asked >= 0 && first >= 0 && words[asked].Text == earlier[first].Text
	said := map[string]bool{}
	for _, w := range earlier {
		said[l.Stem(w.Text)] = alike
	}
	return !slices.ContainsFunc(words, func(w lang.Token) bool {
		return !said[l.Stem(w.Text)] && !unicode.IsDigit(rune(w.Text[0])) && !slices.ContainsFunc(fillers, func(s lang.Section) bool { return l.Has(s, w.Text) })
	})
}

// fillers are words of a question that name no subject.
var fillers = []lang.Section{lang.StopWords, lang.QuestionWords, lang.Prepositions, lang.TimeUnits, lang.Days, lang.Auxiliaries}

// minWords is the minimum number of words of a sub-question.
const minWords = 3

// nextQuestion returns the first word of the question that follows after word i-1, or 0. The two are joined by a question mark, a semicolon, or a word
// such as and. from is the first word of the question before.
func nextQuestion(l *lang.Language, question string, words []lang.Token, from, i int) int {
	joined := strings.ContainsAny(question[words[i-1].End:words[i].Start], "?;")
	for i < len(words) && (l.Has(lang.Connectives, words[i].Text) || l.Has(lang.Openings, words[i].Text)) {
		joined = true
		i++
	}
	asked := questionWord(l, words[i:])
	if !joined || asked < 0 {
		return 0
	}
	// In "documents that I sign and that you keep", the second clause is one of the first question.
	before := words[from:i]
	relative := func(w lang.Token) bool { return w.Text == words[i+asked].Text }
	if slices.ContainsFunc(before[max(questionWord(l, before), 0)+1:], relative) {
		return 0
	}
	return i
}

// questionWord returns the index of the question word with which a question begins, perhaps after a preposition or an article, or -1.
func questionWord(l *lang.Language, words []lang.Token) int {
	for i, w := range words[:min(len(words), 2)] {
		switch {
		case l.Has(lang.QuestionWords, w.Text):
			return i
		case !l.Has(lang.Prepositions, w.Text) && !l.Has(lang.Articles, w.Text):
			return -1
		}
	}
	return -1
}

// subject returns a question without the words before its subject. After a word that asks for a person, a verb follows directly.
func subject(l *lang.Language, question string) string {
	words := lang.Words(question)
	i := questionWord(l, words) + 1
	if i > 0 && (words[i-1].Text == "who" || l.Has(lang.AsksPerson, words[i-1].Text)) && i < len(words) && !l.Has(lang.Auxiliaries, words[i].Text) {
		i++
	}
	for i < len(words) && l.Has(lang.Auxiliaries, words[i].Text) {
		i++
	}
	if i >= len(words) {
		return ""
	}
	return question[words[i].Start:]
}

// refers reports whether a word refers to the subject of the question before.
func refers(l *lang.Language, word string) bool {
	for _, s := range []lang.Section{lang.Pronouns, lang.He, lang.His, lang.It, lang.Its, lang.They, lang.Their} {
		if l.Has(s, word) {
			return true
		}
	}
	return false
}

// comparedThings decomposes a comparison into the question what each side is, if the sides are not names.
func comparedThings(question string) []string {
	m := comparedRE.FindStringSubmatch(question)
	if m == nil || incompleteRE.MatchString(m[1]+m[2]) || incompleteRE.MatchString(m[3]) {
		return nil
	}
	return []string{"What is " + strings.TrimSpace(m[1]+m[2]) + "?", "What is " + strings.TrimSpace(m[3]) + "?"}
}
