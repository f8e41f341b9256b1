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

// script answers as a test says.
type script func(ctx context.Context, r *answer.Recorder) error

func (s script) Answer(ctx context.Context, r *answer.Recorder) error { return s(ctx, r) }

// answered is what stands between a run's first event and its last.
func answered() []event.Body {
	return []event.Body{event.QueryAnalyzed{Mode: event.Direct}, event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "yes"},
		event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{}}
}

func saying(bodies ...event.Body) script {
	return func(ctx context.Context, r *answer.Recorder) error {
		for _, b := range bodies {
			if err := r.Emit(ctx, b); err != nil {
				return err
			}
		}
		return nil
	}
}

// hanging generates until it is stopped.
func hanging(ctx context.Context, r *answer.Recorder) error {
	if err := saying(answered()[:4]...)(ctx, r); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func ask(t *testing.T, e *engine.Engine) event.RunID {
	t.Helper()
	id, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
	require.NoError(t, err)
	return id
}

// logged reads a run to its end and holds it to the log's rules.
func logged(t *testing.T, e *engine.Engine, id event.RunID) []event.Event {
	t.Helper()
	var log []event.Event
	for batch, err := range e.Events(t.Context(), id, 0) {
		require.NoError(t, err)
		log = append(log, batch...)
	}
	require.NoError(t, event.CheckLog(log, true))
	return log
}

func kinds(log []event.Event) string {
	var out []string
	for _, e := range log {
		out = append(out, string(e.Body.Kind()))
	}
	return strings.Join(out, " ")
}

// failed gives the code that a log ends with; empty for one that was answered.
func failed(log []event.Event) fault.Code {
	f, _ := log[len(log)-1].Body.(event.RunFailed)
	return f.Code
}

func TestRunEndsOnce(t *testing.T) {
	t.Parallel()
	boom := errors.New("secret: the disk at /dev/sda")
	for name, c := range map[string]struct {
		answer script
		code   fault.Code
		last   string // the last kinds
	}{
		"answered":       {saying(answered()...), "", "attributed run_finished"},
		"says nothing":   {saying(), fault.Internal, "run_started run_failed"},
		"stops half way": {saying(answered()[:4]...), fault.Internal, "token generation_finished run_failed"},
		"error":          {func(context.Context, *answer.Recorder) error { return boom }, fault.Internal, "run_started run_failed"},
		"coded error":    {func(context.Context, *answer.Recorder) error { return fault.Wrap(fault.Index, boom, "no index") }, fault.Index, "run_failed"},
		"panic":          {func(context.Context, *answer.Recorder) error { panic(boom) }, fault.Internal, "run_started run_failed"},
		"panic of Go's":  {func(context.Context, *answer.Recorder) error { _ = answered()[len(answered()):][0]; return nil }, fault.Internal, "run_failed"},
		"out of place":   {saying(event.Token{Text: "x"}), fault.Internal, "run_started run_failed"},
		"ends itself":    {saying(append(answered(), event.RunFinished{})...), "", "attributed run_finished"},
		"ends itself and fails": {func(ctx context.Context, r *answer.Recorder) error {
			return errors.Join(saying(append(answered(), event.RunFinished{})...)(ctx, r), boom)
		}, "", "attributed run_finished"},
		"deadline": {hanging, fault.Timeout, "token generation_finished run_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := engine.New(c.answer, engine.Options{})
				log := logged(t, e, ask(t, e))
				if got := failed(log); got != c.code {
					t.Errorf("code %q, want %q", got, c.code)
				}
				if got := kinds(log); !strings.HasSuffix(got, c.last) {
					t.Errorf("events %s, want %s last", got, c.last)
				}
				if f, ok := log[len(log)-1].Body.(event.RunFailed); ok && strings.Contains(f.Message, "secret") {
					t.Errorf("the message lets the cause out: %s", f.Message)
				}
				if err := e.Close(t.Context()); err != nil || e.Live() != 0 {
					t.Errorf("close: %v, %d live", err, e.Live())
				}
			})
		})
	}
}

// faulty is a store of which appends fail.
type faulty struct {
	*eventlog.Memory
	fails func(e event.Event) bool
}

func (f faulty) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	if f.fails(es[0]) {
		return errors.New("disk full")
	}
	return f.Memory.Append(ctx, run, es...)
}

func TestStoreThatFailsOnceLetsTheRunEnd(t *testing.T) {
	t.Parallel()
	for at := event.Seq(2); at <= 9; at++ {
		once := true
		store := faulty{eventlog.NewMemory(), func(e event.Event) bool {
			if e.Seq == at && once {
				once = false
				return true
			}
			return false
		}}
		synctest.Test(t, func(t *testing.T) {
			store.Memory = eventlog.NewMemory()
			e := engine.New(saying(answered()...), engine.Options{Store: store})
			log := logged(t, e, ask(t, e))
			if failed(log) != fault.Internal {
				t.Errorf("append %d failed, and the log is %s", at, kinds(log))
			}
		})
	}
}

func TestStoreThatStaysBrokenLeavesNoReaderWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := faulty{eventlog.NewMemory(), func(e event.Event) bool { return e.Seq > 3 }}
		e := engine.New(saying(answered()...), engine.Options{Store: store})
		id := ask(t, e)
		var err error
		for _, err = range e.Events(t.Context(), id, 0) {
		}
		if err == nil {
			t.Error("the stream of a run that is lost ends as if it were whole")
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestStoreThatRefusesTheFirstEvent(t *testing.T) {
	t.Parallel()
	store := faulty{eventlog.NewMemory(), func(event.Event) bool { return true }}
	e := engine.New(saying(answered()...), engine.Options{Store: store})
	if _, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{}); err == nil {
		t.Error("asked all the same")
	}
	if e.Live() != 0 {
		t.Errorf("%d live", e.Live())
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDuplicateIDIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		e := engine.New(script(func(ctx context.Context, r *answer.Recorder) error {
			<-release
			return saying(answered()...)(ctx, r)
		}), engine.Options{NewID: func() event.RunID { return "run_1" }})
		id := ask(t, e)
		if _, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{}); err == nil {
			t.Error("the second run has the first one's id")
		}
		if e.Live() != 1 {
			t.Errorf("%d live, want the first", e.Live())
		}
		close(release)
		if log := logged(t, e, id); failed(log) != "" {
			t.Errorf("the first run: %s", kinds(log))
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestQuestionNeedsText(t *testing.T) {
	t.Parallel()
	e := engine.New(saying(answered()...), engine.Options{})
	for _, q := range []string{"", " \t\n"} {
		_, err := e.Ask(t.Context(), event.Question{Query: q}, engine.Caller{})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.InvalidRequest || f.Field != "query" {
			t.Errorf("%q: %v", q, err)
		}
	}
}

func TestRunContinuesAfterItsCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		e := engine.New(script(func(ctx context.Context, r *answer.Recorder) error {
			<-release
			return saying(answered()...)(ctx, r)
		}), engine.Options{})
		id, err := e.Ask(ctx, event.Question{Query: "why?"}, engine.Caller{})
		require.NoError(t, err)
		cancel()
		synctest.Wait()
		close(release)
		if log := logged(t, e, id); failed(log) != "" {
			t.Error(kinds(log))
		}
	})
}

func attached(t *testing.T, e *engine.Engine) (event.RunID, func()) {
	t.Helper()
	id, detach, err := e.AskAttached(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
	require.NoError(t, err)
	return id, detach
}

func TestGrace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grace time.Duration
		back  time.Duration // when a reader comes back; 0: never
		want  fault.Code
		after time.Duration // of the last reader's leave
	}{
		"at once":                  {time.Nanosecond, 0, fault.Cancelled, time.Nanosecond},
		"after a while":            {10 * time.Second, 0, fault.Cancelled, 10 * time.Second},
		"by default":               {0, 0, fault.Cancelled, 30 * time.Second},
		"never":                    {-1, 0, fault.Timeout, time.Hour},
		"somebody came back":       {10 * time.Second, 9 * time.Second, fault.Timeout, time.Hour},
		"somebody came back late":  {10 * time.Second, 11 * time.Second, fault.Cancelled, 10 * time.Second},
		"nobody is left, but once": {2 * time.Hour, time.Second, fault.Timeout, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := engine.New(script(hanging), engine.Options{Grace: c.grace, Deadline: time.Hour})
				id, detach := attached(t, e)
				began := time.Now()
				detach()
				detach() // once more does nothing
				if c.back > 0 {
					time.Sleep(c.back)
					defer e.Attach(id)()
				}
				log := logged(t, e, id)
				if failed(log) != c.want {
					t.Errorf("ended with %q, want %q", failed(log), c.want)
				}
				if got := log[len(log)-1].At.Sub(began).Round(time.Millisecond); got != c.after.Round(time.Millisecond) {
					t.Errorf("ended after %v, want %v", got, c.after)
				}
			})
		})
	}
}

func TestGraceRestartsWithTheLastReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(script(hanging), engine.Options{Grace: 10 * time.Second, Deadline: time.Hour})
		id, detach := attached(t, e)
		second := e.Attach(id)
		began := time.Now()
		detach()
		time.Sleep(20 * time.Second) // the second reader holds the run
		second()
		time.Sleep(9 * time.Second)
		e.Attach(id)()
		log := logged(t, e, id)
		if got := log[len(log)-1].At.Sub(began); failed(log) != fault.Cancelled || got != 39*time.Second {
			t.Errorf("%q after %v", failed(log), got)
		}
		e.Attach(id)()        // of a run that has ended
		e.Attach("unknown")() // of none
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(script(hanging), engine.Options{})
		id := ask(t, e)
		synctest.Wait()
		for range 3 {
			require.NoError(t, e.Cancel(t.Context(), id, ""))
		}
		log := logged(t, e, id)
		want := "run_started query_analyzed cache_checked generation_started token generation_finished run_failed"
		if diff := cmp.Diff(want, kinds(log)); diff != "" || failed(log) != fault.Cancelled {
			t.Errorf("%s: %s", failed(log), diff)
		}
		if reason := log[5].Body.(event.GenerationFinished).Reason; reason != "cancelled" {
			t.Errorf("generation ended with %q", reason)
		}
		if err := e.Cancel(t.Context(), id, ""); err != nil {
			t.Errorf("of a run that has ended: %v", err)
		}
		if err := e.Cancel(t.Context(), "unknown", ""); !errors.Is(err, eventlog.ErrNotFound) {
			t.Errorf("of none: %v", err)
		}
	})
}

func TestTooManyRunsAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(script(hanging), engine.Options{MaxRuns: 2})
		first := ask(t, e)
		ask(t, e)
		_, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
		if fault.Public(err).Code != fault.Overloaded {
			t.Errorf("the third: %v", err)
		}
		require.NoError(t, e.Cancel(t.Context(), first, ""))
		synctest.Wait()
		ask(t, e)
		_ = e.Close(canceled(t))
	})
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(script(hanging), engine.Options{Deadline: time.Minute})
		id := ask(t, e)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- e.Close(ctx) }()
		}
		synctest.Wait()
		if _, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{}); fault.Public(err).Code != fault.Unavailable {
			t.Errorf("asked while closing: %v", err)
		}
		for range 2 {
			if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("close: %v", err)
			}
		}
		if log := logged(t, e, id); failed(log) != fault.Cancelled {
			t.Errorf("the run ended with %q", failed(log))
		}
	})
}

func TestEndedIsCalledOncePerRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var states []event.State
		e := engine.New(saying(answered()...), engine.Options{Ended: func(s event.State) { states = append(states, s) }})
		ask(t, e)
		require.NoError(t, e.Close(t.Context()))
		if len(states) != 1 || states[0].Status != event.Finished || states[0].Tokens != 1 {
			t.Errorf("%+v", states)
		}
	})
}

func TestThousandRunsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(saying(answered()...), engine.Options{})
		logs := make(chan []event.Event)
		for range 1000 {
			go func() { logs <- logged(t, e, ask(t, e)) }()
		}
		for range 1000 {
			if log := <-logs; failed(log) != "" {
				t.Error(kinds(log))
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
