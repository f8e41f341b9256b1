package eventlogtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// ExerciseAsleep is for stores without a network, which can be opened in a bubble of [synctest]: a reader with nothing to
// read sleeps and is not polling, wakes with the append that it waits for and no other, and leaves nothing behind.
func ExerciseAsleep(t *testing.T, open func(t *testing.T) eventlog.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, eventlog.Store)
	}{
		{"wakes with its append", wakes},
		{"wakes with its context", wakesCancelled},
		{"a thousand leave", thousandLeave},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, open(t)) })
		})
	}
}

// waiting starts a Wait. Its error, if it has returned, is in the channel once [synctest.Wait] returns.
func waiting(ctx context.Context, s eventlog.Store, run event.RunID, after event.Seq) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.Wait(ctx, run, after) }()
	return done
}

func asleep(t *testing.T, what string, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("%s: it returned %v and should sleep", what, err)
	default:
	}
}

func awake(t *testing.T, what string, done <-chan error, want error) {
	t.Helper()
	time.Sleep(time.Second) // the bubble's: a store may show an event some milliseconds after its append
	synctest.Wait()
	select {
	case err := <-done:
		if want != nil || err != nil {
			wantErr(t, what, err, want)
		}
	default:
		t.Fatalf("%s: it sleeps and should have returned", what)
	}
}

func wakes(t *testing.T, s eventlog.Store) {
	ctx := t.Context()
	must(t, s.Append(ctx, "a", started("a")))
	must(t, s.Append(ctx, "b", started("b")))
	one, two := waiting(ctx, s, "a", 1), waiting(ctx, s, "a", 1)
	asleep(t, "nothing new", one)
	must(t, s.Append(ctx, "b", token(2)))
	asleep(t, "another run's append", one)
	time.Sleep(time.Hour) // the bubble's: every timer of the store fires
	asleep(t, "an hour later", one)
	if err := s.Append(ctx, "a", token(3)); err == nil {
		t.Fatal("a conflict was appended")
	}
	asleep(t, "a conflict", one)
	must(t, s.Append(ctx, "a", token(2)))
	awake(t, "the first reader", one, nil)
	awake(t, "the second reader", two, nil)
	awake(t, "an old cursor", waiting(ctx, s, "a", 0), nil)
	three := waiting(ctx, s, "a", 2)
	asleep(t, "nothing new again", three)
	must(t, s.Append(ctx, "a", finished(3)))
	awake(t, "the end", three, nil)
	awake(t, "after the end", waiting(ctx, s, "a", 3), eventlog.ErrEnd)
}

func wakesCancelled(t *testing.T, s eventlog.Store) {
	must(t, s.Append(t.Context(), "a", started("a")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stays := waiting(t.Context(), s, "a", 1)
	leaves := waiting(ctx, s, "a", 1)
	time.Sleep(59 * time.Second)
	asleep(t, "before its deadline", leaves)
	time.Sleep(time.Second)
	awake(t, "at its deadline", leaves, context.DeadlineExceeded)
	asleep(t, "the one that stays", stays)
	must(t, s.Append(t.Context(), "a", token(2)))
	awake(t, "the one that stays", stays, nil)
}

func thousandLeave(t *testing.T, s eventlog.Store) {
	must(t, s.Append(t.Context(), "a", started("a")))
	ctx, cancel := context.WithCancel(t.Context())
	var left []<-chan error
	for range 1000 {
		left = append(left, waiting(ctx, s, "a", 1))
	}
	stays := waiting(t.Context(), s, "a", 1)
	asleep(t, "all", left[0])
	cancel()
	for _, done := range left {
		awake(t, "a cancelled reader", done, context.Canceled)
	}
	asleep(t, "the one that stays", stays)
	must(t, s.Append(t.Context(), "a", token(2)))
	awake(t, "the one that stays", stays, nil)
} // the bubble fails if a goroutine is left
