package office

import (
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// flow collects the paragraphs and tables of a document. Paragraphs may be nested, by frames and text boxes, and tables in cells.
type flow struct {
	out    []document.Block
	open   []*paragraph
	tables []*table
	page   int
	bold   bool // the text that is written is in bold
	kept   int  // bytes of text left; texts beyond it are dropped, and the document is then refused
	rows   int  // the same of the rows of tables, which repeat cells
}

// paragraph is one whose end has not been read.
type paragraph struct {
	document.Block
	text  strings.Builder
	plain bool             // some of text is not in bold
	notes []document.Block // its footnotes
	link  int              // where the open link began in text
	to    string
}

type table struct {
	rows  document.Table
	sheet *document.Sheet // of a spreadsheet
	head  bool            // the row, or the rows that are open, have the names of the columns
	cells []cell          // of the open row
}

// cell is one whose text is read.
type cell struct {
	document.Cell
	blocks []document.Block
}

func newFlow(limits document.Limits) *flow {
	return &flow{kept: limits.Text + 1, rows: limits.Text + 1}
}

func (f *flow) begin(kind document.Kind, level int) *paragraph {
	p := &paragraph{Block: document.Block{Kind: kind, Level: level, Page: f.page}}
	f.open = append(f.open, p)
	return p
}

// current returns the innermost open paragraph, or nil.
func (f *flow) current() *paragraph {
	if len(f.open) == 0 {
		return nil
	}
	return f.open[len(f.open)-1]
}

// write appends to the open paragraph, if any.
func (f *flow) write(s string) {
	if p := f.current(); p != nil && f.kept > 0 {
		f.kept -= len(s)
		p.plain = p.plain || !f.bold && strings.TrimSpace(s) != ""
		p.text.WriteString(s)
	}
}

func (f *flow) beginLink(target string) {
	if p := f.current(); p != nil {
		p.link, p.to = p.text.Len(), target
	}
}

func (f *flow) endLink() {
	p := f.current()
	if p == nil || p.to == "" {
		return
	}
	if text := document.OneLine(p.text.String()[p.link:]); text != "" && len(text) <= 200 && len(p.Links) < 64 {
		to := p.to
		if len(to) > 200 {
			to = ""
		}
		p.Links = append(p.Links, document.Link{Text: text, Target: to})
	}
	p.to = ""
}

// end ends the innermost paragraph. Its mark, such as the number of a list item, is put before its text.
func (f *flow) end(mark string) {
	p := f.current()
	if p == nil {
		return
	}
	f.open = f.open[:len(f.open)-1]
	text := p.text.String()
	if p.Kind != document.Code {
		text = trimLines(text)
	}
	if strings.TrimSpace(text) != "" {
		f.kept -= len(mark)
		p.Text, p.Strong = mark+text, p.Kind == document.Paragraph && !p.plain
		f.add(p.Block)
	}
	for _, n := range p.notes {
		n.Page = f.page
		f.add(n)
	}
}

// add appends a block to the open cell or to the document. Consecutive lines of code become one block, and items of a list are tight.
func (f *flow) add(b document.Block) {
	to := &f.out
	if t := f.table(); t != nil && len(t.cells) > 0 {
		to = &t.cells[len(t.cells)-1].blocks
	}
	if n := len(*to); n > 0 {
		last := &(*to)[n-1]
		switch {
		case b.Kind == document.Code && last.Kind == document.Code && len(last.Text) < 1<<20:
			last.Text += "\n" + b.Text
			return
		case b.Kind == document.ListItem && last.Kind == document.ListItem:
			b.Tight = true
		}
	}
	*to = append(*to, b)
}

func (f *flow) table() *table {
	if len(f.tables) == 0 {
		return nil
	}
	return f.tables[len(f.tables)-1]
}

func (f *flow) beginTable() *table {
	t := &table{}
	t.rows.Add = f.addRow
	f.tables = append(f.tables, t)
	return t
}

// addRow appends a row, or the text beside the rows of a sheet, until there is too much of it. The document is then refused.
func (f *flow) addRow(b document.Block) {
	if f.rows > 0 {
		f.rows -= len(b.Text)
		b.Page = f.page
		f.add(b)
	}
}

func (f *flow) endTable() {
	t := f.table()
	if t == nil {
		return
	}
	f.tables = f.tables[:len(f.tables)-1]
	if t.sheet != nil {
		t.sheet.End()
	}
	t.rows.End()
}

// cell begins a cell.
func (f *flow) cell(c document.Cell) {
	if t := f.table(); t != nil {
		c.Head = t.head
		t.cells = append(t.cells, cell{Cell: c})
	}
}

// endRow makes a row of the cells. The blocks of a row with one cell remain, because such a table is a frame around them, or the cell is a title over all
// columns.
func (f *flow) endRow() {
	t := f.table()
	if t == nil {
		return
	}
	cells := make([]document.Cell, len(t.cells))
	for i, c := range t.cells {
		parts := make([]string, len(c.blocks))
		for j, b := range c.blocks {
			parts[j] = b.Text
			c.Links = append(c.Links, b.Links...)
		}
		c.Text = strings.Join(parts, " ")
		cells[i] = c.Cell
	}
	open := t.cells
	t.cells = nil
	outer := f.tables
	f.tables = f.tables[:len(f.tables)-1]
	defer func() { f.tables = outer }()
	switch {
	case t.sheet != nil:
		t.sheet.Row(cells)
	case len(open) == 1 && !open[0].Above && (open[0].Columns <= 1 && open[0].Rows <= 1 || !t.rows.HasRows()):
		for _, b := range open[0].blocks {
			f.add(b)
		}
	default:
		t.rows.Row(cells)
	}
}

// trimLines collapses white space within lines.
func trimLines(s string) string {
	if !strings.Contains(s, "\n") {
		return document.OneLine(s)
	}
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		if l = document.OneLine(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}
