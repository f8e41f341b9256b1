package parse_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/parse/document"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
)

// fares are the blocks of a table whose head has two rows, and in which a cell spans two columns and another one two rows.
const fares = `row: Route | Price – Adults | Price – Children | Days
	row: Island | £9 | £4 | daily
	row: Lighthouse | £12 | £12 | daily
	row: Harbour | free | free | Sunday`

func TestTablesOfHTML(t *testing.T) {
	for name, c := range map[string][2]string{
		"two rows": {`<table><tr><th rowspan="2">Route</th><th colspan="2">Price</th><th rowspan=2>Days</th></tr><tr><th>Adults</th><th>Children</th></tr>
			<tr><td>Island<td>£9<td>£4<td rowspan="2">daily</tr><tr><td>Lighthouse<td colspan="2">£12</tr><tr><td>Harbour<td colspan=2>free<td>Sunday</table>`, fares},
		"not marked": {`<table><tr><td></td><td colspan="2">Price</td></tr><tr><td></td><td>Adults</td><td>Children</td></tr><tr><td>Island</td><td>£9</td><td>£4</td></tr></table>`,
			"row: | Price – Adults | Price – Children\nrow: Island | £9 | £4"},
		"units": {`<table><thead><tr><td>Mast</td><td>Height</td></tr><tr><td></td><td>m</td></tr></thead><tr><td>Main</td><td>14</td></tr></table>`,
			"row: Mast | Height – m\nrow: Main | 14"},
		"span without names": {`<table><tr><th>Name</th><th colspan="2">Contact</th></tr><tr><td>Ada</td><td>01234</td><td>ada@example.org</td></tr></table>`,
			"row: Name | Contact | Contact\nrow: Ada | 01234 | ada@example.org"},
		"title": {`<table><tr><th colspan="2">Piers in 2024</th></tr><tr><th>Pier</th><th>Depth</th></tr><tr><th colspan="2">North side</th></tr><tr><td>A</td><td>4 m</td></tr></table>`,
			"paragraph: Piers in 2024\nrow: Pier | Depth\nrow: North side\nrow: A | 4 m"},
		"hidden cells": {`<table><tr><th>Pier</th><th hidden>Secret</th><th>Depth</th></tr><tr><td>A</td><td style="display:none">x</td><td>4 m</td></tr></table>`,
			"row: Pier | Depth\nrow: A | 4 m"},
		"equal spans":          {`<table><tr><td colspan="2">Name</td><td colspan="2">Ada</td></tr><tr><td colspan="2">Boat</td><td colspan="2">Gull</td></tr><tr><td colspan="2">Berth</td><td colspan="2">North</td></tr><tr><td colspan="2">Town</td><td colspan="2">Osterby</td></tr><tr><td colspan="2">Mast</td><td colspan="2">9 m</td></tr><tr><td colspan="2">Crew</td><td colspan="2">Four</td></tr></table>`, "row: Name | Ada\nrow: Boat | Gull\nrow: Berth | North\nrow: Town | Osterby\nrow: Mast | 9 m\nrow: Crew | Four"},
		"all cells are marked": {"<table>" + strings.Repeat("<tr><th>Ada</th><th>office</th></tr>", 6) + "</table>", strings.TrimSuffix(strings.Repeat("row: Ada | office\n", 6), "\n")},
		"heads only":           {`<table><tr><th>Pier</th></tr><tr><th>Depth</th></tr></table>`, "row: Pier\nrow: Depth"},
		"empty ends":           {`<table><tr><td></td><td>Adults</td><td></td></tr><tr><td>Island</td><td>£9</td><td></td></tr></table>`, "row: | | Adults | |\nrow: Island | £9 |"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed(t, "a.html", []byte(c[0]), strings.ReplaceAll(c[1], "\n\t", "\n"))
		})
	}
}

// TestHostileSpans parses a table whose cells span all that they may. Repeated cells must not multiply its size.
func TestHostileSpans(t *testing.T) {
	page := "<table><tr>" + strings.Repeat(`<td colspan="1000" rowspan="65000">`+strings.Repeat("wide ", 20), 100) + strings.Repeat("<tr><td>x", 2000) + "</table>"
	p, err := parse.Parse(t.Context(), "a.html", []byte(page), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, b := range p.Blocks {
		size += len(b.Text)
	}
	if size > 100*len(page) {
		t.Errorf("%d bytes become %d", len(page), size)
	}
}

// TestHostileSheets parses small sheets that could become large: a cell that spans very many columns, and many rows of text.
func TestHostileSheets(t *testing.T) {
	wide := `<table:table table:name="A"><table:table-row><table:table-cell table:number-columns-spanned="2000000"><text:p>Price</text:p></table:table-cell>` +
		`<table:table-cell><text:p>Days</text:p></table:table-cell></table:table-row></table:table>`
	p, err := parse.Parse(t.Context(), "a.ods", parsetest.ODF("spreadsheet", "", wide), parse.Limits{})
	if err != nil || len(p.Blocks) != 2 || len(p.Blocks[1].Text) > 4096 {
		t.Errorf("%d blocks, %v", len(p.Blocks), err)
	}
	added := 0
	sheet := document.Sheet{Add: func(document.Block) { added++ }}
	for range 100 {
		sheet.Row([]document.Cell{{Text: "wide"}})
	}
	if added < 90 {
		t.Errorf("only %d of 100 rows of text were handed on, so that no limit ends a long sheet", added)
	}
}

// TestRepeatedCellsCount refuses a document whose cells that span columns repeat more text than may be read. Rows must not be left out.
func TestRepeatedCellsCount(t *testing.T) {
	rows := "<w:tr>" + wordCell("", "Pier") + wordCell("", "Depth") + "</w:tr>"
	for range 30 {
		rows += "<w:tr>" + wordCell(`<w:gridSpan w:val="2"/>`, strings.Repeat("deep ", 8)) + wordCell("", "x") + "</w:tr>"
	}
	body := parsetest.DOCX("<w:tbl>" + rows + "</w:tbl>")
	if p, err := parse.Parse(t.Context(), "a.docx", body, parse.Limits{Text: 2000}); err == nil {
		t.Errorf("%d blocks of 31 rows", len(p.Blocks))
	}
	if p, err := parse.Parse(t.Context(), "a.docx", body, parse.Limits{Text: 20_000}); err != nil || len(p.Blocks) != 31 {
		t.Errorf("%d blocks, %v", len(p.Blocks), err)
	}
}

// TestWideSheet keeps the texts of merged cells in a sheet with very many columns.
func TestWideSheet(t *testing.T) {
	f := excelize.NewFile()
	defer f.Close()
	want := []string{"Boat"}
	_ = f.SetCellValue("Sheet1", "A1", "Boat")
	for month := range 12 {
		from, _ := excelize.CoordinatesToCellName(2+30*month, 1)
		to, _ := excelize.CoordinatesToCellName(31+30*month, 1)
		name := fmt.Sprintf("Month %d", month+1)
		if err := errors.Join(f.SetCellValue("Sheet1", from, name), f.MergeCell("Sheet1", from, to)); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	_ = f.SetCellValue("Sheet1", "A2", "Gull")
	_ = f.SetCellValue("Sheet1", "B2", "hired")
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	p, err := parse.Parse(t.Context(), "a.xlsx", b.Bytes(), parse.Limits{})
	if err != nil || len(p.Blocks) < 2 || p.Blocks[1].Text != strings.Join(want, " | ") {
		t.Errorf("%+v, %v", p.Blocks, err)
	}
}

func wordCell(properties, text string) string {
	return "<w:tc><w:tcPr>" + properties + "</w:tcPr>" + parsetest.WordParagraph("", text) + "</w:tc>"
}

func TestTablesOfDOCX(t *testing.T) {
	const two, begin, goOn = `<w:gridSpan w:val="2"/>`, `<w:vMerge w:val="restart"/>`, `<w:vMerge/>`
	rows := []string{
		wordCell(begin, "Route") + wordCell(two, "Price") + wordCell(begin, "Days"),
		wordCell(goOn, "") + wordCell("", "Adults") + wordCell("", "Children") + wordCell(goOn, ""),
		wordCell("", "Island") + wordCell("", "£9") + wordCell("", "£4") + wordCell(begin, "daily"),
		wordCell("", "Lighthouse") + wordCell(two, "£12") + wordCell(goOn, ""),
		wordCell("", "Harbour") + wordCell(two, "free") + wordCell("", "Sunday"),
	}
	parsed(t, "a.docx", parsetest.DOCX("<w:tbl><w:tr>"+strings.Join(rows, "</w:tr><w:tr>")+"</w:tr></w:tbl>"), strings.ReplaceAll(fares, "\n\t", "\n"))

	head := "<w:tr><w:trPr><w:tblHeader/></w:trPr>"
	parsed(t, "b.docx", parsetest.DOCX("<w:tbl><w:tr>"+wordCell(two, "Masts of 2024")+"</w:tr>"+
		head+wordCell("", "Mast")+wordCell("", "Height")+"</w:tr>"+head+wordCell("", "")+wordCell("", "m")+"</w:tr><w:tr>"+wordCell("", "Main")+wordCell("", "14")+"</w:tr></w:tbl>"),
		"paragraph: Masts of 2024\nrow: Mast | Height – m\nrow: Main | 14")
}

func TestTablesOfODF(t *testing.T) {
	cell := func(properties, text string) string {
		return "<table:table-cell " + properties + "><text:p>" + text + "</text:p></table:table-cell>"
	}
	const covered, two, down = "<table:covered-table-cell/>", `table:number-columns-spanned="2"`, `table:number-rows-spanned="2"`
	rows := []string{
		cell(down, "Route") + cell(two, "Price") + covered + cell(down, "Days"),
		covered + cell("", "Adults") + cell("", "Children") + covered,
		cell("", "Island") + cell("", "£9") + cell("", "£4") + cell(down, "daily"),
		cell("", "Lighthouse") + cell(two, "£12") + covered + covered,
		cell("", "Harbour") + cell(two, "free") + covered + cell("", "Sunday"),
	}
	table := "<table:table table:name=\"Fares\"><table:table-row>" + strings.Join(rows, "</table:table-row><table:table-row>") + "</table:table-row></table:table>"
	want := strings.ReplaceAll(fares, "\n\t", "\n")
	parsed(t, "a.odt", parsetest.ODF("text", "", table), want)
	parsed(t, "a.ods", parsetest.ODF("spreadsheet", "", table), "heading1: Fares\n"+want)
}

func TestTablesOfPPTX(t *testing.T) {
	cell := func(properties, text string) string {
		return "<a:tc " + properties + "><a:txBody><a:p><a:r><a:t>" + text + "</a:t></a:r></a:p></a:txBody></a:tc>"
	}
	rows := []string{
		cell(`rowSpan="2"`, "Route") + cell(`gridSpan="2"`, "Price") + cell(`hMerge="1"`, ""),
		cell(`vMerge="1"`, "") + cell("", "Adults") + cell("", "Children"),
		cell("", "Island") + cell("", "£9") + cell("", "£4"),
	}
	parsed(t, "a.pptx", parsetest.PPTX([]string{"<p:graphicFrame><a:tbl><a:tr>" + strings.Join(rows, "</a:tr><a:tr>") + "</a:tr></a:tbl></p:graphicFrame>"}, ""),
		"row p1: Route | Price – Adults | Price – Children\nrow p1: Island | £9 | £4")
}

// TestSheets parses sheets with titles, text and several tables.
func TestSheets(t *testing.T) {
	for name, c := range map[string]struct {
		rows   []string // cells are separated by bars
		merged []string
		want   string
	}{
		"two rows of the head": {[]string{"Ferry – fares", "from 1 January 2025", "", "|Price||Days", "|Adults|Children", "Island|9|4|daily", "Lighthouse|12||daily", "", "Children under four sail free."},
			[]string{"A1:D1", "B4:C4", "D4:D5"}, `heading2: Ferry – fares
			paragraph: from 1 January 2025
			row: | Price – Adults | Price – Children | Days
			row: Island | 9 | 4 | daily
			row: Lighthouse | 12 |  | daily
			paragraph: Children under four sail free.`},
		"merged rows": {[]string{"Route|Days|Price", "Island|daily|9", "Lighthouse||12", "Total: two routes", "Harbour||4"}, []string{"B2:B3", "A4:C4"}, `row: Route | Days | Price
			row: Island | daily | 9
			row: Lighthouse | daily | 12
			row: Total: two routes
			row: Harbour |  | 4`},
		"text only": {[]string{"Rules of the harbour", "Boats keep to the right.", "Anchors are not dropped in the fairway."}, nil, `heading2: Rules of the harbour
			paragraph: Boats keep to the right.
			paragraph: Anchors are not dropped in the fairway.`},
		"two tables": {[]string{"Pier|Depth", "North|4", "", "Opening hours", "Monday|closed", "Tuesday|8–17"}, nil, `row: Pier | Depth
			row: North | 4
			heading2: Opening hours
			row: Monday | closed
			row: Tuesday | 8–17`},
		"form over a table": {[]string{"Lead|Ada Quill||Date|30 April", "", "No.|Task|Who", "1|Paint|Ben", "2|Sweep|Cy"}, nil, `row: Lead | Ada Quill |  | Date | 30 April
			row: No. | Task | Who
			row: 1 | Paint | Ben
			row: 2 | Sweep | Cy`},
		"two tables without titles": {[]string{"Pier|Depth", "North|4", "South|3", "", "Boat|Owner", "Gull|Ada"}, nil, `row: Pier | Depth
			row: North | 4
			row: South | 3
			row: Boat | Owner
			row: Gull | Ada`},
		"a name alone": {[]string{"Name|Fee", "Ada|9", "Per|7", "", "Ben", "", "Cy|4"}, nil, `row: Name | Fee
			row: Ada | 9
			row: Per | 7
			paragraph: Ben
			row: Name | Fee
			row: Cy | 4`},
		"groups": {[]string{"Pier|Depth", "", "North|4", "West|5", "", "Inner harbour", "South|3"}, nil, `row: Pier | Depth
			row: North | 4
			row: West | 5
			heading2: Inner harbour
			row: Pier | Depth
			row: South | 3`},
	} {
		t.Run(name, func(t *testing.T) {
			f := excelize.NewFile()
			defer f.Close()
			for i, row := range c.rows {
				for k, v := range strings.Split(row, "|") {
					at, _ := excelize.CoordinatesToCellName(k+1, i+1)
					if err := f.SetCellValue("Sheet1", at, v); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, m := range c.merged {
				from, to, _ := strings.Cut(m, ":")
				if err := f.MergeCell("Sheet1", from, to); err != nil {
					t.Fatal(err)
				}
			}
			_ = f.SetSheetName("Sheet1", "Fares")
			var b bytes.Buffer
			if err := f.Write(&b); err != nil {
				t.Fatal(err)
			}
			p := parsed(t, "a.xlsx", b.Bytes(), "heading1: Fares\n"+strings.ReplaceAll(c.want, "\n\t\t\t", "\n"))
			if name == "two tables without titles" {
				var tight []bool
				for _, x := range p.Blocks[1:] {
					tight = append(tight, x.Tight)
				}
				if !slices.Equal(tight, []bool{false, true, true, false, true}) {
					t.Errorf("tight %v", tight)
				}
			}
		})
	}
}
