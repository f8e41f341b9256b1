package parse_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/sluice-rag/sluice/ingest/parse"
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
		"heads only": {`<table><tr><th>Pier</th></tr><tr><th>Depth</th></tr></table>`, "row: Pier\nrow: Depth"},
		"empty ends": {`<table><tr><td></td><td>Adults</td><td></td></tr><tr><td>Island</td><td>£9</td><td></td></tr></table>`, "row: | | Adults | |\nrow: Island | £9 |"},
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
