package natslog

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// logs opens logs of one tenant of a NATS server in memory.
func logs(t *testing.T, n int) []*Log {
	t.Helper()
	url := natstest.New(t).URL()
	out := make([]*Log, n)
	for i := range out {
		c, err := natsconn.Connect(url, natsconn.Options{})
		require.NoError(t, err)
		if out[i], err = Open(t.Context(), c, Options{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = out[i].Close(), c.Close() })
	}
	return out
}

// TestCost counts the messages that a server gets from NATS to begin in the middle of a long run, to follow a run with many readers, and to list
// the newest runs of many.
func TestCost(t *testing.T) {
	const n = 20_000
	ctx := t.Context()
	ls := logs(t, 2)
	writer, reader := ls[0], ls[1]
	received := func() uint64 { return reader.nc.Stats().InMsgs }
	start := func(id event.RunID) event.Event {
		return event.Event{Seq: 1, At: epoch, Body: event.RunStarted{Run: id, Question: event.Question{Query: "why?", Mode: event.Direct}}}
	}
	put := func(id event.RunID, es ...event.Event) {
		t.Helper()
		require.NoError(t, writer.Append(ctx, id, es...))
	}
	put("long", start("long"))
	put("other", start("other"))
	for seq := event.Seq(2); seq <= n; seq++ {
		put("long", event.Event{Seq: seq, At: epoch, Body: event.Token{Text: "x"}})
		put("other", event.Event{Seq: seq, At: epoch, Body: event.Token{Text: "x"}})
		if seq%4 == 0 {
			require.NoError(t, writer.Sync(ctx, "long"))
		}
	}
	require.NoError(t, writer.Sync(ctx, "long"))
	for _, after := range []event.Seq{n / 3, n / 2, n - 10} {
		before := received()
		es, err := reader.Load(ctx, "long", after)
		if err != nil || len(es) == 0 || es[0].Seq != after+1 {
			t.Fatalf("load after %d: %d events, error %v", after, len(es), err)
		}
		if got := received() - before; got > 30+batchMessages+1 {
			t.Errorf("a reader that begins after event %d of %d took %d messages", after, n, got)
		}
		before = received()
		next := es[len(es)-1].Seq
		if _, err := reader.Load(ctx, "long", next); err != nil {
			t.Fatal(err)
		}
		if got := received() - before; got > batchMessages+3 {
			t.Errorf("a reader that goes on after event %d took %d messages", next, got)
		}
	}
	const readers = 100
	done := make(chan error, readers)
	for range readers {
		go func() {
			for _, err := range eventlog.Tail(ctx, reader, "long", n) {
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for waiting := 0; waiting < readers; {
		if f := reader.feed("long"); f != nil {
			f.mu.Lock()
			waiting = f.waiting
			f.mu.Unlock()
		}
	}
	before := received()
	for seq := event.Seq(n + 1); seq < n+50; seq++ {
		put("long", event.Event{Seq: seq, At: epoch, Body: event.Token{Text: "x"}})
	}
	put("long", event.Event{Seq: n + 50, At: epoch, Body: event.RunFinished{}})
	for range readers {
		require.NoError(t, <-done)
	}
	if got := received() - before; got > 60 {
		t.Errorf("%d readers of 50 events took %d messages", readers, got)
	}
}

// TestListCost lists the newest of runs that were begun over months.
func TestListCost(t *testing.T) {
	ctx := t.Context()
	ls := logs(t, 2)
	cost := map[int]uint64{}
	total := 0
	for _, upTo := range []int{50, 600} {
		for ; total < upTo; total++ {
			id := event.RunID(fmt.Sprintf("run_01%06d%04d", total, total)) // ids with the time in front
			err := ls[0].Append(ctx, id, event.Event{Seq: 1, At: epoch, Body: event.RunStarted{Run: id, Question: event.Question{Query: "why?", Mode: event.Direct}}},
				event.Event{Seq: 2, At: epoch, Body: event.RunFinished{}})
			require.NoError(t, err)
		}
		before := ls[1].nc.Stats().InMsgs
		runs, err := ls[1].Runs(ctx, "", 20)
		if err != nil || len(runs) != 20 {
			t.Fatalf("%d runs, error %v", len(runs), err)
		}
		cost[upTo] = ls[1].nc.Stats().InMsgs - before
	}
	if cost[600] > cost[50]+20 {
		t.Errorf("a list of 20 runs took %d messages of 50 runs, and %d of 600", cost[50], cost[600])
	}
}
