package lang

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Topic is the thing of which a question asks an account: "Tell me about the deposit", "What does git bisect do?", or only "deposit".
type Topic struct {
	// Brief is set if the question asks what the thing is, and not for all that is said about it.
	Brief bool
	// strict is set if no phrase asks for an account. The question may ask for a fact then, and a section is about it only if its headings and the title have all terms.
	strict bool
	lang   *Language
	stems  []string
}

// MinTopic is how well headings must name a topic so that the text under them is about it.
const MinTopic = 0.5

const (
	maxTopic      = 5    // terms of a topic
	outerShare    = 0.7  // of a term that only a heading over the one that names the topic has, or the title
	textShare     = 0.3  // of a term that only the text has
	maxTopicBytes = 200  // of a question with a topic
	maxTopicText  = 2000 // bytes of a text that are compared with a topic
	maxUnspaced   = 36   // bytes of a name of twelve ideographs
)

// TopicOf returns the topic of a question: what follows a phrase of [AsksAccount] or [AsksWhatIs], or all of a question that is only a name. It returns nil if the
// question asks for something else, or names an option.
func (l *Language) TopicOf(question string) *Topic {
	return l.topics.Get(question, maxTopicBytes, l.topicOf)
}

func (l *Language) topicOf(question string) *Topic {
	option := func(name string) bool { return strings.HasPrefix(name, "-") }
	if len(question) > maxTopicBytes || slices.ContainsFunc(Identifiers(question), option) {
		return nil
	}
	what, ok := l.Requested(AsksAccount, question)
	brief := false
	if !ok {
		what, ok = l.Requested(AsksWhatIs, question)
		brief = ok
	}
	strict := !ok || brief
	if !ok && l.isName(question) {
		what, ok = question, true
	}
	terms := l.UniqueTerms(what)
	if !ok || len(terms) == 0 || len(terms) > maxTopic || l.IsStopWord(terms[0].Word) {
		return nil
	}
	t := &Topic{lang: l, Brief: brief, strict: strict}
	for _, term := range terms {
		if !l.Has(Vague, term.Word) || len(terms) == 1 {
			t.stems = append(t.stems, term.Stem)
		}
	}
	if len(t.stems) == 0 {
		return nil
	}
	return t
}

// isName reports whether a question only names something: opening hours; the rules of the pool.
func (l *Language) isName(question string) bool {
	if !l.Spaced() {
		return len(question) <= maxUnspaced && l.Asks(question) == "" && !l.AsksWhether(question)
	}
	return !slices.ContainsFunc(Words(question), func(w Token) bool {
		return l.IsStopWord(w.Text) && !l.Has(Articles, w.Text) && !l.Has(Prepositions, w.Text)
	})
}

// NamedBy returns how well the headings of a passage, the outermost first, name the topic, 0..1, and how many of them there are down to the one that does; none
// of them if the title does. Other words in a heading, and terms that only the title, the headings over it or the text have, make it less. A term that nothing
// has makes it 0. So do numbers that only the text has and, for the title, any other term that only the text has.
func (t *Topic) NamedBy(title string, headings []string, text string) (named float64, depth int) {
	if t == nil {
		return 0, 0
	}
	shares := map[string]float64{} // of the terms that the text, the title or a heading over the present one has
	if !t.strict {
		has, _ := t.read(text)
		for s := range has {
			shares[s] = textShare
		}
	}
	for i, h := range slices.Concat([]string{separators.Replace(title)}, headings) {
		has, words := t.read(h)
		found, lacks := 0.0, false
		for _, s := range t.stems {
			share := shares[s]
			if has[s] {
				share = 1
			}
			found += share
			lacks = lacks || share == 0 || share == textShare && (i == 0 || strings.ContainsAny(s, "0123456789"))
		}
		precision := float64(len(has)) / float64(max(1, words))
		if i == 0 {
			precision = math.Sqrt(precision) // titles say more than the topic
		}
		if score := found / float64(len(t.stems)) * precision; !lacks && score > named {
			named, depth = score, i
		}
		for s := range has {
			shares[s] = outerShare
		}
	}
	return named, depth
}

// separators replaces what is between the words of a file's name.
var separators = strings.NewReplacer("_", " ", "-", " ", ".", " ")

// outlineRE matches the Roman numeral or the letter that numbers a heading: IV. or B).
var outlineRE = regexp.MustCompile(`^\s*(?:[IVXLC]{1,6}|[A-Z])[.):]\s`)

// read returns which terms of the topic a text has, and how many different words, without stop words and the number of a heading with the word before it:
// section 4. Negations count, because the section Without the cache is not about the cache.
func (t *Topic) read(s string) (has map[string]bool, words int) {
	has, all := map[string]bool{}, map[string]bool{}
	ws := Words(outlineRE.ReplaceAllString(Truncate(s, maxTopicText), ""))
	isNumber := func(i int) bool { return i < len(ws) && unicode.IsDigit(rune(ws[i].Text[0])) }
	for i, w := range ws {
		stem := t.lang.Stem(w.Text)
		if slices.Contains(t.stems, stem) {
			has[stem], all[stem] = true, true
		} else if !isNumber(i) && !isNumber(i+1) && (!t.lang.IsStopWord(w.Text) || t.lang.Has(Negations, w.Text)) {
			all[stem] = true
		}
	}
	return has, len(all)
}
