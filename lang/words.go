package lang

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is a word of a text: Text is lower-cased and s[Start:End] is its position, in bytes.
type Token struct {
	Text       string
	Start, End int
}

// Words returns the words of s in order. A word is a run of letters, digits, marks and underscores. A word can contain
// full stops and commas between digits (3.5 and 1,000), apostrophes between letters (don't; ’ becomes '), full stops in acronyms (U.S),
// and hyphens in dates (2024-01-02). Each Han or Hiragana character is a word, because these scripts have no spaces.
func Words(s string) []Token { return slices.AppendSeq(make([]Token, 0, len(s)/5+1), AllWords(s)) }

// AllWords returns the words of s one after the other; see [Words].
func AllWords(s string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for start, end := nextWord(s, 0); start < end; start, end = nextWord(s, end) {
			if !yield(Token{Text: lower(s[start:end]), Start: start, End: end}) {
				return
			}
		}
	}
}

// CountWords returns the number of words of s; see [Words].
func CountWords(s string) (n int) {
	for start, end := nextWord(s, 0); start < end; start, end = nextWord(s, end) {
		n++
	}
	return n
}

// nextWord returns the position of the first word that begins at i or after it. If there is none, start equals end.
func nextWord(s string, i int) (start, end int) {
	for i < len(s) {
		c, n := classAt(s, i)
		if c != other && c != mark {
			return i, wordEnd(s, i)
		}
		i += n
	}
	return i, i
}

type class uint8

const (
	other  class = iota
	letter       // also the underscore of identifiers
	digit
	mark // can continue a word, but not begin one
	ideograph
)

// asciiClasses are the classes of the ASCII characters.
var asciiClasses = func() (of [utf8.RuneSelf]class) {
	for c := range of {
		switch r := rune(c); {
		case unicode.IsLetter(r), r == '_':
			of[c] = letter
		case unicode.IsDigit(r):
			of[c] = digit
		}
	}
	return of
}()

// classAt returns the class and the width of the character at i.
func classAt(s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiClasses[c], 1
	}
	return classOf(s[i:])
}

// classOf returns the class and the width of the first character, which is not ASCII.
func classOf(s string) (class, int) {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError:
		return other, n
	case unicode.Is(unicode.Han, r), unicode.Is(unicode.Hiragana, r):
		if unicode.IsLetter(r) {
			return ideograph, n
		}
		return other, n
	case unicode.IsLetter(r):
		return letter, n
	case unicode.IsDigit(r):
		return digit, n
	case unicode.IsMark(r), r == 0x200c, r == 0x200d:
		return mark, n
	}
	return other, n
}

// wordEnd returns the end of the word that begins at i.
func wordEnd(s string, i int) int {
	start := i
	prev, n := classAt(s, i)
	i += n
	if prev == ideograph {
		return i
	}
	for {
		for i < len(s) && s[i] < utf8.RuneSelf && asciiClasses[s[i]] != other { // most characters
			prev = asciiClasses[s[i]]
			i++
		}
		if i == len(s) || s[i] <= ' ' {
			return i
		}
		c, n := classAt(s, i)
		switch c {
		case ideograph:
			return i
		case letter, digit:
			prev = c
			i += n
			continue
		case mark:
			i += n
			continue
		}
		w := joiner(s, start, i, prev)
		if w == 0 {
			return i
		}
		i += w
	}
}

// joiner returns the width of the punctuation mark at i if the word that begins at start continues after it, and 0 otherwise.
func joiner(s string, start, i int, prev class) int {
	w := 1
	if s[i] >= utf8.RuneSelf {
		if !strings.HasPrefix(s[i:], "’") {
			return 0
		}
		w = len("’")
	}
	if i+w >= len(s) {
		return 0
	}
	next, nw := classAt(s, i+w)
	switch s[i] {
	case '.':
		if prev == digit && next == digit || prev == letter && next == letter && acronym(s, start, i, i+w+nw) {
			return w
		}
	case ',':
		if prev == digit && next == digit {
			return w
		}
	case '-':
		if prev == digit && next == digit && inDate(s, start, i) {
			return w
		}
	case '\'', "’"[0]:
		if prev == letter && next == letter {
			return w
		}
	}
	return 0
}

// acronym reports whether the full stop at i is between single letters, as in U.S. The letter before it must follow start or another full
// stop, and no letter or digit may follow the letter after it, which ends at end.
func acronym(s string, start, i, end int) bool {
	_, size := utf8.DecodeLastRuneInString(s[start:i])
	if before := i - size; before != start && s[before-1] != '.' {
		return false
	}
	if end >= len(s) {
		return true
	}
	c, _ := classAt(s, end)
	return c == other || c == ideograph
}

// inDate reports whether the hyphen at i is part of an ISO 8601 date that begins at start.
func inDate(s string, start, i int) bool {
	if at := i - start; at != 4 && at != 7 || len(s) < start+10 {
		return false
	}
	for k := range 10 {
		c := s[start+k]
		if hyphen := k == 4 || k == 7; hyphen != (c == '-') || !hyphen && (c < '0' || c > '9') {
			return false
		}
	}
	if len(s) == start+10 {
		return true
	}
	c, _ := classAt(s, start+10)
	return c != digit
}

// lower returns a word in lower case, with ' for ’.
func lower(w string) string {
	upper := false
	for i := range len(w) {
		c := w[i]
		if c >= utf8.RuneSelf {
			return strings.ReplaceAll(strings.ToLower(w), "’", "'")
		}
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if !upper {
		return w
	}
	var b strings.Builder
	b.Grow(len(w))
	for i := range len(w) {
		c := w[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b.WriteByte(c)
	}
	return b.String()
}
