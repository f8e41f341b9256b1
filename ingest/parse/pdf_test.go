package parse_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/go-pdf/fpdf"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/internal/tools/golden"
)

// book returns a PDF file of several pages with a running head, page numbers, headings and hyphens.
func book(t testing.TB, change func(*fpdf.Fpdf)) []byte {
	t.Helper()
	f := fpdf.New("P", "mm", "A4", "")
	f.SetCreationDate(time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC))
	f.SetTitle("A book of rivers", true)
	f.SetAuthor("Dee Water", true)
	f.SetHeaderFunc(func() {
		f.SetFont("Helvetica", "I", 8)
		f.CellFormat(0, 5, "A book of rivers", "", 1, "C", false, 0, "")
	})
	f.SetFooterFunc(func() {
		f.SetY(-15)
		f.SetFont("Helvetica", "I", 8)
		f.CellFormat(0, 5, fmt.Sprintf("Page %d", f.PageNo()), "", 0, "C", false, 0, "")
	})
	for n, c := range []struct{ title, body string }{
		{"1 The source", "Water comes out of the rock. It is cold, clear and hard. People have drunk from it for longer than anybody can remem-\nber, and they will go on."},
		{"2 The middle", "The river grows. Towns stand on both banks, and bridges join them."},
		{"3 The mouth", "At last there is the sea. The water is brown and slow."},
	} {
		f.AddPage()
		f.SetFont("Times", "B", 18)
		f.Bookmark(c.title, 0, -1)
		f.MultiCell(0, 9, c.title, "", "L", false)
		f.Ln(4)
		f.SetFont("Times", "", 11)
		f.MultiCell(0, 5, c.body, "", "L", false)
		f.Ln(4)
		f.MultiCell(0, 5, "A second paragraph stands below.", "", "L", false)
		if n == 1 {
			f.Ln(4)
			f.SetFont("Times", "B", 11)
			f.MultiCell(0, 5, "Bridges of note", "", "L", false)
			f.Ln(2)
			f.SetFont("Times", "", 11)
			f.MultiCell(0, 5, "- the stone one", "", "L", false)
			f.MultiCell(0, 5, "- the iron one", "", "L", false)
			f.Ln(4)
			f.MultiCell(0, 5, "And this sentence goes on over the page because", "", "L", false)
		}
	}
	if change != nil {
		change(f)
	}
	var b bytes.Buffer
	if err := f.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPDFRunningHeads reads a book whose first pages have Roman numbers, and whose chapters have their own running heads. Its table has a row at
// the top of each page that is none.
func TestPDFRunningHeads(t *testing.T) {
	f := fpdf.New("P", "mm", "A4", "")
	f.SetFont("Times", "", 11)
	page := 0
	head := ""
	f.SetHeaderFunc(func() {
		page++
		number := fmt.Sprint(page - 4)
		if page <= 4 {
			number = []string{"i", "ii", "iii", "iv"}[page-1]
		}
		f.CellFormat(0, 5, head+" "+number, "", 1, "R", false, 0, "")
	})
	var want []string
	for n := range 16 {
		head = []string{"The book", "Springs", "Rivers", "Lakes"}[n/4]
		f.AddPage()
		for line := range 6 {
			text := fmt.Sprintf("The water of place %c%c is clear.", 'a'+n, 'a'+line)
			if n >= 12 && line == 0 {
				text = fmt.Sprintf("%d 7 12", 1990+n)
			}
			f.MultiCell(0, 5, text, "", "L", false)
			f.Ln(3)
			want = append(want, text)
		}
	}
	var b bytes.Buffer
	if err := f.Output(&b); err != nil {
		t.Fatal(err)
	}
	p, err := parse.Parse(t.Context(), "book.pdf", b.Bytes(), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range p.Blocks {
		got = append(got, b.Text)
	}
	if text, want := strings.Join(got, " "), strings.Join(want, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestPDF(t *testing.T) {
	data := book(t, nil)
	p, err := parse.Parse(t.Context(), "rivers.pdf", data, parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/rivers.golden", render(p))

	// Bytes before the header and after the end are ignored.
	wrapped := append([]byte("junk\n"), append(bytes.Clone(data), "\n\n<!-- served -->\n"...)...)
	wrapped = bytes.Replace(wrapped, []byte("%PDF-1.3\n"), []byte("%PDF-2.0 "), 1)
	q, err := parse.Parse(t.Context(), "rivers.pdf", wrapped, parse.Limits{})
	if err != nil || render(q) != render(p) {
		t.Errorf("wrapped: %v\n%s", err, render(q))
	}
}

func picture() *bytes.Buffer {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)))
	return &b
}

// selfHolding returns a file whose object stream contains itself.
func selfHolding() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	at := b.Len()
	rows := []byte{0, 0, 0, 2, 1, 0, 2, 1, 0, 1, 0, byte(at)} // objects 1 and 2 are in object 1
	fmt.Fprintf(&b, "3 0 obj\n<</Type/XRef/Size 4/W[1 1 1]/Root 2 0 R/Length %d>>\nstream\n%s\nendstream\nendobj\n", len(rows), rows)
	fmt.Fprintf(&b, "%s\nstartxref\n%d\n%%%%EOF\n", strings.Repeat("% fill\n", 20), at)
	return b.Bytes()
}

func TestPDFRefusals(t *testing.T) {
	good := book(t, nil)
	scanned := fpdf.New("P", "mm", "A4", "")
	scanned.RegisterImageOptionsReader("p", fpdf.ImageOptions{ImageType: "png"}, picture())
	for range 2 {
		scanned.AddPage()
		scanned.Image("p", 0, 0, 200, 200, false, "", 0, "")
	}
	var pictures bytes.Buffer
	if err := scanned.Output(&pictures); err != nil {
		t.Fatal(err)
	}
	empty := fpdf.New("P", "mm", "A4", "")
	empty.AddPage()
	var blank bytes.Buffer
	if err := empty.Output(&blank); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"password", book(t, func(f *fpdf.Fpdf) { f.SetProtection(0, "user", "owner") }), "the PDF is encrypted and needs a password"},
		{"key of 40 bits", book(t, func(f *fpdf.Fpdf) { f.SetProtection(0, "", "owner") }), "encrypted in a way that cannot be read"},
		{"scanned", pictures.Bytes(), "it looks scanned"},
		{"blank", blank.Bytes(), "holds no text"},
		{"cut before its first page", good[:200], "its end is missing"},
		{"cut and closed", append(bytes.Clone(good[:200]), "\n%%EOF\n"...), "not valid PDF"},
		{"huge table", bytes.Replace(good, []byte("/Size "), []byte("/Size 99999999999"), 1), "a table is larger than the file"},
		{"huge section", bytes.Replace(good, []byte("xref\n0 "), []byte("xref\n9999999999 "), 1), "a table is larger than the file"},
		{"huge section after a comment", bytes.Replace(good, []byte("xref\n0 "), []byte("xref %\n 9999999999 "), 1), "a table is larger than the file"},
		{"huge index", bytes.Replace(selfHolding(), []byte("/Root"), []byte("/#49ndex%]\n[0 %]\n 9999999999]/Root"), 1), "a table is larger than the file"},
		{"hidden encryption", bytes.Replace(good, []byte("/Root"), []byte("/Encryp#74 1 0 R/Root"), 1), "encrypted in a way that cannot be read"},
		{"object stream in itself", selfHolding(), "object streams contain each other"},
	} {
		_, err := parse.Parse(t.Context(), "a.pdf", tt.data, parse.Limits{})
		if e, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	if _, err := parse.Parse(t.Context(), "a.pdf", good, parse.Limits{Pages: 2}); err == nil || !strings.Contains(err.Error(), "more than 2 pages") {
		t.Errorf("pages: %v", err)
	}
}

// onePage returns a file of one page with the given content, in a font with a ToUnicode map.
func onePage(content []byte) []byte {
	return onePageIn("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>", content)
}

// onePageIn returns a file of one page with the given content, in a font.
func onePageIn(font string, content []byte) []byte {
	const cmap = "1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <41> <43> <0061> endbfrange 1 beginbfchar <48> <0048> endbfchar"
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	object := func(format string, args ...any) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(at)}, args...)...)
	}
	object("<</Type/Catalog/Pages 2 0 R>>")
	object("<</Type/Pages/Kids[3 0 R]/Count 1>>")
	object("<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>/XObject<</X 4 0 R>>>>>>")
	object("<</Subtype/Form/Length %d>>\nstream\n%s\nendstream", len(content), content)
	object("%s", font)
	object("<</Length %d>>\nstream\n%s\nendstream", len(cmap), cmap)
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, off := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", off)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return b.Bytes()
}

// TestPDFCharacters reads fonts for Chinese, Japanese and Korean that are not embedded and have no ToUnicode map.
func TestPDFCharacters(t *testing.T) {
	t.Parallel()
	encoded := func(e encoding.Encoding, text string) string {
		out, err := e.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", out)
	}
	utf16be := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	for name, c := range map[string]struct{ encoding, ordering, codes, want string }{
		"numbers of Japanese":   {"Identity-H", "Japan1", "0c6e0b4602260d6a0a13", "灯台の番人"},
		"UTF-16":                {"UniJIS-UTF16-H", "Japan1", encoded(utf16be, "灯台の番人 𠮷野 1902"), "灯台の番人 𠮷野 1902"},
		"UCS-2":                 {"UniGB-UCS2-H", "GB1", encoded(utf16be, "灯塔建于一九〇二年"), "灯塔建于一九〇二年"},
		"Shift JIS":             {"90ms-RKSJ-H", "Japan1", encoded(japanese.ShiftJIS, "ｶﾅ 灯台の番人 1902"), "ｶﾅ 灯台の番人 1902"},
		"EUC-JP":                {"EUC-H", "Japan1", encoded(japanese.EUCJP, "灯台の番人"), "灯台の番人"},
		"GBK":                   {"GBK-EUC-H", "GB1", encoded(simplifiedchinese.GBK, "灯塔建于1902年"), "灯塔建于1902年"},
		"Big5":                  {"ETen-B5-H", "CNS1", encoded(traditionalchinese.Big5, "燈塔建於1902年"), "燈塔建於1902年"},
		"Korean":                {"KSCms-UHC-H", "Korea1", encoded(korean.EUCKR, "등대는 1902년"), "등대는 1902년"},
		"a character that ends": {"90ms-RKSJ-H", "Japan1", encoded(japanese.ShiftJIS, "灯台") + "94", "灯台"},
		"half a surrogate":      {"UniJIS-UTF16-H", "Japan1", encoded(utf16be, "灯台") + "d842", "灯台"},
		"unknown numbers":       {"Identity-H", "Klingon", "0c55", ""},
		"variants":              {"Identity-H", "Japan1", "0c6e0764", "灯鍵"},
		"bullets of Symbol":     {"UniJIS-UTF16-H", "Japan1", encoded(utf16be, "\uf0b7 灯台"), "• 灯台"},
	} {
		font := fmt.Sprintf("<</Type/Font/Subtype/Type0/BaseFont/Ryumin/Encoding/%s/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/Ryumin/CIDSystemInfo<</Registry(Adobe)/Ordering(%s)/Supplement 0>>>>]>>", c.encoding, c.ordering)
		p, err := parse.Parse(t.Context(), "a.pdf", onePageIn(font, []byte("BT /F1 12 Tf 72 700 Td <"+c.codes+"> Tj ET")), parse.Limits{})
		got := ""
		if err == nil {
			got = p.Blocks[0].Text
		}
		if got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// TestPDFLinesWithoutSpaces joins lines of scripts without spaces between words.
func TestPDFLinesWithoutSpaces(t *testing.T) {
	t.Parallel()
	lines := []string{"灯台の番人は、", "毎晩ランプを点けて", "Debian を使う", "人です。"}
	content := "BT /F1 12 Tf 14 TL 72 700 Td"
	for _, line := range lines {
		out, err := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String(line)
		if err != nil {
			t.Fatal(err)
		}
		content += fmt.Sprintf(" <%x> Tj T*", out)
	}
	font := "<</Type/Font/Subtype/Type0/BaseFont/Ryumin/Encoding/UniJIS-UTF16-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/Ryumin>>]>>"
	p, err := parse.Parse(t.Context(), "a.pdf", onePageIn(font, []byte(content+" ET")), parse.Limits{})
	if err != nil || p.Blocks[0].Text != "灯台の番人は、毎晩ランプを点けて Debian を使う人です。" {
		t.Errorf("%+v, %v", p.Blocks, err)
	}
}

func TestPDFContent(t *testing.T) {
	for in, want := range map[string]string{
		"BT /F1 12 Tf 72 700 Td (Hello) Tj ET":                                                   "Hello",
		"BT /F1 12 Tf 72 700 Td [(Hel) 10 (lo) -400 (you)] TJ ET":                                "Hello you",
		"BT /F1 12 Tf 72 700 Td (ABC) Tj ET":                                                     "abc",
		"BT /F1 12 Tf 14 TL 72 700 Td (one of many inter-) Tj (esting lines) ' ET":               "one of many interesting lines",
		"BT /F1 12 Tf 72 700 Td <48656C6C6f> Tj ET":                                              "Hello",
		"Q Q q BT /F1 12 Tf 1 1 -1 1 20 20 Tm (slanted) Tj 1 0 0 1 72 700 Tm (Hello) Tj ET":      "slanted / Hello",
		"BT /F1 12 Tf 0.5 1 -1 0.5 20 20 Tm (slanted) Tj 1 0 0 1 72 700 Tm (Hello) Tj ET":        "Hello",
		"BT /F1 12 Tf 14 TL 0 1 -1 0 20 20 Tm (turned to) Tj (the left) ' ET":                    "turned to the left",
		"BT /F1 12 Tf 14 TL 0 -1 1 0 20 700 Tm (turned to) Tj (the right) ' ET":                  "turned to the right",
		"BI /W 2 ID \x01\x02EI(x EI BT /F1 12 Tf 72 700 Td (He\\154l\\\no) Tj ET":                "Hello",
		"BT /F1 12 Tf 72 700 Td (Hel) Tj 100 100 (unfinished":                                    "Hel",
		"BT 1e999 Tc /F1 12 Tf << /A [ (x) >> ] 72 700 Td (Hello) Tj % (comment) Tj\n ET ]]>>))": "Hello",
	} {
		p, err := parse.Parse(t.Context(), "a.pdf", onePage([]byte(in)), parse.Limits{})
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		var got []string
		for _, b := range p.Blocks {
			got = append(got, b.Text)
		}
		if strings.Join(got, " / ") != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
