package parse_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-pdf/fpdf"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/internal/tools/golden"
)

// render formats a document for review.
func render(p parse.Parsed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", p.Title, p.MediaType)
	if p.Pages > 0 {
		fmt.Fprintf(&b, ", %d pages", p.Pages)
	}
	b.WriteByte('\n')
	for _, f := range [][2]string{{"title", p.Meta.Title}, {"creator", p.Meta.Creator}, {"subject", p.Meta.Subject}, {"description", p.Meta.Description},
		{"date", p.Meta.Date}, {"language", p.Meta.Language}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "  %s: %s\n", f[0], f[1])
		}
	}
	for _, k := range p.Blocks {
		kind := k.Kind.String()
		if k.Level > 0 {
			kind += fmt.Sprint(" ", k.Level)
		}
		if k.Synthetic {
			kind += " silent"
		}
		if k.Tight {
			kind += " tight"
		}
		if k.Page > 0 {
			kind += fmt.Sprint(" p", k.Page)
		}
		for _, t := range k.PageBreaks {
			kind += fmt.Sprintf(" p%d@%d", t.Page, t.Offset)
		}
		fmt.Fprintf(&b, "[%s] %s\n", kind, strings.ReplaceAll(k.Text, "\n", "\n    | "))
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, ".golden") || !strings.Contains(filepath.Base(f), ".") {
			continue
		}
		t.Run(filepath.Base(f), func(t *testing.T) {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			p, err := parse.Parse(t.Context(), strings.TrimSuffix(f, ".src"), data, parse.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, f+".golden", render(p))
		})
	}
}

func utf16LE(s string) []byte {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}

func utf16BE(s string) []byte {
	out := []byte{0xfe, 0xff}
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.BigEndian.AppendUint16(out, u)
	}
	return out
}

func TestEncodings(t *testing.T) {
	const want = "Käse “für” 5 €"
	for name, data := range map[string][]byte{
		"utf8.txt":     []byte(want),
		"bom.txt":      []byte("\ufeff" + want),
		"le.txt":       utf16LE(want),
		"be.txt":       utf16BE(want),
		"1252.txt":     []byte("K\xe4se \x93f\xfcr\x94 5 \x80"),
		"page.html":    []byte("<html><meta charset=iso-8859-15><p>K\xe4se “für” 5 \xa4"),
		"le.html":      utf16LE("<html><body><p>" + want),
		"crlf.txt":     []byte("\r\n" + want + "\r\n"),
		"noext":        []byte(want),
		"https://a/b":  []byte("<!doctype html><body><p>" + want),
		"controls.txt": []byte("\x01K\u200bäse “für” 5 €\x00"[:len("\x01K\u200bäse “für” 5 €")]),
	} {
		if name == "page.html" {
			data = []byte("<html><meta charset=iso-8859-15><p>K\xe4se &ldquo;f\xfcr&rdquo; 5 \xa4")
		}
		p, err := parse.Parse(t.Context(), name, data, parse.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Blocks) != 1 || p.Blocks[0].Text != want {
			t.Errorf("%s: got %+v, want %q", name, p.Blocks, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		data   string
		limits parse.Limits
		code   fault.Code
		want   string
	}{
		{"a.txt", "", parse.Limits{}, fault.InvalidRequest, "a.txt: the file is empty"},
		{"a.txt", " \n\t ", parse.Limits{}, fault.InvalidRequest, "a.txt: holds no text"},
		{"a.txt", "a\x00b", parse.Limits{}, fault.InvalidRequest, "a.txt: a binary file cannot be read"},
		{"a.txt", "hello", parse.Limits{Bytes: 4}, fault.TooLarge, "a.txt: larger than the limit of 4 bytes"},
		{"a.txt", "hello", parse.Limits{Text: 4}, fault.TooLarge, "a.txt: holds more than 4 bytes of text"},
		{"a.docx", "PK\x03\x04....", parse.Limits{}, fault.InvalidRequest, "a.docx: not a valid ZIP file"},
		{"a.pdf", "hello", parse.Limits{}, fault.InvalidRequest, "a.pdf: not valid PDF"},
		{"a.pdf", "%PDF-1.4\n", parse.Limits{}, fault.InvalidRequest, "a.pdf: not valid PDF: its end is missing"},
		{"b\xff\n\u202e.md", "", parse.Limits{}, fault.InvalidRequest, `b\xff\x0a\u202e.md: the file is empty`},
		{"a.html", "<html><script>x</script>", parse.Limits{}, fault.InvalidRequest, "a.html: holds no text"},
	} {
		_, err := parse.Parse(t.Context(), tt.name, []byte(tt.data), tt.limits)
		e, ok := errors.AsType[*fault.Error](err)
		if !ok || e.Code != tt.code || e.Message != tt.want {
			t.Errorf("%q: got %v, want %s %s", tt.name, err, tt.code, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"a.txt", "a.md", "a.html", "a.go", "a.csv", "a.pdf"} {
		data := "some text"
		if name == "a.pdf" {
			data = "%PDF-1.4\n" + strings.Repeat(" ", 200) + "%%EOF"
		}
		if _, err := parse.Parse(ctx, name, []byte(data), parse.Limits{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want a cancelled context", name, err)
		}
	}
}

// Inputs for which the libraries take more than linear time.
func TestHostile(t *testing.T) {
	for name, data := range map[string]string{
		"quotes.md":   strings.Repeat(">", 200_000),
		"lists.md":    strings.Repeat("- ", 100_000) + "x",
		"brackets.md": strings.Repeat("[", 300_000) + "x",
		"links.md":    strings.Repeat("[a](", 100_000),
		"ticks.md":    strings.Repeat("`a", 60_000),
		"stars.md":    strings.Repeat("*a **a ", 60_000),
		"lines.md":    strings.Repeat("[a\n", 60_000),
		"indent.md":   strings.Repeat(" ", 1) + strings.Repeat("> \n", 50_000) + "x",
		"deep.html":   strings.Repeat("<div>", 200_000) + "words",
		"tables.html": strings.Repeat("<table><tr><td>", 100_000) + "words",
		"attrs.html":  "<p " + strings.Repeat("a=b ", 200_000) + ">words",
		"fonts.html":  strings.Repeat("<b><i>", 100) + strings.Repeat("<p>x", 2000),
		"yaml.md":     "---\na: " + strings.Repeat("[", 60_000) + "\n---\nwords",
		"bomb.md":     "---\na: &a [x,x]\nb: &b [*a,*a]\n---\nwords",
		"line.go":     "func " + strings.Repeat("a ", 500_000),
		"line.txt":    strings.Repeat("a", 3_000_000),
		"quote.csv":   "a,\"" + strings.Repeat("b\n", 300_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse.Parse(t.Context(), name, []byte(data), parse.Limits{})
			if _, ok := errors.AsType[*fault.Error](err); err != nil && !ok {
				t.Errorf("error without a code: %v", err)
			}
		})
	}
}

func TestUnusualFrontMatter(t *testing.T) {
	for in, want := range map[string]corpus.DublinCore{
		"---\n---\nx":                          {},
		"---\ntitle: A: B\n---\nx":             {},
		"---\nDC.Title: T\n---\nx":             {Title: "T"},
		"---\nauthor: {name: N}\n---\nx":       {Creator: "N"},
		"---\ntitle: 7\ndate: 2020\n---\nx":    {Title: "7", Date: "2020"},
		"---\ntitle: no end\nx":                {},
		"---\ntitle: &a x\nauthor: *a\n---\nx": {},
	} {
		p, err := parse.Parse(t.Context(), "a.md", []byte(in), parse.Limits{})
		if err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if d := cmp.Diff(want, p.Meta); d != "" {
			t.Errorf("%q: %s", in, d)
		}
	}
}

// withXMP returns a PDF file whose catalog refers to XMP metadata. The library writes the metadata, but not the reference.
func withXMP(t *testing.T, xmp string) string {
	file := string(book(t, func(f *fpdf.Fpdf) { f.SetXmpMetadata([]byte(xmp)) }))
	number := regexp.MustCompile(`(\d+) 0 obj\n<< /Type /Metadata`).FindStringSubmatch(file)[1]
	const entry = "/PageMode /UseOutlines"
	return strings.Replace(file, entry, fmt.Sprintf("%-*s", len(entry), "/Metadata "+number+" 0 R"), 1)
}

// TestStatedMetadata reads the elements of Dublin Core, and the contributor, in each format that can state them.
func TestStatedMetadata(t *testing.T) {
	want := corpus.DublinCore{Title: "Of Rivers", Creator: "Dee Water, Ed Brook", Subject: "rivers", Description: "About rivers.", Publisher: "Acme",
		Date: "2024-05-06", Language: "en", Rights: "CC BY 4.0", Source: "https://example.com/rivers", Identifier: "10.1000/182"}
	xmp := `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Of Rivers</rdf:li><rdf:li xml:lang="de">Von Flüssen</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Dee Water</rdf:li><rdf:li>Ed Brook</rdf:li></rdf:Seq></dc:creator><dc:contributor>dee</dc:contributor>
<dc:subject>rivers</dc:subject><dc:description>About rivers.</dc:description><dc:publisher>Acme</dc:publisher><dc:date>2024-05-06</dc:date><dc:language>en</dc:language>
<dc:rights>CC BY 4.0</dc:rights><dc:source>https://example.com/rivers</dc:source><dc:identifier>10.1000/182</dc:identifier></rdf:Description></rdf:RDF></x:xmpmeta>`
	for name, data := range map[string]string{
		"front matter.md": "---\ntitle: Of Rivers\nauthor: [Dee Water, Ed Brook]\ncontributor: dee\nsubject: rivers\nsummary: About rivers.\npublisher: Acme\n" +
			"date: 2024-05-06\nlang: en\nlicense: CC BY 4.0\nsource: https://example.com/rivers\ndoi: 10.1000/182\n---\nwords",
		"prefixed.md": "---\ndc_title: Of Rivers\nDC.Creator: Dee Water, Ed Brook\ndcterms.contributor: dee\ndc:subject: rivers\ndc_description: About rivers.\ndc_publisher: Acme\n" +
			"dc_date: 2024-05-06\ndc_language: en\ndc_rights: CC BY 4.0\ndc_source: https://example.com/rivers\ndc_identifier: 10.1000/182\n---\nwords",
		"dc.html": `<html lang="en"><meta name="DC.title" content="Of Rivers"><meta name="DC.creator" content="Dee Water"><meta name="DC.creator" content="Ed Brook">
<meta name="dc.contributor" content="dee"><meta name="dcterms.subject" content="rivers"><meta name="dcterms.abstract" content="About rivers."><meta name="DC.publisher" content="Acme">
<meta name="dcterms.issued" content="2024-05-06"><meta name="DC.rights" content="CC BY 4.0"><meta name="DC.source" content="https://example.com/rivers"><meta name="DC.identifier" content="10.1000/182">words`,
		"citation.html": `<html lang="en"><meta name="citation_title" content="Of Rivers"><meta name="citation_author" content="Dee Water"><meta name="citation_author" content="Ed Brook">
<meta name="contributor" content="dee"><meta name="citation_keywords" content="rivers"><meta name="citation_abstract" content="About rivers."><meta name="citation_publisher" content="Acme">
<meta name="citation_publication_date" content="2024-05-06"><meta name="copyright" content="CC BY 4.0"><link rel="canonical" href="https://example.com/rivers"><meta name="citation_doi" content="10.1000/182">words`,
		"xmp.pdf": withXMP(t, xmp),
	} {
		p, err := parse.Parse(t.Context(), name, []byte(data), parse.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, p.Meta); d != "" || p.Contributor != "dee" {
			t.Errorf("%s, contributor %q (-want +got):\n%s", name, p.Contributor, d)
		}
	}
	p, err := parse.Parse(t.Context(), "a.md", []byte("---\ncontributor: issuer\n---\nwords"), parse.Limits{})
	if err != nil || p.Contributor != "" {
		t.Errorf("contributor %q, which cannot be an account, %v", p.Contributor, err)
	}
}
