package proposition

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// resolve returns the sentence with its subject resolved, or "" if that is not needed. known is false if the antecedent is uncertain.
func (w *walker) resolve(r *reading) (out string, known bool) {
	first := w.first
	w.first = false
	defer func() { w.before = r }()
	s := r.subj
	switch s.form {
	case name:
		w.setFocus(r, first)
		return "", w.focus != nil || s.at > 0 || s.end > 1 || r.ownPersons()
	case pronoun, possessive:
		p := subjectOf(r.word(s.at))
		if p == "it" && s.form == pronoun && r.pleonastic() {
			w.focus = nil
			return "", true
		}
		e := w.antecedent(p, r)
		if e == nil {
			w.focus, w.lost = nil, p
			return "", false
		}
		if p == "he" || p == "she" {
			e.gender = p
		}
		w.focus = e
		if s.form == possessive {
			w.focus = nil
			return r.replace(s.at, s.at+1, e.possessive(s.at > 0)), true
		}
		return r.replace(s.at, s.at+1, e.at(s.at > 0)), true
	case definite:
		e := w.antecedentOf(s.noun, r)
		w.focus = e
		if e == nil {
			if d := r.word(s.at); d != "the" || w.class(s.noun) {
				return "", d == "that" && s.verb < 0
			}
			return "", true
		}
		if slices.Contains(e.words, s.noun) {
			if strings.HasSuffix(r.word(s.at+1), "'s") {
				return r.replace(s.at, s.at+2, e.possessive(s.at > 0)), true
			}
			return r.replace(s.at, s.at+2, e.at(s.at > 0)), true
		}
		noun := r.raw(s.at + 1)
		what := r.s[r.words[s.at].Start:r.words[s.at].End] + " " + strings.TrimSuffix(strings.TrimSuffix(noun, "'s"), "’s") + " "
		if strings.HasSuffix(r.word(s.at+1), "'s") {
			return r.replace(s.at, s.at+2, what+e.title()+"'s"), true
		}
		return r.replace(s.at, s.at+2, what+e.title()), true
	}
	w.focus = nil
	if d := r.word(0); (d == "this" || d == "these" || d == "those") && !r.capital(1) {
		return "", false
	}
	return "", r.ownPersons()
}

// ownPersons reports whether no pronoun for a person precedes the first name.
func (r *reading) ownPersons() bool {
	for i := range r.words {
		switch r.word(i) {
		case "he", "she", "him", "his", "her":
			return false
		}
		if i > 0 && r.capital(i) && !has(months, r.word(i)) {
			return true
		}
	}
	return true
}

// setFocus sets the focus from a sentence whose subject is a name.
func (w *walker) setFocus(r *reading, first bool) {
	w.lost = ""
	words := significant(r.s[r.words[r.subj.at].Start:r.words[r.subj.end-1].End])
	verb := r.word(r.subj.verb)
	defining := first && (verb == "is" || verb == "was" || verb == "are" || verb == "were")
	for _, e := range []*entity{w.topic, w.doc, w.focus} {
		if e.is(words, defining) {
			e.learn(r)
			if e.kind == person && len(e.words) == 1 && len(words) > 1 && len(words) < 4 {
				e.name = r.s[r.words[r.subj.at].Start:r.words[r.subj.end-1].End]
			}
			w.setGender(e)
			w.focus = e
			return
		}
	}
	if e := w.doc; first && len(w.headings) <= 1 && !e.isNamed() && e.introduces(r, words) {
		e.learn(r)
		e.kind = person
		w.setGender(e)
		w.focus = e
		return
	}
	w.focus = nil
	from := r.subj.at
	if len(words) == 0 || r.subj.end-from == 1 && from == 0 && !r.sure() && !w.alwaysCapital(r.raw(from)) {
		return
	}
	e := &entity{words: words}
	if r.word(from) == "the" {
		e.the = true
		from++
	}
	e.name = r.s[r.words[from].Start:r.words[r.subj.end-1].End]
	if len(e.name) > maxName {
		return
	}
	e.learn(r)
	w.focus = e
}

// alwaysCapital reports whether the passage always capitalises a word, also inside sentences.
func (w *walker) alwaysCapital(word string) bool {
	within := false
	lower := strings.ToLower(word)
	for _, t := range lang.Words(w.body) {
		if t.Text != lower {
			continue
		}
		if !strings.HasPrefix(w.body[t.Start:], word) {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(w.body[:t.Start], " "))
		within = within || t.Start > 1 && (unicode.IsLower(before) || before == ',')
	}
	return within
}

// sure reports whether a single capitalised word at the beginning of the sentence is a name, because "is" or "was" follows it.
func (r *reading) sure() bool {
	v := r.word(r.subj.verb)
	return (v == "is" || v == "was") && r.subj.verb == r.subj.end
}

// setGender sets the gender of the person that the document is about, by the pronouns at its beginning. They also show that the subject is a
// person if its class may be that of one.
func (w *walker) setGender(e *entity) {
	if e == w.doc && e.kind == unknown && !e.the && hasPersonSuffix(e.class) && !has(things, e.class) && w.he+w.she > 0 {
		e.kind = person
	}
	if e.kind != person || e.gender != "" || e != w.doc {
		return
	}
	switch {
	case w.he > 3*w.she:
		e.gender = "he"
	case w.she > 3*w.he:
		e.gender = "she"
	}
}

// antecedent returns the antecedent of a pronoun, or nil if it is uncertain.
func (w *walker) antecedent(p string, r *reading) *entity {
	if r.subj.clause || w.lost == p {
		return nil
	}
	e := w.focus
	if e == nil && (p == "he" || p == "she") {
		e = w.person()
	}
	if !e.fits(p) || r.mentions(e) {
		return nil
	}
	if w.before != nil && !e.headline && (p == "he" || p == "she") && w.rivals(e) {
		return nil
	}
	if p == "it" && !w.describes(e) {
		return nil
	}
	return e
}

// person returns the person that the document is about, or nil if the sentence before names others.
func (w *walker) person() *entity {
	e := w.doc
	if e == nil || e.kind != person || w.topic != nil && !w.topic.isGeneric() {
		return nil
	}
	if e.gender == "" && w.he > 0 && w.she > 0 {
		return nil
	}
	if w.before != nil && (w.rivals(e) || w.before.personNoun(10)) {
		return nil
	}
	return e
}

func (e *entity) isNamed() bool { return e != nil && e.named }

// isGeneric reports whether a heading is generic, such as Early life.
func (e *entity) isGeneric() bool {
	for _, t := range e.words {
		if has(generic, t) {
			return true
		}
	}
	return false
}

// rivals reports whether the sentence before names other entities.
func (w *walker) rivals(e *entity) bool {
	for _, n := range w.before.names() {
		if !e.is(significant(w.before.s[w.before.words[n[0]].Start:w.before.words[n[1]-1].End]), true) {
			return true
		}
	}
	return false
}

// describes reports whether the sentence before describes the entity, and so has no object that "it" may refer to.
func (w *walker) describes(e *entity) bool {
	b := w.before
	if b == nil || b.subj.verb < 0 {
		return false
	}
	v := b.word(b.subj.verb)
	return e.headline && e.named || has(copulas, v)
}

// mentions reports whether the sentence names the entity after the subject. A pronoun subject then refers to another entity.
func (r *reading) mentions(e *entity) bool {
	for i := r.subj.end; i < len(r.words); i++ {
		if strings.TrimSuffix(r.word(i), "'s") != e.words[len(e.words)-1] || !r.capital(i) {
			continue
		}
		if e.kind != person || !r.capital(i-1) || slices.Contains(e.words, r.word(i-1)) { // otherwise it may be a relative with the same last name
			return true
		}
	}
	return false
}

// class reports whether a noun describes the subject of the document or section.
func (w *walker) class(noun string) bool {
	return w.doc != nil && alike(w.doc.class, noun) || w.topic != nil && alike(w.topic.class, noun)
}

// alike reports whether two nouns may describe the same entity.
func alike(class, noun string) bool {
	if class == noun {
		return class != ""
	}
	for _, f := range families {
		if has(f, class) && has(f, noun) {
			return true
		}
	}
	return false
}

// antecedentOf returns the antecedent of "the" with a noun: a named entity that the noun describes, or nil.
func (w *walker) antecedentOf(noun string, r *reading) *entity {
	if r.subj.verb < 0 || r.subj.clause {
		return nil
	}
	for _, e := range []*entity{w.focus, w.topic, w.doc} {
		if w.focus != nil && !w.focus.headline && e != w.focus {
			return nil
		}
		if e != nil && e.named && alike(e.class, noun) && e.kind != plural && !r.mentions(e) {
			if w.before != nil && w.before.another(noun) {
				return nil
			}
			return e
		}
	}
	return nil
}

// another reports whether the sentence mentions another entity that the noun describes.
func (r *reading) another(noun string) bool {
	for i := 1; i < len(r.words); i++ {
		if r.word(i) != noun && r.word(i) != noun+"s" || r.capital(i) {
			continue
		}
		v := r.word(r.subj.verb)
		defined := r.subj.form == name && (v == "is" || v == "was") && i > r.subj.verb && i < r.subj.verb+10
		if b := r.word(i - 1); i-1 != r.subj.at && b != "the" && b != "this" && !defined {
			return true
		}
	}
	return false
}

// pleonastic reports whether "it" has no antecedent, as in "it rained" or "it is said that".
func (r *reading) pleonastic() bool {
	i := r.subj.end
	if has(impersonal, r.word(i)) {
		return true
	}
	for has(auxiliaries, r.word(i)) || has(adverbs, r.word(i)) || strings.HasSuffix(r.word(i), "ly") {
		i++
	}
	if has(impersonal, r.word(i)) {
		return true
	}
	if i == r.subj.end {
		return false
	}
	for k := i; k < len(r.words) && k < i+12; k++ {
		switch r.word(k) {
		case "that", "who", "whom", "whether":
			return true
		case "to":
			return k-i <= 3 && !strings.HasSuffix(r.word(k-1), "ed")
		case "when", "until":
			return k-i <= 4
		}
		if k > i && strings.ContainsAny(r.gap(k), ",;(") {
			return false
		}
	}
	return false
}

// replace returns the sentence with the words [from, to) replaced.
func (r *reading) replace(from, to int, by string) string {
	return r.s[:r.words[from].Start] + by + r.s[r.words[to-1].End:]
}

// at returns the name for use inside a sentence, or at its beginning.
func (e *entity) at(within bool) string {
	switch {
	case e.the && within:
		return "the " + e.name
	case e.the:
		return "The " + e.name
	}
	return e.name
}

// title returns the name for use after a noun, with "The" if that is part of it.
func (e *entity) title() string {
	if e.article {
		return "The " + e.name
	}
	return e.name
}

func (e *entity) possessive(within bool) string {
	return strings.TrimSuffix(e.at(within), e.name) + e.possessiveName()
}

func (e *entity) possessiveName() string {
	if e.kind == plural && strings.HasSuffix(e.name, "s") {
		return e.name + "'"
	}
	return e.name + "'s"
}
