package lang

import (
	"cmp"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Detect returns the language of a text, or nil if none of its words is particular to a language. Languages with a script of their own are recognized
// by their characters, and the others by their stop words.
func Detect(s string) *Language { return mostVotes(votes(s)) }

// OfQuestion returns the language of a question about some passages. A question of a few words may have no stop word; then it is the language of the
// passages, and English if that is unknown too.
func OfQuestion(question string, passages ...string) *Language {
	asked := votes(question)
	total := 0.0
	about := make(ballot, len(asked))
	for _, p := range passages {
		for i, v := range votes(p) {
			about[i] += v
			total += v
		}
	}
	for i, v := range about {
		if v > 0 {
			asked[i] += passageVotes * v / total
		}
	}
	return cmp.Or(mostVotes(asked), English)
}

// passageVotes are the votes of all passages together. A stop word of the question that only one language has is one vote.
const passageVotes = 0.7

// maxDetect is the number of words of a text by which its language is recognized.
const maxDetect = 300

// ballot has the votes for each language, by [Language.number].
type ballot []float64

// votes returns how many words show each language. A word that several languages have counts as a part for each.
func votes(s string) ballot {
	if len(s) > 10*maxDetect {
		s = Truncate(s, 10*maxDetect)
	}
	known := languages()
	stop, shapes := stopLanguages()
	out := make(ballot, len(known))
	vote := func(code string, v float64) { out[known[code].number] += v }
	kana := false
	for start, end := nextWord(s, 0); start < end; start, end = nextWord(s, end) {
		w := lower(s[start:end])
		r, _ := utf8.DecodeRuneInString(w)
		switch {
		case r < utf8.RuneSelf || unicode.Is(unicode.Latin, r):
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana = true
			vote("ja", 0.5)
			continue
		case unicode.Is(unicode.Han, r):
			vote("zh", 0.5)
			continue
		case unicode.Is(unicode.Cyrillic, r):
			vote("ru", 0.5)
		}
		if code := particular(w); code != "" {
			vote(code, 0.5)
		}
		if !shapes.may(w) {
			continue
		}
		in := stop[w]
		for _, l := range in {
			out[l.number] += 1 / float64(len(in))
		}
	}
	if kana { // Japanese has Chinese characters too
		vote("ja", out[known["zh"].number])
		out[known["zh"].number] = 0
	}
	return out
}

// particular returns the language of the first letter of a word that only one language has, or "".
func particular(word string) string {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			for _, r := range word[i:] {
				if code, ok := letters[r]; ok {
					return code
				}
			}
			break
		}
	}
	return ""
}

// letters are Latin letters that only one of the languages has.
var letters = map[rune]string{'ı': "tr", 'ğ': "tr", 'ş': "tr", 'ß': "de", 'ñ': "es", 'ã': "pt", 'õ': "pt", 'œ': "fr"}

// stopLanguages returns the languages that have a stop word.
var stopLanguages = sync.OnceValues(func() (map[string][]*Language, *shapes) {
	out, all := map[string][]*Language{}, &shapes{}
	for _, l := range languages() {
		for w := range l.sections[StopWords] {
			out[w] = append(out[w], l)
			all.add(w)
		}
	}
	return out, all
})

// mostVotes returns the language with most votes, or nil if there are none or two languages have as many.
func mostVotes(votes ballot) (best *Language) {
	most, second := 0.0, 0.0
	for _, l := range languages() {
		if v := votes[l.number]; v > most {
			best, most, second = l, v, most
		} else {
			second = max(second, v)
		}
	}
	if most-second < 1e-9 {
		return nil
	}
	return best
}
