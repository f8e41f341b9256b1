package eventlogtest

import (
	"context"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// deletion tests stores that implement [eventlog.Deleter].
func deletion(t *testing.T, s eventlog.Store) {
	d, ok := s.(eventlog.Deleter)
	if !ok {
		t.Skip("the store does not delete runs")
	}
	ctx := context.Background()
	for _, id := range []event.RunID{"a", "b", "c"} {
		must(t, s.Append(ctx, id, simple(id, 5)...))
	}
	must(t, s.Append(ctx, "live", started("live"), token(2)))
	wantErr(t, "delete a run that does not exist", d.Delete(ctx, "x"), eventlog.ErrNotFound)
	wantErr(t, "delete a live run", d.Delete(ctx, "live"), eventlog.ErrRunning)
	must(t, d.Delete(ctx, "b"))
	wantErr(t, "delete again", d.Delete(ctx, "b"), eventlog.ErrNotFound)
	_, err := s.Load(ctx, "b", 0)
	wantErr(t, "load", err, eventlog.ErrNotFound)
	wantErr(t, "wait", s.Wait(ctx, "b", 0), eventlog.ErrNotFound)
	WantLog(t, s, "a", 0, simple("a", 5))
	WantLog(t, s, "c", 2, simple("c", 5)[2:])
	must(t, s.Append(ctx, "live", finished(3)))
	if a, ok := s.(eventlog.Archive); ok {
		_, err := a.Summary(ctx, "b")
		wantErr(t, "summary", err, eventlog.ErrNotFound)
		runs, err := a.Runs(ctx, "", 10)
		must(t, err)
		if len(runs) != 3 {
			t.Errorf("%d runs are listed, want 3", len(runs))
		}
	}
}
