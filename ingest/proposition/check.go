package proposition

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

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

// negates reports whether a word negates a sentence of a language.
func negates(l *lang.Language, w string) bool {
	return l.Has(lang.Negations, w) || strings.HasSuffix(w, "n't")
}

// mustKeep is the share of a sentence's words that its statement must contain. mayAdd is the share of the statement's words that may be
// missing in the text around the sentence, such as other forms of verbs.
const (
	mustKeep   = 0.7
	mayAdd     = 0.15
	maxChecked = 600 // bytes of a statement or a sentence that can be checked
)

// check reports whether a statement may replace a sentence. It must not be much longer, must contain the sentence's numbers and negations
// and most of its other words, and its numbers, names and nearly all of its words must be in the text around the sentence.
func check(statement, sentence string, known map[string]struct{}) bool {
	if len(statement) > len(sentence)+MaxGrowth {
		return false
	}
	if len(statement) > maxChecked || len(sentence) > maxChecked {
		return false
	}
	l := cmp.Or(lang.Detect(sentence), lang.English)
	holds := map[string]struct{}{}
	content, added, negated := 0, 0, 0
	for i, t := range lang.Words(statement) {
		st := stem(t.Text)
		holds[st] = struct{}{}
		if negates(l, t.Text) {
			negated++
		}
		if l.IsStopWord(t.Text) {
			continue
		}
		content++
		if _, ok := known[st]; !ok {
			if numeric(t.Text) || i > 0 && capital(statement[t.Start:]) {
				return false
			}
			added++
		}
	}
	if float64(added) > mayAdd*float64(content) {
		return false
	}
	kept, total := 0, 0
	for _, t := range lang.Words(sentence) {
		if negates(l, t.Text) {
			negated--
		}
		if l.IsStopWord(t.Text) {
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

func capital(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

func numeric(w string) bool { return w[0] >= '0' && w[0] <= '9' }
