package lang

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Clean returns s in a form that can be stored, indexed and shown: valid UTF-8 in normal form C, with U+FFFD for invalid bytes and
// \n at the end of lines. It removes control characters except tab and newline, byte order marks, and invisible characters that could
// hide or reorder words (bidirectional overrides, tags, zero-width spaces). It replaces typographic ligatures by their letters, and the bullets of
// fonts with symbols by bullets. It keeps joiners, which Indic scripts, Persian and emoji need. Clean(Clean(s)) equals Clean(s).
func Clean(s string) string {
	if ascii, ok := isClean(s); ok && ascii {
		return s
	} else if ok {
		return norm.NFC.String(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == '\r' && strings.HasPrefix(s[i+1:], "\n") {
			i++
			continue
		}
		i += n
		cleanRune(&b, r)
	}
	return norm.NFC.String(b.String())
}

// OneLine returns the words of s that white space separates, with one space between them.
func OneLine(s string) string {
	i, space := 0, true // space: no space may follow
	for i < len(s) && s[i] < utf8.RuneSelf && (s[i] > ' ' || s[i] == ' ' && !space) {
		space = s[i] == ' '
		i++
	}
	if i == len(s) {
		return strings.TrimSuffix(s, " ")
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(strings.TrimSuffix(s[:i], " "))
	space = space && i > 0
	for i < len(s) {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if unicode.IsSpace(r) {
			space = b.Len() > 0
		} else {
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// isClean reports whether s is ASCII, and whether it is clean except that it may not be in normal form C, as most texts are.
func isClean(s string) (ascii, ok bool) {
	ascii = true
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c == 0x7f || c < ' ' && c != '\n' && c != '\t' {
				return false, false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0xfb00 && r <= 0xfb06 || r >= 0xf020 && r <= 0xf0ff || unicode.IsControl(r) || isInvisible(r) {
			return false, false
		}
		ascii = false
		i += n
	}
	return ascii, true
}

func cleanRune(b *strings.Builder, r rune) {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		b.WriteByte(byte(r))
	case r == '\r', r == '\f', r == '\v', r == 0x85, r == 0x2028, r == 0x2029:
		b.WriteByte('\n')
	case r >= 0x1c && r <= 0x1f, r == 0xa0:
		b.WriteByte(' ') // separators of fields and words
	case unicode.IsControl(r), isInvisible(r):
	case r >= 0xfb00 && r <= 0xfb06:
		b.WriteString(ligatures[r-0xfb00])
	case r >= 0xf020 && r <= 0xf0ff:
		b.WriteRune(Bullet(r))
	default:
		b.WriteRune(r)
	}
}

// ligatures holds the letters of U+FB00 to U+FB06, which are frequent in the text of PDF files.
var ligatures = [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}

// Bullet returns a bullet for the characters of the private use area by which the fonts Symbol and Wingdings have the bullets of word processors, such as
// U+F0B7. It returns other characters as they are.
func Bullet(r rune) rune {
	switch r {
	case 0xf0b7, 0xf0a7, 0xf0d8, 0xf076, 0xf06c, 0xf06e, 0xf09f, 0xf075, 0xf0fc:
		return '•'
	}
	return r
}

func isInvisible(r rune) bool {
	switch {
	case r == 0xad, r == 0x61c, r == 0x180e, r == 0x200b, r == 0xfeff,
		r == 0x200e, r == 0x200f, // direction marks
		r >= 0x202a && r <= 0x202e,   // embeddings and overrides
		r >= 0x2060 && r <= 0x206f,   // word joiner, isolates, deprecated formats
		r >= 0xfff9 && r <= 0xfffb,   // interlinear annotations
		r >= 0xe0000 && r <= 0xe007f: // tags
		return true
	}
	return false
}
