package natslog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

var ctx = context.Background()

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func started(run event.RunID) event.Event {
	return event.Event{Seq: 1, At: epoch, Body: event.RunStarted{Run: run, Question: event.Question{Query: "why?", Mode: event.Direct}}}
}

func text(seq event.Seq, text string) event.Event {
	return event.Event{Seq: seq, At: epoch, Body: event.Token{Text: text}}
}

func token(seq event.Seq) event.Event { return text(seq, fmt.Sprint(" t", seq)) }

func finished(seq event.Seq) event.Event {
	return event.Event{Seq: seq, At: epoch, Body: event.RunFinished{}}
}

// log returns the log of an ended run with n events.
func log(run event.RunID, n event.Seq) []event.Event {
	es := []event.Event{started(run)}
	for seq := event.Seq(2); seq < n; seq++ {
		es = append(es, token(seq))
	}
	return append(es, finished(n))
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func TestSecondWriter(t *testing.T) {
	n := natstest.New(t)
	one, two := open(t, n.URL(), natslog.Options{}), open(t, n.URL(), natslog.Options{})
	require.NoError(t, one.Append(ctx, "a", started("a")))
	wantErr(t, "create again", two.Append(ctx, "a", started("a")), eventlog.ErrConflict)
	require.NoError(t, one.Append(ctx, "a", token(2)))
	require.NoError(t, one.Sync(ctx, "a"))
	wantErr(t, "an old number", two.Append(ctx, "a", token(2)), eventlog.ErrConflict)
	require.NoError(t, two.Append(ctx, "a", text(3, "of two"))) // it takes the run over
	wantErr(t, "the first writer's end", one.Append(ctx, "a", finished(3)), eventlog.ErrConflict)
	require.NoError(t, two.Append(ctx, "a", finished(4)))
	wantErr(t, "after the end", one.Append(ctx, "a", token(5)), eventlog.ErrConflict)
	want := []event.Event{started("a"), token(2), text(3, "of two"), finished(4)}
	eventlogtest.WantLog(t, one, "a", 0, want)
	eventlogtest.WantLog(t, two, "a", 0, want)
}

// TestWritersOnTwoStores lets two stores create and write the same runs. One of them creates each run, and the other one gets a conflict.
func TestWritersOnTwoStores(t *testing.T) {
	n := natstest.New(t)
	stores := []*natslog.Log{open(t, n.URL(), natslog.Options{}), open(t, n.URL(), natslog.Options{})}
	for i := range 50 {
		id := event.RunID(fmt.Sprintf("run-%d", i))
		var wg sync.WaitGroup
		won := make([]bool, len(stores))
		for s, l := range stores {
			wg.Go(func() {
				es := []event.Event{started(id), text(2, fmt.Sprint(s)), finished(3)}
				err := l.Append(ctx, id, es[0])
				if err == nil {
					err = l.Append(ctx, id, es[1])
				}
				if err == nil {
					err = l.Append(ctx, id, es[2])
				}
				if won[s] = err == nil; err != nil && !errors.Is(err, eventlog.ErrConflict) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won[0] == won[1] {
			t.Fatalf("run %s: winners %v", id, won)
		}
		eventlogtest.WantLog(t, stores[0], id, 0, []event.Event{started(id), text(2, fmt.Sprint(slices.Index(won, true))), finished(3)})
	}
}

// TestLostAcknowledgement swallows the acknowledgements of messages that NATS has written.
func TestLostAcknowledgement(t *testing.T) {
	n := natstest.New(t)
	p := newProxy(t, n)
	l, other := open(t, p.url(), natslog.Options{}), open(t, n.URL(), natslog.Options{})
	es := log("a", 4)
	for _, batch := range [][]event.Event{es[:1], es[1:2], es[2:]} {
		p.swallow("PUB sluice.runs.")
		done := make(chan error, 1)
		go func() { done <- l.Append(ctx, "a", batch...) }()
		for { // until NATS has written it
			err := other.Wait(ctx, "a", batch[0].Seq-1)
			if err == nil {
				break
			}
			if !errors.Is(err, eventlog.ErrNotFound) {
				t.Fatal(err)
			}
		}
		p.cut()
		require.NoError(t, <-done)
		require.NoError(t, l.Sync(ctx, "a")) // before replies are swallowed again
	}
	eventlogtest.WantLog(t, l, "a", 0, es)
	eventlogtest.WantLog(t, other, "a", 0, es)
}

// follow reads a run to its end in the background.
func follow(t testing.TB, l *natslog.Log, run event.RunID, want []event.Event) (wait func()) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		var got []event.Event
		for es, err := range eventlog.Tail(ctx, l, run, 0) {
			if err != nil {
				t.Errorf("tail after %d events: %v", len(got), err)
				return
			}
			got = append(got, es...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tail of %s (-want +got):\n%s", run, diff)
		}
	})
	return wg.Wait
}

// interrupted appends a run while another process reads it, and calls the function in the middle.
func interrupted(t *testing.T, writer, reader *natslog.Log, between func()) {
	t.Helper()
	const n = 400
	es := log("a", n)
	require.NoError(t, writer.Append(ctx, "a", es[0]))
	waits := []func(){follow(t, writer, "a", es), follow(t, reader, "a", es)}
	for i, e := range es[1:] {
		if i == n/2 {
			require.NoError(t, reader.Wait(ctx, "a", 1)) // it follows the run
			between()
		}
		require.NoError(t, writer.Append(ctx, "a", e))
		if i%8 == 0 && i < n/2 {
			require.NoError(t, writer.Sync(ctx, "a"))
		}
	}
	for _, wait := range waits {
		wait()
	}
	eventlogtest.WantLog(t, reader, "a", 0, es)
	sum, err := reader.Summary(ctx, "a")
	require.NoError(t, err)
	if sum.Last != n || !sum.Ended {
		t.Errorf("summary: %+v", sum)
	}
}

func TestRestart(t *testing.T) {
	n := natstest.New(t)
	writer, reader := open(t, n.URL(), natslog.Options{}), open(t, n.URL(), natslog.Options{})
	started := make(chan error, 1)
	interrupted(t, writer, reader, func() {
		n.Stop()
		go func() { started <- n.Run() }()
	})
	require.NoError(t, <-started)
}

func TestConnectionLoss(t *testing.T) {
	n := natstest.New(t)
	p := newProxy(t, n)
	writer, reader := open(t, n.URL(), natslog.Options{}), open(t, p.url(), natslog.Options{})
	interrupted(t, writer, reader, p.cut)
}

func TestNodeLoss(t *testing.T) {
	for _, c := range []string{"the leader", "the server of the reader"} {
		t.Run(c, func(t *testing.T) {
			nodes := natstest.NewCluster(t)
			writer := open(t, nodes.URL(), natslog.Options{})
			leader := nodes.Leader(t, "SLUICE-default-RUNS")
			urls := nodes.URL()
			if c == "the server of the reader" {
				urls = leader.URL() + "," + urls
			}
			reader := open(t, urls, natslog.Options{})
			interrupted(t, writer, reader, leader.Stop)
		})
	}
}

func TestUnavailable(t *testing.T) {
	n := natstest.New(t)
	l := open(t, n.URL(), natslog.Options{Timeout: 300 * time.Millisecond, PendingBytes: 100})
	require.NoError(t, l.Append(ctx, "live", started("live")))
	require.NoError(t, l.Err())
	n.Stop()
	if err := l.Err(); err == nil {
		t.Error("NATS is away, but the log is well")
	}
	code := func(what string, err error) {
		t.Helper()
		if got := fault.Public(err); got == nil || got.Code != fault.Unavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
	code("create", l.Append(ctx, "a", started("a")))
	_, err := l.Load(ctx, "x", 0)
	code("load", err)
	code("wait", l.Wait(ctx, "x", 0))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	wantErr(t, "create with a cancelled context", l.Append(cancelled, "b", started("b")), context.Canceled)
	long := strings.Repeat("x", 200)
	require.NoError(t, l.Append(ctx, "live", text(2, long))) // accepted
	code("too much is unwritten", l.Append(ctx, "live", text(3, long)))
	code("the end", l.Append(ctx, "live", finished(3))) // but it is written later
	n.Start(t)
	eventlogtest.WantLog(t, l, "live", 0, []event.Event{started("live"), text(2, long), finished(3)})
	require.NoError(t, l.Err())
	for _, id := range []event.RunID{"a", "b"} {
		_, err := l.Load(ctx, id, 0)
		wantErr(t, "load a run that was not created", err, eventlog.ErrNotFound)
	}
}

// TestDiscard begins a run of which an earlier process has written the key and no event.
func TestDiscard(t *testing.T) {
	n := natstest.New(t)
	c := connect(t, n.URL())
	l := open(t, n.URL(), natslog.Options{})
	if _, err := c.JS.Publish(ctx, "sluice.index.default.key.a.=.=", make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "begin", l.Append(ctx, "a", started("a")), eventlog.ErrConflict)
	require.NoError(t, l.Discard(ctx, "a"))
	require.NoError(t, l.Append(ctx, "a", started("a")))
	require.NoError(t, l.Append(ctx, "a", finished(2)))
	require.NoError(t, l.Discard(ctx, "a")) // it has events, which stay
	eventlogtest.WantLog(t, open(t, n.URL(), natslog.Options{}), "a", 0, []event.Event{started("a"), finished(2)})
}

func TestInUse(t *testing.T) {
	n := natstest.New(t)
	c := connect(t, n.URL())
	inUse := func(want bool) {
		t.Helper()
		if got, err := natslog.InUse(ctx, c, "", "default"); got != want || err != nil {
			t.Errorf("in use: %v, %v, want %v", got, err, want)
		}
	}
	inUse(false)
	l := open(t, n.URL(), natslog.Options{})
	inUse(true)
	require.NoError(t, l.Close())
	for began := time.Now(); time.Since(began) < 20*time.Second; { // the server hears of it a little later
		if used, err := natslog.InUse(ctx, c, "", "default"); !used && err == nil {
			return
		}
	}
	t.Error("a log that is closed is in use")
}

// TestCloseWithoutReplies closes a log while NATS does not reply. It has a mark to remove, and an event that is not written.
func TestCloseWithoutReplies(t *testing.T) {
	n := natstest.New(t)
	p := newProxy(t, n)
	var logged bytes.Buffer
	l, err := natslog.Open(ctx, connect(t, p.url()), natslog.Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
	require.NoError(t, err)
	require.NoError(t, l.Append(ctx, "ended", started("ended"), finished(2)))
	require.NoError(t, l.Append(ctx, "live", started("live")))
	p.swallow("PUB sluice.runs.")
	require.NoError(t, l.Append(ctx, "live", token(2)))
	begun := time.Now()
	require.NoError(t, l.Close())
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("Close took %v", took)
	}
	if want := `run=live from=2 to=2 error="the run log is closed: the server is stopping; try again"`; !strings.Contains(logged.String(), want) {
		t.Errorf("logged, without %s: %s", want, logged.String())
	}
}

// TestNoRoom opens a log whose maximum size JetStream cannot reserve. That is an error at once: it does not go away.
func TestNoRoom(t *testing.T) {
	s := natstest.Configured(t, "jetstream: {max_file_store: 64MB}")
	c, err := natsconn.Connect(s.URL(), natsconn.Options{})
	require.NoError(t, err)
	defer c.Close()
	began := time.Now()
	_, err = natslog.Open(ctx, c, natslog.Options{MaxBytes: 1 << 30, Timeout: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "JetStream cannot reserve MaxBytes, 1073741824 bytes") {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
