package parse

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// pdfCell is a part of a line that wide gaps separate from the others.
type pdfCell struct {
	text   string
	x, end float64
}

// A gap between two cells is wider than this, relative to the size of the font. Justified lines have such gaps too, but not one below the other.
const (
	wideGap  = 0.75
	spaceGap = 0.2 // in files that draw spaces as characters: other gaps are between cells
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
	maxMarkGap    = 3  // between the mark of a list item and its text
	maxTries      = 50 // see tablesOf
	maxRise       = 5  // of a cell above those before it, which are at the bottom of their row
)

var (
	// leaders are the dots between a title and its page in a table of contents.
	leaders = regexp.MustCompile(`(?:[.:·…] ?){4}`)
	// enumerator is the mark of a list item, or the number of a heading: the text after it is no other cell.
	enumerator = regexp.MustCompile(`^(?:[•‣◦▪●■□☐✓–*-]|\(?(?:\d{1,3}|\pL|[ivxIVX]{1,5})[.)]|§ ?\d+\pL?|\d+(?:\.\d+)+\.?)$`)
)

// monospaced matches names of fonts whose characters have one width. Aligned code is no table.
var monospaced = regexp.MustCompile(`mono|courier|consol|typewriter|cmtt|menlo|fixed|code`)

// figure matches a cell that begins with a number, which may have a sign or a currency.
var figure = regexp.MustCompile(`^[^\pL0-9]{0,3}[0-9]`)

// gap is a gap in the text of a line.
type gap struct {
	offset int     // in the text before the line is cleaned
	end, x float64 // of the text before and after it
}

// cellsOf cuts the text of a line at its gaps. It returns nil if there are no two cells.
func cellsOf(text string, line pdfLine, gaps []gap) []pdfCell {
	if len(gaps) == 0 || len(gaps) > maxPDFColumns || hasRightToLeft(text) || leaders.MatchString(text) {
		return nil
	}
	var out []pdfCell
	from, x := 0, line.x
	for _, g := range append(gaps, gap{len(text), line.end, 0}) {
		switch s := oneLine(text[from:g.offset]); {
		case s == "":
		case len(out) == 1 && x-out[0].end < maxMarkGap*line.size && enumerator.MatchString(out[0].text):
			out[0].text, out[0].end = out[0].text+" "+s, g.end
		default:
			out = append(out, pdfCell{s, x, g.end})
		}
		from, x = g.offset, g.x
	}
	if len(out) < 2 {
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
}

// pdfTable is a table on a page: lines whose cells are below each other.
type pdfTable struct {
	first, after int // lines
	columns      []pdfCell
	fragments    []fragment
	low          float64        // y of the lowest line
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
	return several >= 2 && several*2 >= len(t.rows)
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
	if last.y-line.y > tolerance(line) && line.x < last.x-tolerance(line) { // another row begins
		*top = line.y
	}
	if !sure && line.cells == nil && line.bold && !lines[t.after-1].bold && down > maxCellPitch*line.size { // a heading
		return false
	}
	return true
}

// add adds the cells of a line to their columns. It returns false if they are in none, or in several.
func (t *pdfTable) add(line pdfLine, k int) bool {
	cells := line.cells
	if cells == nil {
		cells = []pdfCell{{line.text, line.x, line.end}}
	}
	columns := slices.Clone(t.columns)
	for n, c := range cells {
		var over []int
		for i, o := range columns {
			if c.x < o.end && c.end > o.x {
				over = append(over, i)
			}
		}
		switch {
		case len(over) > 1 || len(over) == 1 && n > 0 && cells[n-1].end > columns[over[0]].x: // of several columns, or the second in its column
			return false
		case len(over) == 1:
			o := &columns[over[0]]
			o.x, o.end = min(o.x, c.x), max(o.end, c.end)
		default:
			columns = append(columns, pdfCell{x: c.x, end: c.end})
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
		t.fragments = append(t.fragments, fragment{c, k, line.y, line.size, line.bold})
	}
	return true
}

// assemble makes rows of the fragments.
func (t *pdfTable) assemble() {
	var row [][]fragment
	last := 0 // column
	begin := func() {
		row = make([][]fragment, len(t.columns))
		t.rows = append(t.rows, row)
	}
	for _, f := range t.fragments {
		column := slices.IndexFunc(t.columns, func(c pdfCell) bool { return f.x < c.end && f.end > c.x })
		if column < 0 {
			continue // without width
		}
		switch {
		case row == nil:
			begin()
		case column > last && f.within(row):
			if n := f.besides(row[last]); n > 0 && filled(row) == 1 { // the lines before it are rows of their own
				before := row[last]
				row[last] = before[:n:n]
				begin()
				row[last] = before[n:]
			}
		case column == last && f.below(row[last], maxCellPitch) && len(row[last]) < maxCellLines:
		case row[0] != nil && column > 0 && f.below(row[column], 1.4): // the next line of all cells
		default:
			begin()
		}
		row[column] = append(row[column], f)
		last = column
	}
}

// within reports whether a fragment is at the height of a row.
func (f fragment) within(row [][]fragment) bool {
	top, bottom := f.y-f.size, f.y+f.size
	for _, cell := range row {
		for _, o := range cell {
			top, bottom = max(top, o.y), min(bottom, o.y)
		}
	}
	return f.y <= top+maxRise*f.size && f.y >= bottom-0.3*f.size
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

// hasHead reports whether the first row has the names of the columns. A table with two columns is otherwise a list of labels.
func (t *pdfTable) hasHead() bool {
	isBold := func(row [][]fragment) bool {
		return !slices.ContainsFunc(row, func(cell []fragment) bool {
			return slices.ContainsFunc(cell, func(f fragment) bool { return !f.bold })
		})
	}
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
		if goesOn && cells[0] == "" && len(l.out) == l.tableEnd { // the rest of the last row
			for c := range cells {
				if cells[c] != "" {
					l.lastCells[c] = string(append(joinLine([]byte(l.lastCells[c]), cells[c]), cells[c]...))
				}
			}
			l.out[len(l.out)-1].Text = rowText(l.lastCells, head)
			continue
		}
		b := Block{Kind: Paragraph, Text: rowText(cells, head), Page: lines[t.first].page, Tight: i > 0 || goesOn}
		if head {
			b.Kind = TableRow
		}
		if l.lastCells = cells; b.Text != "" {
			l.out = append(l.out, b)
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

// rowText returns the text of a row of a table with or without a head.
func rowText(cells []string, head bool) string {
	if head {
		return document.Row(cells)
	}
	return strings.TrimLeft(strings.TrimRight(cells[0], ": ")+": "+cells[1], ": ")
}
