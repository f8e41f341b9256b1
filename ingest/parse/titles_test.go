package parse_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-pdf/fpdf"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
)

// written returns paragraphs as documents of formats without headings, by their names. Paragraphs between ** are in bold, and those after "# " are items of a numbered list.
func written(t *testing.T, paragraphs []string) map[string][]byte {
	t.Helper()
	var word, open, rich strings.Builder
	n := 0
	for _, p := range paragraphs {
		text, strong := strings.CutPrefix(strings.TrimSuffix(p, "**"), "**")
		text, item := strings.CutPrefix(text, "# ")
		properties, style, before, after, mark := "", "", "", "", ""
		if strong {
			properties, style = "<w:b/>", "Strong"
		}
		list := ""
		if item {
			n++
			list, mark = `<w:numPr><w:ilvl w:val="0"/><w:numId w:val="2"/></w:numPr>`, fmt.Sprintf(`{\listtext %d.\tab}`, n)
			before, after = `<text:list text:continue-numbering="true" text:style-name="L1"><text:list-item>`, "</text:list-item></text:list>"
		}
		fmt.Fprintf(&word, "<w:p><w:pPr>%s</w:pPr><w:r><w:rPr>%s</w:rPr><w:t>%s</w:t></w:r></w:p>", list, properties, text)
		fmt.Fprintf(&open, `%s<text:p><text:span text:style-name="%s">%s</text:span></text:p>%s`, before, style, text, after)
		fmt.Fprintf(&rich, `{\pard%s %s%s\par}`, map[bool]string{true: `\b`}[strong], mark, strings.ReplaceAll(text, "§", `\'a7`))
	}
	return map[string][]byte{
		"a.docx": parsetest.DOCX(word.String()),
		"a.odt": parsetest.ODF("text", `<style:style style:name="Strong"><style:text-properties fo:font-weight="bold"/></style:style>`+
			`<text:list-style style:name="L1"><text:list-level-style-number text:level="1"/></text:list-style>`, open.String()),
		"a.rtf": []byte(`{\rtf1\ansi ` + rich.String() + "}"),
	}
}

// TestTitles has titles that are no headings in their format: in bold, or with numbers.
func TestTitles(t *testing.T) {
	t.Parallel()
	const text = "The club was founded in 1921 by the pilots of the harbour."
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"in bold":               {[]string{text, "**Opening hours**", "All day.", "**Dues:**", "40 €"}, "6 Opening hours\n6 Dues:\n"},
		"a statement in bold":   {[]string{text, "**Dues: 40 €**", "Thank you.", "**Dogs are not allowed**", text}, ""},
		"nothing follows":       {[]string{text, "**The board**"}, ""},
		"a title over titles":   {[]string{"**Rules of 2024**", "**1. Boats**", text, "**2. Oars**", text, "**Colours**", text}, "1 Rules of 2024\n2 1. Boats\n2 2. Oars\n6 Colours\n"},
		"a title over text":     {[]string{"**Rules of 2024**", text}, "1 Rules of 2024\n"},
		"numbers":               {[]string{"1. Boats", text, "2. Oars", text, "3. Ropes", text}, "2 1. Boats\n2 2. Oars\n2 3. Ropes\n"},
		"numbers without marks": {[]string{"1 Boats", text, "2 Term", text, "2.1 Notice", text, "2.2 Renewal", text}, "2 1 Boats\n2 2 Term\n3 2.1 Notice\n3 2.2 Renewal\n"},
		"words and numbers":     {[]string{"TOP 1  Well", text, "TOP 2  Pump", text}, "2 TOP 1 Well\n2 TOP 2 Pump\n"},
		"clauses":               {[]string{"§ 1 Boats", "All.", "§ 2 Oars", "All."}, "2 § 1 Boats\n2 § 2 Oars\n"},
		"numbers in bold":       {[]string{"**1. Boats**", text, "**Colours**", text, "**2. Oars**", text}, "2 1. Boats\n6 Colours\n2 2. Oars\n"},
		"parts in bold":         {[]string{"**1. Boats**", "**1.1 Hulls**", text, "**1.2 Masts**", text, "**2. Oars**", text}, "2 1. Boats\n3 1.1 Hulls\n3 1.2 Masts\n2 2. Oars\n"},
		"numbers of a list":     {[]string{"# Boats", text, "# Oars", text, "# Ropes", text}, "2 1. Boats\n2 2. Oars\n2 3. Ropes\n"},
		"items":                 {[]string{text, "# Boats", "# Oars", "# Ropes", text}, ""},
		"items in bold":         {[]string{text, "**# Boats**", "**# Oars**", "**# Ropes**", text}, ""},
		"steps":                 {[]string{text, "# Untie the boat from the pier.", text, "# Row to the mouth of the river.", text}, ""},
	} {
		for file, data := range written(t, c.in) {
			t.Run(name+" in "+file, func(t *testing.T) {
				t.Parallel()
				if d := cmp.Diff(c.want, outlineOf(t, file, string(data))); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// TestBoldOfStyles has paragraphs that are in bold because of a style, and words that are not in one that is.
func TestBoldOfStyles(t *testing.T) {
	t.Parallel()
	docx := parsetest.ZipWith(parsetest.DOCX(parsetest.WordParagraph("Lead", "Hours")+parsetest.WordParagraph("", "All day.")+
		`<w:p><w:r><w:rPr><w:rStyle w:val="Loud"/></w:rPr><w:t>Dues</w:t></w:r></w:p>`+parsetest.WordParagraph("", "None.")+
		`<w:p><w:pPr><w:pStyle w:val="Lead"/></w:pPr><w:r><w:t>Board</w:t></w:r><w:r><w:rPr><w:b w:val="0"/></w:rPr><w:t> of today</w:t></w:r></w:p>`+parsetest.WordParagraph("", "Ada.")),
		"word/styles.xml", `<w:styles xmlns:w="w"><w:style w:type="paragraph" w:styleId="Base"><w:rPr><w:b/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="Lead"><w:basedOn w:val="Base"/></w:style>`+
			`<w:style w:type="character" w:styleId="Loud"><w:rPr><w:b w:val="true"/></w:rPr></w:style></w:styles>`)
	odt := parsetest.ODF("text", `<style:style style:name="Base"><style:text-properties fo:font-weight="bold"/></style:style><style:style style:name="Lead" style:parent-style-name="Base"/>`+
		`<style:style style:name="Loud"><style:text-properties fo:font-weight="700"/></style:style><style:style style:name="Soft"><style:text-properties fo:font-weight="normal"/></style:style>`,
		`<text:p text:style-name="Lead">Ho<text:span>urs</text:span></text:p><text:p>All day.</text:p><text:p><text:span text:style-name="Loud">Dues</text:span></text:p><text:p>None.</text:p>`+
			`<text:p text:style-name="Lead">Board<text:span text:style-name="Soft"> of today</text:span></text:p><text:p>Ada.</text:p>`)
	rtf := []byte(`{\rtf1\ansi\b Hours\par\plain All day.\par{\b\i Dues}\par\b0 None.\par\b Board\b0  of today\par Ada.\par}`)
	for name, data := range map[string][]byte{"a.docx": docx, "a.odt": odt, "a.rtf": rtf} {
		if d := cmp.Diff("1 Hours\n6 Dues\n", outlineOf(t, name, string(data))); d != "" {
			t.Error(name, d)
		}
	}
}

// TestWordNumbers has numbers that Word makes: of headings, of clauses, and of items.
func TestWordNumbers(t *testing.T) {
	t.Parallel()
	numbered := func(style, level, text string) string {
		return fmt.Sprintf(`<w:p><w:pPr><w:pStyle w:val="%s"/><w:numPr><w:ilvl w:val="%s"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, style, level, text)
	}
	data := parsetest.ZipWith(parsetest.DOCX(numbered("H1", "0", "Boats")+numbered("", "1", "All boats of the club are moored here.")+numbered("", "1", "None is sold.")+
		numbered("", "2", "blue ones")+numbered("", "2", "red ones")+numbered("H1", "0", "Oars")+numbered("", "1", "All.")),
		"word/numbering.xml", `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="0"><w:start w:val="4"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="§ %1"/></w:lvl>`+
			`<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:isLgl/><w:lvlText w:val="%1.%2"/></w:lvl><w:lvl w:ilvl="2"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>`+
			`<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num></w:numbering>`)
	parsed(t, "a.docx", data, `heading1: § IV Boats
		item2: 4.1 All boats of the club are moored here.
		item2: 4.2 None is sold.
		item3: (a) blue ones
		item3: (b) red ones
		heading1: § V Oars
		item2: 5.1 All.`)
}

// TestPDFTitles has titles with numbers whose font is that of the text, with and without a gap below them.
func TestPDFTitles(t *testing.T) {
	t.Parallel()
	const text = "The club was founded in 1921 by the pilots of the harbour, and everybody who rows may be a member of it."
	for name, c := range map[string]struct {
		in   []string
		gap  float64 // below each paragraph
		want string
	}{
		"numbers":             {[]string{"1. Boats", text, "2. Oars", text, "3. Ropes", text}, 0, "2 1. Boats\n2 2. Oars\n2 3. Ropes\n"},
		"numbers and gaps":    {[]string{"1. Boats", text, "2. Oars", text, "3. Ropes", text}, 6, "2 1. Boats\n2 2. Oars\n2 3. Ropes\n"},
		"without marks":       {[]string{"1 Boats", text, "2 Term", text}, 0, "2 1 Boats\n2 2 Term\n"},
		"clauses":             {[]string{"§ 1 Boats", text, "§ 2 Oars", text}, 0, "2 § 1 Boats\n2 § 2 Oars\n"},
		"items":               {[]string{text, "1. Boats", "2. Oars", "3. Ropes", text}, 0, ""},
		"steps":               {[]string{text, "1. Untie the boat from the pier.", text, "2. Row to the river.", text}, 0, ""},
		"wrapped sentences":   {[]string{"1. " + text, "2. " + text, "3. " + text}, 0, ""},
		"a list in a section": {[]string{"1. Boats", text, "2. Oars", text, "   1. short", "   2. long", "3. Ropes", text}, 0, "2 1. Boats\n2 2. Oars\n2 3. Ropes\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fpdf.New("P", "mm", "A4", "")
			f.AddPage()
			f.SetFont("Times", "", 11)
			for _, p := range c.in {
				bare := strings.TrimLeft(p, " ")
				f.SetX(10 + 3*float64(len(p)-len(bare)))
				f.MultiCell(0, 5, f.UnicodeTranslatorFromDescriptor("")(bare), "", "L", false)
				f.Ln(c.gap)
			}
			var b bytes.Buffer
			if err := f.Output(&b); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, outlineOf(t, "a.pdf", b.String())); d != "" {
				t.Error(d)
			}
		})
	}
}
