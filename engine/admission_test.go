package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

// took asks and returns how long the whole run took.
func took(t *testing.T, e *engine.Engine, client string) time.Duration {
	t.Helper()
	start := time.Now()
	id, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{Client: client})
	if err != nil {
		t.Error(err)
		return 0
	}
	logged(t, e, id)
	return time.Since(start)
}

// TestClientsShareWorkers checks that, with 900 runs of one client, the question of another takes at most 5 times its time alone.
func TestClientsShareWorkers(t *testing.T) {
	t.Parallel()
	const work = 10 * time.Millisecond
	for name, answering := range map[string]script{
		"computing": func(ctx context.Context, r *answer.Recorder) error {
			time.Sleep(work) // a processor's work
			return saying(answered()...)(ctx, r)
		},
		"waiting for a model": func(ctx context.Context, r *answer.Recorder) error {
			resume := model.Idle(ctx)
			time.Sleep(work)
			resume()
			return saying(answered()...)(ctx, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := engine.New(answering, engine.Options{MaxRuns: 1000, Deadline: time.Minute,
					Admission: engine.Admission{PerClient: 250, Queue: 1800, Wait: time.Minute, Workers: 2}})
				alone := took(t, e, "b")
				var wg sync.WaitGroup
				for range 900 {
					wg.Go(func() { took(t, e, "a") })
				}
				synctest.Wait()
				if n := e.Live(); n != 250 {
					t.Errorf("one client has %d runs, want 250", n)
				}
				if beside := took(t, e, "b"); beside > 5*alone {
					t.Errorf("%s alone, %s beside 900 runs of another client", alone, beside)
				}
				wg.Wait()
				require.NoError(t, e.Close(t.Context()))
			})
		})
	}
}

func TestWaitingQuestionCanLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		e := engine.New(script(func(ctx context.Context, r *answer.Recorder) error {
			<-open
			return saying(answered()...)(ctx, r)
		}), engine.Options{Deadline: time.Minute, Admission: engine.Admission{PerClient: 1, Queue: 2, Wait: time.Second}})
		q, by := event.Question{Query: "why?"}, engine.Caller{Client: "a"}
		if _, err := e.Ask(t.Context(), q, by); err != nil {
			t.Fatal(err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := e.Ask(gone, q, by); !errors.Is(err, context.Canceled) {
			t.Errorf("a question that left: %v", err)
		}
		_, err := e.Ask(t.Context(), q, by)
		if fault.CodeOf(err) != fault.Overloaded {
			t.Errorf("a question that waited too long: %v", err)
		}
		if _, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{}); err != nil {
			t.Errorf("a question without a client: %v", err)
		}
		close(open)
		if id, err := e.Ask(t.Context(), q, by); err != nil || logged(t, e, id)[0].Body.Kind() != (event.RunStarted{}).Kind() {
			t.Errorf("after a run has ended: %v", err)
		}
		require.NoError(t, e.Close(t.Context()))
	})
}

// TestEnginesShareLimiter checks that engines with one limiter share its runs.
func TestEnginesShareLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := engine.NewLimiter(2, engine.Admission{PerClient: 1, Queue: 1, Wait: time.Second})
		ask := func(e *engine.Engine, client string) error {
			_, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{Client: client})
			return err
		}
		a := engine.New(script(hanging), engine.Options{Limiter: limiter, Grace: -1})
		b := engine.New(script(hanging), engine.Options{Limiter: limiter, Grace: -1})
		require.NoError(t, errors.Join(ask(a, "x"), ask(b, "y")))
		for _, e := range []*engine.Engine{a, b} {
			if err := ask(e, ""); fault.Public(err).Code != fault.Overloaded || e.Live() != 1 || e.Idle() {
				t.Errorf("a third run, with %d runs in the engine: %v", e.Live(), err)
			}
		}
		began := time.Now()
		if err := ask(b, "x"); fault.Public(err).Code != fault.Overloaded || time.Since(began) != time.Second {
			t.Errorf("a client that has its share in the other engine: %v after %v", err, time.Since(began))
		}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		_ = a.Close(stopped)
		if err := ask(b, "x"); err != nil || !a.Idle() {
			t.Errorf("after the other engine was closed: %v", err)
		}
		_ = b.Close(stopped)
	})
}
