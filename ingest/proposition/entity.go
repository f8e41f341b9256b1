package proposition

import (
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// kind is the class of an entity, which decides its pronouns.
type kind int

const (
	unknown kind = iota
	person
	thing
	group  // "it" or "they"
	plural // "they"
)

// entity is a possible subject of a sentence.
type entity struct {
	name     string   // without "the"
	the      bool     // it is used with "the"
	article  bool     // "the" is part of its title
	words    []string // significant words of the name, in lower case
	spelt    []string // all words of the name, in lower case
	kind     kind
	gender   string // "he", "she" or "", of a person
	class    string // the noun that describes it
	named    bool   // it was the subject of a sentence
	headline bool   // it is the title or a heading
}

// titled returns the entity that a title names, or nil if the title is not a short name.
func titled(title string) *entity {
	bare := title
	if i := strings.IndexByte(bare, '('); i > 0 && strings.HasSuffix(bare, ")") {
		bare = strings.TrimSpace(bare[:i])
	}
	if bare == "" || len(bare) > maxName || strings.ContainsAny(bare, ":?!|\"“”;#`/\\=<>[]{}") {
		return nil
	}
	e := &entity{name: bare, words: significant(bare), headline: true}
	if rest, ok := strings.CutPrefix(bare, "The "); ok {
		e.name, e.the, e.article = rest, true, true
	}
	for _, t := range lang.Words(e.name) {
		e.spelt = append(e.spelt, t.Text)
	}
	if len(e.words) == 0 || len(e.words) > 8 || has(generic, strings.ToLower(bare)) {
		return nil
	}
	return e
}

// significant returns the words of a name without stop words and particles.
func significant(s string) []string {
	var out []string
	for _, w := range lang.Words(s) {
		if t := strings.TrimSuffix(w.Text, "'s"); !lang.IsStopWord(t) && !has(particles, t) {
			out = append(out, t)
		}
	}
	return out
}

// is reports whether a subject with these words is the entity. A defining sentence may use a longer name than the title.
func (e *entity) is(words []string, defining bool) bool {
	if e == nil || len(words) == 0 {
		return false
	}
	all := func(of, in []string) bool {
		for _, w := range of {
			if !slices.Contains(in, w) {
				return false
			}
		}
		return true
	}
	switch {
	case len(words) == len(e.words):
		return all(words, e.words)
	case len(words) > len(e.words):
		return defining && all(e.words, words)
	case e.kind == person:
		return all(words, e.words)
	case defining:
		return len(e.words) >= 2 && words[0] == e.words[0] && words[len(words)-1] == e.words[len(e.words)-1]
	}
	return false
}

// fits reports whether a pronoun may refer to the entity.
func (e *entity) fits(p string) bool {
	if e == nil {
		return false
	}
	switch p {
	case "he", "she":
		return (e.kind == person || e.kind == unknown && !e.headline && !e.the) && (e.gender == "" || e.gender == p)
	case "it":
		return e.kind == thing || e.kind == group
	case "they":
		return e.kind == plural || e.kind == group
	}
	return false
}

// subjectOf returns the nominative of a possessive pronoun.
func subjectOf(p string) string {
	switch p {
	case "his":
		return "he"
	case "her":
		return "she"
	case "its":
		return "it"
	case "their":
		return "they"
	}
	return p
}

// learn updates the entity from a sentence whose subject it is.
func (e *entity) learn(r *reading) {
	e.named = true
	verb := r.word(r.subj.verb)
	singular, many := verb == "is" || verb == "was", verb == "are" || verb == "were"
	if r.word(r.subj.at) == "the" {
		e.the = true
	}
	if e.kind == unknown && r.ofPerson() {
		e.kind = person
	}
	class := ""
	if at := r.subj.end; singular || many {
		class = r.complement(r.subj.verb + 1)
	} else if strings.HasPrefix(r.gap(at), ",") && (r.word(at) == "a" || r.word(at) == "an") {
		class = r.complement(at)
	}
	switch {
	case class == "" && singular && e.kind == unknown && (r.word(r.subj.verb+1) == "located" || r.word(r.subj.verb+1) == "situated"):
		e.kind = thing
		return
	case class == "":
		if many && e.kind == unknown {
			e.kind = plural
		}
		return
	case many:
		if e.kind == unknown {
			e.kind = plural
		}
	case has(persons, class):
		e.kind = person
		e.gender = genders[class]
	case has(groups, class):
		e.kind = group
	case e.kind == unknown && (!hasPersonSuffix(class) || has(things, class)):
		e.kind = thing
	}
	e.class = class
}

// hasPersonSuffix reports whether a noun has a suffix that is common in nouns for persons.
func hasPersonSuffix(noun string) bool {
	for _, suffix := range []string{"er", "or", "ist", "ian", "ess", "man", "woman"} {
		if strings.HasSuffix(noun, suffix) {
			return true
		}
	}
	return false
}

// ofPerson reports whether a sentence shows that its subject is a person, regardless of nouns.
func (r *reading) ofPerson() bool {
	return has(titles, r.word(r.subj.at)) || r.bornIn(r.subj.end, r.afterBrackets(r.subj.end)) || (r.word(r.subj.verb) == "was" || r.word(r.subj.verb) == "is") && r.word(r.subj.verb+1) == "born"
}

// bornIn reports whether a range of words contains "born".
func (r *reading) bornIn(from, to int) bool {
	for k := from; k < to; k++ {
		if r.word(k) == "born" {
			return true
		}
	}
	return false
}

// introduces reports whether a sentence introduces the entity, a person, by another name, such as the birth name.
func (e *entity) introduces(r *reading, words []string) bool {
	if e == nil || !r.ofPerson() && !has(persons, r.complement(r.subj.verb+1)) {
		return false
	}
	return strings.Contains(r.s, e.name) || len(e.words) > 1 && len(words) > 1 && slices.Contains(words, e.words[len(e.words)-1])
}

// complement returns the head noun of a phrase such as "a German media group, …" that begins at word i, or "".
func (r *reading) complement(i int) string {
	for has(adverbs, r.word(i)) || strings.HasSuffix(r.word(i), "ly") {
		i++
	}
	switch r.word(i) {
	case "a", "an", "the":
		i++
	default:
		for k := i; ; k++ { // "Bobby Vinton's ninth album"
			if k == i+4 || !r.capital(k) {
				return ""
			}
			if strings.HasSuffix(r.word(k), "'s") {
				i = k + 1
				break
			}
		}
	}
	last := -1
	for k := i; k < len(r.words) && k < i+12; k++ {
		w := r.word(k)
		if k > i && strings.ContainsAny(r.gap(k), ",;:().") {
			break
		}
		if (w == "and" || w == "or") && last >= 0 && r.capital(last) {
			continue
		}
		if k > i && has(stoppers, w) || len(w) > 4 && strings.HasSuffix(w, "ed") && has(stoppers, r.word(k+1)) {
			break
		}
		if has(stoppers, r.word(k+1)) && (w == "best" || w == "most" || w == "well") {
			break
		}
		if !strings.HasSuffix(w, "ly") {
			last = k
		}
	}
	if last < 0 {
		return ""
	}
	if !has(persons, r.word(last)) {
		if w := r.personIn(i); w != "" {
			return w
		}
	}
	if r.capital(last) && !has(persons, r.word(last)) {
		return ""
	}
	if w := r.word(last); !has(vague, w) && !(has(measures, w) && r.word(last+1) == "of") {
		return w
	}
	return ""
}

// personIn returns the first noun for a person in a phrase such as "a fashion and film photographer" that begins at word i.
func (r *reading) personIn(i int) string {
	for k := i; k < len(r.words) && k < i+14; k++ {
		w := r.word(k)
		switch {
		case strings.ContainsAny(r.gap(k), ";:().") && k > i:
			return ""
		case has(persons, w):
			return w
		case w != "and" && w != "or" && has(stoppers, w):
			return ""
		}
	}
	return ""
}
