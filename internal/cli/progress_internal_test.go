package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/ingest"
)

// TestProgressLines: without a terminal, progress is a line from time to time.
func TestProgressLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var errs strings.Builder
		show, done := newProgress(&env{Streams: Streams{Err: &errs}}, "indexing")
		show(ingest.Progress{Done: 1, Total: 40})
		time.Sleep(progressInterval + 1)
		show(ingest.Progress{Done: 2, Total: 40})
		show(ingest.Progress{Done: 3, Total: 40})
		time.Sleep(progressInterval + 1)
		show(ingest.Progress{Done: 4, Current: "runs"})
		done()
		if want := "indexing: 2 of 40\nindexing runs: 4\n"; errs.String() != want {
			t.Errorf("got %q, want %q", errs.String(), want)
		}
	})
}
