package analyze

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/lang"
)

// talk has the phrases of one language that are no question, in the order of talkKinds.
type talk struct {
	*lang.Language
	phrases [5][][]string // the words of each phrase, the longest first
	ability [][]string    // the words of each phrase that asks what the program can do
	joining []string      // the words that connect a question to the last one, sorted: and, then
}

var talkKinds = [5]lang.Section{lang.Thanks, lang.Greetings, lang.Farewells, lang.Agreement, lang.Praise}

// talks has the phrases of all languages. Those that several languages have, such as "hallo", are of the first one in order.
var talks = sync.OnceValue(func() []talk {
	var out []talk
	for _, l := range lang.Languages() {
		t := talk{Language: l}
		for _, w := range slices.Concat(l.List(lang.Openings), l.List(lang.Then)) {
			if !l.Has(lang.Agreement, w) && !l.Has(lang.Praise, w) {
				t.joining = append(t.joining, w)
			}
		}
		slices.Sort(t.joining)
		for i, kind := range talkKinds {
			for _, phrase := range l.List(kind) {
				t.phrases[i] = append(t.phrases[i], spoken(phrase))
			}
		}
		for _, phrase := range l.List(lang.AsksAbility) {
			t.ability = append(t.ability, spoken(phrase))
		}
		out = append(out, t)
	}
	const order = "en de fr es it pt nl"
	slices.SortFunc(out, func(a, b talk) int {
		return cmp.Or(cmp.Compare(strings.Index(order, a.Code), strings.Index(order, b.Code)), strings.Compare(a.Code, b.Code))
	})
	return out
})

// maxSmallTalk is the maximum length of a sentence of small talk, in bytes.
const maxSmallTalk = 120

// SmallTalk splits a message into a question and, if it has none, a reply. Sentences at its start and end that consist of
// phrases and filler words of one language are dropped. Any other word makes a sentence part of the question: "Thanks for
// the report: who wrote it?" In a sentence with a question mark, only phrases are dropped. Within a conversation, praise such as "nice" is small talk too.
func SmallTalk(message string, within bool) (question, reply string) {
	sentences := lang.Sentences(lang.Truncate(message, maxRead))
	first, last := 0, len(sentences)
	for ; first < last; first++ {
		s := sentences[first]
		said, asksAbility, ok := replyTo(message[s.Start:s.End], within)
		if !ok {
			break
		}
		if reply == "" || asksAbility {
			reply = said
		}
	}
	if first == last {
		if reply == "" {
			return message, ""
		}
		return "", reply
	}
	for ; last > first+1; last-- {
		s := sentences[last-1]
		if _, _, ok := replyTo(message[s.Start:s.End], within); !ok {
			break
		}
	}
	if first == 0 && last == len(sentences) {
		return message, ""
	}
	end := len(message)
	if last < len(sentences) {
		end = sentences[last-1].End
	}
	return message[sentences[first].Start:end], ""
}

func replyTo(sentence string, within bool) (reply string, asksAbility, ok bool) {
	if len(sentence) > maxSmallTalk {
		return "", false, false
	}
	words := spoken(sentence)
	asks := strings.ContainsAny(sentence, "?？")
	for _, l := range talks() {
		if kind := l.kind(words, !asks, within); kind >= 0 {
			return l.Reply(talkKinds[kind]), false, true
		}
		if l.asksAbility(words) {
			return l.Reply(lang.AsksAbility), true, true
		}
	}
	return "", false, false
}

func spoken(s string) []string {
	var out []string
	for _, w := range lang.Words(s) {
		out = append(out, w.Text)
	}
	return out
}

// kind returns the kind of the first phrase if all words are phrases or, if fillers is set, filler words; otherwise -1.
func (t talk) kind(words []string, fillers, within bool) int {
	first, begin := -1, words
	kinds := len(talkKinds)
	praise := kinds - 1
	if !within || !fillers {
		kinds = praise // "Nice" and "Fine?" are questions
	}
	for len(words) > 0 {
		n, kind := t.longest(words, kinds)
		switch {
		case n > 0 && first < 0:
			first = kind
		case n > 0:
		case fillers && t.Has(lang.Fillers, words[0]):
			n = 1
		default:
			return -1
		}
		words = words[n:]
	}
	if first == praise && (t.Has(lang.Auxiliaries, begin[0]) || slices.ContainsFunc(begin, t.connects)) {
		return -1
	}
	return first
}

// asksAbility reports whether all words are one phrase that asks what the program can do, after a greeting or none.
func (t talk) asksAbility(words []string) bool {
	for _, p := range t.phrases[slices.Index(talkKinds[:], lang.Greetings)] {
		if len(p) < len(words) && slices.Equal(p, words[:len(p)]) {
			words = words[len(p):]
			break
		}
	}
	return slices.ContainsFunc(t.ability, func(p []string) bool { return slices.Equal(p, words) })
}

// connects reports whether a word makes a follow-up of a sentence without thanks: and right now, fine for that.
func (t talk) connects(word string) bool {
	_, begins := slices.BinarySearch(t.joining, word)
	return begins || t.Has(lang.Prepositions, word)
}

// longest returns the length in words, and the kind, of the longest phrase of the first kinds at the start of the words.
func (t talk) longest(words []string, kinds int) (n, kind int) {
	for k, phrases := range t.phrases[:kinds] {
		for _, p := range phrases {
			if len(p) > n && len(p) <= len(words) && slices.Equal(p, words[:len(p)]) {
				n, kind = len(p), k
			}
		}
	}
	return n, kind
}
