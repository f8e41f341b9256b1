package parse_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// inObjectStream returns a PDF file whose catalog and pages are in an object stream, without cross-references.
func inObjectStream(t *testing.T) []byte {
	t.Helper()
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/Contents 5 0 R/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"}
	var head, body string
	for i, o := range objects {
		head += fmt.Sprintf("%d %d ", i+1, len(body))
		body += o + " "
	}
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write([]byte(head + body)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	content := "BT /F1 12 Tf 72 700 Td (The ferry leaves at noon.) Tj ET"
	fmt.Fprintf(&b, "%%PDF-1.5\n5 0 obj<</Length %d>>stream\n%s\nendstream\nendobj\n", len(content), content)
	fmt.Fprintf(&b, "4 0 obj<</Type/ObjStm/N %d/First %d/Filter/FlateDecode/Length %d>>stream\n", len(objects), len(head), packed.Len())
	b.Write(packed.Bytes())
	b.WriteString("\nendstream\nendobj\n")
	return b.Bytes()
}

// TestPDFRepair reads files whose cross-references are missing or wrong.
func TestPDFRepair(t *testing.T) {
	t.Parallel()
	good := book(t, nil)
	whole := "The river grows."
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no cross-references":       {bytes.ReplaceAll(good, []byte("startxref"), []byte("startxxxx")), whole},
		"wrong offset":              {bytes.Replace(good, []byte("startxref\n"), []byte("startxref\n1"), 1), whole},
		"wrong offsets of objects":  {bytes.Replace(good, []byte("\n1 0 obj"), []byte("\n\n\n\n\n\n\n1 0 obj"), 1), whole},
		"a line before":             {append([]byte("sent by a scanner\n"), bytes.ReplaceAll(good, []byte("startxref"), []byte("startxxxx"))...), whole},
		"no end":                    {good[:bytes.LastIndex(good, []byte("xref\n0 "))], whole},
		"no catalog":                {good[:bytes.Index(good, []byte("/Type /Pages"))], "Water comes out of the rock."},
		"catalog in object streams": {inObjectStream(t), "The ferry leaves at noon."},
	} {
		p, err := parse.Parse(t.Context(), "a.pdf", c.data, parse.Limits{})
		text := ""
		for _, b := range p.Blocks {
			text += b.Text + "\n"
		}
		if err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}

// TestPDFRightToLeft reads lines whose characters are in the order of their places.
func TestPDFRightToLeft(t *testing.T) {
	t.Parallel()
	font := "<</Type/Font/Subtype/Type0/BaseFont/Ryumin/Encoding/UniJIS-UTF16-H/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/Ryumin>>]>>"
	encode := func(s string) string {
		out, err := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("<%x>", out)
	}
	for shown, want := range map[string]string{
		"תרובעמה":                     "המעבורת",
		"(ףיצרהמ) תאצוי":              "יוצאת (מהרציף)",
		"תאצוי ינופצה Lunden Creek-ב": "ב-Lunden Creek הצפוני יוצאת",
		"34 ,12.5 רפסמ":               "מספר 12.5, 34",
		"the word םולש means hi":      "the word שלום means hi",
		"says םולש 12 רפסמ to all":    "says מספר 12 שלום to all",
		"مﻼﺴﻟا":                       "السلام",
		"no such letters (1)":         "no such letters (1)",
	} {
		p, err := parse.Parse(t.Context(), "a.pdf", onePageIn(font, []byte("BT /F1 12 Tf 72 700 Td "+encode(shown)+" Tj ET")), parse.Limits{})
		if err != nil || p.Blocks[0].Text != want {
			t.Errorf("%q: %+v, %v; want %q", shown, p.Blocks, err, want)
		}
	}
	// Words that are shown one after the other, each to the left of the one before.
	content := fmt.Sprintf("BT /F1 12 Tf 1 0 0 1 400 700 Tm %s Tj 1 0 0 1 312 700 Tm %s Tj ET", encode("רפסמ"), encode("תרובעמה"))
	p, err := parse.Parse(t.Context(), "a.pdf", onePageIn(font, []byte(content)), parse.Limits{})
	if err != nil || len(p.Blocks) != 1 || p.Blocks[0].Text != "מספר המעבורת" {
		t.Errorf("words: %+v, %v", p.Blocks, err)
	}
}
