package lang

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	return len(cells) > 1 && !slices.ContainsFunc(cells, func(c string) bool { return isLongName(c) || HasFigure(c) })
}

func isLongName(cell string) bool {
	return slices.ContainsFunc(strings.Split(cell, HeadSeparator), func(part string) bool { return len(strings.Fields(part)) > maxHeadWords })
}

// HasFigure reports whether a text has a digit that is not in a year.
func HasFigure(s string) bool {
	return strings.ContainsAny(yearRE.ReplaceAllString(s, ""), "0123456789")
}

// boundsRE matches the name of a column for a range of numbers: 1-99, 1000+, > 50.
var boundsRE = regexp.MustCompile(`^[0-9., ]*[0-9] ?(?:[-–—] ?[0-9][0-9., ]*|\+)$|^[<>≤≥] ?[0-9]`)

// countedRE matches a number with the ending of an ordinal: the 2nd in 2nd class.
var countedRE = regexp.MustCompile(`[0-9]+(?:\pL{1,3}\b)?`)

// shapeOf returns what the names of several columns have in common, if they only differ in their numbers or are days of the week: class for 1st class and
// 2nd class.
func shapeOf(cell string) string {
	if boundsRE.MatchString(cell) {
		return "1-99"
	}
	shape := strings.ToLower(OneLine(countedRE.ReplaceAllString(cell, "")))
	if has(daysOf(), strings.TrimRight(shape, ".")) {
		return "monday"
	}
	return shape
}

// daysOf returns the names of the days of the week in all languages, and their abbreviations.
var daysOf = sync.OnceValue(func() map[string]struct{} {
	out := union(Days)
	maps.Copy(out, union(ShortDays))
	return out
})

// IsTableHeadOver is [IsTableHead] for a first row over others. Names may have figures if several differ only in these, as Zone 1 and Zone 2 or 1-99 and 100-499
// do, and if most cells under them are numbers that are written in another way, or if none is one and all of these names have the same form, as Mon 2 and Tue 3 do.
func IsTableHeadOver(cells []string, rows [][]string) bool {
	shapes, figures, under, numbers := map[string]int{}, 0, 0, 0
	for i, c := range cells {
		if isLongName(c) {
			return false
		}
		if !HasFigure(c) {
			continue
		}
		shape := shapeOf(c)
		shapes[shape]++
		figures++
		for _, row := range rows {
			if i >= len(row) || row[i] == "" {
				continue
			}
			if HasFigure(row[i]) {
				if shapeOf(row[i]) == shape {
					return false
				}
				numbers++
			}
			under++
		}
	}
	for shape, n := range shapes {
		if n == 1 || shape == "" {
			return false
		}
	}
	return len(cells) > 1 && figures < len(cells) && (figures == 0 || numbers > 0 && 2*numbers >= under || numbers == 0 && len(shapes) == 1 && figures >= minSameForm)
}

// minSameForm is the number of names of one form from which they are names although no cell under them is a number.
const minSameForm = 3

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

// timedRE matches a line that begins with a time of day, with a word and a time, or with a date and a time, as the messages of a chat do. Its group is the word.
var timedRE = regexp.MustCompile(`^\s*(?:(?:[01]?[0-9]|2[0-3])[:h]|(\pL{1,9}\.? )(?:[01]?[0-9]|2[0-3])[.:h]|` + stamp + `)[0-5][0-9](?:[\s–:\]-]|$)`)

// stamp matches the date and the hour of a message: [09.09.24, 06:
const stamp = `\[?[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{2,4},?[ T](?:[01]?[0-9]|2[0-3]):`

var stampRE = regexp.MustCompile(`^\s*` + stamp + `[0-5][0-9](?::[0-5][0-9])?(?:\s?[APap][Mm])?\]?\s?(?:[-–]\s)?`)

// WithoutStamp returns a line without the date and the time that begin it if it is a message of a chat.
func WithoutStamp(line string) string { return line[len(stampRE.FindString(line)):] }

// amountAfterRE matches what makes an amount of the number before it.
var amountAfterRE = regexp.MustCompile(`^(?:€|£|\$|%|(?i:eur|usd|gbp|chf|euros?|pounds?|dollars?|kg|g|km|m|cm|l)\b)`)

// BeginsWithTime reports whether a line begins with a time of day, such as "ore 7.05 departure", and returns the word before it, with its space. Without a word,
// numbers with a point are no times, and amounts are none.
func BeginsWithTime(line string) (before string, ok bool) {
	if !strings.ContainsAny(line[:min(len(line), maxBeforeTime)], "0123456789") {
		return "", false
	}
	m := timedRE.FindStringSubmatch(line)
	if m == nil || amountAfterRE.MatchString(line[len(m[0]):]) {
		return "", false
	}
	return m[1], true
}

// maxBeforeTime is the number of bytes in which the first digit of a time is looked for.
const maxBeforeTime = 60
