package filelog

import (
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestSync checks that the events of a run that has not ended are durable after Sync.
func TestSync(t *testing.T) {
	t.Parallel()
	l, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, b := range []event.Body{event.RunStarted{Run: "r", Question: event.Question{Query: "why?"}}, event.QueryAnalyzed{}, event.CacheChecked{}} {
		if err := l.Append(t.Context(), "r", event.Event{Seq: event.Seq(i + 1), At: at, Body: b}); err != nil { //nolint:gosec // a small index
			t.Fatal(err)
		}
	}
	require.NoError(t, l.Sync(t.Context(), "r"))
	if es, err := l.Load(t.Context(), "r", 0); err != nil || len(es) != 3 {
		t.Errorf("%d events, %v", len(es), err)
	}
	done := make(chan int64)
	l.tasks <- func() { done <- l.w.durable - l.w.active().size }
	if lost := <-done; lost != 0 {
		t.Errorf("%d bytes are not durable", -lost)
	}
	require.NoError(t, l.Close())
	if err := l.Sync(t.Context(), "r"); err == nil {
		t.Error("a closed log was synced")
	}
}
