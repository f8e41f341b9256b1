package office

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/sluice-rag/sluice/ingest/parse/archive"
	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/xmltext"
)

// ParseXLSX parses a workbook of SpreadsheetML (ISO/IEC 29500-1, 18). The name of each sheet is a heading, and each row with a value a row,
// with its values as the sheet shows them.
func ParseXLSX(ctx context.Context, src document.Source) (document.Parsed, error) {
	f, err := open(ctx, src) // checks the sizes
	if err != nil {
		return document.Parsed{}, err
	}
	// Both limits are the same, so that nothing is written to temporary files.
	book, err := excelize.OpenReader(bytes.NewReader(src.Data), excelize.Options{UnzipSizeLimit: archive.MaxSize, UnzipXMLSizeLimit: archive.MaxSize})
	if err != nil {
		return document.Parsed{}, document.Refuse(err, "not valid XLSX")
	}
	defer book.Close()
	p := document.Parsed{Meta: f.properties("docProps/core.xml")}
	p.Title = p.Meta.Title
	s := sheets{ctx: ctx, limits: src.Limits, members: f.sheetMembers()}
	for _, name := range book.GetSheetList() {
		if shown, err := book.GetSheetVisible(name); err == nil && !shown {
			continue
		}
		if err := s.sheet(book, name, f.mergedCells(s.members[name])); err != nil {
			return document.Parsed{}, err
		}
	}
	p.Blocks = s.out
	return p, nil
}

// sheetMembers returns the names of the members of the sheets by the names of the sheets.
func (f *file) sheetMembers() map[string]string {
	book := f.main("xl/workbook.xml")
	links, _ := f.relations(book)
	members := map[string]string{}
	_ = f.read(book, xmltext.Handler{Start: func(e xmltext.Element) bool {
		if e.Name == "sheet" {
			members[e.Attr("name")] = links[e.Attr("id")].target
		}
		return true
	}})
	return members
}

// mergedCells returns the merged cells of a sheet, ordered by row. Their list is after the cells (ISO/IEC 29500-1, 18.3.1.99).
func (f *file) mergedCells(member string) (out []merged) {
	data, err := f.zip.Read(member)
	if err != nil {
		return nil
	}
	const last = "sheetData>" // may have a prefix
	at := bytes.LastIndex(data, []byte(last))
	if at < 0 {
		return nil
	}
	data = slices.Concat([]byte("<sheet>"), data[at+len(last):])
	_ = xmltext.Read(f.ctx, data, xmltext.Handler{Start: func(e xmltext.Element) bool {
		if e.Name == "mergeCell" && len(out) < maxMerged {
			from, to, _ := strings.Cut(e.Attr("ref"), ":")
			column, row, err := excelize.CellNameToCoordinates(from)
			toColumn, toRow, err2 := excelize.CellNameToCoordinates(to)
			if err == nil && err2 == nil && toColumn >= column && toRow >= row {
				out = append(out, merged{column - 1, row - 1, toColumn - column + 1, toRow - row + 1})
			}
		}
		return e.Name == "sheet" || e.Name == "mergeCells"
	}})
	slices.SortFunc(out, func(a, b merged) int { return a.row - b.row })
	return out
}

// sheets collects blocks, and counts cells and text against the limits.
type sheets struct {
	ctx     context.Context
	limits  document.Limits
	members map[string]string // by the names of the sheets
	out     []document.Block
	cells   int
	rows    int
	text    int
}

// maxColumns is the width from which the empty cells of a row are left out.
const maxColumns = 256

// check checks the limits.
func (s *sheets) check() error {
	switch {
	case s.cells > maxCells || s.rows > maxCells:
		return document.TooLarge("holds more than %d cells or rows", maxCells)
	case s.text > s.limits.Text:
		return document.TooLarge("holds more than %d bytes of text", s.limits.Text)
	case len(s.out) > s.limits.Blocks:
		return document.TooLarge("holds more than %d rows", s.limits.Blocks)
	case s.rows%256 == 0:
		return s.ctx.Err()
	}
	return nil
}

func (s *sheets) add(b document.Block) {
	s.text += len(b.Text)
	s.out = append(s.out, b)
}

func (s *sheets) sheet(book *excelize.File, name string, spanning []merged) error {
	rows, err := book.Rows(name)
	if err != nil {
		return nil // a chart or a dialog, which has no cells
	}
	defer rows.Close()
	s.out = append(s.out, document.Block{Kind: document.Heading, Level: 1, Text: name})
	tables := document.Sheet{Add: s.add}
	var open []merged
	for n := 0; rows.Next(); n++ {
		texts, err := rows.Columns()
		if err != nil {
			return document.Refuse(err, "a sheet in it cannot be read")
		}
		s.cells += len(texts)
		var cells []document.Cell
		cells, spanning, open = merge(texts, n, spanning, open)
		if len(texts) > maxColumns {
			cells = slices.DeleteFunc(cells, func(c document.Cell) bool { return c.Text == "" })
			for i := range cells {
				cells[i].Columns, cells[i].Rows = 0, 0
			}
		}
		tables.Row(cells)
		s.rows++
		if err := s.check(); err != nil {
			return err
		}
	}
	tables.End()
	return s.check()
}
