package lang

import (
	"slices"
	"strings"
)

// request is a phrase with which people ask for something: tell me about …, how does … work.
type request struct{ first, last []Token } // the words before and after the thing

// requests returns the phrases of a section, the longest first. A phrase has an ellipsis where the thing is, or begins the question.
func (l *Language) requests(section Section) []request {
	if known, ok := l.phrases.Load(section); ok {
		return known.([]request)
	}
	var out []request
	for _, phrase := range l.List(section) {
		first, last, _ := strings.Cut(phrase, "…")
		out = append(out, request{Words(first), Words(last)})
	}
	l.phrases.Store(section, out)
	return out
}

// Requested returns the thing that a question asks for with a phrase of a section: tell me about X. It returns false if no phrase fits, or if what it leaves
// is a question of its own.
func (l *Language) Requested(section Section, question string) (what string, ok bool) {
	words := Words(question)
	for _, words := range [][]Token{words, l.trim(words, Politeness)} {
		for _, r := range l.requests(section) {
			if !begins(words, r.first) || !ends(words[len(r.first):], r.last) {
				continue
			}
			words = l.trim(words[len(r.first):len(words)-len(r.last)], Politeness)
			asks := slices.ContainsFunc(words, func(w Token) bool { return l.Has(QuestionWords, w.Text) })
			return textOf(question, words), !asks
		}
	}
	return "", false
}

// TrimWords removes the words and phrases of sections from both ends of a text, whatever their case and punctuation.
func (l *Language) TrimWords(s string, sections ...Section) string {
	return textOf(s, l.trim(Words(s), sections...))
}

func (l *Language) trim(words []Token, sections ...Section) []Token {
	for before := -1; before != len(words); {
		before = len(words)
		for _, section := range sections {
			for _, r := range l.requests(section) {
				if begins(words, r.first) {
					words = words[len(r.first):]
				}
				if ends(words, r.first) {
					words = words[:len(words)-len(r.first)]
				}
			}
		}
	}
	return words
}

// textOf returns the part of a text from the first to the last of its words.
func textOf(s string, words []Token) string {
	if len(words) == 0 {
		return ""
	}
	return s[words[0].Start:words[len(words)-1].End]
}

func sameWord(a, b Token) bool { return a.Text == b.Text }

func begins(words, with []Token) bool {
	return len(words) >= len(with) && slices.EqualFunc(words[:len(with)], with, sameWord)
}

func ends(words, with []Token) bool {
	return len(words) >= len(with) && slices.EqualFunc(words[len(words)-len(with):], with, sameWord)
}
