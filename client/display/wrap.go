package display

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"
)

// wrapped wraps a text to a width, between words if possible.
func wrapped(s string, width int) (lines []string) {
	for line := range strings.SplitSeq(xansi.Wrap(s, width, ""), "\n") {
		if xansi.StringWidth(line) > width { // Wrap does not break some rows of hyphens
			line = xansi.Hardwrap(line, width, true)
		}
		lines = append(lines, strings.Split(line, "\n")...)
	}
	return lines
}

// bars matches the markers of quotes at the start of a line. mark matches the spaces and the list marker after them.
var (
	bars = regexp.MustCompile("^(?: *" + columns + ")* *")
	mark = regexp.MustCompile(`^(?:• |\[[ ✓]\] |[0-9]{1,9}\. )`)
)

// hung wraps a line that is too wide with a hanging indent and the markers of its quotes. The renderer would not indent it.
func hung(line string, width int) []string {
	if xansi.StringWidth(line) <= width {
		return []string{line}
	}
	text := xansi.Strip(line)
	before := bars.FindString(text)
	sign := mark.FindString(text[len(before):])
	n := xansi.StringWidth(before + sign)
	if n > width/2 {
		return wrapped(line, width)
	}
	head, body := xansi.Truncate(line, n, ""), xansi.TruncateLeft(line, n, "")
	lines := strings.Split(lipgloss.Wrap(body, width-n, ""), "\n")
	indent := faint.Render(before) + strings.Repeat(" ", xansi.StringWidth(sign))
	for i := range lines {
		lines[i] = xansi.Truncate(trimmed(head+lines[i]), width, "…")
		head = indent
	}
	return lines
}

// laid replaces tabs, whose width depends on the terminal, by spaces, and wraps lines of code to the width.
func laid(text string, width int) string {
	if !strings.Contains(text, "\t") && !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return text
	}
	var lines []string
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = untabbed(line)
		var edge bool
		if edge, fence = fenced(strings.TrimLeft(line, " "), fence); fence != "" && !edge {
			line = strings.Join(wrapped(line, max(width-codeMargin, 1)), "\n")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// untabbed replaces tabs by spaces. Tab stops are four columns apart, as in Markdown.
func untabbed(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	at := 0
	for i, piece := range strings.Split(line, "\t") {
		if i > 0 {
			n := 4 - at%4
			b.WriteString(strings.Repeat(" ", n))
			at += n
		}
		b.WriteString(piece)
		at += xansi.StringWidth(piece)
	}
	return b.String()
}
