package eventlogtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// TestWait tests stores without a network in a [synctest] bubble. A reader without new events blocks and does not poll, only an append
// to its run wakes it, and no goroutine is left after it.
func TestWait(t *testing.T, open func(t *testing.T) eventlog.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, eventlog.Store)
	}{
		{"append wakes readers", appendWakes},
		{"context wakes readers", contextWakes},
		{"a thousand readers leave", thousandLeave},
		{"notify", notify},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, open(t)) })
		})
	}
}

// startWait calls Wait in a goroutine and returns a channel that receives its result.
func startWait(ctx context.Context, s eventlog.Store, run event.RunID, after event.Seq) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Wait(ctx, run, after) }()
	return done
}

// wantBlocked fails t if Wait has returned.
func wantBlocked(t *testing.T, what string, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("%s: Wait returned %v, want it to block", what, err)
	default:
	}
}

// wantReturned fails t unless Wait has returned the error want.
func wantReturned(t *testing.T, what string, done <-chan error, want error) {
	t.Helper()
	time.Sleep(time.Second) // in the bubble: events may become visible milliseconds after their append
	synctest.Wait()
	select {
	case err := <-done:
		if want != nil || err != nil {
			wantErr(t, what, err, want)
		}
	default:
		t.Fatalf("%s: Wait has not returned", what)
	}
}

func appendWakes(t *testing.T, s eventlog.Store) {
	ctx := t.Context()
	must(t, s.Append(ctx, "a", started("a")))
	must(t, s.Append(ctx, "b", started("b")))
	one, two := startWait(ctx, s, "a", 1), startWait(ctx, s, "a", 1)
	wantBlocked(t, "nothing new", one)
	must(t, s.Append(ctx, "b", token(2)))
	wantBlocked(t, "another run's append", one)
	time.Sleep(time.Hour) // in the bubble: all timers of the store fire
	wantBlocked(t, "an hour later", one)
	if err := s.Append(ctx, "a", token(3)); err == nil {
		t.Fatal("a conflict was appended")
	}
	wantBlocked(t, "a conflict", one)
	must(t, s.Append(ctx, "a", token(2)))
	wantReturned(t, "the first reader", one, nil)
	wantReturned(t, "the second reader", two, nil)
	wantReturned(t, "an old cursor", startWait(ctx, s, "a", 0), nil)
	three := startWait(ctx, s, "a", 2)
	wantBlocked(t, "nothing new again", three)
	must(t, s.Append(ctx, "a", finished(3)))
	wantReturned(t, "the end", three, nil)
	wantReturned(t, "after the end", startWait(ctx, s, "a", 3), eventlog.ErrEnd)
}

func contextWakes(t *testing.T, s eventlog.Store) {
	must(t, s.Append(t.Context(), "a", started("a")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stays := startWait(t.Context(), s, "a", 1)
	leaves := startWait(ctx, s, "a", 1)
	time.Sleep(59 * time.Second)
	wantBlocked(t, "before its deadline", leaves)
	time.Sleep(time.Second)
	wantReturned(t, "at its deadline", leaves, context.DeadlineExceeded)
	wantBlocked(t, "the remaining reader", stays)
	must(t, s.Append(t.Context(), "a", token(2)))
	wantReturned(t, "the remaining reader", stays, nil)
}

func thousandLeave(t *testing.T, s eventlog.Store) {
	must(t, s.Append(t.Context(), "a", started("a")))
	ctx, cancel := context.WithCancel(t.Context())
	var left []<-chan error
	for range 1000 {
		left = append(left, startWait(ctx, s, "a", 1))
	}
	stays := startWait(t.Context(), s, "a", 1)
	wantBlocked(t, "all", left[0])
	cancel()
	for _, done := range left {
		wantReturned(t, "a cancelled reader", done, context.Canceled)
	}
	wantBlocked(t, "the remaining reader", stays)
	must(t, s.Append(t.Context(), "a", token(2)))
	wantReturned(t, "the remaining reader", stays, nil)
} // the bubble fails if a goroutine is left

// notify tests [eventlog.Notifier], if the store is one.
func notify(t *testing.T, s eventlog.Store) {
	n, ok := s.(eventlog.Notifier)
	if !ok {
		t.Skip("the store has no Notify")
	}
	if _, err := n.Notify("a", func() {}); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
	must(t, s.Append(t.Context(), "a", started("a")))
	must(t, s.Append(t.Context(), "b", started("b")))
	var calls [3]atomic.Int32
	var stops [3]func()
	for i := range calls {
		var err error
		stops[i], err = n.Notify("a", func() { calls[i].Add(1) })
		must(t, err)
	}
	want := func(what string, counts ...int32) {
		t.Helper()
		time.Sleep(time.Second) // in the bubble: events may become visible milliseconds after their append
		synctest.Wait()
		for i, n := range counts {
			if got := calls[i].Load(); got != n {
				t.Errorf("%s: reader %d got %d calls, want %d", what, i, got, n)
			}
		}
	}
	must(t, s.Append(t.Context(), "b", token(2)))
	want("another run's append", 0, 0, 0)
	must(t, s.Append(t.Context(), "a", token(2)))
	want("an append", 1, 1, 1)
	stops[1]()
	stops[1]()
	must(t, s.Append(t.Context(), "a", token(3)))
	want("one has left", 2, 1, 2)
	must(t, s.Append(t.Context(), "a", finished(4)))
	want("the end", 3, 1, 3)
	if es, err := s.Load(t.Context(), "a", 3); err != nil || len(es) != 1 {
		t.Errorf("after the last call: %d events, %v", len(es), err)
	}
	stops[0]()
	stops[2]()
}
