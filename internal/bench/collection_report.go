package bench

import (
	"fmt"
	"io"
)

// writeTable writes the report as tables in Markdown.
func (r *collectionReport) writeTable(w io.Writer) error {
	text, passages := float64(r.Text), float64(r.Passages)
	fmt.Fprintf(w, "%d passages of %d files: %.1f MB of text, %.1f MB of files\n\n", r.Passages, r.Files, text/1e6, float64(r.FileBytes)/1e6)
	fmt.Fprintln(w, "| what | Sluice | FTS5 |\n| --- | --- | --- |")
	fmt.Fprintf(w, "| ingestion | %.0f s, %.0f s of CPU | %.0f s |\n", r.Ingest.Seconds, r.Ingest.CPU, r.FTSLoad)
	fmt.Fprintf(w, "| text per second of CPU | %.2f MB; without parsing, %.2f MB | %.2f MB |\n", text/1e6/r.Ingest.CPU, text/1e6/max(r.Ingest.CPU-r.Parse, 1e-9), text/1e6/r.FTSLoad)
	fmt.Fprintf(w, "| peak memory | %.0f MiB | |\n", float64(r.Ingest.Memory)/(1<<20))
	fmt.Fprintf(w, "| size of the index / text | %.2f | %.2f |\n", float64(r.Ingest.Index)/text, float64(r.FTSSize)/text)
	fmt.Fprintf(w, "| listening; ready | %.0f ms; %.0f ms | |\n", r.Start.Listening, r.Start.Ready)
	fmt.Fprintf(w, "| resident memory per passage | %.0f bytes; %.0f when idle; and %.0f of files | |\n\n", float64(r.Start.Anonymous)/passages, float64(r.Start.Idle)/passages, float64(r.Start.Mapped)/passages)
	fmt.Fprintln(w, "| search | p50 ms | p99 ms | passage among the first ten | searches |\n| --- | --- | --- | --- | --- |")
	for _, f := range r.Retrieval {
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.3f | %d |\n", f.Search, f.P50, f.P99, f.Found, f.Count)
	}
	fmt.Fprintln(w, "\n| answers | p50 ms | p99 ms | CPU ms |\n| --- | --- | --- | --- |")
	for _, a := range r.Answers {
		fmt.Fprintf(w, "| %s, done | %.2f | %.2f | %.1f |\n", a.Mode, a.Done.P50, a.Done.P99, a.CPU)
	}
	_, err := fmt.Fprintln(w)
	return err
}
