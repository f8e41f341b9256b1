package lang

import (
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
	about := map[*Language]float64{}
	for _, p := range passages {
		for l, v := range votes(p) {
			about[l] += v
			total += v
		}
	}
	for l, v := range about {
		asked[l] += passageVotes * v / total
	}
	if l := mostVotes(asked); l != nil {
		return l
	}
	return English
}

// passageVotes are the votes of all passages together. A stop word of the question that only one language has is one vote.
const passageVotes = 0.7

// maxDetect is the number of words of a text by which its language is recognized.
const maxDetect = 300

// votes returns how many words show each language. A word that several languages have counts as a part for each.
func votes(s string) map[*Language]float64 {
	if len(s) > 10*maxDetect {
		s = Truncate(s, 10*maxDetect)
	}
	out := map[*Language]float64{}
	known := languages()
	kana := false
	for _, w := range Words(s) {
		r, _ := utf8.DecodeRuneInString(w.Text)
		switch {
		case r < utf8.RuneSelf || unicode.Is(unicode.Latin, r):
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana = true
			out[known["ja"]] += 0.5
			continue
		case unicode.Is(unicode.Han, r):
			out[known["zh"]] += 0.5
			continue
		case unicode.Is(unicode.Cyrillic, r):
			out[known["ru"]] += 0.5
		}
		for _, r := range w.Text {
			if r < utf8.RuneSelf {
				continue
			}
			if code, ok := letters[r]; ok {
				out[known[code]] += 0.5
				break
			}
		}
		in := stopLanguages()[w.Text]
		for _, l := range in {
			out[l] += 1 / float64(len(in))
		}
	}
	if kana { // Japanese has Chinese characters too
		out[known["ja"]] += out[known["zh"]]
		delete(out, known["zh"])
	}
	return out
}

// letters are Latin letters that only one of the languages has.
var letters = map[rune]string{'ı': "tr", 'ğ': "tr", 'ş': "tr", 'ß': "de", 'ñ': "es", 'ã': "pt", 'õ': "pt", 'œ': "fr"}

// stopLanguages returns the languages that have a stop word.
var stopLanguages = sync.OnceValue(func() map[string][]*Language {
	out := map[string][]*Language{}
	for _, l := range languages() {
		for w := range l.sections[StopWords] {
			out[w] = append(out[w], l)
		}
	}
	return out
})

// mostVotes returns the language with most votes, or nil if there are none or two languages have as many.
func mostVotes(votes map[*Language]float64) *Language {
	var best *Language
	most, second := 0.0, 0.0
	for l, v := range votes {
		if v > most {
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
