package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is the maximum number of consecutive combining marks and joiners. More would cover neighbouring lines.
const maxMarks = 8

// Clean removes control sequences, bidirectional controls and invisible characters from a text, so that it is safe to write to a terminal.
// It keeps line ends and tabs, and replaces other line separators by line ends. All texts of models, documents and servers are cleaned.
func Clean(s string) string { return clean(s, '\n') }

// Line returns the cleaned text on one line: runs of white space become one space.
func Line(s string) string { return strings.Join(strings.Fields(clean(s, ' ')), " ") }

// Shorten returns the cleaned text on one line of at most n characters.
func Shorten(s string, n int) string {
	r := []rune(Line(s))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

func clean(s string, end rune) string {
	if plain(s, end) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks := 0
	for i, r := range s {
		if r == '\r' {
			if strings.HasPrefix(s[i:], "\r\n") {
				continue
			}
			r = end
		}
		switch {
		case r == '\n' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			r = end
		case r == '\t':
		case hidden(r):
			continue
		}
		if joins(r) {
			if marks++; marks > maxMarks {
				continue
			}
		} else {
			marks = 0
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plain is a fast check for texts that need no cleaning.
func plain(s string, end rune) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' && (c != '\n' || end != '\n') && c != '\t' || c >= 0x7F {
			return false
		}
	}
	return true
}

// hidden reports whether a character is removed: controls, bidirectional controls, zero-width characters that join nothing, private use
// characters, and tag characters, which can hide text.
func hidden(r rune) bool {
	switch {
	case r == utf8.RuneError:
		return false
	case r < ' ' || r >= 0x7F && r < 0xA0:
		return true
	case r == '\u200c' || r == '\u200d':
		return false // they join letters and emoji
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Cs, r):
		return true
	case r >= 0xFFF0 && r <= 0xFFF8, r >= 0xE0000 && r <= 0xE0FFF, r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0:
		return true
	}
	return false
}

// joins reports whether a character combines with the one before it.
func joins(r rune) bool {
	return r >= 0x300 && (unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200c' || r == '\u200d')
}
