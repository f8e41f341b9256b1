package office

import (
	"bytes"
	"context"
	"slices"

	"github.com/xuri/excelize/v2"

	"github.com/sluice-rag/sluice/ingest/parse/archive"
	"github.com/sluice-rag/sluice/ingest/parse/document"
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
	s := sheets{ctx: ctx, limits: src.Limits}
	for _, name := range book.GetSheetList() {
		if shown, err := book.GetSheetVisible(name); err == nil && !shown {
			continue
		}
		if err := s.sheet(book, name); err != nil {
			return document.Parsed{}, err
		}
	}
	p.Blocks = s.out
	return p, nil
}

// sheets collects rows, and counts cells and text against the limits.
type sheets struct {
	ctx    context.Context
	limits document.Limits
	out    []document.Block
	cells  int
	rows   int
	text   int
	header bool // a row follows another one of its sheet
}

// begin begins a sheet.
func (s *sheets) begin(name string) {
	s.out = append(s.out, document.Block{Kind: document.Heading, Level: 1, Text: name})
	s.header = false
}

// maxColumns is the width from which the empty cells of a row are left out.
const maxColumns = 256

// row appends a row.
func (s *sheets) row(cells []string) error {
	s.rows++
	if s.cells > maxCells || s.rows > maxCells {
		return document.TooLarge("holds more than %d cells or rows", maxCells)
	}
	if s.rows%256 == 0 && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	text := document.Row(cells)
	if text == "" {
		return nil
	}
	s.text += len(text)
	if s.text > s.limits.Text {
		return document.TooLarge("holds more than %d bytes of text", s.limits.Text)
	}
	if len(s.out) > s.limits.Blocks {
		return document.TooLarge("holds more than %d rows", s.limits.Blocks)
	}
	s.out = append(s.out, document.Block{Kind: document.TableRow, Text: text, Tight: s.header})
	s.header = true
	return nil
}

func (s *sheets) sheet(book *excelize.File, name string) error {
	rows, err := book.Rows(name)
	if err != nil {
		return nil // a chart or a dialog, which has no cells
	}
	defer rows.Close()
	s.begin(name)
	width := 0
	for rows.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return document.Refuse(err, "a sheet in it cannot be read")
		}
		if s.cells += len(cells); len(cells) > maxColumns {
			cells = slices.DeleteFunc(cells, func(c string) bool { return c == "" })
		} else if width == 0 {
			width = len(cells)
		}
		for len(cells) > 0 && len(cells) < width { // empty cells at the end are not in the file
			cells = append(cells, "")
		}
		if err := s.row(cells); err != nil {
			return err
		}
	}
	return nil
}
