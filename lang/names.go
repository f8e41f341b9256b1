package lang

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Name gives what names have in common that mean the same: their words in small letters without accents, possessive 's,
// other apostrophes or punctuation, one space between them, and without an article before them. The name of "The Żuławskis'
// House (film)" is "zulawskis house film"; that of a text without words is "".
func Name(s string) string {
	words := Words(s)
	if len(words) > 1 && Article(words[0].Text) {
		words = words[1:]
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, w := range words {
		if f := FoldWord(w.Text); f != "" {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(f)
		}
	}
	return b.String()
}

// FoldWord gives a word, lower-cased as [Words] gives it, as it stands in a [Name].
func FoldWord(word string) string {
	ascii, apostrophe := true, false
	for i := range len(word) {
		ascii = ascii && word[i] < utf8.RuneSelf
		apostrophe = apostrophe || word[i] == '\''
	}
	if apostrophe {
		word = strings.ReplaceAll(strings.TrimSuffix(word, "'s"), "'", "")
	}
	if ascii {
		return word
	}
	var b strings.Builder
	b.Grow(len(word))
	for _, r := range norm.NFD.String(word) {
		switch {
		case r >= 0x300 && r <= 0x36f: // combining marks of Latin, Greek and Cyrillic; those of other scripts tell words apart
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		default:
			if plain, ok := plainLetters[r]; ok {
				b.WriteString(plain)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return norm.NFC.String(b.String())
}

// Article says whether a lower-cased word is an English article.
func Article(word string) bool {
	_, ok := articles[word]
	return ok
}

// plainLetters are letters that Unicode does not take apart.
var plainLetters = map[rune]string{'ł': "l", 'ø': "o", 'đ': "d", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th", 'ð': "d", 'ı': "i", 'ħ': "h"}
