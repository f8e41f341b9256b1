package external_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pdf/fpdf"

	"github.com/sluice-rag/sluice/ingest/external"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const (
	first  = "The ferry to the northern islands leaves at seven."
	second = "Its captain is called Ada Vale."
)

// written returns a PDF file with two pages of text.
func written(t *testing.T) []byte {
	t.Helper()
	f := fpdf.New("P", "mm", "A5", "")
	for _, text := range []string{first, second} {
		f.AddPage()
		f.SetFont("Times", "", 14)
		f.MultiCell(0, 8, text, "", "L", false)
	}
	var b bytes.Buffer
	require.NoError(t, f.Output(&b))
	return b.Bytes()
}

// scanned returns the pages of written as pictures, and a PDF file with these pictures.
func scanned(t *testing.T) (pictures [][]byte, pdf []byte) {
	t.Helper()
	for _, p := range []string{"tesseract", "pdftoppm"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.pdf")
	require.NoError(t, os.WriteFile(path, written(t), 0o600))
	if out, err := exec.CommandContext(t.Context(), "pdftoppm", "-r", "200", "-png", path, filepath.Join(dir, "p")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f := fpdf.New("P", "mm", "A5", "")
	for _, name := range []string{"p-1.png", "p-2.png"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		pictures = append(pictures, data)
		f.AddPage()
		f.RegisterImageOptionsReader(name, fpdf.ImageOptions{ImageType: "png"}, bytes.NewReader(data))
		f.Image(name, 0, 0, 148, 210, false, "", 0, "")
	}
	var b bytes.Buffer
	require.NoError(t, f.Output(&b))
	return pictures, b.Bytes()
}

func TestScannedPages(t *testing.T) {
	t.Parallel()
	pictures, pdf := scanned(t)
	read := external.New(external.Options{}).Wrap(parse.Parse)
	p, err := read(t.Context(), "ferry.pdf", pdf, parse.Limits{})
	if err != nil || p.Pages != 2 || p.MediaType != "application/pdf" || p.Title != "ferry.pdf" || len(p.Blocks) != 2 ||
		p.Blocks[0].Text != first || p.Blocks[1].Text != second || p.Blocks[1].Page != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = read(t.Context(), "ferry.png", pictures[0], parse.Limits{})
	if err != nil || p.MediaType != "image/png" || len(p.Blocks) != 1 || p.Blocks[0].Text != first || p.Pages != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	p, err = read(t.Context(), "written.pdf", written(t), parse.Limits{})
	if err != nil || p.Blocks[0].Text != first {
		t.Errorf("with text: %+v, %v", p, err)
	}
	for _, c := range []struct {
		options external.Options
		want    string
	}{
		{external.Options{NoOCR: true}, "looks scanned"},
		{external.Options{Pages: 1}, "2 scanned pages"},
		{external.Options{Time: time.Nanosecond}, "took longer"},
		{external.Options{Languages: "nolanguage"}, "tesseract failed"},
		{external.Options{Languages: "../../etc"}, "tesseract failed"},
		{external.Options{Memory: 1 << 20}, " failed: "},
	} {
		_, err := external.New(c.options).Wrap(parse.Parse)(t.Context(), "ferry.pdf", pdf, parse.Limits{})
		if err == nil || !strings.HasPrefix(err.Error(), "ferry.pdf: ") || strings.Count(err.Error(), c.want) != 1 || strings.Contains(err.Error(), os.TempDir()) {
			t.Errorf("%+v: %v, want %s", c.options, err, c.want)
		}
		if errors.Is(err, parse.ErrExhausted) != (c.options.Time > 0) {
			t.Errorf("%+v: exhausted: %v", c.options, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := read(ctx, "ferry.png", pictures[0], parse.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestMissing(t *testing.T) {
	_, pdf := scanned(t)
	t.Setenv("PATH", t.TempDir())
	_, err := external.New(external.Options{}).Wrap(parse.Parse)(t.Context(), "ferry.pdf", pdf, parse.Limits{})
	if err == nil || !strings.Contains(err.Error(), "install tesseract and pdftoppm and pdfinfo") {
		t.Error(err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	commands, err := external.ParseCommands([]string{".boat=cat {}", ".LOUD=sh -c exit", ".long=yes"})
	require.NoError(t, err)
	read := external.New(external.Options{Commands: commands}).Wrap(parse.Parse)
	p, err := read(t.Context(), "a/harbour.BOAT", []byte("# Harbour\n\nTwo boats."), parse.Limits{})
	if err != nil || len(p.Blocks) != 2 || p.Blocks[0].Kind != parse.Heading || p.Blocks[1].Text != "Two boats." {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := read(t.Context(), "a.loud", nil, parse.Limits{}); err == nil {
		t.Error("a program without output was accepted")
	}
	if _, err := read(t.Context(), "a.long", []byte("x"), parse.Limits{Text: 1000}); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Error(err)
	}
	if _, err := read(t.Context(), "a.boat", make([]byte, 20), parse.Limits{Bytes: 10}); err == nil || !strings.Contains(err.Error(), "larger than the limit of 10 bytes") {
		t.Error(err)
	}
	for _, s := range []string{"boat=cat {}", ".boat", ".boat=", ".boat=no-such-program {}"} {
		if _, err := external.ParseCommands([]string{s}); err == nil {
			t.Errorf("%s was accepted", s)
		}
	}
}
