package proposition

import (
	"github.com/sluice-rag/sluice/lang"
)

// contextOf returns the stems of a text.
func contextOf(s string) map[string]struct{} {
	m := map[string]struct{}{}
	for _, t := range lang.Words(s) {
		m[stem(t.Text)] = struct{}{}
	}
	return m
}

func stem(w string) string {
	if n := len(w); n > 2 && w[n-2:] == "'s" {
		w = w[:n-2]
	}
	return lang.Stem(w)
}

// negations are words that negate a sentence.
var negations = set(`not no never none neither nor without cannot nobody nothing hardly isn't aren't wasn't weren't don't doesn't didn't
	won't wouldn't can't couldn't shouldn't mustn't hasn't haven't hadn't`)

// mustKeep is the share of a sentence's words that its statement must contain. mayAdd is the share of the statement's words that may be
// missing in the text around the sentence, such as other forms of verbs.
const (
	mustKeep = 0.7
	mayAdd   = 0.15
)

// check reports whether a statement may replace a sentence. It must not be much longer, must contain the sentence's numbers and negations
// and most of its other words, and its numbers, names and nearly all of its words must be in the text around the sentence.
func check(statement, sentence string, known map[string]struct{}) bool {
	if len(statement) > len(sentence)+MaxGrowth {
		return false
	}
	said, own := read(statement), read(sentence)
	if len(statement) > readBytes || len(sentence) > readBytes { // the rest was not read
		return false
	}
	holds := map[string]struct{}{}
	content, added, negated := 0, 0, 0
	for i, t := range said.words {
		st := stem(t.Text)
		holds[st] = struct{}{}
		if has(negations, t.Text) {
			negated++
		}
		if lang.IsStopWord(t.Text) {
			continue
		}
		content++
		if _, ok := known[st]; !ok {
			if numeric(t.Text) || said.capital(i) && i > 0 {
				return false
			}
			added++
		}
	}
	if float64(added) > mayAdd*float64(content) {
		return false
	}
	kept, total := 0, 0
	for _, t := range own.words {
		if has(negations, t.Text) {
			negated--
		}
		if lang.IsStopWord(t.Text) {
			continue
		}
		total++
		if _, ok := holds[stem(t.Text)]; ok {
			kept++
		} else if numeric(t.Text) {
			return false
		}
	}
	return negated == 0 && float64(kept) >= mustKeep*float64(total)
}

func numeric(w string) bool { return w[0] >= '0' && w[0] <= '9' }
