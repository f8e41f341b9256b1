package document

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/lang"
)

// Sheet finds the tables among the rows of a sheet, and the text beside them. A row with one cell is text, unless it directly follows other rows of a table. A
// short one over a table, or at the beginning, is a heading.
type Sheet struct {
	Add func(Block) // receives each block

	table   *Table   // the open one, or nil
	last    *Table   // the one before
	width   int      // of its first row, or of that of the last one, in columns
	fields  int      // number of cells of its first row, with the empty ones at its end
	rows    int      // of the table
	widest  int      // number of columns with text in that of its rows that has the most
	named   bool     // its first row looks like names of columns
	figures []bool   // by column: all other cells have a figure
	texts   []string // of rows before a table
	blank   bool     // the row before has no text
	begun   bool     // a block has been added
}

// Limits of a sheet.
const (
	maxTitle      = 90 // characters
	maxTitleWords = 12
	maxNotes      = 4   // rows of a title and its notes over a table
	maxSparse     = 2   // columns with text in the rows of a title and its notes, over a table that has at least twice as many
	maxTexts      = 8   // rows of text before a table, of which the first may be its title
	maxWidth      = 256 // columns that each row has at least
)

// Row adds a row.
func (s *Sheet) Row(cells []Cell) {
	fields := len(cells)
	for n := len(cells); n > 0 && strings.TrimSpace(cells[n-1].Text) == ""; n-- {
		cells = cells[:n-1]
	}
	filled := 0
	for _, c := range cells {
		if strings.TrimSpace(c.Text) != "" {
			filled++
		}
	}
	switch {
	case filled == 0:
		if s.table != nil {
			s.table.Row(nil)
		}
		s.blank = true
		return
	case filled == 1 && (s.table == nil || s.blank):
		if s.endTable(); s.blank {
			s.flush(false)
		}
		if len(s.texts) == maxTexts {
			s.flush(false)
		}
		s.texts = append(s.texts, cells[len(cells)-1].Text)
	default:
		s.tableRow(cells, fields)
	}
	s.blank = false
}

// tableRow adds a row to the table, or begins one. fields is the number of its cells with the empty ones at its end.
func (s *Sheet) tableRow(cells []Cell, fields int) {
	if s.table != nil && (s.blank && s.isOther(cells) || s.isUnderNotes(cells, fields)) {
		s.endTable()
	}
	switch {
	case s.table == nil && s.continues(cells):
		s.flush(!s.blank) // Inner harbour over its rows
		s.table = s.last
		s.table.Restart()
	case s.table == nil:
		s.flush(true)
		s.fields = fields
		s.width, s.rows, s.widest, s.named, s.figures = columns(cells), 0, 0, lang.IsTableHead(filledTexts(cells)), nil
		s.table = &Table{Add: s.Add, Width: min(s.width, maxWidth)}
	}
	s.widest = max(s.widest, filledColumns(cells))
	if s.rows++; s.rows > 1 {
		for i, c := range cells {
			if i == len(s.figures) {
				s.figures = append(s.figures, true)
			}
			s.figures[i] = s.figures[i] && (c.Text == "" || hasFigure(c.Text))
		}
	}
	s.begun = true
	s.table.Row(cells)
}

func columns(cells []Cell) (n int) {
	for _, c := range cells {
		n += min(max(c.Columns, 1), maxSpanned)
	}
	return n
}

// isUnderNotes reports whether a row has the names of columns, and those before it are a title and notes that a spreadsheet has exported with as many cells.
func (s *Sheet) isUnderNotes(cells []Cell, fields int) bool {
	if s.rows > maxNotes || s.widest > maxSparse || fields != s.fields || filledColumns(cells) < 2*maxSparse {
		return false
	}
	return !slices.ContainsFunc(cells, func(c Cell) bool { return strings.Trim(c.Text, "0123456789., ") == "" })
}

// filledColumns returns the number of columns that cells with text cover.
func filledColumns(cells []Cell) (n int) {
	for i, c := range cells {
		if c.Text != "" {
			n += columns(cells[i : i+1])
		}
	}
	return n
}

func filledTexts(cells []Cell) (out []string) {
	for _, c := range cells {
		if c.Text != "" {
			out = append(out, c.Text)
		}
	}
	return out
}

func hasFigure(s string) bool { return strings.ContainsAny(s, "0123456789") }

// isOther reports whether a row after a blank one begins another table.
func (s *Sheet) isOther(cells []Cell) bool {
	if s.rows == 1 && !s.named {
		return true
	}
	if !lang.IsTableHead(filledTexts(cells)) {
		return false
	}
	if s.rows == 1 {
		return len(filledTexts(cells)) != s.width
	}
	for i, c := range cells {
		if i > 0 && i < len(s.figures) && s.figures[i] && c.Text != "" && !hasFigure(c.Text) {
			return true
		}
	}
	return false
}

// continues reports whether a row after text is one of the table before it: it has as many cells, and figures in the same columns.
func (s *Sheet) continues(cells []Cell) bool {
	if s.last == nil || !s.named || s.rows < 2 || len(cells) != s.width {
		return false
	}
	figures := 0
	for i, c := range cells[:min(len(cells), len(s.figures))] {
		if s.figures[i] {
			if !hasFigure(c.Text) {
				return false
			}
			figures++
		}
	}
	return figures > 0
}

func (s *Sheet) endTable() {
	if s.table != nil {
		s.table.End()
		s.table, s.last = nil, s.table
	}
}

// flush adds the text that has been read. It is before a table or not.
func (s *Sheet) flush(table bool) {
	for i, text := range s.texts {
		b := Block{Kind: Paragraph, Text: OneLine(text)}
		if i == 0 && (table || !s.begun && len(s.texts) > 1) && isCaption(b.Text) {
			b = Block{Kind: Heading, Level: 2, Text: b.Text}
		}
		s.Add(b)
		s.begun = true
	}
	s.texts = s.texts[:0]
}

// isCaption reports whether a text may be a title: it is short, has no label, and does not end like a sentence.
func isCaption(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	return utf8.RuneCountInString(s) <= maxTitle && len(strings.Fields(s)) <= maxTitleWords && !strings.ContainsRune(".:;,!?。", last) && !strings.Contains(s, ": ")
}

// End ends the sheet.
func (s *Sheet) End() {
	s.endTable()
	s.flush(false)
}
