package lang

import (
	"slices"
	"strings"
)

// Requested returns the thing that a question asks for with a phrase of a section: tell me about X. A phrase has an ellipsis where the thing is, or begins
// the question. It returns false if no phrase fits, or if what it leaves is a question of its own.
func (l *Language) Requested(phrases Section, question string) (what string, ok bool) {
	question = l.TrimWords(question, Politeness)
	for _, phrase := range l.List(phrases) {
		first, last, _ := strings.Cut(phrase, "…")
		if what, ok = cutPrefix(question, first); ok {
			what, ok = cutSuffix(what, last)
		}
		if ok {
			what = l.TrimWords(strings.Trim(what, " :"), Politeness)
			return what, !slices.ContainsFunc(Words(what), func(w Token) bool { return l.Has(QuestionWords, w.Text) })
		}
	}
	return "", false
}

// TrimWords removes the words and phrases of sections from both ends of a text, whatever their case and punctuation.
func (l *Language) TrimWords(s string, sections ...Section) string {
	for again := true; again; {
		again = false
		for _, section := range sections {
			for _, w := range l.List(section) {
				first, begins := cutPrefix(s, w)
				last, ends := cutSuffix(first, w)
				s, again = strings.TrimSpace(last), again || begins || ends
			}
		}
	}
	return s
}

// cutPrefix removes a phrase from the start of a text.
func cutPrefix(s, phrase string) (rest string, ok bool) {
	said, want := Words(s), Words(phrase)
	if len(said) < len(want) {
		return s, false
	}
	for i, w := range want {
		if said[i].Text != w.Text {
			return s, false
		}
	}
	if len(want) == 0 {
		return s, true
	}
	return s[said[len(want)-1].End:], true
}

// cutSuffix removes a phrase from the end of a text.
func cutSuffix(s, phrase string) (rest string, ok bool) {
	said, want := Words(s), Words(phrase)
	n := len(said) - len(want)
	if n < 0 {
		return s, false
	}
	for i, w := range want {
		if said[n+i].Text != w.Text {
			return s, false
		}
	}
	if len(want) == 0 {
		return s, true
	}
	return s[:said[n].Start], true
}
