package parse

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// pdfCell is a part of a line that wide gaps separate from the others. Narrow gaps separate its own parts, which are cells if the columns of other lines say so.
type pdfCell struct {
	text   string
	x, end float64
	parts  []pdfCell // nil: one
}

// Gaps relative to the size of the font. A gap between two cells is wider than wideGap or spaceGap. Justified lines have such gaps too, but not one below the other.
const (
	wideGap  = 0.75
	spaceGap = 0.35 // in files that draw spaces as characters: other gaps are between cells
	// narrowGap is the least gap at which a cell may be cut.
	narrowGap = 0.2
)

// gapOf returns how wide a gap between cells is at least, relative to the size of the font.
func gapOf(runs []pdfRun) float64 {
	drawn, skipped := 0, 0
	for i, r := range runs {
		drawn += strings.Count(strings.TrimSpace(r.text), " ")
		if i > 0 && isGap(runs[i-1].text, r.text) && r.y == runs[i-1].y && r.x-runs[i-1].end > 0.17*r.size {
			skipped++
		}
	}
	if drawn > 4*skipped {
		return spaceGap
	}
	return wideGap
}

// isGap reports whether a gap between two texts is not after or before a space, which justified lines widen.
func isGap(before, after string) bool {
	return !strings.HasSuffix(before, " ") && !strings.HasPrefix(after, " ")
}

// Limits of tables. Sizes are relative to the size of the font.
const (
	maxPDFColumns = 30
	maxRowPitch   = 3.2 // between two lines of a table
	maxCellPitch  = 1.6 // between two lines of a cell
	maxCellLines  = 12
	maxMarkGap    = 3   // between the mark of a list item and its text
	maxTries      = 50  // see tablesOf
	minWidth      = 0.3 // of a cell: some fonts have no widths
	maxRise       = 5   // of a cell above those before it, which are at the bottom of their row
)

var (
	// leaders matches the dots between a title and its page in a table of contents.
	leaders = regexp.MustCompile(`(?:[.:·…] ?){4}`)
	// enumerator matches the mark of a list item or a clause: the text after it is no other cell.
	enumerator = regexp.MustCompile(`^(?:[•‣◦▪●■□☐✓–*-]|\(?(?:\d{1,3}|\pL|[ivxIVX]{1,5})[.)]|§ ?\d+\pL?)$`)
	// section matches the number of a heading, if one other cell follows; otherwise it is a date or an amount.
	section = regexp.MustCompile(`^\d{1,2}(?:\.\d{1,2})+\.?$`)
)

// monospaced matches names of monospaced fonts. Aligned code is no table.
var monospaced = regexp.MustCompile(`mono(?:$|[^t])|courier|consol|typewriter|cmtt|menlo|fixed|code`)

// figure matches a cell that begins with a number, which may have a sign or a currency.
var figure = regexp.MustCompile(`^[^\pL0-9]{0,3}[0-9]`)

// gap is a gap in the text of a line.
type gap struct {
	offset int     // in the text before the line is cleaned
	end, x float64 // of the text before and after it
	wide   bool
}

// cellsOf cuts the text of a line at its gaps. It returns nil if there are no two cells.
func cellsOf(text string, line pdfLine, gaps []gap) []pdfCell {
	if !slices.ContainsFunc(gaps, func(g gap) bool { return g.wide }) || hasRightToLeft(text) || leaders.MatchString(text) {
		return nil
	}
	var out []pdfCell
	from, x, wide := 0, line.x, true
	for _, g := range append(gaps, gap{offset: len(text), end: line.end, wide: true}) {
		if s := oneLine(text[from:g.offset]); s != "" {
			part := pdfCell{text: s, x: x, end: max(g.end, x+minWidth*line.size)}
			switch n := len(out) - 1; {
			case wide:
				out = append(out, part)
			case out[n].parts == nil:
				out[n].parts = []pdfCell{out[n], part}
			default:
				out[n].parts = append(out[n].parts, part)
			}
			if last := &out[len(out)-1]; last.parts != nil {
				last.text, last.end = last.text+" "+s, part.end
			}
			wide = false
		}
		from, x, wide = g.offset, g.x, wide || g.wide
	}
	if n := len(out); n > 1 && out[1].x-out[0].end < maxMarkGap*line.size && (enumerator.MatchString(out[0].text) || n == 2 && section.MatchString(out[0].text)) {
		out[1].text, out[1].x, out[1].parts = out[0].text+" "+out[1].text, out[0].x, nil
		out = out[1:]
	}
	if len(out) < 2 || len(out) > maxPDFColumns {
		return nil
	}
	return out
}

// fragment is a line of a cell.
type fragment struct {
	pdfCell
	line    int // on the page
	y, size float64
	bold    bool
	alone   bool // the line has no other cell
}

// pdfTable is a table on a page: lines whose cells are below each other.
type pdfTable struct {
	first, after int // lines
	columns      []pdfCell
	fragments    []fragment
	low          float64        // y of the lowest line
	pitch        float64        // least distance of a row to the one before; 0: not known
	rows         [][][]fragment // by row and column
	head         bool           // the first row has the names of the columns
}

// tablesOf returns the tables of a page, in the order of the lines. Files draw the cells of a row one after another: a row is a sequence of lines each of which is
// right of the one before, or below it in the same cell.
func tablesOf(lines []pdfLine) (out []pdfTable) {
	free := 0                      // lines before it are part of a table
	tries := maxTries * len(lines) // lines that may still be read for tables that are none in the end
	for i := 0; i < len(lines) && tries > 0; i++ {
		first := rowStart(lines, free, i)
		if first < 0 {
			continue
		}
		t := tableAt(lines, first, i)
		if t.isTable() {
			out = append(out, *t)
			free = t.after
			i = t.after - 1
		} else {
			tries -= len(t.fragments)
		}
	}
	return out
}

// rowStart returns the first line of the row to which line i belongs with another cell before it; -1: there is none.
func rowStart(lines []pdfLine, free, i int) int {
	line := lines[i]
	if line.mono {
		return -1
	}
	first, low := -1, line.y
	if line.cells != nil {
		first = i
	}
	for k := i - 1; k >= max(free, i-maxCellLines); k-- {
		left := lines[k]
		if left.turned != line.turned || left.end+spaceGap*line.size > line.x || left.y > line.y+tolerance(line) {
			break
		}
		if low = min(low, left.y); sameHeight(left, line) || first >= 0 && left.y > low {
			first = k
		}
	}
	return first
}

// isBeside reports whether the next line is right of a line, at its height: code in the first cell of a row.
func isBeside(lines []pdfLine, k int) bool {
	return k+1 < len(lines) && lines[k+1].x > lines[k].end && sameHeight(lines[k], lines[k+1])
}

func tolerance(l pdfLine) float64 { return 0.3 * l.size }

func sameHeight(a, b pdfLine) bool { return max(a.y-b.y, b.y-a.y) <= tolerance(a) }

// tableAt returns the table that begins at a line, if it is one. The line at which it was recognised has a second cell.
func tableAt(lines []pdfLine, first, at int) *pdfTable {
	t := &pdfTable{first: first, after: first}
	top := lines[first].y // of the row
	for k := first; k < len(lines) && t.fits(lines, k, k <= at, &top) && t.add(lines[k], k); k++ {
		t.after = k + 1
	}
	t.assemble()
	for n := len(t.rows); n > 0 && filled(t.rows[n-1]) < 2; n = len(t.rows) { // a heading or a line after the table
		t.after = t.rows[n-1][slices.IndexFunc(t.rows[n-1], func(c []fragment) bool { return c != nil })][0].line
		t.rows = t.rows[:n-1]
	}
	return t
}

// isTable reports whether at least two rows, and half of all, have several cells.
func (t *pdfTable) isTable() bool {
	several := 0
	for _, r := range t.rows {
		if filled(r) >= 2 {
			several++
		}
	}
	return several >= 2 && several*2 >= len(t.rows) && !(len(t.columns) == 2 && t.isProse())
}

// maxLabel is the longest text of a label, in bytes.
const maxLabel = 40

// isProse reports whether most rows have long texts in both of two columns: columns of text that is drawn line by line.
func (t *pdfTable) isProse() bool {
	long := 0
	for _, row := range t.rows {
		if cells := t.texts(row); min(len(cells[0]), len(cells[1])) > maxLabel*3/4 {
			long++
		}
	}
	return 2*long > len(t.rows)
}

func filled(row [][]fragment) (n int) {
	for _, c := range row {
		if c != nil {
			n++
		}
	}
	return n
}

// fits reports whether a line can be the next one of the table, by its distance to the one before. top is the top of the current row.
func (t *pdfTable) fits(lines []pdfLine, k int, sure bool, top *float64) bool {
	if k == t.first {
		return true
	}
	line, last := lines[k], lines[k-1]
	down := t.low - line.y
	if line.turned != last.turned || line.mono && !isBeside(lines, k) || line.size > 1.15*last.size || down > maxRowPitch*last.size || line.y > *top+maxRise*line.size ||
		line.y > last.y+tolerance(line) && line.x < last.end {
		return false
	}
	if !sure && t.ends(line, lines[t.after-1], down) {
		return false
	}
	if last.y-line.y > tolerance(line) && line.x < last.x-tolerance(line) { // another row begins
		*top = line.y
		if line.cells != nil {
			t.pitch = min(cmp.Or(t.pitch, down), down)
		}
	}
	return true
}

// ends reports whether a line, at a distance below the table, is its end: a heading, the names of the columns of another table, or a line in the first
// column that is further below than a row.
func (t *pdfTable) ends(line, last pdfLine, down float64) bool {
	if line.bold && !last.bold {
		return line.cells == nil && down > maxCellPitch*line.size || line.cells != nil && !slices.ContainsFunc(line.cells, func(c pdfCell) bool { return figure.MatchString(c.text) })
	}
	return line.cells == nil && t.pitch > 0 && down > 1.3*t.pitch && line.x < t.columns[0].end
}

// add adds the cells of a line to their columns. It returns false if they are in none, or in several.
func (t *pdfTable) add(line pdfLine, k int) bool {
	cells := line.cells
	if cells == nil {
		cells = []pdfCell{{text: line.text, x: line.x, end: max(line.end, line.x+minWidth*line.size)}}
	}
	cells = t.cut(cells)
	columns := slices.Clone(t.columns)
	for n, c := range cells {
		switch first, last := overlapped(columns, c); {
		case first < 0:
			columns = append(columns, pdfCell{x: c.x, end: c.end})
		case last > first || n > 0 && cells[n-1].end > columns[first].x: // in several columns, or the second one in its column
			return false
		default:
			o := &columns[first]
			o.x, o.end = min(o.x, c.x), max(o.end, c.end)
		}
	}
	if len(columns) > maxPDFColumns {
		return false
	}
	slices.SortFunc(columns, func(a, b pdfCell) int { return cmp.Compare(a.x, b.x) })
	for i, c := range columns[1:] {
		if columns[i].end > c.x {
			return false
		}
	}
	if t.columns = columns; len(t.fragments) == 0 || line.y < t.low {
		t.low = line.y
	}
	for _, c := range cells {
		t.fragments = append(t.fragments, fragment{c, k, line.y, line.size, line.bold, len(cells) == 1})
	}
	return true
}

// cut cuts cells that are in several columns at the narrow gaps between these.
func (t *pdfTable) cut(cells []pdfCell) []pdfCell {
	var out []pdfCell
	for _, c := range cells {
		if first, last := overlapped(t.columns, c); last <= first || c.parts == nil {
			out = append(out, c)
			continue
		}
		column := -2
		for _, part := range c.parts {
			at, _ := overlapped(t.columns, part)
			if n := len(out) - 1; at >= 0 && at == column {
				out[n].text, out[n].end = out[n].text+" "+part.text, part.end
				continue
			}
			out = append(out, part)
			column = at
		}
	}
	return out
}

// overlapped returns the first and the last column that a cell covers in part; -1 and -1 if it covers none.
func overlapped(columns []pdfCell, c pdfCell) (first, last int) {
	first, last = -1, -1
	for i, o := range columns {
		if c.x < o.end && c.end > o.x {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return first, last
}

// assemble makes rows of the fragments.
func (t *pdfTable) assemble() {
	var row [][]fragment
	last := 0             // column
	top, bottom := 0., 0. // of the row
	begin := func(f fragment) {
		row = make([][]fragment, len(t.columns))
		t.rows = append(t.rows, row)
		top, bottom = f.y, f.y
	}
	for _, f := range t.fragments {
		column, _ := overlapped(t.columns, f.pdfCell) // add has put it there
		switch {
		case row == nil:
			begin(f)
		case column > last && f.y <= top+maxRise*f.size && f.y >= bottom-0.3*f.size:
			if n := f.besides(row[last]); n > 0 && filled(row) == 1 { // the lines before it are rows of their own
				before := row[last]
				row[last] = before[:n:n]
				begin(f)
				row[last] = before[n:]
			}
		case column == last && f.below(row[last], maxCellPitch) && len(row[last]) < maxCellLines:
		case f.alone && row[0] != nil && column > 0 && f.below(row[column], 1.4) && len(row[column]) < maxCellLines && !figure.MatchString(f.text): // its cell goes on
		default:
			begin(f)
		}
		row[column] = append(row[column], f)
		last, top, bottom = column, max(top, f.y), min(bottom, f.y)
	}
}

// besides returns the index of the line of a cell that has the height of a fragment, if the fragment is not in the middle between the first and the last line;
// otherwise 0.
func (f fragment) besides(cell []fragment) int {
	for i, o := range cell {
		if d := f.y - o.y; d < 0.15*f.size && d > -0.15*f.size && 2*i != len(cell)-1 {
			return i
		}
	}
	return 0
}

// below reports whether a fragment is below the last line of a cell, at most at a distance relative to the size of its font.
func (f fragment) below(cell []fragment, most float64) bool {
	if len(cell) == 0 {
		return false
	}
	down := cell[len(cell)-1].y - f.y
	return down > 0.3*f.size && down <= most*f.size
}

// cutIdentifier reports whether a narrow column cuts an identifier or a path in two, without a hyphen.
func cutIdentifier(a, b fragment, width float64) bool {
	return strings.ContainsAny(a.text, "_/") && !strings.Contains(a.text+b.text, " ") && a.end-a.x > 0.7*width && !unicode.IsUpper(firstRune(b.text))
}

// texts returns the texts of the cells of a row.
func (t *pdfTable) texts(row [][]fragment) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		var text []byte
		for k, f := range cell {
			if k > 0 && !cutIdentifier(cell[k-1], f, t.columns[i].end-t.columns[i].x) {
				text = joinLine(text, f.text)
			}
			text = append(text, f.text...)
		}
		out[i] = string(text)
	}
	return out
}

// isBold reports whether all cells of a row are bold.
func isBold(row [][]fragment) bool {
	return !slices.ContainsFunc(row, func(cell []fragment) bool {
		return slices.ContainsFunc(cell, func(f fragment) bool { return !f.bold })
	})
}

// hasHead reports whether the first row has the names of the columns. A table with two columns is otherwise a list of labels.
func (t *pdfTable) hasHead() bool {
	if len(t.columns) > 2 || isBold(t.rows[0]) && !isBold(t.rows[1]) {
		return true
	}
	figures := 0
	for _, row := range t.rows[1:] {
		if figure.MatchString(t.texts(row)[1]) {
			figures++
		}
	}
	names := t.texts(t.rows[0])
	return 2*figures >= len(t.rows) && !strings.ContainsAny(names[1], "0123456789") && !strings.HasSuffix(names[0], ":")
}

// continues reports whether a table goes on with the columns of another one.
func (t *pdfTable) continues(before *pdfTable) bool {
	return before != nil && slices.EqualFunc(t.columns, before.columns, func(a, b pdfCell) bool {
		return a.x < b.end && b.x < a.end
	})
}

// table adds a table. One at the top of a page may continue that at the end of the page before, and may repeat its head.
func (l *pdfLayout) table(t *pdfTable, lines []pdfLine) {
	l.flush()
	head, goesOn := t.hasHead(), l.tableEnd == len(l.out) && t.continues(l.lastTable)
	if goesOn && isBold(t.rows[0]) && !isBold(t.rows[1]) { // a repeated head, or that of another table
		goesOn = strings.HasPrefix(strings.Join(t.texts(t.rows[0]), "|"), strings.Join(l.headCells, "|"))
	}
	if goesOn {
		head = l.lastTable.head
	}
	t.head = head
	for i, row := range t.rows {
		cells := t.texts(row)
		if i == 0 && goesOn {
			cells = without(cells, l.headCells)
		}
		if i == 0 && !goesOn {
			l.headCells = cells
		}
		if c := onlyCell(cells); goesOn && c > 0 && len(l.out) == l.tableEnd && l.lastCells[c] != "" && !figure.MatchString(cells[c]) { // the rest of the last row
			l.lastCells[c] = string(append(joinLine([]byte(l.lastCells[c]), cells[c]), cells[c]...))
			l.out[len(l.out)-1].Text = rowText(l.lastCells, head)
			continue
		}
		b := Block{Kind: Paragraph, Text: rowText(cells, head), Page: lines[t.first].page, Tight: i > 0 || goesOn}
		if head {
			b.Kind = TableRow
		}
		if b.Text != "" {
			l.out, l.lastCells = append(l.out, b), cells
		}
	}
	l.lastTable, l.tableEnd = t, len(l.out)
}

// without returns the texts of cells after those of the head, if all cells repeat it.
func without(cells, head []string) []string {
	out := slices.Clone(cells)
	for i := range out {
		var ok bool
		if out[i], ok = strings.CutPrefix(out[i], head[i]); !ok {
			return cells
		}
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// onlyCell returns the index of the only cell with a text; -1: there are several, or none.
func onlyCell(cells []string) int {
	only := -1
	for i, c := range cells {
		if c != "" {
			if only >= 0 {
				return -1
			}
			only = i
		}
	}
	return only
}

// noLabel matches a first cell before which no value belongs: an item of a list, or the end of a sentence.
var noLabel = regexp.MustCompile(`^[•‣◦▪●■□☐✓–*-]|[.!?,;=]$`)

// rowText returns the text of a row of a table with or without a head.
func rowText(cells []string, head bool) string {
	switch label := strings.TrimRight(cells[0], ": "); {
	case head:
		return document.Row(cells)
	case label == "" || cells[1] == "" || len(label) > maxLabel || noLabel.MatchString(label) || strings.HasPrefix(cells[1], "("):
		return strings.TrimSpace(cells[0] + " " + cells[1])
	default:
		return label + ": " + cells[1]
	}
}
