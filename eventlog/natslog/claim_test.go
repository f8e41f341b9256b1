package natslog_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// summary returns the summary of a run.
func summary(t testing.TB, l *natslog.Log, id event.RunID) eventlog.Summary {
	t.Helper()
	s, err := l.Summary(ctx, id)
	require.NoError(t, err)
	return s
}

// owned returns the unfinished runs of each server.
func owned(t testing.TB, l *natslog.Log) map[string][]event.RunID {
	t.Helper()
	runs, err := l.Owned(ctx)
	require.NoError(t, err)
	return runs
}

// TestClaim lets a server claim a run that another one is writing. The other one cannot append any more, whatever it appends, and readers on all
// servers get one log.
func TestClaim(t *testing.T) {
	n := natstest.New(t)
	var logs []*natslog.Log
	for _, server := range []string{"one", "two", "three"} {
		logs = append(logs, open(t, n.URL(), natslog.Options{Server: server}))
	}
	one, two, three := logs[0], logs[1], logs[2]
	want := []event.Event{started("a"), token(2), token(3), token(4), finished(5)}
	require.NoError(t, one.Append(ctx, "a", want[0]))
	require.NoError(t, one.Append(ctx, "a", want[1]))
	require.NoError(t, one.Sync(ctx, "a"))
	var reads []func()
	for _, l := range logs {
		reads = append(reads, follow(t, l, "a", want))
	}
	last, err := two.Claim(ctx, summary(t, two, "a"), "one")
	require.NoError(t, err)
	if last != 2 {
		t.Errorf("the run has %d events, want 2", last)
	}
	if d := cmp.Diff(map[string][]event.RunID{"two": {"a"}}, owned(t, three)); d != "" {
		t.Errorf("owners (-want +got)\n%s", d)
	}
	_, err = three.Claim(ctx, summary(t, three, "a"), "one")
	wantErr(t, "a later claim", err, eventlog.ErrConflict)
	err = one.Append(ctx, "a", text(3, "of one"))
	if err == nil { // it is refused later
		err = one.Sync(ctx, "a")
	}
	wantErr(t, "append", err, eventlog.ErrConflict)
	require.NoError(t, two.Append(ctx, "a", want[2]))
	_, err = three.Claim(ctx, summary(t, three, "a"), "one")
	wantErr(t, "a claim after the next event", err, eventlog.ErrConflict)
	last, err = three.Claim(ctx, summary(t, three, "a"), "two")
	require.NoError(t, err)
	if last != 3 {
		t.Errorf("the run has %d events, want 3", last)
	}
	wantErr(t, "end", two.Append(ctx, "a", finished(4)), eventlog.ErrConflict)
	require.NoError(t, three.Append(ctx, "a", want[3]))
	require.NoError(t, three.Append(ctx, "a", want[4]))
	for _, wait := range reads {
		wait()
	}
	for i, l := range logs {
		for after := range event.Seq(5) {
			eventlogtest.WantLog(t, l, "a", after, want[after:])
		}
		require.NoError(t, l.Retain(ctx))
		if s := summary(t, l, "a"); s.Last != 5 || !s.Ended {
			t.Errorf("server %d: summary %+v", i, s)
		}
	}
	if got := owned(t, one); len(got) > 0 {
		t.Errorf("owners after the end: %v", got)
	}
}

// TestClaimsAtOnce lets several servers claim the same runs. One of them wins each, and its events are the log.
func TestClaimsAtOnce(t *testing.T) {
	n := natstest.New(t)
	dead := open(t, n.URL(), natslog.Options{Server: "dead"})
	var logs []*natslog.Log
	for i := range 3 {
		logs = append(logs, open(t, n.URL(), natslog.Options{Server: fmt.Sprint("s", i)}))
	}
	for i := range 20 {
		id := event.RunID(fmt.Sprint("run-", i))
		require.NoError(t, dead.Append(ctx, id, started(id), token(2)))
		require.NoError(t, dead.Sync(ctx, id))
		var won atomic.Int64
		var wg sync.WaitGroup
		for s, l := range logs {
			wg.Go(func() {
				last, err := l.Claim(ctx, summary(t, l, id), "dead")
				if err != nil {
					if !errors.Is(err, eventlog.ErrConflict) {
						t.Error(err)
					}
					return
				}
				won.Add(1)
				for _, e := range []event.Event{text(last+1, fmt.Sprint("s", s)), finished(last + 2)} {
					if err := l.Append(ctx, id, e); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("run %s: %d servers won", id, won.Load())
		}
	}
}

// TestClaimEnded claims runs that have ended. An ephemeral one belongs to the server then, which deletes it.
func TestClaimEnded(t *testing.T) {
	n := natstest.New(t)
	one, two := open(t, n.URL(), natslog.Options{Server: "one"}), open(t, n.URL(), natslog.Options{Server: "two"})
	kept := log("ephemeral", 3)
	kept[0].Body = event.RunStarted{Run: "ephemeral", Question: event.Question{Query: "why?", Mode: event.Direct, Ephemeral: true}}
	require.NoError(t, one.Append(ctx, "ephemeral", kept...))
	require.NoError(t, one.Append(ctx, "ended", log("ended", 3)...))
	if n := len(owned(t, two)["one"]); n != 2 {
		t.Errorf("%d runs have just ended, want 2", n)
	}
	for _, id := range []event.RunID{"ephemeral", "ended"} {
		last, err := two.Claim(ctx, summary(t, two, id), "one")
		wantErr(t, "claim", err, eventlog.ErrEnd)
		if last != 3 {
			t.Errorf("%s: %d events", id, last)
		}
	}
	if d := cmp.Diff(map[string][]event.RunID{"two": {"ephemeral"}}, owned(t, one)); d != "" {
		t.Errorf("owners (-want +got)\n%s", d)
	}
	_, err := two.Claim(ctx, eventlog.Summary{Start: event.RunStarted{Run: "none"}}, "one")
	wantErr(t, "a run that does not exist", err, eventlog.ErrNotFound)
}

// TestClaimAfterClaim lets a server write its mark, in order to claim a run, while the server that has just claimed it removes the marks of others. The
// mark stays, so that the run can be found when its next server dies.
func TestClaimAfterClaim(t *testing.T) {
	n := natstest.New(t)
	p := newProxy(t, n)
	one, two := open(t, n.URL(), natslog.Options{Server: "one"}), open(t, p.url(), natslog.Options{Server: "two"})
	require.NoError(t, one.Append(ctx, "a", started("a")))
	s := summary(t, two, "a")
	c := connect(t, n.URL())
	claimed, err := c.NC.SubscribeSync("sluice.claimed.default")
	require.NoError(t, err)
	require.NoError(t, c.NC.Flush())
	p.swallow("$JS.API.STREAM.INFO.SLUICE-default-INDEX") // the list of marks, which is requested again when the connection is cut
	done := make(chan error, 1)
	go func() {
		_, err := two.Claim(ctx, s, "one")
		done <- err
	}()
	_, err = claimed.NextMsg(20 * time.Second)
	require.NoError(t, err)
	_, err = c.JS.Publish(ctx, "sluice.index.default.own.three.a.=.=", nil)
	require.NoError(t, err)
	p.cut()
	require.NoError(t, <-done)
	if d := cmp.Diff(map[string][]event.RunID{"two": {"a"}, "three": {"a"}}, owned(t, one)); d != "" {
		t.Errorf("owners (-want +got)\n%s", d)
	}
}

// TestClaimWithoutKey claims a run whose creation was given up before NATS wrote its first message.
func TestClaimWithoutKey(t *testing.T) {
	n := natstest.New(t)
	one, two := open(t, n.URL(), natslog.Options{Server: "one"}), open(t, n.URL(), natslog.Options{Server: "two"})
	require.NoError(t, one.Append(ctx, "a", started("a")))
	index, err := connect(t, n.URL()).JS.Stream(ctx, "SLUICE-default-INDEX")
	require.NoError(t, err)
	require.NoError(t, index.Purge(ctx, jetstream.WithPurgeSubject("sluice.index.default.key.a.=.=")))
	_, err = two.Claim(ctx, eventlog.Summary{Start: event.RunStarted{Run: "a"}}, "one")
	wantErr(t, "claim", err, eventlog.ErrNotFound)
	if runs := owned(t, two); len(runs) > 0 {
		t.Errorf("owners: %v", runs)
	}
}
