package parse_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
)

// shown returns blocks as text, one a line: kind, level, page and text.
func shown(p parse.Parsed) string {
	var b strings.Builder
	for _, x := range p.Blocks {
		fmt.Fprint(&b, x.Kind)
		if x.Level > 0 {
			fmt.Fprint(&b, x.Level)
		}
		if x.Page > 0 {
			fmt.Fprintf(&b, " p%d", x.Page)
		}
		fmt.Fprintf(&b, ": %s\n", strings.ReplaceAll(x.Text, "\n", "⏎"))
	}
	return b.String()
}

func parsed(t *testing.T, name string, data []byte, want string) parse.Parsed {
	t.Helper()
	p, err := parse.Parse(t.Context(), name, data, parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(strings.ReplaceAll(want, "\n\t\t", "\n")), strings.TrimSpace(shown(p))); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
	return p
}

func checkProperties(t *testing.T, p parse.Parsed) {
	t.Helper()
	if p.Meta.Title != "Harbour guide" || p.Meta.Creator != "Ada Quill" || p.Meta.Subject != "boats, tides" || p.Meta.Date != "2024-05-06" {
		t.Errorf("metadata %+v", p.Meta)
	}
}

const wordBody = `<w:p><w:pPr><w:pStyle w:val="H1"/></w:pPr><w:r><w:t>Harbour</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">The tide </w:t></w:r><w:del><w:r><w:delText>never </w:delText></w:r></w:del><w:ins><w:r><w:t>always</w:t></w:r></w:ins>
<w:r><w:t xml:space="preserve"> turns; see </w:t></w:r><w:hyperlink r:id="rId9"><w:r><w:t>tables</w:t></w:r></w:hyperlink><w:r><w:footnoteReference w:id="2"/><w:t>.</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="H2"/></w:pPr><w:r><w:t>Boats</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr></w:pPr><w:r><w:t>Ferry</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr></w:pPr><w:r><w:t>Cutter</w:t></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>small</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="Code"/></w:pPr><w:r><w:t>a := 1</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="Code"/></w:pPr><w:r><w:t xml:space="preserve">  b := 2</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Pier</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Depth</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>North</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>4 m</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
<w:p><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>Boxed</w:t></w:r></w:p></w:txbxContent></w:pict><w:t>Around</w:t></w:r></w:p>`

func TestDOCX(t *testing.T) {
	p := parsed(t, "a.docx", parsetest.DOCX(wordBody), `heading1: Harbour
		paragraph: The tide always turns; see tables.
		paragraph: Note: Measured in 1999.
		heading2: Boats
		item1: 1. Ferry
		item1: 2. Cutter
		item2: - small
		code: a := 1⏎  b := 2
		row: Pier | Depth
		row: North | 4 m
		paragraph: Boxed
		paragraph: Around`)
	checkProperties(t, p)
	if l := p.Blocks[1].Links; len(l) != 1 || l[0].Text != "tables" || l[0].Target != "https://example.org/tides" {
		t.Errorf("links %+v", l)
	}
	// The bytes decide, not the name.
	if p, err := parse.Parse(t.Context(), "a.txt", parsetest.DOCX(wordBody), parse.Limits{}); err != nil || !strings.Contains(p.MediaType, "wordprocessingml") {
		t.Errorf("%s, %v", p.MediaType, err)
	}
}

const firstSlide = `<p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>Tides</a:t></a:r></a:p></p:txBody></p:sp>
<p:sp><p:nvSpPr><p:nvPr><p:ph idx="1"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>High</a:t></a:r></a:p><a:p><a:pPr lvl="1"/><a:r><a:t>twice a day</a:t></a:r></a:p></p:txBody></p:sp>
<p:sp><p:nvSpPr><p:nvPr><p:ph type="sldNum"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:fld><a:t>1</a:t></a:fld></a:p></p:txBody></p:sp>`

const slideNotes = `<p:sp><p:nvSpPr><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>Mention the moon.</a:t></a:r></a:p></p:txBody></p:sp>`

func TestPPTX(t *testing.T) {
	table := `<p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>Pier</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>Depth</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame>`
	p := parsed(t, "a.pptx", parsetest.PPTX([]string{firstSlide, table}, slideNotes), `heading1 p1: Tides
		item1 p1: - High
		item2 p1: - twice a day
		paragraph p1: Mention the moon.
		row p2: Pier | Depth`)
	checkProperties(t, p)
	if p.Pages != 2 {
		t.Errorf("%d pages", p.Pages)
	}
}

func workbook(t testing.TB, cells map[string]any) []byte {
	f := excelize.NewFile()
	defer f.Close()
	for at, v := range cells {
		if err := f.SetCellValue("Sheet1", at, v); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.NewSheet("Hidden"); err != nil {
		t.Fatal(err)
	}
	_ = f.SetCellValue("Hidden", "A1", "secret")
	_ = f.SetSheetVisible("Hidden", false)
	_ = f.SetSheetName("Sheet1", "Depths")
	_ = f.SetDocProps(&excelize.DocProperties{Title: "Harbour guide", Creator: "Ada Quill", Keywords: "boats, tides", Modified: "2024-05-06T07:08:09Z"})
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestXLSX(t *testing.T) {
	p := parsed(t, "a.xlsx", workbook(t, map[string]any{"A1": "Pier", "B1": "Depth", "C1": "Note", "A2": "North", "B2": 4.5, "A4": "South", "B4": 3, "C4": "silted"}), `heading1: Depths
		row: Pier | Depth | Note
		row: North | 4.5 |
		row: South | 3 | silted`)
	checkProperties(t, p)
	// The last cell of a sheet costs as little as the first.
	parsed(t, "far.xlsx", workbook(t, map[string]any{"A1": "here", "XFD1048576": "far"}), "heading1: Depths\nparagraph: here\nparagraph: far")
}

func TestODF(t *testing.T) {
	p := parsed(t, "a.odt", parsetest.ODF("text", `<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/><text:list-style style:name="L1"><text:list-level-style-number text:level="1"/></text:list-style>`,
		`<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="1">Harbour</text:h>
		<text:p>The tide<text:s text:c="2"/>turns<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Measured in 1999.</text:p></text:note-body></text:note>; see <text:a xlink:href="https://example.org">tables</text:a>.<office:annotation><text:p>comment</text:p></office:annotation></text:p>
		<text:list text:style-name="L1"><text:list-item><text:p>Ferry</text:p></text:list-item><text:list-item><text:p>Cutter</text:p><text:list><text:list-item><text:p>small</text:p></text:list-item></text:list></text:list-item></text:list>
		<text:p text:style-name="P1">a := 1</text:p><text:p text:style-name="P1">b := 2</text:p>
		<table:table table:name="T"><table:table-row><table:table-cell><text:p>Pier</text:p></table:table-cell><table:table-cell><text:p>Depth</text:p></table:table-cell></table:table-row></table:table>`), `heading1: Harbour
		paragraph: The tide turns; see tables.
		paragraph: Note: Measured in 1999.
		item1: 1. Ferry
		item1: 2. Cutter
		item2: - small
		code: a := 1⏎b := 2
		row: Pier | Depth`)
	checkProperties(t, p)
	parsed(t, "a.ods", parsetest.ODF("spreadsheet", "", `<table:table table:name="Depths"><table:table-row><table:table-cell><text:p>Pier</text:p></table:table-cell><table:table-cell><text:p>Depth</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16382"/></table:table-row>
		<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>4</text:p></table:table-cell></table:table-row><table:table-row table:number-rows-repeated="1048574"><table:table-cell/></table:table-row></table:table>`), `heading1: Depths
		row: Pier | Depth
		row: 4 | 4`)
	if p := parsed(t, "a.odp", parsetest.ODF("presentation", "", `<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Tides</text:p></draw:text-box></draw:frame>
		<draw:frame presentation:class="outline"><draw:text-box><text:list><text:list-item><text:p>High</text:p></text:list-item></text:list></draw:text-box></draw:frame>
		<presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>Mention the moon.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>`), `heading1 p1: Tides
		item1 p1: - High
		paragraph p1: Mention the moon.`); p.Pages != 1 {
		t.Errorf("%d pages", p.Pages)
	}
}

// TestHostileContainers checks that small files that would expand, or name files outside, are refused with their reasons.
func TestHostileContainers(t *testing.T) {
	many := make([]string, 0, 50_000)
	for i := range 25_000 {
		many = append(many, fmt.Sprintf("word/%d.xml", i), "")
	}
	deep := strings.Repeat("<w:tbl><w:tr><w:tc>", 300)
	rows := strings.Repeat(`<table:table-row><table:table-cell table:number-columns-repeated="64"/></table:table-row>`, 70_000)
	for name, c := range map[string]struct {
		data []byte
		code fault.Code
		want string
	}{
		"ratio.docx":    {parsetest.Zip("word/document.xml", strings.Repeat(" ", 20<<20)), fault.TooLarge, "compressed more than"},
		"members.docx":  {parsetest.Zip(many...), fault.TooLarge, "holds more than 20000 files"},
		"deep.docx":     {parsetest.DOCX(deep), fault.TooLarge, "nested more than"},
		"entities.docx": {parsetest.Zip("word/document.xml", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document><w:p><w:r><w:t>&b;</w:t></w:r></w:p><`), fault.InvalidRequest, "not valid"},
		"cells.ods":     {parsetest.ODF("spreadsheet", "", "<table:table>"+rows+"</table:table>"), fault.TooLarge, "cells"},
		"outside.docx":  {parsetest.Zip("../word/document.xml", "<w:p/>"), fault.InvalidRequest, "cannot be read"},
		"empty.xlsx":    {parsetest.Zip("xl/workbook.xml", "<x/>"), fault.InvalidRequest, ""},
	} {
		_, err := parse.Parse(t.Context(), name, c.data, parse.Limits{})
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzOfficeXML(f *testing.F) {
	f.Add(wordBody)
	f.Add("<w:tbl><w:tr><w:tc><w:p><w:tbl><w:tr></w:p>")
	f.Fuzz(func(t *testing.T, body string) {
		check(t, "a.docx", parsetest.DOCX(body))
		check(t, "a.pptx", parsetest.PPTX([]string{body}, body))
		for _, kind := range []string{"text", "presentation", "spreadsheet"} {
			check(t, "a", parsetest.ODF(kind, "", body))
		}
	})
}

func FuzzSheet(f *testing.F) {
	f.Add(`<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="XFD1"><v>1</v></c></row></sheetData></worksheet>`)
	f.Fuzz(func(t *testing.T, sheet string) {
		check(t, "a.xlsx", parsetest.Zip("[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
			"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
			"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
			"xl/workbook.xml", `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets></workbook>`,
			"xl/worksheets/sheet1.xml", sheet))
	})
}

func FuzzZip(f *testing.F) {
	f.Add(parsetest.DOCX(wordBody))
	f.Add(parsetest.ODF("text", "", "<text:p>a</text:p>"))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, "a.docx", data) })
}
