package canonical

import (
	"slices"
	"strings"
)

// openings are filler phrases before a question. A slash separates alternatives, and a question mark follows an optional word. A phrase that ends
// in > must be followed by a question word, so that the subject of a question is not removed.
var openings = patterns(`
please/pls/plz/kindly|hi/hello/hey/ok/okay/so/well/um/hmm/thanks/sorry there?|excuse me|good morning/afternoon/evening/day|quick/one quick? question|i have a? quick? question about?
can/could/would/will you please/kindly? tell/inform/show/give/remind me/us please?
can/could/would/will you please/kindly? help me to? understand/find/know/learn out? >
can/could/would/will you please/kindly? explain/describe/clarify/say/specify/confirm to? me/us? >
can/could/may/might i ask/know/inquire you? >|can/could/would/will anyone/anybody/somebody/someone please? tell me/us
do/would/did you happen? to? know >|do you have any idea >|does/do anyone/anybody/somebody/someone know >|have you any idea >|any idea >|any clue >
i would/do? really? like/want/need/love/wish to know/learn/understand/ask/find/hear/see/determine you? out? >
i want/need/wish to know/learn/understand/ask/find/hear/see/determine you? out? >
i am just? curious about? >|i am wondering/interested in? knowing? >|i was wondering >|i wonder >|i was hoping you could/can/would tell me
i am trying/looking to find/understand/know/determine/figure/learn out? >|i do not know >|i would be interested to know/learn >
tell/show/give/remind/inform me/us please?|let me/us know >|let me/us ask you? >|explain/describe/say/clarify to? me/us? >|find out >|find >
what i want/need/would to? know/ask is >|my/the question is >|is it known >|is it true/correct/right that?|is it the case that|question|q|please? answer the/this following? question?|here is my question|one/another more? question|is it possible to know/say >|i ask you? >
according to the these/those? document/documents/text/texts/passage/passages/article/articles/context/source/sources/report
based/going on the these/those? document/documents/text/texts/passage/passages/article/articles/context/source/sources/information
in your opinion|by the way|for my/your information|just curious|to your knowledge|as far as you know|would/do you mind telling me/us >
`)

// closings are filler phrases after a question.
var closings = patterns(`
please/pls/plz/thanks/thx|any ideas|let me know|i need to know|just curious|asap|thank you very? much? ,?|thanks a lot|thanks/thank you? in advance|do/would you know|do you happen to know|if you know|any idea
can/could/would/will you please? tell/inform/show me/us please?|please tell me/us|tell me/us please?|i wonder|i was wondering|if you do not mind
if i may ask|if possible|by the way|does anyone know|according to the document/documents/text/texts/passage/article/context/sources
`)

// pattern is a filler phrase: the alternatives for each word.
type pattern struct {
	places   [][]string
	optional []bool
	asks     bool // a question word must follow
}

func patterns(text string) []pattern {
	var out []pattern
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == '\n' }) {
		var p pattern
		for place := range strings.FieldsSeq(line) {
			if place == ">" {
				p.asks = true
				continue
			}
			words, maybe := strings.CutSuffix(place, "?")
			p.places = append(p.places, strings.Split(words, "/"))
			p.optional = append(p.optional, maybe)
		}
		out = append(out, p)
	}
	return out
}

// match returns how many words the pattern matches from place on, or -1 if it does not match.
func (p *pattern) match(words []word, place int) int {
	if place == len(p.places) {
		return 0
	}
	if len(words) > 0 {
		for _, w := range p.places[place] {
			if words[0].text == w && !words[0].name {
				if n := p.match(words[1:], place+1); n >= 0 {
					return n + 1
				}
			}
		}
	}
	if p.optional[place] {
		return p.match(words, place+1)
	}
	return -1
}

// removeFillers removes filler phrases before and after a question, as long as something is left, and reports whether the question was embedded in
// another sentence.
func removeFillers(words []word) (rest []word, embedded bool) {
	yesNo := false
	for range 4 {
		n := 0
		for i := range openings {
			k := openings[i].match(words, 0)
			if k > n && k < len(words) && (!openings[i].asks || words[k-1].pause || startsQuestion(words[k:])) {
				n = k
			}
		}
		if n == 0 {
			break
		}
		said := words[n-1].pause // what follows is a sentence of its own
		words, embedded = words[n:], true
		if first := words[0].text; (first == "if" && !said || first == "whether") && len(words) > 1 {
			words, yesNo = words[1:], true
		}
	}
	words = removeClosings(words)
	if embedded && !yesNo && (articles[words[0].text] || cardinals[words[0].text] != "") && !slices.ContainsFunc(words, func(w word) bool { return questionWords[w.text] && !w.name }) {
		words = append([]word{{text: "what", surface: "what"}, {text: "is"}}, words...) // tell me the area of the lake
	}
	return words, embedded
}

// removeClosings removes filler phrases after the question.
func removeClosings(words []word) []word {
	for range 3 {
		cut := false
		for i := range closings {
			for from := max(3, len(words)-7); from < len(words) && !cut; from++ {
				if closings[i].match(words[from:], 0) == len(words)-from {
					words = words[:from]
					words[from-1].pause = true
					cut = true
				}
			}
		}
		if !cut {
			break
		}
	}
	return words
}

// startsQuestion reports whether a question begins here: with a question word, possibly after a preposition, or with if.
func startsQuestion(words []word) bool {
	w := words[0].text
	if prepositions[w] && len(words) > 1 {
		w = words[1].text
	}
	return questionWords[w] || w == "if" || w == "whether"
}
