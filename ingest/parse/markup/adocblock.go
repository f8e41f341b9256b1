package markup

import (
	"regexp"
	"strconv"
	"strings"
)

// block parses the block at line i that is not a list, and returns the line after it.
func (a *adoc) block(lines []string, i int) int {
	l := lines[i]
	if len(l) > maxMarked || a.nest > maxNest {
		a.paragraph(l)
		return i + 1
	}
	if level := a.section(lines, i); level > 0 {
		return i + level
	}
	if end := delimiterOf(l); end != "" {
		return a.delimited(lines, i, end)
	}
	if m := blockMacroRE.FindStringSubmatch(l); m != nil {
		a.blockTitle()
		if m[1] == "image" {
			alt := firstAttribute(m[3])
			a.Text(a.attributes(alt))
		}
		return i + 1
	}
	a.blockTitle()
	kind := a.style.kind()
	end := i
	for end < len(lines) && lines[end] != "" && (end == i || lines[end] != "+" && delimiterOf(lines[end]) == "" && !blockAttrRE.MatchString(lines[end])) {
		end++
	}
	switch {
	case l[0] == ' ' || kind == "listing" || kind == "literal" || kind == "source":
		a.Code(dedent(lines[i:end]))
	case kind == "verse":
		text, links := a.inline(joinTrimmed(lines[i:end]))
		a.Text(text, links...)
	case kind == "pass" || kind == "comment" || kind == "stem" || kind == "latexmath" || kind == "asciimath":
	default:
		a.admonition()
		kept := lines[i:end:end]
		for k := range kept { // conditions and comments within a paragraph
			if conditionRE.MatchString(kept[k]) || strings.HasPrefix(kept[k], "//") {
				kept = append([]string{}, kept...)
				kept[k] = ""
			}
		}
		a.paragraph(joinTrimmed(kept))
	}
	return end
}

// admonition sets the label of a block that follows a line such as [NOTE].
func (a *adoc) admonition() {
	switch kind := a.style.kind(); kind {
	case "note", "tip", "important", "warning", "caution":
		a.Lead(strings.ToUpper(kind[:1]) + kind[1:])
	}
}

// section adds the heading at line i, and returns the number of its lines, or 0.
func (a *adoc) section(lines []string, i int) int {
	l := lines[i]
	level, title, n := 0, "", 0
	if m := sectionRE.FindStringSubmatch(l); m != nil {
		level, title, n = len(m[1]), m[2], 1
	} else if i+1 < len(lines) {
		level, title, n = underlined(l, lines[i+1]), l, 2
	}
	if level == 0 {
		return 0
	}
	text, links := a.inline(title)
	if a.nest > 1 || a.style.kind() == "discrete" || a.style.kind() == "float" {
		a.Text(text, links...)
		return n
	}
	if a.title == "" && level == 1 {
		a.title = text
	}
	a.Heading(level, text, links...)
	return n
}

// delimited parses the block between two equal lines.
func (a *adoc) delimited(lines []string, i int, end string) int {
	last := i + 1
	for last < len(lines) && lines[last] != end {
		last++
	}
	inner, kind := lines[i+1:last], a.style.kind()
	next := min(last+1, len(lines))
	if end == "////" || strings.HasPrefix(end, "////") || kind == "comment" {
		return next
	}
	a.blockTitle()
	switch {
	case strings.ContainsAny(end[:1], "|,:!") && strings.HasSuffix(end, "=="):
		a.table(inner, end[:1])
	case strings.HasPrefix(end, "++++"), kind == "pass", kind == "stem":
	case strings.HasPrefix(end, "----"), strings.HasPrefix(end, "...."), end == "```", end == "--" && (kind == "source" || kind == "listing" || kind == "literal"):
		a.Code(callouts(dedent(inner)))
	case kind == "verse":
		text, links := a.inline(joinTrimmed(inner))
		a.Text(text, links...)
	default: // an example, sidebar, quote or open block
		a.admonition()
		a.style = style{}
		a.body(inner)
	}
	return next
}

var calloutRE = regexp.MustCompile(`\s*(?://|#|--|;;)?\s*(?:<(?:\d{1,2}|\.)>\s*)+$|\s*<!--(?:\d{1,2}|\.)-->$`)

// callouts removes the numbers at the ends of lines of code.
func callouts(code string) string {
	if !strings.Contains(code, ">") {
		return code
	}
	lines := strings.Split(code, "\n")
	for i, l := range lines {
		if strings.HasSuffix(l, ">") && len(l) < 1000 {
			lines[i] = calloutRE.ReplaceAllString(l, "")
		}
	}
	return strings.Join(lines, "\n")
}

// dedent joins lines without the indentation that all of them have, and without lines of conditions.
func dedent(lines []string) string {
	least := 1 << 20
	for _, l := range lines {
		if l != "" {
			least = min(least, indentOf(l))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		if strings.HasPrefix(l, "include::") {
			continue
		}
		b.WriteString(l[min(least, len(l)):])
		b.WriteByte('\n')
	}
	return b.String()
}

// cellRE matches the specifier of a cell before its bar: 2+^.>s|
var cellRE = regexp.MustCompile(`(?:(\d{1,3})(?:\.(\d{1,3}))?([+*])|\.(\d{1,3})[+*])?(?:[<^>]?(?:\.[<^>])?)([adehlmsv])?$`)

// table adds the rows of a table with cells that begin with a bar, or of comma-separated values.
func (a *adoc) table(lines []string, separator string) {
	attributes := a.style.attributes
	format := attributeOf(attributes, "format")
	if separator == "," || separator == ":" || format == "csv" || format == "dsv" || format == "tsv" {
		comma := ','
		if separator == ":" || format == "dsv" {
			comma = ':'
		} else if format == "tsv" {
			comma = '\t'
		}
		addValues(a, a.Builder, strings.Join(lines, "\n"), comma)
		return
	}
	if s := attributeOf(attributes, "separator"); s != "" {
		separator = s
	}
	width := columnsOf(attributeOf(attributes, "cols"))
	var cells []string
	firstLine := 0 // cells of the first line with cells
	for k, l := range lines {
		if len(cells)+strings.Count(l, separator) > maxCells {
			return
		}
		if l == "" || strings.HasPrefix(l, "//") || conditionRE.MatchString(l) {
			continue
		}
		parts := strings.Split(strings.ReplaceAll(l, `\`+separator, "\x00"), separator)
		for j, part := range parts {
			if j == 0 { // the rest of the cell before
				text, _, _ := cellSpecifier(part, len(parts) > 1)
				if n := len(cells) - 1; n >= 0 {
					cells[n] = joinWith(cells[n], strings.TrimSpace(text))
				}
				continue
			}
			text, _, _ := cellSpecifier(part, j+1 < len(parts))
			_, repeat, empty := cellSpecifier(parts[j-1], true)
			if len(cells)+repeat+empty > maxCells {
				return
			}
			for range repeat {
				cells = append(cells, strings.TrimSpace(strings.ReplaceAll(text, "\x00", separator)))
			}
			for range empty {
				cells = append(cells, "")
			}
		}
		if firstLine == 0 {
			firstLine = len(cells)
			if width == 0 && k+1 < len(lines) && firstLine == 1 && !strings.Contains(attributes, "cols") {
				width = 1
			}
		}
	}
	if width == 0 {
		width = max(firstLine, 1)
	}
	var rows [][]string
	for ; len(cells) > 0; cells = cells[min(width, len(cells)):] {
		row := make([]string, 0, width)
		for _, c := range cells[:min(width, len(cells))] {
			text, _ := a.inline(c)
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	a.Rows(rows)
}

// cellSpecifier splits the text before a bar into the text of the cell before it and the specifier of the cell after it. The specifier says how often
// that cell is repeated, and how many empty cells follow because it spans columns.
func cellSpecifier(s string, before bool) (text string, repeat, empty int) {
	if !before || s == "" || !strings.ContainsAny(s[len(s)-1:], "+*<>^adehlmsv") {
		return s, 1, 0
	}
	m := cellRE.FindStringSubmatchIndex(s[max(len(s)-12, 0):])
	if m == nil || m[0] == m[1] {
		return s, 1, 0
	}
	at := max(len(s)-12, 0) + m[0]
	if at > 0 && s[at-1] != ' ' {
		return s, 1, 0
	}
	spec := s[at:]
	if n, _, ok := strings.Cut(spec, "+"); ok {
		n, _, _ = strings.Cut(n, ".")
		span, _ := strconv.Atoi(n)
		return s[:at], 1, max(min(span, maxColumns)-1, 0)
	} else if n, _, ok := strings.Cut(spec, "*"); ok {
		times, _ := strconv.Atoi(n)
		return s[:at], max(min(times, maxColumns), 1), 0
	}
	return s[:at], 1, 0
}

// attributeOf returns the value of a named attribute in a list such as: cols="1,2",options="header".
func attributeOf(list, name string) string {
	i := strings.Index(list, name+"=")
	if i < 0 {
		return ""
	}
	s := list[i+len(name)+1:]
	if strings.HasPrefix(s, `"`) {
		s, _, _ = strings.Cut(s[1:], `"`)
		return s
	}
	s, _, _ = strings.Cut(s, ",")
	return s
}

// columnsOf returns the number of columns of a specification such as 1,2,3 or 3*.
func columnsOf(s string) int {
	n := 0
	for c := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ';' }) {
		times, _, ok := strings.Cut(strings.TrimSpace(c), "*")
		k := 1
		if ok {
			k, _ = strconv.Atoi(times)
		}
		n = min(n+max(k, 1), maxColumns)
	}
	if s != "" && n == 0 || strings.Count(s, ",") >= n && n > 0 && !strings.Contains(s, "*") {
		n = min(strings.Count(s, ",")+1, maxColumns)
	}
	return n
}

// firstAttribute returns the first attribute of a macro, which may be in quotation marks.
func firstAttribute(s string) string {
	if strings.HasPrefix(s, `"`) {
		if inner, _, ok := strings.Cut(s[1:], `"`); ok {
			return inner
		}
	}
	first, _, _ := strings.Cut(s, ",")
	if strings.Contains(first, "=") && !strings.Contains(first, " ") {
		return ""
	}
	return first
}
