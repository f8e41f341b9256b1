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
	kept   int // bytes of text left; texts beyond it are dropped, and the document is then refused
}

// paragraph is one whose end has not been read.
type paragraph struct {
	document.Block
	text  strings.Builder
	notes []document.Block // its footnotes
	link  int              // where the open link began in text
	to    string
}

type table struct {
	first bool
	sheet bool               // a row with one cell is a row too
	width int                // of a sheet, in cells
	cells [][]document.Block // cells of the open row
}

func newFlow(limits document.Limits) *flow { return &flow{kept: limits.Text + 1} }

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
		p.Text = mark + text
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
		to = &t.cells[len(t.cells)-1]
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

func (f *flow) beginTable() { f.tables = append(f.tables, &table{first: true}) }

func (f *flow) endTable() {
	if len(f.tables) > 0 {
		f.tables = f.tables[:len(f.tables)-1]
	}
}

// cell begins a cell, and leaves empty cells before it.
func (f *flow) cell(empty int) {
	if t := f.table(); t != nil {
		for range min(empty, 1024) + 1 {
			t.cells = append(t.cells, nil)
		}
	}
}

// endRow makes a row of the cells. The blocks of a row with one cell remain, because such a table is a frame around them.
func (f *flow) endRow() {
	t := f.table()
	if t == nil {
		return
	}
	rows := t.cells
	t.cells = nil
	outer := f.tables
	f.tables = f.tables[:len(f.tables)-1]
	defer func() { f.tables = outer }()
	if len(rows) == 1 && !t.sheet {
		for _, b := range rows[0] {
			f.add(b)
		}
		return
	}
	b := document.Block{Kind: document.TableRow, Page: f.page}
	cells := make([]string, len(rows))
	for i, blocks := range rows {
		parts := make([]string, len(blocks))
		for j, c := range blocks {
			parts[j] = c.Text
			b.Links = append(b.Links, c.Links...)
		}
		cells[i] = strings.Join(parts, " ")
	}
	if len(b.Links) > 64 {
		b.Links = b.Links[:64]
	}
	if b.Text = document.Row(cells); b.Text != "" {
		b.Tight, t.first = !t.first, false
		f.add(b)
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
