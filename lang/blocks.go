package lang

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// IsTableRow reports whether a line is a table row: cells separated by vertical bars with spaces around them. A bar within
// brackets, as in P(a | b), does not separate cells.
func IsTableRow(line string) bool {
	depth := 0
	for i := range len(line) {
		switch line[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '|':
			before := i == 0 || line[i-1] == ' '
			after := i+1 == len(line) || line[i+1] == ' '
			if depth == 0 && before && after && len(line) > 1 {
				return true
			}
		}
	}
	return strings.HasPrefix(line, "|")
}

// TableCells returns the cells of a table row, including empty ones, but not those outside the outer bars of a Markdown row.
func TableCells(row string) []string {
	row = strings.TrimSpace(row)
	if strings.HasPrefix(row, "|") && strings.HasSuffix(row, "|") && len(row) > 1 {
		row = row[1 : len(row)-1]
	}
	var out []string
	depth, from := 0, 0
	for i := range len(row) {
		switch row[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '|':
			if depth == 0 {
				out = append(out, strings.TrimSpace(row[from:i]))
				from = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(row[from:]))
}

// yearRE matches a year.
var yearRE = regexp.MustCompile(`\b(?:19|20)[0-9]{2}\b`)

// HeadSeparator is between the parts of the name of a column whose head has several rows.
const HeadSeparator = " – "

// maxHeadWords is the maximum number of words of the name of a column, or of a part of it.
const maxHeadWords = 6

// IsTableHead reports whether the cells of a first row look like the names of columns: short, and without figures other than years.
func IsTableHead(cells []string) bool {
	return len(cells) > 1 && !slices.ContainsFunc(cells, func(c string) bool { return isLongName(c) || hasFigure(c) })
}

func isLongName(cell string) bool {
	return slices.ContainsFunc(strings.Split(cell, HeadSeparator), func(part string) bool { return len(strings.Fields(part)) > maxHeadWords })
}

// hasFigure reports whether a cell has a figure outside a year.
func hasFigure(cell string) bool {
	return strings.ContainsAny(yearRE.ReplaceAllString(cell, ""), "0123456789")
}

// boundsRE matches the name of a column for a range of numbers: 1-99, 1000+, > 50.
var boundsRE = regexp.MustCompile(`^[0-9., ]*[0-9] ?(?:[-–—] ?[0-9][0-9., ]*|\+)$|^[<>≤≥] ?[0-9]`)

// maxNumbering is the maximum number of digits in the name of a column such as Zone 12 or 2nd class.
const maxNumbering = 3

// IsTableHeadOver is [IsTableHead] for a first row over another one. Names may have figures that are written unlike those under them: Zone 1 over 2.40, or
// several ranges such as 1-99 and 100-499 over 0.48 and 0.41.
func IsTableHeadOver(cells, next []string) bool {
	ranges, named := 0, 0
	for i, c := range cells {
		switch {
		case isLongName(c):
			return false
		case !hasFigure(c):
			named++
		case i >= len(next):
			return false
		case boundsRE.MatchString(c) && !boundsRE.MatchString(next[i]):
			ranges++
		case !strings.ContainsAny(next[i], "0123456789"):
			return false
		case lettersOf(c) == "" || lettersOf(c) == lettersOf(next[i]) || len(digitsRE.FindAllString(c, maxNumbering+1)) > maxNumbering:
			return false
		}
	}
	return len(cells) > 1 && named > 0 && ranges != 1
}

var digitsRE = regexp.MustCompile(`[0-9]`)

// lettersOf returns the letters of a cell, in lower case.
func lettersOf(cell string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, cell)
}

// maxFence is the widest fence, in characters.
const maxFence = 20

// Fence encloses code in a Markdown code fence that is wider than any fence in the code. It reports false if that would be
// wider than maxFence.
func Fence(code string) (fenced string, ok bool) {
	width := 3
	for line := range strings.Lines(code) {
		width = max(width, fence(line)+1)
	}
	if width > maxFence {
		return code, false
	}
	mark := strings.Repeat("`", width)
	return mark + "\n" + code + "\n" + mark, true
}

// Unfence returns the code inside a fence, as [Sentences] recognizes fenced code.
func Unfence(s string) (code string, ok bool) {
	width := fence(s)
	first, last := strings.IndexByte(s, '\n'), strings.LastIndexByte(s, '\n')
	if width == 0 || first < 0 || fence(s[last+1:]) < width {
		return "", false
	}
	return s[first+1 : max(first+1, last)], true
}

// fence returns the number of backquotes at the start of s, or 0 if there are fewer than three.
func fence(s string) int {
	n := 0
	for n < len(s) && s[n] == '`' {
		n++
	}
	if n < 3 {
		return 0
	}
	return n
}
