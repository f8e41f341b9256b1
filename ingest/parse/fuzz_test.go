package parse_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// check checks what Parse guarantees for any bytes.
func check(t *testing.T, name string, data []byte) {
	t.Helper()
	before := string(data)
	p, err := parse.Parse(context.Background(), name, data, parse.Limits{Bytes: 1 << 20, Time: time.Minute})
	if string(data) != before {
		t.Fatal("the source was changed")
	}
	if err != nil {
		e, ok := errors.AsType[*fault.Error](err)
		if !ok {
			t.Fatalf("error without a code: %v", err)
		}
		if strings.Contains(e.Message, "took longer") {
			t.Fatal(e)
		}
		return
	}
	if p.Title == "" || p.MediaType == "" || len(p.Blocks) == 0 {
		t.Fatalf("incomplete: %+v", p)
	}
	for _, b := range p.Blocks {
		if strings.TrimSpace(b.Text) == "" || !utf8.ValidString(b.Text) || strings.ContainsFunc(b.Text, func(r rune) bool {
			return unicode.IsControl(r) && r != '\t' && r != '\n'
		}) {
			t.Fatalf("text %q", b.Text)
		}
		if b.Kind == parse.Heading && (b.Level < 1 || strings.Contains(b.Text, "\n")) {
			t.Fatalf("heading %d %q", b.Level, b.Text)
		}
		at := 0
		for _, l := range b.Links {
			if l.Offset < at || l.Text == "" || !strings.HasPrefix(b.Text[l.Offset:], l.Text) || len(l.Text) > 200 || len(l.Target) > 200 || !utf8.ValidString(l.Target) {
				t.Fatalf("link %+v in %q", l, b.Text)
			}
			at = l.Offset + len(l.Text)
		}
		if len(b.Links) > 64 {
			t.Fatalf("%d links", len(b.Links))
		}
		for _, turn := range b.PageBreaks {
			if turn.Offset < 0 || turn.Offset > len(b.Text) || !utf8.ValidString(b.Text[:turn.Offset]) {
				t.Fatalf("turn %+v in %q", turn, b.Text)
			}
		}
	}
}

func fuzz(f *testing.F, name string, seeds ...string) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Ext(strings.TrimSuffix(file, ".src")), filepath.Ext(name)) {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, name, data) })
}

func FuzzText(f *testing.F) {
	fuzz(f, "a.txt", "a\n===\nb\n\n- c\n- d", "\xff\xfea\x00", "\xe4\xf6\xfc", "1. a\n   b\n")
}

func FuzzMarkdown(f *testing.F) {
	fuzz(f, "a.md", "---\na: [\n---\n# b", "> > - 1. a\n\n    code\n", "[a]: b\n[a]", "<div>\n<!-- x", "a | b\n--|--\n1 | 2", "\\& &amp; &#0; `a`",
		"[a *b* `c`](d#e) [[F#g|h]] <a href=i>j</a> <k://l> [![m](n) o](p)")
}

func FuzzHTML(f *testing.F) {
	fuzz(f, "a.html", "<table><tr><td><table>", "<ul><li>a<ol><li>b", "<p hidden>x<main>y", "<pre><h1>x</pre>", "<svg><title>a", "<h1><p>x<ul><li>y",
		"<a href=b>c<p>d<img alt=e>f<table><tr><td><a href=g>h<br>i")
}

func FuzzCode(f *testing.F) {
	for _, ext := range []string{"go", "py", "ts", "rs", "c", "sql", "yaml", "json"} {
		files, _ := filepath.Glob("testdata/*." + ext + "*")
		for _, file := range files {
			data, _ := os.ReadFile(file)
			f.Add(ext, data)
		}
	}
	f.Fuzz(func(t *testing.T, ext string, data []byte) { check(t, "a."+ext, data) })
}

func FuzzTable(f *testing.F) {
	fuzz(f, "a.csv", "a;b\n\"c\nd\";e", "\"", "a\tb")
}

func FuzzPDF(f *testing.F) {
	data := book(f, nil)
	f.Add(data)
	f.Add(selfHolding())
	f.Add([]byte("%PDF-1.4\n1 0 obj\n<</Pages 2 0 R>>\nendobj\nxref\n0 1\n0 f\ntrailer\n<</Root 1 0 R/Size 2>>\nstartxref\n45\n%%EOF"))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, "a.pdf", data) })
}

// FuzzPDFContent mutates content streams, which compression hides from FuzzPDF.
func FuzzPDFContent(f *testing.F) {
	f.Add([]byte("BT /F1 12 Tf 72 700 Td (Hello) Tj 0 -14 Td [(wor) -20 (ld)] TJ ET"))
	f.Add([]byte("q 1 0 0 1 5 5 cm BT /F1 9 Tf 1 0 0 1 9 9 Tm <48656c> ' T* (a\\051\\n) \" ET Q BI /W 1 ID xx EI /X Do"))
	f.Fuzz(func(t *testing.T, content []byte) { check(t, "a.pdf", onePage(content)) })
}

func BenchmarkMarkdown(b *testing.B) { benchmark(b, "guide.md") }
func BenchmarkHTML(b *testing.B)     { benchmark(b, "page.html") }
func BenchmarkText(b *testing.B)     { benchmark(b, "notes.txt") }
func BenchmarkCode(b *testing.B)     { benchmark(b, "zoo.py") }

// benchmark parses a sample that is repeated to a quarter of a megabyte.
func benchmark(b *testing.B, name string) {
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		b.Fatal(err)
	}
	if _, body, ok := strings.Cut(string(data), "\n---\n"); ok {
		data = []byte(body)
	}
	data = []byte(strings.Repeat(string(data)+"\n", 1+(256<<10)/len(data)))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parse.Parse(b.Context(), name, data, parse.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPDF(b *testing.B) {
	data := book(b, nil)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := parse.Parse(b.Context(), "a.pdf", data, parse.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
