package lang

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// NoAnswer is the English text of an abstention, and that of generators, which say nothing else if the passages hold no answer. [Language.Abstain]
// returns the text in another language, with what was found nearest.
const NoAnswer = "The documents do not seem to hold an answer to this question."

// The sections of the texts of abstentions, for [Language.Reply]. In a text, {words} stands for the words of the question that the nearest passage has,
// {place} for where the passage is, and {question} for a question.
const (
	noAnswer     Section = "noanswer"
	noAnswerNear Section = "near"
	unanswered   Section = "unanswered"
	quoted       Section = "quoted" // quotation marks around {}
)

// Abstain returns a text that says that the documents hold no answer to a question: that they mention some words of it at a place, such as the name of a file
// and a heading. Without words, it only says that there is no answer.
func (l *Language) Abstain(words []string, place string) string {
	if near := l.Reply(noAnswerNear); len(words) > 0 && place != "" && near != "" {
		return strings.NewReplacer("{words}", l.quote(words), "{place}", place).Replace(near)
	}
	return cmp.Or(l.Reply(noAnswer), NoAnswer)
}

// Unanswered returns a text that says that the documents hold no answer to one of several questions. It ends with that question.
func (l *Language) Unanswered(question string) string {
	return strings.ReplaceAll(cmp.Or(l.Reply(unanswered), English.Reply(unanswered)), "{question}", question)
}

// quote returns the phrases in quotation marks, joined by commas.
func (l *Language) quote(phrases []string) string {
	marks := "{}"
	for m := range l.sections[quoted] {
		marks = m
	}
	out := make([]string, len(phrases))
	for i, p := range phrases {
		out[i] = strings.ReplaceAll(marks, "{}", p)
	}
	separator := ", "
	if l.ideographic() {
		separator = ""
	}
	return strings.Join(out, separator)
}

// ideographic reports whether the language has no spaces between words.
func (l *Language) ideographic() bool { return l.Code == "zh" || l.Code == "ja" }

// Limits of the phrases in an abstention.
const (
	maxPhrases = 3
	maxPhrase  = 60 // bytes
)

// Phrases returns the words of the question that stand for its terms of which in is true, as the question has them; words that follow each other are one phrase. At
// most three phrases are returned. Of languages without spaces between words, only phrases of several characters that the text has are returned.
func (m *Matcher) Phrases(question, text string, in func(term int) bool) []string {
	var out []string
	var phrase Span
	add := func() {
		p := question[phrase.Start:phrase.End]
		lone := m.ideographic() && (utf8.RuneCountInString(p) < 2 || !strings.Contains(text, p))
		if p != "" && len(p) <= maxPhrase && !lone && len(out) < maxPhrases {
			out = append(out, p)
		}
		phrase = Span{}
	}
	for _, w := range Words(question) {
		wanted := false
		for _, t := range m.Match(w.Text) {
			wanted = wanted || m.Terms[t.Term].Word == w.Text && in(t.Term)
		}
		switch {
		case !wanted:
			add()
		case phrase.End > 0 && strings.TrimSpace(question[phrase.End:w.Start]) == "":
			phrase.End = w.End
		default:
			add()
			phrase = Span{w.Start, w.End}
		}
	}
	add()
	return out
}
