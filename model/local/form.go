package local

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/lang"
)

// readForms returns lines in which each field of a form is a line with a label: "Surname: Okafor". A row of a form has a label and its value in turn, in the
// cells of a table or between gaps, and lines of text have several fields one after the other. Other lines, and fenced code, stay as they are.
func readForms(lines []string, l *lang.Language) []string {
	out := make([]string, 0, len(lines))
	fenced := false
	for i := 0; i < len(lines); {
		bare := strings.TrimSpace(lines[i])
		if strings.HasPrefix(bare, "```") {
			fenced = !fenced
		}
		n := 1
		fields := []string(nil)
		label, ticked := tickedOptions(bare)
		switch {
		case fenced || bare == "":
		case lang.IsTableRow(bare):
			for i+n < len(lines) && lang.IsTableRow(strings.TrimSpace(lines[i+n])) {
				n++
			}
			fields = formFields(lines[i : i+n])
		case ticked != "":
			last := len(out) - 1
			for label == "" && last > 0 && strings.TrimSpace(out[last]) == "" {
				last--
			}
			if label == "" && last >= 0 && isBareLabel(strings.TrimSpace(out[last])) {
				label, out = strings.TrimSpace(out[last])+" ", out[:last]
			}
			fields = []string{label + ticked}
		default:
			if cells := alignedCells(lines[i]); len(cells) > 1 {
				texts := make([]string, len(cells))
				for k, c := range cells {
					texts[k] = c.text
				}
				fields = pairFields(texts)
			} else {
				fields = inlineFields(bare, l)
			}
			if len(fields) == 1 {
				fields = nil // it may be a row of a table of two columns
			}
		}
		if fields == nil {
			fields = lines[i : i+n]
		}
		out = append(out, fields...)
		i += n
	}
	return out
}

// boxRE matches a box of an option. The first group is that of a box with a mark.
var boxRE = regexp.MustCompile(`([☒☑✓✔⊠]|\[[xX]\])|[☐□▢⬜]|\[ ?\]`)

// tickedOptions returns the options with a mark of a line with two or more boxes before their options, and the label before these, with a colon and a space.
// ticked is empty if the line is none, or no box has a mark.
func tickedOptions(line string) (label, ticked string) {
	boxes := boxRE.FindAllStringSubmatchIndex(line, -1)
	if len(boxes) < 2 {
		return "", ""
	}
	label = strings.TrimSpace(line[:boxes[0][0]])
	if label != "" && !strings.ContainsAny(label[len(label)-1:], ":?") {
		return "", ""
	}
	var options []string
	for k, at := range boxes {
		end := len(line)
		if k+1 < len(boxes) {
			end = boxes[k+1][0]
		}
		option := strings.Trim(line[at[1]:end], " \t,;")
		if end < len(line) && strings.ContainsAny(option, ":?") {
			return "", "" // the label of another field
		}
		if at[2] >= 0 && option != "" {
			options = append(options, option)
		}
	}
	if label != "" {
		label = strings.TrimRight(label, ":? ") + ": "
	}
	return label, strings.Join(options, "; ")
}

// formFields returns the fields of a table that is a form: in each row, labels that end with a colon are followed by their values, or the values of each second
// column have figures and no label has. It returns nil for other tables.
func formFields(lines []string) (out []string) {
	var rows [][]string
	for _, line := range lines {
		if bare := strings.TrimSpace(line); !ruleRE.MatchString(bare) {
			rows = append(rows, lang.TableCells(bare))
		}
	}
	for _, cells := range rows {
		fields := pairFields(cells)
		if fields == nil && strings.Join(cells, "") != "" {
			out = nil
			break
		}
		out = append(out, fields...)
	}
	if out != nil || len(rows) == 0 || !hasPairs(rows) {
		return out
	}
	for _, cells := range rows {
		for k := 0; k+1 < len(cells); k += 2 {
			if cells[k] != "" && cells[k+1] != "" {
				out = append(out, cells[k]+": "+cells[k+1])
			}
		}
	}
	return out
}

// hasPairs reports whether the columns of a table are labels and values in turn: four or more columns, of which each second one has figures in its first row
// and in half of the others, and those before them have none.
func hasPairs(rows [][]string) bool {
	width := len(rows[0])
	if width < 4 || width%2 > 0 {
		return false
	}
	figures, values := 0, 0
	for _, cells := range rows {
		if len(cells) != width {
			return false
		}
		for k, cell := range cells {
			switch {
			case cell == "":
			case k%2 == 0 && (lang.HasFigure(cell) || len(strings.Fields(cell)) > maxLabelWords):
				return false
			case k%2 > 0:
				values++
				if lang.HasFigure(cell) {
					figures++
				}
			}
		}
	}
	return lang.HasFigure(rows[0][1]) && 2*figures >= values
}

// maxLabelWords is the maximum number of words of the label of a field.
const maxLabelWords = 6

// pairFields returns the fields of a row of cells: a cell with a label and its value, or a label that ends with a colon and the cell after it. Fields without a
// value are left out. It returns nil if a value has no label, or there is no field.
func pairFields(cells []string) (out []string) {
	for k := 0; k < len(cells); k++ {
		cell := plain(cells[k])
		switch {
		case cell == "":
		case isBareLabel(cell):
			if k+1 < len(cells) && cells[k+1] != "" && !isBareLabel(plain(cells[k+1])) {
				k++
				out = append(out, cell+" "+cells[k])
			}
		case labelOf(cell) != "":
			out = append(out, cells[k])
		default:
			return nil
		}
	}
	return out
}

// isBareLabel reports whether a cell is a label without a value: Date of birth:
func isBareLabel(cell string) bool {
	label := strings.TrimRight(cell, ":： ")
	return label != "" && len(label) < len(strings.TrimRight(cell, " ")) && len(strings.Fields(label)) <= maxLabelWords
}

// inlineRE matches a label within a line: a word with a capital, and up to three others before a colon.
var inlineRE = regexp.MustCompile(`(?:^|[ \t])(\p{Lu}[^\s:.!?,;]*(?: \p{Ll}[^\s:.!?,;]*){0,3}\.?) ?:[ \t]`)

// maxInlineWords is the maximum number of words of the value of a field that others follow in its line.
const maxInlineWords = 5

// inlineFields splits a line such as "Nom : Lucas Perrin Classe : CM1" before each further label. It returns nil for other lines.
func inlineFields(line string, l *lang.Language) (out []string) {
	if strings.Count(line, ": ") < 2 || labelOf(line) == "" {
		return nil
	}
	at := inlineRE.FindAllStringSubmatchIndex(line, -1)
	if len(at) < 2 || at[0][2] != 0 {
		return nil
	}
	for k, m := range at {
		end := len(line)
		if k+1 < len(at) {
			end = at[k+1][2]
		}
		value := strings.TrimRight(line[m[1]:end], " \t–—-|,;/")
		words := strings.Fields(value)
		if k+1 < len(at) && (len(words) == 0 || len(words) > maxInlineWords || l.IsStopWord(strings.ToLower(words[len(words)-1])) || strings.ContainsAny(value, "!?")) {
			return nil
		}
		out = append(out, strings.TrimRight(line[m[2]:end], " \t–—-|,;/"))
	}
	return out
}

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
