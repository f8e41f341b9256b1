package proposition

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// readBytes is how much of a sentence is analysed.
const readBytes = 600

// reading is an analysed sentence.
type reading struct {
	s     string
	words []lang.Token
	known []*entity // the subjects of the text, whose names are recognised
	subj  subject
}

// form is the grammatical form of a subject.
type form int

const (
	other form = iota
	pronoun
	possessive // with the noun after it
	definite   // the, this or that, with a noun
	name
)

// subject is the position of a sentence's subject: the words [at, end).
type subject struct {
	form    form
	at, end int
	verb    int    // index of the first verb; -1 if none was found
	clause  bool   // a clause with a name precedes it
	noun    string // of a definite subject
}

func read(s string, known ...*entity) *reading {
	r := &reading{s: s, words: lang.Words(lang.Truncate(s, readBytes)), known: known}
	r.subj = r.subject()
	return r
}

// word returns word i in lower case, or "" if there is none.
func (r *reading) word(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i].Text
}

func (r *reading) raw(i int) string { return r.s[r.words[i].Start:r.words[i].End] }

// gap returns the text between word i and the word before it.
func (r *reading) gap(i int) string {
	switch {
	case len(r.words) == 0 || i > len(r.words):
		return ""
	case i == 0:
		return r.s[:r.words[0].Start]
	case i == len(r.words):
		return r.s[r.words[i-1].End:]
	}
	return r.s[r.words[i-1].End:r.words[i].Start]
}

func (r *reading) capital(i int) bool {
	if i >= len(r.words) {
		return false
	}
	c, _ := utf8.DecodeRuneInString(r.s[r.words[i].Start:])
	return unicode.IsUpper(c)
}

// subject finds the subject, also after a phrase such as "In 1990," or "Founded in 1996,".
func (r *reading) subject() subject {
	none := subject{verb: -1}
	if len(r.words) < 2 {
		return none
	}
	if strings.ContainsAny(r.gap(0), "\"'“”‘’«»") {
		if r.knownEnd(0) > 0 { // a title in quotes
			return r.nameAt(0)
		}
		return none
	}
	if s := r.phraseAt(0); s.form != other {
		return s
	}
	first := r.word(0)
	if has(adverbs, first) {
		if s := r.phraseAt(1); s.form == pronoun || s.form != other && strings.HasPrefix(r.gap(1), ",") {
			return s
		}
	}
	if first == "a" || first == "an" { // "A Democrat, he served"
		for i := 2; i < 7; i++ {
			if w := r.word(i); strings.HasPrefix(r.gap(i), ",") {
				if w == "he" || w == "she" {
					return r.phraseAt(i)
				}
				return none
			}
		}
		return none
	}
	clause := has(clauses, first)
	lapse := r.lapse()
	if !has(prepositions, first) && !clause && !r.participle(0) && !has(adverbs, first) && !strings.HasSuffix(first, "ly") && !lapse {
		return none
	}
	commas := 0
	for i := 1; i < len(r.words) && i < 16 && commas < 3; i++ {
		if strings.ContainsAny(r.gap(i), ".;:\"“(") {
			break
		}
		if strings.HasPrefix(r.gap(i), ",") {
			commas++
			if s := r.phraseAt(i); s.form != other && s.verb >= 0 {
				s.clause = clause && r.namesIn(1, i) || first == "according"
				return s
			}
		}
		if w := r.word(i); (w == "he" || w == "she" || w == "they" && i <= 4) && has(prepositions, first) && !r.namesIn(1, i) && (i <= 8 || r.dated(1, i)) {
			if s := r.phraseAt(i); s.form == pronoun && r.isVerb(s.verb) && (w != "they" || r.dated(1, i)) {
				return s
			}
		}
	}
	return none
}

func (r *reading) participle(i int) bool {
	w := r.word(i)
	return has(participles, w) || len(w) > 4 && (strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "ing"))
}

// lapse reports whether the sentence begins like "Two years later,".
func (r *reading) lapse() bool {
	for i := 1; i < 6 && i < len(r.words); i++ {
		switch r.word(i) {
		case "later", "after", "afterwards", "earlier", "before":
			return i >= 2 && strings.HasPrefix(r.gap(i+1), ",")
		}
		if r.gap(i) != " " {
			return false
		}
	}
	return false
}

// dated reports whether a range of words is a date.
func (r *reading) dated(from, to int) bool {
	for i := from; i < to; i++ {
		w := r.word(i)
		if !has(months, w) && (w[0] < '0' || w[0] > '9') && w != "early" && w != "late" && w != "mid" && w != "the" && w != "of" {
			return false
		}
	}
	return to > from
}

// namesIn reports whether a range of words contains a name other than a month.
func (r *reading) namesIn(from, to int) bool {
	for i := from; i < to; i++ {
		if r.capital(i) && !has(months, r.word(i)) {
			return true
		}
	}
	return false
}

// phraseAt parses a subject that begins at word i.
func (r *reading) phraseAt(i int) subject {
	s := subject{at: i, end: i + 1, verb: -1}
	plain := r.gap(i+1) == " "
	switch w := r.word(i); {
	case w == "he" || w == "she" || w == "it" || w == "they":
		if plain {
			s.form, s.verb = pronoun, i+1
		}
	case w == "his" || w == "her" || w == "its" || w == "their":
		if plain && i+1 < len(r.words) && !r.capital(i+1) {
			s.form, s.verb = possessive, r.verbAfter(i+1, 6)
			if s.verb < 0 {
				s.verb = i + 1
			}
		}
	default:
		article := w == "the" || w == "this" || w == "that"
		if article && plain && i+1 < len(r.words) && !r.capital(i+1) {
			s.noun, s.end, s.form = strings.TrimSuffix(r.word(i+1), "'s"), i+2, definite
			if s.verb = r.verbAfter(i+2, 1); s.verb < 0 && r.acts(i+2) {
				s.verb = i + 2
			} else if s.verb < 0 && strings.HasSuffix(r.word(i+1), "'s") {
				s.verb = i + 2
			}
			return s
		}
		return r.nameAt(i)
	}
	return s
}

// acts reports whether word i, after a noun, is a verb by its ending and the next word, as in "focuses on".
func (r *reading) acts(i int) bool {
	w := r.word(i)
	if len(w) < 4 || !strings.HasSuffix(w, "s") || strings.HasSuffix(w, "ss") || r.capital(i) || r.gap(i) != " " || r.gap(i+1) != " " {
		return false
	}
	next := r.word(i + 1)
	return !has(afterNouns, w) && (has(determiners, next) || has(towards, next) || r.capital(i+1))
}

// nameAt parses a subject that is a name. It skips brackets and text between commas before the verb.
func (r *reading) nameAt(i int) subject {
	none := subject{verb: -1}
	if w := r.word(i); i == 0 && r.knownEnd(i) == 0 && w != "the" && (lang.IsStopWord(w) || has(prepositions, w) || has(clauses, w) || has(adverbs, w)) {
		return none // capitalised because it begins the sentence
	}
	if i == 0 && r.knownEnd(i) == 0 && r.participle(0) && (has(prepositions, r.word(1)) || has(determiners, r.word(1))) {
		return none
	}
	s := subject{at: i, end: r.nameEnd(i), verb: -1}
	if s.end == i || s.end-i == 1 && r.word(i) == "the" {
		return none
	}
	s.form = name
	at := r.afterBrackets(s.end)
	if strings.HasPrefix(strings.TrimLeft(r.gap(at), ")]\"” "), ",") || has(alias, r.word(at)) {
		for end := at + 30; at < len(r.words) && at < end; at++ {
			if v := r.word(at); v == "is" || v == "was" || v == "are" || v == "were" || strings.HasPrefix(strings.TrimLeft(r.gap(at), ")"), ",") && r.isVerb(at) {
				break
			}
		}
	}
	s.verb = r.verbAfter(at, 1) // a word between them is another noun, as in "Norman mercenaries were"
	if s.verb < 0 {
		return none
	}
	return s
}

// afterBrackets returns the first word after brackets that open before word i, or i.
func (r *reading) afterBrackets(i int) int {
	if i == 0 || !strings.Contains(r.gap(i), "(") {
		return i
	}
	depth, at := 0, r.words[i-1].End
	for ; at < len(r.s); at++ {
		if r.s[at] == '(' {
			depth++
		} else if r.s[at] == ')' {
			if depth--; depth == 0 {
				break
			}
		}
	}
	for i < len(r.words) && r.words[i].Start < at {
		i++
	}
	return i
}

// knownEnd returns the end of the name of a known entity that begins at word i, including its article, or 0.
func (r *reading) knownEnd(i int) int {
	for _, e := range r.known {
		if e == nil {
			continue
		}
		k := i
		if r.word(k) == "the" && e.spelt[0] != "the" {
			k++
		}
		n := 0
		for n < len(e.spelt) && r.word(k+n) == e.spelt[n] && (n == 0 || !strings.ContainsAny(r.gap(k+n), ".;!?") || strings.Contains(e.name, strings.TrimSpace(r.gap(k+n)))) {
			n++
		}
		if n == len(e.spelt) && (r.capital(k) || !unicode.IsUpper(firstOf(e.name)) || k > i) {
			return k + n
		}
	}
	return 0
}

func firstOf(s string) rune {
	c, _ := utf8.DecodeRuneInString(s)
	return c
}

// nameEnd returns the end of the name that begins at word i: capitalised words and numbers, also joined by particles such as "of".
func (r *reading) nameEnd(i int) int {
	end := i
	if known := r.knownEnd(i); known > 0 {
		end = known
	}
	if w := r.word(i); w == "the" && r.capital(i+1) && r.gap(i+1) == " " {
		i++
		end = max(end, i)
	}
	for k := max(i, end-1); k < len(r.words) && k-i < 10; k++ {
		if k > i && !joins(r.gap(k)) {
			break
		}
		switch {
		case k < end:
		case r.capital(k), k == end && k > i && len(r.word(k)) <= 4 && r.word(k)[0] >= '0' && r.word(k)[0] <= '9':
			end = k + 1
		case k > i && has(particles, r.word(k)) && k+1 < len(r.words) && (r.capital(k+1) || has(particles, r.word(k+1))):
		default:
			return end
		}
	}
	return end
}

// joins reports whether two words with this text between them may be one name.
func joins(gap string) bool {
	switch gap {
	case " ", "-", ". ", " & ", ".", "'", "’", "–", "/", "·", " \"", "\" ":
		return true
	}
	return false
}

// verbAfter returns the index of the first verb among about limit words from word i, or -1. Adverbs do not count.
func (r *reading) verbAfter(i, limit int) int {
	for k := i; k < len(r.words) && k < i+limit; k++ {
		if has(between, r.word(k)) || strings.HasSuffix(r.word(k), "ly") {
			limit++
		}
		if strings.ContainsAny(r.gap(k), ".;:(") && k > i {
			return -1
		}
		if r.isVerb(k) {
			return k
		}
	}
	return -1
}

func (r *reading) isVerb(i int) bool {
	w := r.word(i)
	if r.capital(i) {
		return false
	}
	return has(verbs, w) || len(w) > 4 && strings.HasSuffix(w, "ed")
}

// ownSubject reports whether a list item or a line has its own subject.
func (r *reading) ownSubject() bool {
	return r.subj.form == name || r.subj.form == pronoun || r.subj.form == possessive ||
		r.subj.form == definite && r.subj.verb >= 0 || len(r.words) > 6 && closed(r.s) && r.verbAfter(1, 10) >= 0 && !r.imperative()
}

// imperative reports whether a sentence is an instruction, which has no subject.
func (r *reading) imperative() bool {
	if len(r.words) < 2 || !has(imperatives, r.word(0)) {
		return false
	}
	return has(determiners, r.word(1)) || strings.ContainsAny(r.gap(1), "`'\"“")
}

// names returns the ranges of capitalised words that may be names of persons. It excludes single words at the beginning of the sentence, and
// dates and places.
func (r *reading) names() [][2]int {
	var out [][2]int
	for i := 0; i < len(r.words); {
		if !r.capital(i) {
			i++
			continue
		}
		end := max(r.nameEnd(i), i+1)
		from := i
		for from < end && (has(months, r.word(from)) || has(titles, r.word(from)) && end-from == 1) {
			from++
		}
		before := r.word(from - 1)
		quoted := strings.ContainsAny(r.gap(i), "\"“«")
		placed := quoted || from > 0 && (before == "the" || has(places, before)) || r.word(i) == "the" || strings.HasSuffix(r.word(from), "'s") && end-from == 1
		if lone := end-from == 1; from < end && !placed && !(lone && (from == 0 || demonym(r.word(from)))) && !(lone && len(r.raw(from)) == 1) {
			out = append(out, [2]int{from, end})
		}
		i = end
	}
	return out
}

func demonym(w string) bool {
	for _, suffix := range []string{"an", "ish", "ese", "ic", "ch"} {
		if strings.HasSuffix(w, suffix) {
			return true
		}
	}
	return false
}

// personNoun reports whether one of the first words is a noun for a person.
func (r *reading) personNoun(limit int) bool {
	for i := range min(limit, len(r.words)) {
		if has(persons, strings.TrimSuffix(r.word(i), "'s")) {
			return true
		}
	}
	return false
}
