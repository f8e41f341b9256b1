package local

import (
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// isHeadless reports whether the first row of a table has no names of columns: its first cell is a date or a time of day, its only other cell has a figure, or its
// cells with figures are written as those of the next row, such as times or amounts.
func (r *reader) isHeadless(rows [][]string) bool {
	first, next := rows[0], rows[1]
	if first[0] != "" && (len(r.lang.Dates(first[0])) > 0 && lang.HasFigure(first[0]) || len(lang.Clocks(first[0])) > 0) {
		return true
	}
	switch {
	case lang.HasFigure(first[0]) && (pattern(first[0]) != pattern(next[0]) || !strings.Contains(pattern(first[0]), "a")):
		return false
	case !lang.HasFigure(first[0]) && len(first) == 2 && lang.HasFigure(first[1]):
		return true
	}
	same := false
	for k := 1; k < len(first) && k < len(next); k++ {
		if !lang.HasFigure(first[k]) {
			continue
		}
		if pattern(first[k]) != pattern(next[k]) {
			return false
		}
		same = true
	}
	return same
}

// pattern returns how a cell is written: each number as 9 and each word as a.
func pattern(cell string) string {
	last := ' '
	return strings.Map(func(c rune) rune {
		switch {
		case unicode.IsDigit(c):
			c = '9'
		case unicode.IsLetter(c):
			c = 'a'
		}
		if c == last && (c == '9' || c == 'a') {
			return -1
		}
		last = c
		return c
	}, cell)
}
