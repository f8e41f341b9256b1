package parse

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// table appends a block per row. A table that is used for layout is walked instead. A first row with only one cell over all columns is a caption.
func (w *htmlWalk) table(n *html.Node) {
	w.undescribed()
	if isLayoutTable(n) {
		w.children(n)
		w.flush()
		return
	}
	t := document.Table{Add: func(b Block) {
		w.limit -= len(b.Text)
		w.out = append(w.out, b)
	}}
	for tr := range n.Descendants() {
		if w.limit <= 0 {
			break
		}
		if tr.Type != html.ElementNode || hidden(tr) {
			continue
		}
		if tr.DataAtom == atom.Caption {
			text, links := visibleText(tr)
			w.caption(text, links)
		}
		if tr.DataAtom != atom.Tr {
			continue
		}
		cells := tableCells(tr)
		if len(cells) == 1 && cells[0].Columns > 1 && !t.HasRows() {
			w.caption(cells[0].Text, cells[0].Links)
			continue
		}
		t.Row(cells)
	}
	t.End()
}

func (w *htmlWalk) caption(text string, links []Link) {
	if text = oneLine(text); text != "" {
		w.limit -= len(text)
		w.out = append(w.out, Block{Kind: Paragraph, Text: text, Links: links})
	}
}

// tableCells returns the cells of a row.
func tableCells(tr *html.Node) (cells []document.Cell) {
	inHead := tr.Parent != nil && tr.Parent.DataAtom == atom.Thead
	for td := tr.FirstChild; td != nil; td = td.NextSibling {
		if td.DataAtom != atom.Td && td.DataAtom != atom.Th || hidden(td) {
			continue
		}
		c := document.Cell{Head: inHead || td.DataAtom == atom.Th}
		c.Text, c.Links = visibleText(td)
		c.Columns, _ = strconv.Atoi(attr(td, "colspan"))
		c.Rows, _ = strconv.Atoi(attr(td, "rowspan"))
		cells = append(cells, c)
	}
	return cells
}

// isLayoutTable reports whether a table contains headings, code or tables.
func isLayoutTable(n *html.Node) bool {
	for c := range n.Descendants() {
		switch c.DataAtom {
		case atom.Table, atom.Pre, atom.H1, atom.H2, atom.H3:
			return true
		}
	}
	return false
}
