package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks and joiners in a row are shown: more pile up over the lines around them.
const maxMarks = 8

// Clean gives a text as a terminal may be sent it: what would move the cursor, change colours, titles or the direction of writing, or cannot be
// seen, is left out. Line ends and tabs stay; other line ends become ones. Texts of models, documents and servers all go through it.
func Clean(s string) string { return clean(s, '\n') }

// Line is Clean on one line: white space is one blank.
func Line(s string) string { return strings.Join(strings.Fields(clean(s, ' ')), " ") }

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

// plain tells of most texts that nothing is to be done.
func plain(s string, end rune) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' && (c != '\n' || end != '\n') && c != '\t' || c >= 0x7F {
			return false
		}
	}
	return true
}

// hidden tells the characters that are left out: controls, what steers the direction of writing, what has no width and joins nothing, private
// ones, and those by which text is hidden in text.
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

// joins tells the characters that stand on the one before.
func joins(r rune) bool {
	return r >= 0x300 && (unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200c' || r == '\u200d')
}
