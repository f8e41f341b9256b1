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
	// strict is set if no phrase asks for an account: the question may ask for a fact, and headings that lack a term of it are not about that.
	strict bool
	lang   *Language
	stems  []string
}

// MinTopic is how well headings must name a topic so that the text under them is about it.
const MinTopic = 0.5

const (
	maxTopic      = 5   // terms of a topic
	outerShare    = 0.7 // of a term that only a heading over the one that names the topic has, or the title
	textShare     = 0.3 // of a term that only the text has
	maxTopicBytes = 200
	maxTopicText  = 2000
	maxUnspaced   = 36 // bytes of a name of twelve ideographs
)

// TopicOf returns the topic of a question, and nil if it asks for something else.
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
	over := map[string]float64{}
	if !t.strict {
		over, _ = t.count(text)
		for s := range over {
			over[s] = textShare
		}
	}
	for i, h := range slices.Concat([]string{separators.Replace(title)}, headings) {
		words, n := t.count(h)
		hits, found, lacks := 0.0, 0.0, false
		for _, s := range t.stems {
			x := max(words[s], over[s])
			if words[s] > 0 {
				hits++
			}
			found += x
			lacks = lacks || x == 0 || x <= textShare && (i == 0 || strings.ContainsAny(s, "0123456789"))
		}
		precision := hits / float64(max(1, n))
		if i == 0 {
			precision = math.Sqrt(precision) // titles say more than the topic
		}
		if score := found / float64(len(t.stems)) * precision; !lacks && score > named {
			named, depth = score, i
		}
		for s := range words {
			over[s] = outerShare
		}
	}
	return named, depth
}

// separators replaces what is between the words of a file's name.
var separators = strings.NewReplacer("_", " ", "-", " ", ".", " ")

// outlineRE matches the number of a heading in Roman numerals, or its letter.
var outlineRE = regexp.MustCompile(`^\s*(?:[IVXLC]{1,6}|[A-Z])[.):]\s`)

// count returns 1 for each term of the topic that a text has, and how many different words it has, without the number of a heading and the word before
// it: section 4.
func (t *Topic) count(s string) (terms map[string]float64, n int) {
	terms, seen := map[string]float64{}, map[string]bool{}
	words := Words(outlineRE.ReplaceAllString(Truncate(s, maxTopicText), ""))
	numbers := func(k int) bool { return k < len(words) && unicode.IsDigit(rune(words[k].Text[0])) }
	for i, w := range words {
		stem := t.lang.Stem(w.Text)
		if slices.Contains(t.stems, stem) {
			terms[stem], seen[stem] = 1, true
		} else if !numbers(i) && !numbers(i+1) && (!t.lang.IsStopWord(w.Text) || t.lang.Has(Negations, w.Text)) { // without the cache
			seen[stem] = true
		}
	}
	return terms, len(seen)
}
