package filelog

import (
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestRunsSkipsRunsWithoutEvents checks that a run whose first append is not complete does not shorten a page.
func TestRunsSkipsRunsWithoutEvents(t *testing.T) {
	t.Parallel()
	l, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	defer l.Close()
	for _, id := range []event.RunID{"run-1", "run-3", "run-5"} {
		start := event.Event{Seq: 1, At: time.Unix(1, 0).UTC(), Body: event.RunStarted{Run: id, Question: event.Question{Query: "why?", Mode: event.Direct}}}
		require.NoError(t, l.Append(t.Context(), id, start))
	}
	for _, id := range []event.RunID{"run-2", "run-4", "run-6"} {
		l.create(id)
	}
	for before, want := range map[event.RunID]string{"": "run-5 run-3 ", "run-5": "run-3 run-1 ", "run-3": "run-1 ", "run-1": ""} {
		page, err := l.Runs(t.Context(), before, 2)
		got := ""
		for _, s := range page {
			got += string(s.Start.Run) + " "
		}
		if err != nil || got != want {
			t.Errorf("two runs before %q: %s, %v; want %s", before, got, err, want)
		}
	}
}
