package lang

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Clean makes s fit to be stored, indexed and shown: valid UTF-8 in normal form C, where invalid bytes have become U+FFFD;
// lines end in \n; there are no control characters but tab and newline, no byte order marks, no invisible characters
// that could hide or reorder words (bidirectional overrides, tags, zero-width spaces), and no typographic ligatures.
// Joiners that Indic scripts, Persian and emoji need are kept. Clean(Clean(s)) is Clean(s).
func Clean(s string) string {
	if isClean(s) {
		return s
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

// isClean reports of plain ASCII whether it is clean already: most text is.
func isClean(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

func cleanRune(b *strings.Builder, r rune) {
	switch {
	case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		b.WriteByte(byte(r))
	case r == '\r', r == '\f', r == '\v', r == 0x85, r == 0x2028, r == 0x2029:
		b.WriteByte('\n')
	case r >= 0x1c && r <= 0x1f, r == 0xa0:
		b.WriteByte(' ') // separators of fields: without them words would run together
	case unicode.IsControl(r), isInvisible(r):
	case r >= 0xfb00 && r <= 0xfb06:
		b.WriteString(ligatures[r-0xfb00])
	default:
		b.WriteRune(r)
	}
}

// ligatures are what U+FB00 to U+FB06 stand for; text taken from PDF files is full of them.
var ligatures = [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}

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
