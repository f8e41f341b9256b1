package transport

import (
	"strings"
	"unicode/utf8"
)

// Joiner joins code points that a server splits between pieces, and replaces what is not UTF-8. It takes halves of
// surrogate pairs as [Unquote] returns them: three bytes each.
type Joiner struct{ held string }

// Push returns the text so far up to the last complete code point.
func (j *Joiner) Push(s string) string {
	if j.held == "" && utf8.ValidString(s) {
		return s
	}
	s = j.held + s
	end := complete(s)
	j.held = s[end:]
	return Repair(s[:end])
}

// Rest returns what is left at the end: a code point that was never completed.
func (j *Joiner) Rest() string {
	s := Repair(j.held)
	j.held = ""
	return s
}

// complete returns the length of a text without the beginning of a code point at its end.
func complete(s string) int {
	// The first half of a pair, of which the second may come: ED A0..AF xx, and beginnings of the second after it.
	for back := min(5, len(s)); back > 0; back-- {
		at := len(s) - back
		if s[at] == 0xED && (back < 2 || s[at+1]&0xF0 == 0xA0) && (back < 4 || s[at+3] == 0xED && (back < 5 || s[at+4]&0xF0 == 0xB0)) {
			return at
		}
	}
	for back := 1; back <= min(utf8.UTFMax-1, len(s)); back++ {
		at := len(s) - back
		if utf8.RuneStart(s[at]) {
			if !utf8.FullRuneInString(s[at:]) {
				return at
			}
			break
		}
	}
	return len(s)
}

// Repair joins pairs of surrogates and replaces each byte that is not UTF-8 by U+FFFD, a lone surrogate by one.
func Repair(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if high, ok := surrogate(s[i:]); ok {
			i += 3
			if low, ok := surrogate(s[i:]); ok && high < 0xDC00 && low >= 0xDC00 {
				b.WriteRune((high-0xD800)<<10 | (low - 0xDC00) + 0x10000)
				i += 3
			} else {
				b.WriteRune(utf8.RuneError)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// surrogate reads a half of a pair written in three bytes.
func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1]&0xE0 != 0xA0 || s[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}

// Unquote reads a valid JSON string, quotes and all. Unlike encoding/json it keeps bytes that are not UTF-8, and writes a
// half of a surrogate pair in three bytes, so that a [Joiner] can complete what a server split.
func Unquote(raw string) string {
	s := raw[1 : len(raw)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, ok := hex4(s[i+1:])
			if !ok {
				continue
			}
			i += 4
			if r >= 0xD800 && r < 0xDC00 && i+6 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
				if low, ok := hex4(s[i+3:]); ok && low >= 0xDC00 && low < 0xE000 {
					b = utf8.AppendRune(b, (r-0xD800)<<10|(low-0xDC00)+0x10000)
					i += 6
					continue
				}
			}
			if r >= 0xD800 && r < 0xE000 {
				b = append(b, 0xED, 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
				continue
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, s[i])
		}
	}
	return string(b)
}

func hex4(s string) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for i := range 4 {
		d := strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if s[i] <= '9' {
			d = int(s[i]) - '0'
		}
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}
