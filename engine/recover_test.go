package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// crashed returns a store with the first events of an answer, as a process left it that was killed some time ago.
func crashed(t *testing.T, ago time.Duration, events int, start event.RunStarted) *eventlog.Memory {
	t.Helper()
	store := eventlog.NewMemory()
	start.Run, start.Query = "run_1", "why?"
	at := time.Now().Add(-ago).UTC().Truncate(time.Microsecond)
	for i, b := range append([]event.Body{start}, answered()...)[:events] {
		require.NoError(t, store.Append(t.Context(), start.Run, event.Event{Seq: event.Seq(i + 1), At: at, Body: b}))
	}
	return store
}

// continuing emits what is missing of the answer.
func continuing(ctx context.Context, r *answer.Recorder) error {
	return saying(answered()[r.State().Seq-1:]...)(ctx, r)
}

func recovered(t *testing.T, e *engine.Engine, how engine.Recovery, want engine.Recovered) {
	t.Helper()
	if n, err := e.Recover(t.Context(), how); n != want || err != nil {
		t.Fatalf("recovered %+v, %v; want %+v", n, err, want)
	}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	resumed, ended := engine.Recovered{Resumed: 1}, engine.Recovered{Failed: 1}
	for name, c := range map[string]struct {
		ago    time.Duration
		events int
		answer script
		o      engine.Options
		how    engine.Recovery
		want   engine.Recovered
		code   fault.Code
		last   string        // the last kinds
		takes  time.Duration // until the end
	}{
		"at the first event":        {ago: 10 * time.Second, events: 1, want: resumed, last: "verified attributed run_finished"},
		"in the answer":             {ago: 10 * time.Second, events: 5, want: resumed, last: "token generation_finished verified attributed run_finished"},
		"before the end":            {ago: 10 * time.Second, events: 8, want: resumed, last: "attributed run_finished"},
		"the clock was set back":    {ago: -time.Hour, events: 5, want: resumed, last: "run_finished"},
		"the deadline has passed":   {ago: 30 * time.Second, events: 5, want: ended, code: fault.Internal, last: "token generation_finished run_failed"},
		"another deadline":          {ago: 30 * time.Second, events: 5, o: engine.Options{Deadline: time.Minute}, want: resumed, last: "run_finished"},
		"the runs are to fail":      {ago: 0, events: 5, how: engine.Recovery{Fail: true}, want: ended, code: fault.Internal, last: "generation_finished run_failed"},
		"the deadline passes later": {ago: 10 * time.Second, events: 2, answer: hangingOn, want: resumed, code: fault.Timeout, last: "run_failed", takes: 20 * time.Second},
		"never ready":               {ago: 10 * time.Second, events: 2, answer: hangingOn, how: engine.Recovery{Ready: make(chan struct{})}, want: resumed, code: fault.Timeout, last: "run_failed", takes: 20 * time.Second},
		"nobody reads":              {ago: 10 * time.Second, events: 5, answer: hangingOn, o: engine.Options{Grace: 15 * time.Second}, want: resumed, code: fault.Cancelled, last: "run_failed", takes: 15 * time.Second},
		"nobody reads, no grace":    {ago: 10 * time.Second, events: 5, answer: hangingOn, o: engine.Options{Grace: time.Nanosecond}, want: resumed, code: fault.Cancelled, last: "run_failed", takes: 10 * time.Second},
		"nobody has to read":        {ago: 10 * time.Second, events: 5, answer: hangingOn, o: engine.Options{Grace: -1}, want: resumed, code: fault.Timeout, last: "run_failed", takes: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := crashed(t, c.ago, c.events, event.RunStarted{})
				before, err := store.Load(t.Context(), "run_1", 0)
				require.NoError(t, err)
				c.o.Store = store
				if c.answer == nil {
					c.answer = continuing
				}
				if c.how.Ready != nil {
					c.how.Ready = make(chan struct{}) // of this bubble
				}
				e, began := engine.New(c.answer, c.o), time.Now()
				recovered(t, e, c.how, c.want)
				log := logged(t, e, "run_1")
				if took := time.Since(began); took != c.takes || failed(log) != c.code || !strings.HasSuffix(kinds(log), c.last) {
					t.Errorf("after %v: %s, %q", took, kinds(log), failed(log))
				}
				if d := cmp.Diff(before, log[:len(before)]); d != "" {
					t.Errorf("the log changed (-before +after)\n%s", d)
				}
				if err := e.Close(t.Context()); err != nil || e.Live() != 0 {
					t.Errorf("close: %v, %d live", err, e.Live())
				}
				recovered(t, e, engine.Recovery{}, engine.Recovered{})
			})
		})
	}
}

// hangingOn is a resumed run that is answered until it is stopped.
func hangingOn(ctx context.Context, _ *answer.Recorder) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestResumedRunIsLiveBeforeItIsReady checks that readers, cancels and close find a run that still waits for the index.
func TestResumedRunIsLiveBeforeItIsReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *testing.T, e *engine.Engine, ready chan struct{})
		code fault.Code
	}{
		"ready": {func(_ *testing.T, _ *engine.Engine, ready chan struct{}) { close(ready) }, ""},
		"read longer than the grace period": {func(_ *testing.T, e *engine.Engine, ready chan struct{}) {
			detach := e.Attach("run_1")
			time.Sleep(15 * time.Second)
			close(ready)
			synctest.Wait()
			detach()
		}, ""},
		"cancelled": {func(t *testing.T, e *engine.Engine, _ chan struct{}) {
			if err := e.Cancel(t.Context(), "run_1", ""); err != nil {
				t.Error(err)
			}
		}, fault.Cancelled},
		"closed": {func(t *testing.T, e *engine.Engine, _ chan struct{}) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = e.Close(ctx) // the error is ctx's
		}, fault.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ready, isReady := make(chan struct{}), false
				e := engine.New(script(func(ctx context.Context, r *answer.Recorder) error {
					select {
					case <-ready:
						isReady = true
					default:
					}
					if err := ctx.Err(); err != nil {
						return err
					}
					if !isReady {
						t.Error("the run is answered before the index is ready")
					}
					return continuing(ctx, r)
				}), engine.Options{Store: crashed(t, 0, 5, event.RunStarted{}), Grace: 10 * time.Second})
				recovered(t, e, engine.Recovery{Ready: ready}, engine.Recovered{Resumed: 1})
				if e.Live() != 1 {
					t.Errorf("%d runs are live", e.Live())
				}
				synctest.Wait()
				c.do(t, e, ready)
				if log := logged(t, e, "run_1"); failed(log) != c.code {
					t.Errorf("%s, %q", kinds(log), failed(log))
				}
			})
		})
	}
}

func TestRecoverKeepsTheLimitOfRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := crashed(t, 0, 5, event.RunStarted{})
		e := engine.New(script(hanging), engine.Options{Store: store, MaxRuns: 1})
		own := ask(t, e)
		recovered(t, e, engine.Recovery{}, engine.Recovered{Failed: 1})
		if log := logged(t, e, "run_1"); failed(log) != fault.Overloaded {
			t.Errorf("%s, %q", kinds(log), failed(log))
		}
		if log := logged(t, e, own); failed(log) != fault.Timeout {
			t.Errorf("a run of this process: %s, %q", kinds(log), failed(log))
		}
	})
}

// TestEqualQuestionDoesNotJoinAResumedRun checks that the caller of a resumed run, whose id is not in the log, can still cancel it.
func TestEqualQuestionDoesNotJoinAResumedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(script(hangingOn), engine.Options{Store: crashed(t, 0, 5, event.RunStarted{}), Grace: -1,
			ShareKey: func(_ context.Context, q event.RunStarted) string { return q.Query }})
		recovered(t, e, engine.Recovery{}, engine.Recovered{Resumed: 1})
		synctest.Wait()
		if id := ask(t, e); id == "run_1" {
			t.Error("an equal question joined the resumed run")
		}
		if err := e.Cancel(t.Context(), "run_1", "its caller"); err != nil {
			t.Error(err)
		}
		if log := logged(t, e, "run_1"); failed(log) != fault.Cancelled {
			t.Errorf("the resumed run was cancelled, and ended with %q", failed(log))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = e.Close(ctx) // the error is ctx's
	})
}

func TestEphemeralRunIsDeletedAfterRecovery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fail        bool
		grace, kept time.Duration
	}{{false, 15 * time.Second, 15 * time.Second}, {true, 15 * time.Second, 15 * time.Second}, {false, time.Nanosecond, 10 * time.Second}, {true, time.Nanosecond, 10 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			e := engine.New(script(continuing), engine.Options{Store: crashed(t, 0, 5, event.RunStarted{Question: event.Question{Ephemeral: true}}), Grace: c.grace})
			want := engine.Recovered{Resumed: 1}
			if c.fail {
				want = engine.Recovered{Failed: 1}
			}
			recovered(t, e, engine.Recovery{Fail: c.fail}, want)
			if log := logged(t, e, "run_1"); (failed(log) != "") != c.fail {
				t.Errorf("%s", kinds(log))
			}
			time.Sleep(c.kept - time.Second)
			if gone(t, e, "run_1") {
				t.Error("deleted before a reader could come back for the end")
			}
			time.Sleep(2 * time.Second)
			if !gone(t, e, "run_1") {
				t.Error("kept after the grace period")
			}
		})
	}
}

// failingStore is a store whose disk fails for a while.
type failingStore struct {
	*eventlog.Memory
	noLoad, noAppend bool
}

var errDisk = errors.New("too many open files")

func (s *failingStore) Load(ctx context.Context, id event.RunID, after event.Seq) ([]event.Event, error) {
	if s.noLoad {
		return nil, errDisk
	}
	return s.Memory.Load(ctx, id, after)
}

func (s *failingStore) Append(ctx context.Context, id event.RunID, es ...event.Event) error {
	if s.noAppend {
		return errDisk
	}
	return s.Memory.Append(ctx, id, es...)
}

// TestRunThatRecoverCannotEnd checks that readers of such a run get its events and an error, and do not wait for more.
func TestRunThatRecoverCannotEnd(t *testing.T) {
	t.Parallel()
	for name, noLoad := range map[string]bool{"it cannot be read": true, "it can be read": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &failingStore{Memory: crashed(t, 0, 5, event.RunStarted{}), noLoad: noLoad, noAppend: true}
				e := engine.New(script(continuing), engine.Options{Store: store})
				recovered(t, e, engine.Recovery{Fail: true}, engine.Recovered{})
				store.noLoad, store.noAppend = false, false
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				read := func() (n int, err error) {
					for batch, berr := range e.Events(ctx, "run_1", 0) {
						n, err = n+len(batch), berr
					}
					return n, err
				}
				if n, err := read(); n != 5 || !errors.Is(err, answer.ErrNoEnd) {
					t.Errorf("%d events, error %v; want 5 and %v", n, err, answer.ErrNoEnd)
				}
				end := event.Event{Seq: 6, At: time.Now().UTC(), Body: event.RunFailed{Code: fault.Internal, Message: "stopped"}}
				require.NoError(t, store.Append(ctx, "run_1", end))
				if n, err := read(); n != 6 || err != nil {
					t.Errorf("after its end was written: %d events, error %v; want 6", n, err)
				}
			})
		})
	}
}
