//go:build unix

package sandbox_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pdf/fpdf"

	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/sandbox"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

// ordinary returns the pages of docs/, and the same texts as HTML, PDF and CSV.
func ordinary(b *testing.B) []ingest.Source {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		b.Fatalf("%d pages, %v", len(pages), err)
	}
	var out []ingest.Source
	add := func(name string, data []byte) { out = append(out, ingest.Source{URI: name, Data: data}) }
	for _, path := range pages {
		data, err := os.ReadFile(path)
		require.NoError(b, err)
		name := filepath.Base(path)
		add(name, data)
		page, table := new(strings.Builder), new(strings.Builder)
		f := fpdf.New("P", "mm", "A4", "")
		f.AddPage()
		f.SetFont("Times", "", 11)
		for i, p := range strings.Split(string(data), "\n\n") {
			fmt.Fprintf(page, "<p>%s</p>\n", strings.NewReplacer("<", "&lt;", "&", "&amp;").Replace(p))
			fmt.Fprintf(table, "%d,%q,%q\n", i, name, strings.ReplaceAll(p[:min(len(p), 100)], `"`, ""))
			f.MultiCell(0, 5, p, "", "L", false)
			f.Ln(3)
		}
		var printed bytes.Buffer
		require.NoError(b, f.Output(&printed))
		add(name+".html", []byte("<html><body>"+page.String()))
		add(name+".csv", []byte(table.String()))
		add(name+".pdf", printed.Bytes())
	}
	return out
}

// cpu returns the processor time of this process and its ended children.
func cpu() (d time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		_ = syscall.Getrusage(who, &u)
		d += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return d
}

// BenchmarkIngest ingests ordinary files into an index on disk, parsed alternately in the process and in children, so that both see the same
// load. It reports the ratio of the times.
func BenchmarkIngest(b *testing.B) {
	sources := ordinary(b)
	once := func(children bool) (clock, processor time.Duration) {
		x, err := embedded.Open(b.Context(), b.TempDir(), embedded.Options{})
		require.NoError(b, err)
		o := ingest.Options{}
		started, used := time.Now(), cpu()
		pool := sandbox.New(sandbox.Options{})
		if children {
			o.Parse = pool.Parse
		}
		report, err := ingest.New(x, local.New(local.Options{}), o).IngestDocuments(b.Context(), "", sources, nil)
		if err != nil || len(report.Failed) > 0 {
			b.Fatal(err, report.Failed)
		}
		clock = time.Since(started)
		_ = pool.Close()
		processor = cpu() - used
		require.NoError(b, x.Close())
		return clock, processor
	}
	once(false) // loads the local model
	var clocks, processors [2]time.Duration
	for b.Loop() {
		for i, children := range []bool{false, true} {
			c, p := once(children)
			clocks[i] += c
			processors[i] += p
		}
	}
	b.ReportMetric(float64(clocks[0].Milliseconds())/float64(b.N), "ms-process")
	b.ReportMetric(float64(clocks[1].Milliseconds())/float64(b.N), "ms-children")
	b.ReportMetric(float64(clocks[1])/float64(clocks[0]), "ratio-clock")
	b.ReportMetric(float64(processors[1])/float64(processors[0]), "ratio-cpu")
}
