package lang

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// maxStem is the longest word, in bytes, that is stemmed; longer words are not English.
const maxStem = 40

// stemOfNumber returns a number without the separators of thousands, 7th as 7, and a version such as 4.2.0 as 4.2, as people call it.
func stemOfNumber(word string) string {
	if n := len(word) - 2; n > 0 && isNumber(word[:n]) {
		switch word[n:] {
		case "st", "nd", "rd", "th":
			return word[:n]
		}
	}
	if strings.Count(word, ".") == 2 {
		word = strings.TrimSuffix(word, ".0")
	}
	return strings.ReplaceAll(word, ",", "")
}

// Stem returns the stem of a lower-cased word of [Words] by Snowball's English algorithm. Numbers lose their
// thousands separators and the endings of ordinals. A word with characters other than ASCII letters and apostrophes is returned unchanged.
func Stem(word string) string {
	if word == "" || len(word) > maxStem {
		return word
	}
	if word[0] >= '0' && word[0] <= '9' {
		return stemOfNumber(word)
	}
	for i := range len(word) {
		if c := word[i]; (c < 'a' || c > 'z') && c != '\'' {
			return word
		}
	}
	return asciiStems.Get(word, maxStem, func(word string) string {
		env := snowballstem.NewEnv(word)
		stemEnglish(env)
		return cmp.Or(env.Current(), word)
	})
}

// stemEnglish is Snowball's English algorithm, but keeps the double letter of add in adding and added, as later versions of the algorithm do.
func stemEnglish(env *snowballstem.Env) bool {
	word := env.Current()
	english.Stem(env)
	if s := env.Current(); len(s) == 2 && strings.HasPrefix(word, s+s[1:]) {
		env.SetCurrent(s + s[1:])
	}
	return true
}

// maxStems is the number of words of a language whose stems are kept.
const maxStems = 1 << 13

var asciiStems = NewRecent[string](maxStems)

// IsStopWord reports whether a lower-cased word has too little meaning to be searched for: English function words, question
// words and the pieces of contractions.
func IsStopWord(word string) bool {
	return English.IsStopWord(word)
}

// Terms returns the stems of the words of s in order, as [Stem] does, with repetitions and without English stop words.
func Terms(s string) []string { return slices.AppendSeq(make([]string, 0, len(s)/8+1), AllTerms(s)) }

// AllTerms returns the terms of s one after the other; see [Terms].
func AllTerms(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for start, end := nextWord(s, 0); start < end; start, end = nextWord(s, end) {
			if w := lower(s[start:end]); !IsStopWord(w) && !yield(Stem(w)) {
				return
			}
		}
	}
}

// Term is a word in lower case, with its stem.
type Term struct{ Word, Stem string }

// UniqueTerms returns the terms of s with distinct stems, in order of first occurrence. Stop words are left out unless s has no
// other words.
func UniqueTerms(s string) []Term {
	return English.UniqueTerms(s)
}

// TermSet returns the stems of the terms of s.
func TermSet(s string) map[string]struct{} {
	terms := Terms(s)
	m := make(map[string]struct{}, len(terms))
	for _, t := range terms {
		m[t] = struct{}{}
	}
	return m
}

// ContentWords returns the first distinct words of s that are not English stop words, at most the given number.
func ContentWords(s string, limit int) []string { return English.ContentWords(s, limit) }

// WordSet returns the set of the words in a list that is separated by white space.
func WordSet(list string) map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(list) {
		m[w] = struct{}{}
	}
	return m
}
