package lang

import "strings"

// Row says whether a line is a table's row: its cells are parted by bars with blanks around them. A bar within brackets, as
// in P(a | b), parts nothing.
func Row(line string) bool {
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

// Cells gives the cells of a row, of a Markdown table's too; empty ones stay, but for those that its outer bars make.
func Cells(row string) []string {
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

// maxFence is the widest fence, in characters.
const maxFence = 20

// Fence puts code between fences that are wider than any in it, as Markdown writes them; ok is false where code holds one
// that is too wide.
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

// Unfence gives the code of a piece that [Sentences] took for fenced code.
func Unfence(s string) (code string, ok bool) {
	width := fence(s)
	first, last := strings.IndexByte(s, '\n'), strings.LastIndexByte(s, '\n')
	if width == 0 || first < 0 || fence(s[last+1:]) < width {
		return "", false
	}
	return s[first+1 : max(first+1, last)], true
}

// fence gives how many backquotes s begins with, and 0 for fewer than three.
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
