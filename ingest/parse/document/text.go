package document

import (
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// Tidy cleans a text and removes white space at the ends of lines.
func Tidy(s string) string {
	s = lang.Clean(s)
	if !strings.Contains(s, " \n") && !strings.Contains(s, "\t\n") {
		return strings.TrimRight(s, " \t\n")
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if s[i] == '\n' {
			for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
				b = b[:len(b)-1]
			}
		}
		b = append(b, s[i])
	}
	return strings.TrimRight(string(b), " \t\n")
}

// OneLine is like Tidy, and replaces each run of white space with one space.
func OneLine(s string) string { return lang.OneLine(lang.Clean(s)) }

// Clip shortens s to at most n bytes, if possible at the end of a word.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, ' '); i > n*3/4 {
		s = s[:i]
	}
	return s
}

// Row joins cells with bars. It returns "" if all cells are empty.
func Row(cells []string) string {
	any := false
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = OneLine(c)
		any = any || out[i] != ""
	}
	if !any {
		return ""
	}
	row := strings.TrimSpace(strings.Join(out, " | "))
	if len(out) > 2 && row[0] == '|' && row[len(row)-1] == '|' {
		return "| " + row + " |" // these bars would be read as those around the row
	}
	return row
}
