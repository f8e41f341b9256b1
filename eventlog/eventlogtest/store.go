// Package eventlogtest holds the conformance tests of [eventlog.Store], and generates random logs.
package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// TestStore runs the conformance tests. The function open returns an empty store, which it closes with t.Cleanup. The tests use no
// clock: the Load after a Wait fails if Wait has returned too early, and the time limit of the test applies if it does not return.
// [TestWait] has further tests for stores without a network.
func TestStore(t *testing.T, open func(t *testing.T) eventlog.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, eventlog.Store)
	}{
		{"sequence", sequence},
		{"all or none", allOrNone},
		{"slice is not retained", sliceNotRetained},
		{"cursors", cursors},
		{"not found", notFound},
		{"racing writers", racingWriters},
		{"wait", wait},
		{"wait cancelled", waitCancelled},
		{"tail equals log", tailEqualsLog},
		{"readers of different speeds", readerSpeeds},
		{"readers leave together", readersLeave},
		{"concurrent runs", concurrentRuns},
		{"big bodies", bigBodies},
		{"archive", archive},
		{"delete", deletion},
		{"listing during changes", listing},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func started(run event.RunID) event.Event {
	return event.Event{Seq: 1, At: epoch, Body: event.RunStarted{Run: run, Question: event.Question{Query: "why?", Mode: event.Direct}}}
}

func token(seq event.Seq) event.Event {
	return event.Event{Seq: seq, At: epoch.Add(time.Duration(seq) * time.Millisecond), Body: event.Token{Text: fmt.Sprint(" t", seq)}}
}

func finished(seq event.Seq) event.Event {
	return event.Event{Seq: seq, At: epoch.Add(time.Duration(seq) * time.Millisecond), Body: event.RunFinished{}}
}

// simple returns the log of an ended run with n events. Stores only check the sequence.
func simple(run event.RunID, n event.Seq) []event.Event {
	es := []event.Event{started(run)}
	for seq := event.Seq(2); seq < n; seq++ {
		es = append(es, token(seq))
	}
	return append(es, finished(n))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// visibleTimeout limits the wait for events to become visible.
const visibleTimeout = time.Minute

// waitVisible waits until readers see the event with a number.
func waitVisible(t testing.TB, s eventlog.Store, run event.RunID, seq event.Seq) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), visibleTimeout)
	defer cancel()
	if err := s.Wait(ctx, run, seq-1); err != nil {
		t.Fatalf("wait for event %d of %s: %v", seq, run, err)
	}
}

// WantLog waits for the events of a run after the cursor, and fails t if they are not want or if more follow.
func WantLog(t testing.TB, s eventlog.Store, run event.RunID, after event.Seq, want []event.Event) {
	t.Helper()
	var got []event.Event
	for {
		if len(got) < len(want) {
			waitVisible(t, s, run, after+1)
		}
		es, err := s.Load(context.Background(), run, after)
		if errors.Is(err, eventlog.ErrEnd) || err == nil && len(es) == 0 {
			break
		}
		if err != nil {
			t.Fatalf("load %s after %d: %v", run, after, err)
		}
		got = append(got, es...)
		after = es[len(es)-1].Seq
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("log of %s (-want +got):\n%s", run, diff)
	}
}

func sequence(t *testing.T, s eventlog.Store) {
	ctx := context.Background()
	must(t, s.Append(ctx, "none"))
	wantErr(t, "begin at 2", s.Append(ctx, "a", token(2)), eventlog.ErrConflict)
	wantErr(t, "begin with a token", s.Append(ctx, "a", token(1)), eventlog.ErrConflict)
	wantErr(t, "begin at 0", s.Append(ctx, "a", token(0)), eventlog.ErrConflict)
	wantErr(t, "no body", s.Append(ctx, "a", event.Event{Seq: 1, At: epoch}), eventlog.ErrConflict)
	must(t, s.Append(ctx, "a", started("a")))
	wantErr(t, "first again", s.Append(ctx, "a", started("a")), eventlog.ErrConflict)
	must(t, s.Append(ctx, "a", token(2), token(3)))
	wantErr(t, "last again", s.Append(ctx, "a", token(3)), eventlog.ErrConflict)
	wantErr(t, "gap", s.Append(ctx, "a", token(5)), eventlog.ErrConflict)
	second := started("a")
	second.Seq = 4
	wantErr(t, "a second start", s.Append(ctx, "a", second), eventlog.ErrConflict)
	must(t, s.Append(ctx, "a", finished(4)))
	wantErr(t, "after the end", s.Append(ctx, "a", token(5)), eventlog.ErrConflict)
	WantLog(t, s, "a", 0, simple("a", 4))
}

func allOrNone(t *testing.T, s eventlog.Store) {
	ctx := context.Background()
	wantErr(t, "gap in the first", s.Append(ctx, "a", started("a"), token(3)), eventlog.ErrConflict)
	must(t, s.Append(ctx, "a", started("a")))
	wantErr(t, "gap in the second", s.Append(ctx, "a", token(2), token(4)), eventlog.ErrConflict)
	wantErr(t, "more after the end", s.Append(ctx, "a", finished(2), token(3)), eventlog.ErrConflict)
	WantLog(t, s, "a", 0, simple("a", 2)[:1])
	must(t, s.Append(ctx, "a", finished(2)))
	must(t, s.Append(ctx, "b", simple("b", 9)...))
	WantLog(t, s, "b", 0, simple("b", 9))
}

func sliceNotRetained(t *testing.T, s eventlog.Store) {
	ctx := context.Background()
	es := simple("a", 6)
	batch := make([]event.Event, 1)
	for _, e := range es {
		batch[0] = e
		must(t, s.Append(ctx, "a", batch...))
	}
	clear(batch)
	WantLog(t, s, "a", 0, es)
}

func cursors(t *testing.T, s eventlog.Store) {
	ctx := context.Background()
	es := simple("a", 7)
	for n := 1; n <= len(es); n++ {
		must(t, s.Append(ctx, "a", es[n-1]))
		waitVisible(t, s, "a", event.Seq(n))
		for after := range n {
			WantLog(t, s, "a", event.Seq(after), es[after:n])
		}
		got, err := s.Load(ctx, "a", event.Seq(n))
		if n < len(es) && (err != nil || len(got) != 0) {
			t.Errorf("nothing new after %d: got %d events, error %v", n, len(got), err)
		}
		_, err = s.Load(ctx, "a", event.Seq(n+1))
		wantErr(t, "one past the end", err, eventlog.ErrBeyond)
	}
	_, err := s.Load(ctx, "a", 7)
	wantErr(t, "at the end", err, eventlog.ErrEnd)
	wantErr(t, "wait at the end", s.Wait(ctx, "a", 7), eventlog.ErrEnd)
	wantErr(t, "wait past the end", s.Wait(ctx, "a", 8), eventlog.ErrBeyond)
	_, err = s.Load(ctx, "a", 1<<63)
	wantErr(t, "far past the end", err, eventlog.ErrBeyond)
}

func notFound(t *testing.T, s eventlog.Store) {
	ctx := context.Background()
	for _, run := range []event.RunID{"nobody", "", "../up", "a b", event.RunID(strings.Repeat("x", 1000))} {
		_, err := s.Load(ctx, run, 0)
		wantErr(t, "load", err, eventlog.ErrNotFound)
		wantErr(t, "wait", s.Wait(ctx, run, 0), eventlog.ErrNotFound)
	}
	for _, err := range eventlog.Tail(ctx, s, "nobody", 0) {
		wantErr(t, "tail", err, eventlog.ErrNotFound)
	}
}

// racingWriters appends the same sequence numbers from several writers. Exactly one writer succeeds for each number.
func racingWriters(t *testing.T, s eventlog.Store) {
	const writers, n = 4, 60
	ctx := context.Background()
	var wg sync.WaitGroup
	wins := make([]int, writers)
	for w := range writers {
		wg.Go(func() {
			for seq := event.Seq(1); seq <= n; seq++ {
				e := token(seq)
				switch seq {
				case 1:
					e = started("a")
				case n:
					e = finished(n)
				}
				switch err := s.Append(ctx, "a", e); {
				case err == nil:
					wins[w]++
				case !errors.Is(err, eventlog.ErrConflict):
					t.Errorf("append %d: %v", seq, err)
				}
				for s.Wait(ctx, "a", seq-1) != nil { // until a writer has appended it
					if t.Failed() {
						return
					}
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, w := range wins {
		total += w
	}
	if total != n {
		t.Errorf("%d appends won for %d sequence numbers", total, n)
	}
	WantLog(t, s, "a", 0, simple("a", n))
}

// wait follows a run with Wait and Load. Load must return events after each Wait.
func wait(t *testing.T, s eventlog.Store) {
	ctx := context.Background()
	es := simple("a", 300)
	must(t, s.Append(ctx, "a", es[0]))
	must(t, s.Wait(ctx, "a", 0))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			after := event.Seq(0)
			for after < 300 {
				if err := s.Wait(ctx, "a", after); err != nil {
					t.Errorf("wait after %d: %v", after, err)
					return
				}
				got, err := s.Load(ctx, "a", after)
				if err != nil || len(got) == 0 {
					t.Errorf("load after a wait after %d: %d events, error %v", after, len(got), err)
					return
				}
				after = got[len(got)-1].Seq
			}
			wantErr(t, "wait at the end", s.Wait(ctx, "a", after), eventlog.ErrEnd)
		})
	}
	for _, e := range es[1:] {
		must(t, s.Append(ctx, "a", e))
	}
	wg.Wait()
}

func waitCancelled(t *testing.T, s eventlog.Store) {
	must(t, s.Append(context.Background(), "a", started("a")))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 20)
	for range cap(done) {
		go func() { done <- s.Wait(ctx, "a", 1) }()
	}
	cancel()
	for range cap(done) {
		wantErr(t, "wait", <-done, context.Canceled)
	}
	wantErr(t, "wait with a cancelled context", s.Wait(ctx, "a", 1), context.Canceled)
	last := 0
	for _, err := range eventlog.Tail(ctx, s, "a", 1) {
		wantErr(t, "tail", err, context.Canceled)
		last++
	}
	if last != 1 {
		t.Errorf("a tail with a cancelled context yielded %d times", last)
	}
	must(t, s.Append(context.Background(), "a", token(2)))
	must(t, s.Wait(context.Background(), "a", 1))
}

// appendBatches appends a log in batches of random size.
func appendBatches(t testing.TB, s eventlog.Store, rng *rand.Rand, es []event.Event) {
	run := ID(es)
	for len(es) > 0 {
		n := 1 + rng.IntN(min(len(es), 1+rng.IntN(20)))
		if err := s.Append(context.Background(), run, es[:n]...); err != nil {
			t.Errorf("append to %s: %v", run, err)
			return
		}
		es = es[n:]
	}
}

// collect reads a run to its end with Tail and calls each after each batch.
func collect(t testing.TB, s eventlog.Store, run event.RunID, after event.Seq, each func()) []event.Event {
	var got []event.Event
	for batch, err := range eventlog.Tail(context.Background(), s, run, after) {
		if err != nil {
			t.Errorf("tail %s after %d: %v", run, after, err)
			return got
		}
		if len(batch) == 0 {
			t.Errorf("tail %s: an empty batch", run)
		}
		got = append(got, batch...)
		each()
	}
	return got
}

func tailEqualsLog(t *testing.T, s eventlog.Store) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		es := RandomLog(rng, rng.IntN(200))
		run := ID(es)
		must(t, s.Append(context.Background(), run, es[0]))
		var wg sync.WaitGroup
		for range 3 {
			after := rng.IntN(2)
			wg.Go(func() {
				got := collect(t, s, run, event.Seq(after), func() {})
				if diff := cmp.Diff(es[after:], got); diff != "" {
					t.Errorf("tail of %s after %d (-want +got):\n%s", run, after, diff)
				}
			})
		}
		rest := es[1:]
		for len(rest) > 0 {
			n := 1 + rng.IntN(len(rest))
			must(t, s.Append(context.Background(), run, rest[:n]...))
			rest = rest[n:]
		}
		wg.Wait()
		after := rng.IntN(len(es))
		WantLog(t, s, run, event.Seq(after), es[after:])
	}
}

func readerSpeeds(t *testing.T, s eventlog.Store) {
	rng := rand.New(rand.NewPCG(3, 4))
	es := RandomLog(rng, 2000)
	run := ID(es)
	must(t, s.Append(context.Background(), run, es[0]))
	steps := make(chan struct{}) // a slow reader receives one before each read
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			got := collect(t, s, run, 0, func() {
				if i%2 == 0 {
					<-steps
				}
			})
			if !slices.EqualFunc(got, es, func(a, b event.Event) bool { return a.Seq == b.Seq && cmp.Equal(a, b) }) {
				t.Errorf("reader %d read another log", i)
			}
		})
	}
	for _, e := range es[1:] {
		must(t, s.Append(context.Background(), run, e))
		if e.Seq%64 == 0 {
			select {
			case steps <- struct{}{}:
			default:
			}
		}
	}
	close(steps)
	wg.Wait()
}

func readersLeave(t *testing.T, s eventlog.Store) {
	const readers = 1000
	must(t, s.Append(context.Background(), "a", started("a")))
	ctx, cancel := context.WithCancel(context.Background())
	var wg, ready sync.WaitGroup
	ready.Add(readers)
	for range readers {
		wg.Go(func() {
			first := true
			for _, err := range eventlog.Tail(ctx, s, "a", 0) {
				if first {
					ready.Done()
					first = false
					continue
				}
				wantErr(t, "tail", err, context.Canceled)
			}
		})
	}
	stayed := make(chan []event.Event, 1)
	go func() { stayed <- collect(t, s, "a", 0, func() {}) }()
	ready.Wait()
	cancel()
	wg.Wait()
	must(t, s.Append(context.Background(), "a", token(2)))
	must(t, s.Append(context.Background(), "a", finished(3)))
	if diff := cmp.Diff(simple("a", 3), <-stayed); diff != "" {
		t.Errorf("the reader that stayed (-want +got):\n%s", diff)
	}
}

func concurrentRuns(t *testing.T, s eventlog.Store) {
	var wg sync.WaitGroup
	for i := range uint64(40) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(5, i))
			es := RandomLog(rng, 100)
			run := ID(es)
			appendBatches(t, s, rng, es)
			if diff := cmp.Diff(es, collect(t, s, run, 0, func() {})); diff != "" {
				t.Errorf("log of %s (-want +got):\n%s", run, diff)
			}
		})
	}
	wg.Wait()
}

func bigBodies(t *testing.T, s eventlog.Store) {
	es := []event.Event{started("a")}
	for i, size := range []int{1 << 10, 1 << 16, 500_000, 1} {
		e := token(event.Seq(i + 2))
		e.Body = event.Token{Text: strings.Repeat("größe ", size/7+1)}
		es = append(es, e)
	}
	es = append(es, finished(6))
	for _, e := range es {
		must(t, s.Append(context.Background(), "a", e))
	}
	WantLog(t, s, "a", 0, es)
	WantLog(t, s, "a", 3, es[3:])
}

func archive(t *testing.T, s eventlog.Store) {
	a, ok := s.(eventlog.Archive)
	if !ok {
		t.Skip("the store does not list runs")
	}
	ctx := context.Background()
	_, err := a.Summary(ctx, "nobody")
	wantErr(t, "summary", err, eventlog.ErrNotFound)
	page, err := a.Runs(ctx, "", 10)
	if err != nil || len(page) != 0 {
		t.Fatalf("runs of an empty store: %v, error %v", page, err)
	}
	var want []eventlog.Summary // newest first
	for i, n := range rand.New(rand.NewPCG(6, 7)).Perm(25) {
		run := event.RunID(fmt.Sprintf("run-%03d", n))
		es := simple(run, event.Seq(3+i))
		switch i % 4 {
		case 1:
			es = es[:len(es)-1]
		case 2:
			es[len(es)-1].Body = event.RunFailed{Code: fault.Cancelled, Message: "stopped"}
		case 3:
			es[len(es)-1].Body = event.RunFailed{Code: fault.Model, Message: "connection lost"}
		}
		var sum eventlog.Summary
		for _, e := range es {
			must(t, s.Append(ctx, run, e))
			waitVisible(t, s, run, e.Seq)
			sum.Apply(e)
			got, err := a.Summary(ctx, run)
			must(t, err)
			if diff := cmp.Diff(sum, got); diff != "" {
				t.Fatalf("summary of %s at %d (-want +got):\n%s", run, e.Seq, diff)
			}
		}
		want = append(want, sum)
	}
	slices.SortFunc(want, func(a, b eventlog.Summary) int { return strings.Compare(string(b.Start.Run), string(a.Start.Run)) })
	for _, limit := range []int{1, 7, 25, 1000} {
		var got []eventlog.Summary
		for before := event.RunID(""); ; {
			page, err := a.Runs(ctx, before, limit)
			must(t, err)
			if len(page) == 0 {
				break
			}
			if len(page) > limit {
				t.Fatalf("a page of at most %d runs has %d", limit, len(page))
			}
			got = append(got, page...)
			before = page[len(page)-1].Start.Run
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("runs by %d (-want +got):\n%s", limit, diff)
		}
	}
	page, err = a.Runs(ctx, "", 0)
	if err != nil || len(page) != 0 {
		t.Errorf("a page with limit 0: %v, error %v", page, err)
	}
	if page, err = a.Runs(ctx, "run-0105", 1); err != nil || len(page) != 1 || page[0].Start.Run != "run-010" {
		t.Errorf("runs before an id that does not exist: %v, error %v", page, err)
	}
}
