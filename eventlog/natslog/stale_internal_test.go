package natslog

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// openLog opens a log of a NATS server of its own.
func openLog(t *testing.T) *Log {
	t.Helper()
	c, err := natsconn.Connect(natstest.New(t).URL(), natsconn.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	l, err := Open(t.Context(), c, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

var (
	started  = event.Event{Seq: 1, At: time.Unix(1, 0), Body: event.RunStarted{Run: "a", Question: event.Question{Query: "why?", Mode: event.Direct}}}
	finished = event.Event{Seq: 2, At: time.Unix(2, 0), Body: event.RunFinished{}}
)

// TestLateAcknowledgement acknowledges an event after another server has claimed the run: readers must not wait for more events from this one.
func TestLateAcknowledgement(t *testing.T) {
	l := openLog(t)
	require.NoError(t, l.Append(t.Context(), "a", started))
	w := l.writer("a")
	l.claimedElsewhere(&nats.Msg{Data: []byte("a 3")})
	l.wrote(w, []*batch{{es: []event.Event{{Seq: 2, At: time.Unix(2, 0), Body: event.Token{Text: "x"}}}, done: make(chan struct{})}}, 2)
	if f := l.feed("a"); f != nil {
		t.Errorf("the run has a feed, local: %v", f.local)
	}
}

// TestStaleLeader reads a run, after an event that this process has seen, from a leader that lacks it: the reader is not told that its cursor is beyond the end.
func TestStaleLeader(t *testing.T) {
	l := openLog(t)
	require.NoError(t, l.Append(t.Context(), "a", started))
	l.drop("a") // so that NATS is asked
	for what, read := range map[string]func() error{
		"Load": func() error { _, err := l.Load(context.Background(), "a", 2); return err },
		"Wait": func() error { return l.Wait(context.Background(), "a", 2) },
	} {
		if err := read(); !errors.Is(err, eventlog.ErrBeyond) {
			t.Errorf("%s before the event was seen: %v", what, err)
		}
	}
	l.saw(2)
	asked, err := l.nc.SubscribeSync("$JS.API.DIRECT.GET.SLUICE-default-RUNS")
	require.NoError(t, err)
	results := make(chan error, 2)
	go func() { _, err := l.Load(context.Background(), "a", 2); results <- err }()
	go func() { results <- l.Wait(context.Background(), "a", 2) }()
	for range 3 { // one of them has asked again
		if _, err := asked.NextMsg(20 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, l.Append(t.Context(), "a", finished))
	for range 2 {
		if err := <-results; !errors.Is(err, eventlog.ErrEnd) {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestTailSince reads the end of a run of a server that lacks the newest message: it waits for that.
func TestTailSince(t *testing.T) {
	l := openLog(t)
	asked, err := l.nc.SubscribeSync("$JS.API.DIRECT.GET.SLUICE-default-RUNS")
	require.NoError(t, err)
	add := func(e event.Event) {
		t.Helper()
		require.NoError(t, l.Append(t.Context(), "a", e))
	}
	add(started)
	type result struct {
		tail
		error
	}
	done := make(chan result, 1)
	go func() {
		end, err := l.tailSince(context.Background(), "a", 2)
		done <- result{end, err}
	}()
	for range 2 { // the second request means that the first reply was too old
		select {
		case r := <-done:
			t.Fatalf("the end of a server that has no message 2: %+v", r)
		default:
		}
		if _, err := asked.NextMsg(20 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	add(finished)
	if r := <-done; r.error != nil || r.last != 2 || !r.ended {
		t.Errorf("end: %+v", r)
	}
}
