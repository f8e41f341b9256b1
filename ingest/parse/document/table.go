package document

import (
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// Cell is a cell of a table. The places in the grid that it covers have no cells of their own.
type Cell struct {
	Text    string
	Links   []Link
	Columns int  // number of columns that it spans; 0 means 1
	Rows    int  // number of rows that it spans; 0 means 1
	Above   bool // it continues the cell above it
	Head    bool // the document marks it as a name of columns
}

// Limits of tables.
const (
	maxSpanned  = 64  // columns that a cell spans
	maxCarried  = 64  // columns of cells that span several rows
	maxCopied   = 500 // bytes of a row that repeat cells which span several columns or rows
	maxHeadRows = 4
)

// Table makes blocks of the rows of a table, in order. The first block has the names of the columns. If the head has several rows, the name of a column is the
// path of the cells over it, such as Price – Adults. A cell that spans several columns or rows is repeated in each of them.
type Table struct {
	Add   func(Block) // receives each block
	Page  int         // of the rows
	Width int         // least number of columns

	above  []slot   // by column: the cell in the last row
	spare  []slot   // memory for the next row, once the head is complete
	head   [][]slot // rows of the head, until it is complete
	names  []slot   // the head
	closed bool     // the head is complete
	even   bool     // the cells of the first rows span the same columns, so that none of them is repeated
	begun  bool     // a block has been added
}

// slot is the part of a cell in one row and one column.
type slot struct {
	text    string
	links   []Link
	first   bool // first column of its cell
	spans   bool // its cell spans several columns
	marked  bool // its cell is a head
	carried bool // its cell begins in a row above
	rows    int  // further rows that its cell spans
}

// HasRows reports whether the table has a row.
func (t *Table) HasRows() bool { return t.begun || len(t.head) > 0 }

// Row adds a row. A row without text of its own is left out.
func (t *Table) Row(cells []Cell) {
	row := t.place(cells)
	switch {
	case !slices.ContainsFunc(row, func(s slot) bool { return !s.carried && s.text != "" }):
	case !t.closed && len(t.head) == maxHeadRows && allMarked(row) && allMarked(t.head[maxHeadRows-1]): // all rows are marked
		t.End()
		t.closed = true
		t.emit(row)
	case !t.closed && t.isHead(row):
		t.head = append(t.head, row)
	default:
		t.even = t.even || len(t.head) == 1 && sameSpans(t.head[0], row)
		if t.closeHead(); isTitle(row) {
			row = slices.DeleteFunc(slices.Clone(row), func(s slot) bool { return !s.first })
		}
		t.emit(row)
	}
}

// End ends the table.
func (t *Table) End() {
	if len(t.head) > 1 { // without data
		for _, row := range t.head {
			t.emit(row)
		}
		t.head = nil
	}
	t.closeHead()
}

// place returns a row of the grid: the cells, and those of the rows above that span it.
func (t *Table) place(cells []Cell) []slot {
	var row []slot
	if t.closed { // no row is kept
		row, t.spare = t.spare[:0], t.above
	}
	copied := 0
	repeat := func(s slot) slot {
		if copied += len(s.text); copied > maxCopied {
			s.text = ""
		}
		s.links = nil
		return s
	}
	carry := func(further bool) {
		for k := len(row); k < len(t.above) && k < maxCarried && (t.above[k].rows > 0 || further); k++ {
			s := slot{first: true}
			if t.above[k].rows > 0 {
				s = repeat(t.above[k])
				s.rows--
				s.carried = true
			}
			row = append(row, s)
		}
	}
	for _, c := range cells {
		if c.Above && len(row) < len(t.above) {
			for k := range min(max(c.Columns, 1), len(t.above)-len(row)) {
				s := repeat(t.above[len(row)])
				s.first, s.carried = k == 0, true
				row = append(row, s)
			}
			continue
		}
		carry(false)
		s := slot{text: OneLine(c.Text), links: c.Links, first: true, spans: c.Columns > 1, marked: c.Head, rows: max(c.Rows, 1) - 1}
		for range min(max(c.Columns, 1), maxSpanned) {
			row = append(row, s)
			s = repeat(s)
			s.first = false
		}
	}
	if slices.ContainsFunc(t.above[min(len(row), len(t.above)):], func(s slot) bool { return s.rows > 0 }) {
		carry(true)
	}
	for len(row) < t.Width {
		row = append(row, slot{first: true})
	}
	t.above = row
	return row
}

// isTitle reports whether a row has only one cell with text, which spans several columns.
func isTitle(row []slot) bool {
	filled, spans := 0, false
	for _, s := range row {
		if s.first && s.text != "" {
			filled++
			spans = s.spans
		}
	}
	return filled == 1 && spans
}

// isHead reports whether a row belongs to the head: it is the first one, or follows one and both are marked, or it has names only under cells that span several
// columns.
func (t *Table) isHead(row []slot) bool {
	if len(t.head) == 0 {
		return true
	}
	if len(t.head) == maxHeadRows || isTitle(row) {
		return false
	}
	last := t.head[len(t.head)-1]
	if allMarked(last) && allMarked(row) {
		return true
	}
	spans, single, splits := 0, 0, false
	for i, s := range last {
		splits = splits || i < len(row) && row[i].first && !s.first
		switch {
		case s.spans && s.first:
			spans++
		case s.spans:
		case i < len(row) && !row[i].carried && row[i].text != "":
			return false
		default:
			single++
		}
	}
	return spans > 0 && splits && len(row) <= len(last) && (single > 0 || spans > 1 && lang.IsTableHead(texts(last)))
}

func allMarked(row []slot) bool {
	return !slices.ContainsFunc(row, func(s slot) bool { return !s.marked })
}

// sameSpans reports whether the cells of two rows span the same columns, and some of them several.
func sameSpans(a, b []slot) bool {
	return slices.EqualFunc(a, b, func(x, y slot) bool { return x.first == y.first }) && slices.ContainsFunc(a, func(s slot) bool { return !s.first })
}

func texts(row []slot) []string {
	out := make([]string, len(row))
	for i, s := range row {
		out[i] = s.text
	}
	return out
}

// closeHead adds the block of the head.
func (t *Table) closeHead() {
	t.closed = true
	if len(t.head) == 0 {
		return
	}
	names := t.head[0]
	for _, row := range t.head[1:] {
		for i, s := range row {
			switch {
			case i >= len(names):
				names = append(names, s)
			case s.carried || s.text == "" || s.text == names[i].text:
			case names[i].text == "":
				names[i].text = s.text
			default:
				names[i].text += lang.HeadSeparator + s.text
			}
			if i < len(names) && !s.carried {
				names[i].links = slices.Concat(names[i].links, s.links)
			}
		}
	}
	t.head, t.names = nil, names
	t.emit(names)
}

// Restart adds the names of the columns again, for rows after other blocks.
func (t *Table) Restart() {
	t.begun = false
	t.emit(t.names)
}

func (t *Table) emit(row []slot) {
	if t.even {
		row = slices.DeleteFunc(slices.Clone(row), func(s slot) bool { return !s.first })
	}
	b := Block{Kind: TableRow, Page: t.Page, Tight: t.begun, Text: Row(texts(row))}
	if strings.Trim(b.Text, " |") == "" {
		return
	}
	for _, s := range row {
		b.Links = append(b.Links, s.links[:min(len(s.links), maxLinks-len(b.Links))]...)
	}
	t.begun = true
	t.Add(b)
}
