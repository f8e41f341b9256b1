package local

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// gapRE matches what separates two cells of a table that is aligned with spaces.
var gapRE = regexp.MustCompile(`[ \t\x{3000}]{2,}|\t`)

// alignedCell is a cell of a line, with the columns of its first and after its last character.
type alignedCell struct {
	text     string
	from, to int
}

// alignedCells splits a line at its gaps. A gap of two spaces after the end of a sentence separates no cells. It returns nil for a line with a mark of its own,
// and for one without gaps.
func alignedCells(line string) (out []alignedCell) {
	bare := strings.TrimSpace(line)
	if bare == "" || !strings.Contains(bare, "  ") && !strings.ContainsAny(bare, "\t\u3000") || strings.ContainsAny(bare[:1], "#|>`") || strings.Contains(bare, " | ") || markerRE.MatchString(bare) && !numberedRE.MatchString(bare) {
		return nil
	}
	at := strings.Index(line, bare)
	column := utf8.RuneCountInString(line[:at])
	from := 0
	add := func(to, next int) {
		n := utf8.RuneCountInString(bare[from:to])
		out = append(out, alignedCell{bare[from:to], column, column + n})
		column += utf8.RuneCountInString(bare[from:next])
		from = next
	}
	for _, gap := range gapRE.FindAllStringIndex(bare, -1) {
		if gap[1]-gap[0] == 2 && strings.ContainsAny(bare[gap[0]-1:gap[0]], ".!?:") {
			continue
		}
		add(gap[0], gap[1])
	}
	add(len(bare), len(bare))
	if n := len(out) - 1; n > 1 && footnoteRE.MatchString(out[n].text) {
		out[n-1].text += " " + out[n].text
		out = out[:n]
	}
	return out
}

// numberedRE matches a line that begins with a number and has a gap after other text: 2. floor   Friday.
var numberedRE = regexp.MustCompile(`^[0-9]{1,3}\. \S[^\t]*?[^\s.!?:](?: {3,}|\t)\S`)

// footnoteRE matches the mark of a footnote.
var footnoteRE = regexp.MustCompile(`^(?:[*†‡]|[¹²³⁴⁵⁶⁷⁸⁹]{1,2}\)?|[0-9]\))$`)

// readAligned writes the lines of tables that are aligned with spaces as rows with "|" between their cells, or as lines with a label if they have two cells or
// if the names of their columns are unknown. Fenced code stays.
func readAligned(lines []string, l *lang.Language) {
	fenced := false
	for i := 0; i < len(lines); {
		if strings.HasPrefix(strings.TrimSpace(lines[i]), "```") {
			fenced = !fenced
		}
		if fenced {
			i++
			continue
		}
		rows, groups, n := alignedRows(lines[i:], l, true)
		if !areGroups(groups) || !slices.ContainsFunc(rows, func(cells []alignedCell) bool { return len(cells) > 2 }) { // else they are headings over fields
			rows, groups, n = alignedRows(lines[i:], l, false)
		}
		isList := !slices.ContainsFunc(rows, func(cells []alignedCell) bool { return !markerRE.MatchString(cells[0].text) })
		if text := alignedTable(rows, groups); text != nil && !isList {
			clear(lines[i+copy(lines[i:], text) : i+n])
		}
		i += max(1, n)
	}
}

// alignedRows returns the rows of the table that begins with the first line, and the number of its lines. With grouped, titles of groups are part of it, and each
// row has that of its group; the row of a total has none.
func alignedRows(lines []string, l *lang.Language, grouped bool) (rows [][]alignedCell, groups []string, n int) {
	group := ""
	for ; n < len(lines); n++ {
		if grouped {
			if title := groupTitle(lines[n:]); title != "" {
				group = title
				continue
			}
		}
		if rest := continuedCells(lines[n], rows); rest != nil {
			rows[len(rows)-1] = rest
			continue
		}
		cells := alignedCells(lines[n])
		if len(cells) < 2 {
			break
		}
		if first := lang.Words(cells[0].text); len(first) > 0 && l.Has(lang.Totals, first[0].Text) {
			group = ""
		}
		rows, groups = append(rows, cells), append(groups, group)
	}
	return rows, groups, n
}

// areGroups reports whether rows are in several groups: all but the first, which has the names of the columns, and those of totals at the end. A single line in
// capitals may be a row with empty cells.
func areGroups(groups []string) bool {
	several, ended := false, false
	for i, group := range groups {
		if i > 0 && (group == "" && !several || group != "" && ended) {
			return false
		}
		several = several || i > 1 && group != "" && groups[i-1] != "" && group != groups[i-1]
		ended = ended || i > 0 && group == ""
	}
	return several
}

// continuedCells returns the cells of the last row with what a line continues them with: it begins below one of its cells but the first, and each part of it below
// a cell. It returns nil for other lines, and for those with a number, which is a value of its own.
func continuedCells(line string, rows [][]alignedCell) []alignedCell {
	bare := strings.TrimSpace(line)
	if len(rows) == 0 || bare == "" {
		return nil
	}
	parts := alignedCells(line)
	if parts == nil {
		at := utf8.RuneCountInString(line[:strings.Index(line, bare)])
		parts = []alignedCell{{bare, at, at + utf8.RuneCountInString(bare)}}
	}
	out := slices.Clone(rows[len(rows)-1])
	if len(out) > 2 && len(rows) == 1 { // below the names of the columns
		return nil
	}
	full := len(out) > 2 && len(parts) == len(out)-1 // it may be a row whose first cell is that of the row before
	for _, part := range parts {
		i := slices.IndexFunc(out, func(c alignedCell) bool { return distance(c.from, part.from) <= 1 })
		if i < 1 || figureRE.MatchString(part.text) || full && !startsLower(part.text) {
			return nil
		}
		out[i].text += " " + part.text
	}
	return out
}

// isCapitals reports whether a text is in capitals, as the titles of the parts of a table are.
func isCapitals(s string) bool {
	return len(s) > 3 && strings.ToUpper(s) == s && strings.ToLower(s) != s
}

// maxAligned is the maximum number of columns of a table that is aligned with spaces.
const maxAligned = 40

// groupTitle returns the first line if it is the title of a group of rows, which follow it: DAIRY & EGGS. It is empty otherwise.
func groupTitle(lines []string) string {
	title := strings.TrimSpace(lines[0])
	name, _, _ := strings.Cut(title, " (")
	if len(lines) < 2 || !isCapitals(name) || markerRE.MatchString(title) || len(strings.Fields(title)) > maxHeading || alignedCells(lines[0]) != nil || len(alignedCells(lines[1])) < 2 {
		return ""
	}
	return title
}

// alignedTable returns the rows of a table as text, each with the title of its group as the last cell; nil if they are none.
func alignedTable(rows [][]alignedCell, groups []string) []string {
	width, full := 0, 0
	indent(rows)
	for _, cells := range rows {
		switch {
		case len(cells) > width:
			width, full = len(cells), 1
		case len(cells) == width:
			full++
		}
	}
	if full < 2 || width > maxAligned || width == 2 && 4*inOneColumn(rows) < 3*len(rows) {
		return nil
	}
	out := make([]string, len(rows))
	head, grouped := width > 2 && isHeadOver(rows, width), slices.ContainsFunc(groups, func(g string) bool { return g != "" })
	var last []alignedCell // the last row with all cells
	for i, cells := range rows {
		if len(cells) == width {
			last = cells
		}
		texts := place(cells, last, rows, width)
		if grouped {
			texts = append(texts, groups[i])
		}
		if head {
			out[i] = strings.Join(texts, " | ")
			continue
		}
		var rest []string
		for _, t := range texts[1:] {
			if t != "" {
				rest = append(rest, t)
			}
		}
		out[i] = strings.TrimRight(texts[0], ":") + ": " + strings.Join(rest, "; ")
	}
	return out
}

// isHeadOver reports whether the first row has the names of the columns. One of these may have no name.
func isHeadOver(rows [][]alignedCell, width int) bool {
	names, full := textsOf(rows[0]), fullRows(rows[1:], width)
	if len(names) == width-1 && len(full) > 1 {
		at := slices.IndexFunc(rows, func(r []alignedCell) bool { return len(r) == width })
		names = place(rows[0], rows[at], rows, width)
		names[0] = "" // the name of the whole table: week 1
	}
	return lang.IsTableHeadOver(names, full)
}

// indent moves the cells of the first row to the right if it lost its indentation, as the first line of a paragraph does.
func indent(rows [][]alignedCell) {
	if len(rows) < 2 || inOneColumn(rows) == len(rows) {
		return
	}
	by := max(0, rows[1][0].from-rows[0][0].from)
	for i := range rows[0] {
		rows[0][i].from, rows[0][i].to = rows[0][i].from+by, rows[0][i].to+by
	}
}

// inOneColumn returns the number of rows whose last cells begin, or end, in the same column.
func inOneColumn(rows [][]alignedCell) (most int) {
	begins, ends := map[int]int{}, map[int]int{}
	for _, cells := range rows {
		last := cells[len(cells)-1]
		begins[last.from]++
		ends[last.to]++
		most = max(most, begins[last.from], ends[last.to])
	}
	return most
}

// fullRows returns the texts of the rows that have all cells.
func fullRows(rows [][]alignedCell, width int) (out [][]string) {
	for _, cells := range rows {
		if len(cells) == width {
			out = append(out, textsOf(cells))
		}
	}
	return out
}

func textsOf(cells []alignedCell) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = c.text
	}
	return out
}

// place returns the texts of a row by column. The cells of a row with empty ones belong to the nearest columns of a row that has all.
func place(cells, last []alignedCell, rows [][]alignedCell, width int) []string {
	if len(cells) == width {
		return textsOf(cells)
	}
	texts := make([]string, width)
	if last == nil { // rows before the first one that has all
		last = rows[slices.IndexFunc(rows, func(r []alignedCell) bool { return len(r) == width })]
	}
	for _, c := range cells {
		at, least := 0, -1
		for i, l := range last {
			if d := min(distance(c.from, l.from), distance(c.to, l.to)); least < 0 || d < least {
				at, least = i, d
			}
		}
		texts[at] = strings.TrimSpace(texts[at] + " " + c.text)
	}
	return texts
}

func distance(a, b int) int { return max(a-b, b-a) }

// amountLineRE matches a line with an amount at its end, of which the first group is what it is for: VAT 20 % 146.20.
var amountLineRE = regexp.MustCompile(`^( {0,3}\p{Lu}[^!?:|]{0,60}?) +((?:(?:[€$£]|[A-Z]{3}) ?)?(?:[-−–] ?)?(?:[0-9]{1,3}(?:[ .,'’][0-9]{3})+|[0-9]+)[.,][0-9]{2}(?: ?(?:[€$£]|[A-Z]{3}))?)\s*$`)

// cutNumberRE matches the end of a label to which the amount after it may belong: 1 481.40.
var cutNumberRE = regexp.MustCompile(`(?:^|[^0-9])[0-9]{1,3}$|[-−–]$`)

// labelAmounts puts a colon before the amounts of paragraphs whose lines all end with one, so that they are read as labels, as under an invoice: "VAT 20 % 146.20"
// becomes "VAT 20 %: 146.20". Code stays.
func labelAmounts(lines []string, l *lang.Language) {
	fenced, first := false, 0
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && strings.TrimSpace(lines[i]) != "" {
			fenced = fenced != strings.HasPrefix(strings.TrimSpace(lines[i]), "```")
			continue
		}
		if paragraph := lines[first:i]; len(paragraph) > 1 && !fenced && !slices.ContainsFunc(paragraph, func(line string) bool { return !isAmountLine(line, l) }) {
			for k, line := range paragraph {
				paragraph[k] = amountLineRE.ReplaceAllString(line, "$1: $2")
			}
		}
		first = i + 1
	}
}

func isAmountLine(line string, l *lang.Language) bool {
	m := amountLineRE.FindStringSubmatch(line)
	if m == nil || cutNumberRE.MatchString(m[1]) {
		return false
	}
	words := lang.Words(m[1])
	return len(words) > 0 && !l.IsStopWord(words[len(words)-1].Text)
}
