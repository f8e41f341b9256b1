package lang

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// maxStem is the longest word, in bytes, that is stemmed; longer words are not English.
const maxStem = 40

// Stem returns the stem of a lower-cased word of [Words] by Snowball's English algorithm. Numbers lose their
// thousands separators. A word with characters other than ASCII letters and apostrophes is returned unchanged.
func Stem(word string) string {
	if word == "" || len(word) > maxStem {
		return word
	}
	if word[0] >= '0' && word[0] <= '9' {
		return strings.ReplaceAll(word, ",", "")
	}
	for i := range len(word) {
		if c := word[i]; (c < 'a' || c > 'z') && c != '\'' {
			return word
		}
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	if s := env.Current(); s != "" {
		return s
	}
	return word
}

// IsStopWord reports whether a lower-cased word has too little meaning to be searched for: English function words, question
// words and the pieces of contractions.
func IsStopWord(word string) bool {
	_, ok := stops[word]
	return ok
}

// Terms returns the stems of the words of s in order, with repetitions and without stop words.
func Terms(s string) []string {
	words := Words(s)
	out := make([]string, 0, len(words))
	for _, w := range words {
		if !IsStopWord(w.Text) {
			out = append(out, Stem(w.Text))
		}
	}
	return out
}

// Term is a word in lower case, with its stem.
type Term struct{ Word, Stem string }

// UniqueTerms returns the terms of s with distinct stems, in order of first occurrence. Stop words are left out unless s has no
// other words.
func UniqueTerms(s string) []Term {
	words := Words(s)
	seen := make(map[string]struct{}, len(words))
	var out []Term
	add := func(w string) {
		stem := Stem(w)
		if _, ok := seen[stem]; !ok {
			seen[stem] = struct{}{}
			out = append(out, Term{w, stem})
		}
	}
	for _, w := range words {
		if !IsStopWord(w.Text) {
			add(w.Text)
		}
	}
	if len(out) == 0 {
		for _, w := range words {
			add(w.Text)
		}
	}
	return out
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

// ContentWords returns the first distinct words of s that are not stop words, at most the given number.
func ContentWords(s string, limit int) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range Words(s) {
		if !IsStopWord(w.Text) && !seen[w.Text] && len(out) < limit {
			seen[w.Text] = true
			out = append(out, w.Text)
		}
	}
	return out
}

// WordSet returns the set of the words in a list that is separated by white space.
func WordSet(list string) map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(list) {
		m[w] = struct{}{}
	}
	return m
}

var stops = WordSet(stopList)

const stopList = `
a an the this that these those
i me my mine myself we us our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
am is are was were be been being isn't aren't wasn't weren't
have has had having haven't hasn't hadn't do does did doing done don't doesn't didn't
will would shall should can could may might must ought won't wouldn't shan't shouldn't can't cannot couldn't mustn't
i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd she'd we'd they'd
i'll you'll he'll she'll we'll they'll that's there's here's let's
and or but nor so yet if then else than because as until while although though unless since whether
of at by for with about against between into through during before after above below to from up down in out on off
over under again further once upon within without among along across toward towards via per onto
not no only own same too very just also even ever still such both each few more most other some any all
either neither another every here there now
what which who whom whose when where why how what's who's where's when's why's how's whatever whichever
s t d ll m re ve etc
`
