package lang

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// NormalizeName returns a form in which spellings of the same name are equal: its words in lower case without accents,
// possessive 's, apostrophes, punctuation and a leading article, separated by one space. "The Żuławskis' House (film)" becomes
// "zulawskis house film". A text without words becomes "".
func NormalizeName(s string) string { return normalized.Get(s, maxNormalized, normalizeName) }

// maxNormalized is the size of the longest name, in bytes, whose normal form is kept.
const maxNormalized = 80

// normalized has the normal forms of names, because passages repeat those of their document.
var normalized = NewRecent[string](1 << 12)

func normalizeName(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	start, end := nextWord(s, 0)
	if next, after := nextWord(s, end); next < after && IsArticle(lower(s[start:end])) {
		start, end = next, after
	}
	for ; start < end; start, end = nextWord(s, end) {
		if f := FoldWord(lower(s[start:end])); f != "" {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(f)
		}
	}
	return b.String()
}

// FoldWord returns the form that a lower-cased word of [Words] has in the result of [NormalizeName].
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
		case r >= 0x300 && r <= 0x36f: // combining marks of Latin, Greek and Cyrillic; in other scripts, they distinguish words
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

// IsArticle reports whether a lower-cased word is an English article.
func IsArticle(word string) bool {
	_, ok := articles[word]
	return ok
}

// plainLetters are letters without a canonical decomposition in Unicode.
var plainLetters = map[rune]string{'ł': "l", 'ø': "o", 'đ': "d", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th", 'ð': "d", 'ı': "i", 'ħ': "h"}
