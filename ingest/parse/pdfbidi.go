package parse

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// direction is what the Unicode Bidirectional Algorithm (UAX #9) needs to know of a character here.
type direction int

const (
	neutral direction = iota
	leftToRight
	rightToLeft
	number
	separator // between digits
)

func directionOf(r rune) direction {
	p, _ := bidi.LookupRune(r)
	switch p.Class() {
	case bidi.L:
		return leftToRight
	case bidi.R, bidi.AL:
		return rightToLeft
	case bidi.EN, bidi.AN:
		return number
	case bidi.ES, bidi.CS, bidi.ET:
		return separator
	default:
		return neutral
	}
}

// hasRightToLeft reports whether the text has letters of Hebrew, Arabic or another script that is written from right to left.
func hasRightToLeft(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x590 && directionOf(r) == rightToLeft })
}

// logicalOrder returns the characters of a line in the order of reading. PDF files have them in the order of their places, from left to
// right. The main direction of the line is that of most of its letters.
func logicalOrder(line string) string {
	if !hasRightToLeft(line) {
		return line
	}
	left, right := 0, 0
	for _, r := range line {
		switch directionOf(r) {
		case leftToRight:
			left++
		case rightToLeft:
			right++
		default:
		}
	}
	if right >= left {
		line = turn(bidi.ReverseString(line), leftToRight)
	} else {
		line = turn(line, rightToLeft)
	}
	return plainForms(line)
}

// turn reverses the parts of a line that have the direction d, and in a line from right to left each number.
func turn(line string, d direction) string {
	var b strings.Builder
	for len(line) > 0 {
		r, n := utf8.DecodeRuneInString(line)
		switch is := directionOf(r); {
		case is == d:
			n = extent(line, d)
		case is == number && d == leftToRight:
			n = numberExtent(line)
		default:
			b.WriteString(line[:n])
			line = line[n:]
			continue
		}
		part := bidi.ReverseString(line[:n])
		if d == rightToLeft {
			part = turn(part, leftToRight)
		}
		b.WriteString(part)
		line = line[n:]
	}
	return b.String()
}

// extent returns the length of the part that begins a line, up to its last character of the direction d, or number, before one of the other.
func extent(line string, d direction) int {
	end := 0
	for i, r := range line {
		switch is := directionOf(r); {
		case is == d, is == number && d == leftToRight:
			end = i + utf8.RuneLen(r)
		case is == leftToRight || is == rightToLeft:
			return end
		}
	}
	return end
}

// numberExtent returns the length of the number that begins a line, with the separators between its digits.
func numberExtent(line string) int {
	end := 0
	for i, r := range line {
		switch directionOf(r) {
		case number:
			end = i + utf8.RuneLen(r)
		case separator:
		default:
			return end
		}
	}
	return end
}

// plainForms replaces the forms of letters that depend on their place in a word by the letters.
func plainForms(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC {
			b.WriteString(norm.NFKC.String(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
