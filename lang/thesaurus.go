package lang

import (
	"embed"
	"slices"
	"strings"
)

// Alternative is a word or a phrase of documents that can stand for words of a question.
type Alternative struct {
	For   []string // the words of the question without stop words, lower-cased
	Words []string // of the alternative, lower-cased; several if it is a phrase
	Same  bool     // it means the same; if not, it is typical of answers to questions with these words
}

// maxAlternatives is the maximum number of alternatives for a question.
const maxAlternatives = 400

//go:embed thesaurus/*.txt
var thesaurusFiles embed.FS

// entry is a word or a phrase of a group of the thesaurus.
type entry struct {
	words []string
	stems []string // of words
}

// group is a line of the thesaurus: words that mean the same, or words of questions with words of their answers.
type group struct {
	asked   []entry
	answers []entry // nil: asked are the alternatives of each other
}

// thesaurus has the groups of a language.
type thesaurus struct {
	groups []group
	first  map[string][]int // groups by the stem of the first word of an entry with which people ask
}

// readThesaurus reads a file: lines of words that mean the same, after =, and lines of words of questions and words of their answers, after ~ and
// separated by |. Words and phrases are separated by commas. Lines that begin with # are comments.
func (l *Language) readThesaurus(text string) *thesaurus {
	t := &thesaurus{first: map[string][]int{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		asked, same := strings.CutPrefix(line, "=")
		answers := ""
		if !same {
			left, right, ok := strings.Cut(strings.TrimPrefix(line, "~"), "|")
			if !ok {
				continue
			}
			asked, answers = left, right
		}
		g := group{asked: l.entries(asked)}
		if !same {
			g.answers = l.entries(answers)
		}
		for _, e := range g.asked {
			if at := t.first[e.stems[0]]; !slices.Contains(at, len(t.groups)) {
				t.first[e.stems[0]] = append(at, len(t.groups))
			}
		}
		t.groups = append(t.groups, g)
	}
	return t
}

// entries reads words and phrases that are separated by commas.
func (l *Language) entries(list string) (out []entry) {
	for phrase := range strings.SplitSeq(list, ",") {
		var e entry
		for _, w := range Words(phrase) {
			e.words, e.stems = append(e.words, w.Text), append(e.stems, l.Stem(w.Text))
		}
		if len(e.words) > 0 {
			out = append(out, e)
		}
	}
	return out
}

// Alternatives returns the words and phrases that the thesaurus of the language has for the words of a question, in the order of the question.
func (l *Language) Alternatives(question string) (out []Alternative) {
	l.readOnce.Do(func() {
		text, _ := thesaurusFiles.ReadFile("thesaurus/" + l.Code + ".txt")
		l.thesaurus = l.readThesaurus(string(text))
	})
	words := Words(question)
	stems := make([]string, len(words))
	for i, w := range words {
		stems[i] = l.Stem(w.Text)
	}
	for i := range words {
		for _, n := range l.thesaurus.first[stems[i]] {
			g := l.thesaurus.groups[n]
			for _, e := range g.asked {
				if len(e.stems) > len(stems)-i || !slices.Equal(e.stems, stems[i:i+len(e.stems)]) {
					continue
				}
				meant := l.contentWords(words[i : i+len(e.stems)])
				if len(meant) == 0 {
					continue
				}
				for _, o := range append(slices.Clone(g.answers), g.asked...) {
					if len(out) == maxAlternatives {
						return out
					}
					if g.answers != nil && slices.ContainsFunc(g.asked, func(a entry) bool { return slices.Equal(a.words, o.words) }) || slices.Equal(o.stems, e.stems) {
						continue
					}
					out = append(out, Alternative{For: meant, Words: o.words, Same: g.answers == nil})
				}
			}
		}
	}
	return out
}

// SameMeaning returns the single words that mean the same as a word of a question, by that word.
func (l *Language) SameMeaning(question string) map[string][]string {
	out := map[string][]string{}
	for _, a := range l.Alternatives(question) {
		if a.Same && len(a.For) == 1 && len(a.Words) == 1 && !slices.Contains(out[a.For[0]], a.Words[0]) {
			out[a.For[0]] = append(out[a.For[0]], a.Words[0])
		}
	}
	return out
}

// contentWords returns the words that are not stop words.
func (l *Language) contentWords(words []Token) (out []string) {
	for _, w := range words {
		if !l.IsStopWord(w.Text) {
			out = append(out, w.Text)
		}
	}
	return out
}
