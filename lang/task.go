package lang

import (
	"regexp"
	"strings"
	"unicode"
)

// actionRE matches the beginning of an English question how to do something, up to the verb. In other languages, phrases of [AsksManner] begin one.
var actionRE = regexp.MustCompile(`(?i)\b(?:(?:how|way) (?:(?:do|can|should|could|would|must) (?:i|you|we|one) (?:go about )?|to )|(?:must|should|do) (?:i|you|we|one) (?:have to |need to )?do to |steps? (?:to|for|of|in) )`)

// Task is what a question asks how to do: to remove a source.
type Task struct {
	lang    *Language
	verbs   map[string]float64 // how well a stem names the action: 1 for the verb, less for words that manuals use in its place
	objects map[string]float64 // how much each stem counts: the object of the verb more than what follows it
	total   float64            // of objects
	// compounds are two words of the question that a text may have as one: timezone.
	compounds map[string][2]string
	forms     map[string]bool // the verbs as a command or an instruction has them
	joined    string          // the verb and its particle as one word: backup; empty if it has none
}

// How well words name a task.
const (
	sameTask     = 0.9 // a word that manuals use in place of the verb
	outerHeading = 0.7 // a word of a heading over the innermost one, or of the title
	context      = 0.4 // a word after the object: in a table, from the list
	gerundForm   = 0.9
	optionForm   = 0.4 // of a verb that is the name of an option
	otherForm    = 0.5 // another form of the verb, such as added, in a text that is not a heading
	verbShare    = 0.45
)

// particles are words that make another verb with the one before them: back up, set up, log in.
var particles = WordSet("up down in out on off over back away")

// joined are nouns that are made of a verb and its particle.
var joined = WordSet("backup setup shutdown startup cleanup lookup signup login logout logoff checkout rollback rollout")

// sameTasks returns, by stem, the verbs that manuals use for each other in headings. Elsewhere they are not the same.
func (l *Language) sameTasks() map[string][]string {
	l.readTasks.Do(func() {
		l.tasks = map[string][]string{}
		for group := range l.sections[Tasks] {
			verbs := strings.Fields(group)
			for _, v := range verbs {
				for _, o := range verbs {
					if o != v {
						l.tasks[l.Stem(v)] = append(l.tasks[l.Stem(v)], o)
					}
				}
			}
		}
	})
	return l.tasks
}

// taskWords returns the verb of a question how to do something, and the words after it, or those before it where the verb is the last word; no verb if the
// question asks something else.
func (l *Language) taskWords(question string) (verb string, rest []Token) {
	if l == English {
		at := actionRE.FindStringIndex(question)
		if at == nil {
			return "", nil
		}
		words := Words(question[at[1]:])
		if len(words) == 0 || IsStopWord(words[0].Text) {
			return "", nil
		}
		return words[0].Text, words[1:]
	}
	if !l.Spaced() || l.Asks(question) != AsksManner {
		return "", nil
	}
	words, particle := Words(question), ""
	if last := words[len(words)-1].Text; l.Has(Particles, last) { // stelle … ein
		words, particle = words[:len(words)-1], last
	}
	helped := false // another verb is before the one that says what to do
	var content []Token
	for i, w := range words {
		if l.IsStopWord(w.Text) {
			helped = helped || len(content) == 0 && !l.Has(QuestionWords, w.Text) && i > 0
		} else {
			content = append(content, w)
		}
	}
	switch {
	case len(content) == 0:
		return "", nil
	case l.VerbLast && helped:
		return particle + content[len(content)-1].Text, content[:len(content)-1]
	}
	return particle + content[0].Text, content[1:]
}

// TaskOf returns what a question asks how to do, and nil if it asks something else, or if its verb says nothing, as that of How do I do this?
func (l *Language) TaskOf(question string) *Task {
	verb, rest := l.taskWords(Truncate(question, 2000))
	if verb == "" {
		return nil
	}
	t := &Task{lang: l, forms: map[string]bool{}, verbs: map[string]float64{}, objects: map[string]float64{}, compounds: map[string][2]string{}}
	if len(rest) > 0 && l == English {
		if _, ok := particles[rest[0].Text]; ok {
			verb += rest[0].Text
			rest = rest[1:]
			if _, ok := joined[verb]; ok {
				t.joined = verb
			}
		}
	}
	t.verbs[l.Stem(verb)], t.forms[verb] = 1, true
	for _, o := range l.sameTasks()[l.Stem(verb)] {
		t.verbs[l.Stem(o)], t.forms[o] = max(t.verbs[l.Stem(o)], sameTask), true
	}
	weight, before := 1.0, ""
	for _, w := range rest {
		s := l.Stem(w.Text)
		if before != "" {
			t.compounds[l.Stem(before+w.Text)] = [2]string{l.Stem(before), s}
		}
		before = w.Text
		switch {
		case l.Has(Prepositions, w.Text):
			if t.total > 0 {
				weight = context
			}
		case l.IsStopWord(w.Text):
		case t.objects[s] == 0:
			t.objects[s] = weight
			t.total += weight
		}
	}
	return t
}

// Joined returns the noun that is made of the verb and its particle, as texts have it: backup for to back up. It is empty if there is none.
func (t *Task) Joined() string {
	if t == nil {
		return ""
	}
	return t.joined
}

// NamedBy returns how well headings name the task, 0..1; the first one is the innermost. A heading without a verb can name it, but not one with another verb:
// Removing a source for a question how to add one. A heading with the verb can leave out the object, if the text under it has that, and one such as Preparation leaves out both.
func (t *Task) NamedBy(text string, headings ...string) float64 {
	if t == nil || len(headings) == 0 {
		return 0
	}
	verb, terms, asked := 0.0, 0.0, 0.0
	seen := map[string]float64{}
	for i, h := range headings {
		credit := outerHeading
		if i == 0 {
			credit = 1
			if t.lang.isMethod(h) { // of what the outer headings name
				verb, terms, asked = 1, 1, 1
				continue
			}
		}
		for _, w := range t.words(h) {
			v, object := t.verbs[w.stem], t.objects[w.stem] > 0
			if i == 0 {
				terms++
				if v > 0 || object {
					asked++
				} else if w.gerund && verb == 0 && terms == 1 {
					return 0
				}
			}
			if object {
				seen[w.stem] = max(seen[w.stem], credit)
			} else {
				verb = max(verb, v*credit)
			}
		}
	}
	if asked == 0 {
		return 0
	}
	if verb > 0 && len(seen) < len(t.objects) {
		for _, w := range t.words(text) {
			if t.objects[w.stem] > 0 && seen[w.stem] == 0 {
				seen[w.stem] = outerHeading
			}
		}
	}
	found := 0.0
	for s, credit := range seen {
		found += credit * t.objects[s]
	}
	precision := 0.5 + 0.5*asked/terms
	switch {
	case len(t.objects) == 0:
		return verb * precision
	case found == 0:
		return 0
	}
	return (verbShare*verb + (1-verbShare)*found/t.total) * precision
}

// isMethod reports whether a heading only says that instructions follow: Preparation.
func (l *Language) isMethod(heading string) bool {
	var words []string
	for _, w := range Words(Truncate(heading, 80)) {
		if w.Text[0] > '9' {
			words = append(words, w.Text)
		}
	}
	_, ok := l.sections[Methods][strings.Join(words, " ")]
	return ok
}

// taskWord is a content word of a heading.
type taskWord struct {
	stem   string
	at     int  // number of words before it
	form   bool // it is a verb of the task in its basic form
	gerund bool
	option bool // it follows a hyphen
}

// words returns the content words of a text, without numbers. A verb and its particle are one word, and a compound is two.
func (t *Task) words(text string) (out []taskWord) {
	words := Words(Truncate(text, maxTaskText))
	for i, w := range words {
		s := t.lang.Stem(w.Text)
		if unicode.IsDigit(rune(w.Text[0])) && t.objects[s] == 0 || t.lang.IsStopWord(w.Text) {
			continue
		}
		if i+1 < len(words) {
			if _, ok := particles[words[i+1].Text]; ok && t.verbs[t.lang.Stem(s+words[i+1].Text)] > 0 {
				s = t.lang.Stem(s + words[i+1].Text)
			}
		}
		option := w.Start > 0 && text[w.Start-1] == '-'
		gerund := t.lang == English && len(w.Text) > 5 && strings.HasSuffix(w.Text, "ing")
		if both, ok := t.compounds[s]; ok {
			out = append(out, taskWord{both[0], i, false, gerund, option})
			s = both[1]
		}
		for _, part := range IdentifierParts(text[w.Start:w.End]) {
			out = append(out, taskWord{t.lang.Stem(part), i, t.forms[part], false, option})
		}
		out = append(out, taskWord{s, i, t.forms[w.Text] || t.lang != English, gerund, option})
	}
	return out
}

// maxTaskText is the number of bytes of a text that are compared with a task.
const maxTaskText = 2000

// maxActionGap is the number of words that may be between a verb and its object.
const maxActionGap = 4

// In returns how well a text says to do the task, 0..1: it has the verb near the object. It is less if there are words between them, or if the text does not
// have what follows the object in the question.
func (t *Task) In(text string) float64 {
	if t == nil {
		return 0
	}
	const none = -2 * maxActionGap
	verb, object, credit := none, 2*none, 0.0
	nearest, found, more := 0.0, map[string]bool{}, false
	for _, w := range t.words(text) {
		v, o := t.verbs[w.stem], t.objects[w.stem]
		if o > 0 {
			found[w.stem] = true
		}
		more = more || v+o == 0
		switch {
		case o == 1:
			object = w.at
		case v > 0 && o == 0:
			switch verb, credit = w.at, v; {
			case w.option:
				credit *= optionForm
			case w.gerund:
				credit *= gerundForm
			case !w.form:
				credit *= otherForm
			}
		default:
			continue
		}
		if len(t.objects) == 0 {
			nearest = max(nearest, credit)
		}
		if gap := max(verb-object, object-verb); gap <= maxActionGap+1 {
			nearest = max(nearest, credit*(1-gapLoss*float64(max(0, gap-2))))
		}
	}
	if !more {
		return 0 // it only names the task, as an entry of a table of contents
	}
	if len(t.objects) == 0 {
		return nearest
	}
	sum := 0.0
	for s := range found {
		sum += t.objects[s]
	}
	return nearest * sum / t.total
}

// gapLoss is what each word between the verb and the object costs. The first one is free, since it may be an article.
const gapLoss = 0.15

// HasVerb reports whether a text has the verb, or a word that manuals use in its place.
func (t *Task) HasVerb(text string) bool {
	if t == nil {
		return false
	}
	for _, w := range t.words(text) {
		if t.verbs[w.stem] > 0 {
			return true
		}
	}
	return false
}
