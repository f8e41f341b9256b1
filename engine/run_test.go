package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func byWords(_ context.Context, q event.RunStarted) string { return q.Query }

// held answers when it is let go.
func held(runs *atomic.Int32, open <-chan struct{}) script {
	return func(ctx context.Context, r *answer.Recorder) error {
		runs.Add(1)
		select {
		case <-open:
		case <-ctx.Done():
			return ctx.Err()
		}
		return saying(answered()...)(ctx, r)
	}
}

func TestEqualQuestionsShareOneRun(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	open := make(chan struct{})
	e := engine.New(held(&runs, open), engine.Options{ShareKey: byWords, MaxRuns: 3})
	ids := make([]event.RunID, 50)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			id, detach, err := e.AskAttached(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
			if err != nil {
				t.Error(err)
				return
			}
			defer detach()
			if i == 0 {
				close(open)
			}
			logged(t, e, id)
			ids[i] = id
		})
	}
	wg.Wait()
	distinct := map[event.RunID]bool{}
	for _, id := range ids {
		distinct[id] = true
	}
	if n := int(runs.Load()); n != len(distinct) || n > 25 {
		t.Errorf("%d runs of %d ids answer 50 equal questions", n, len(distinct))
	}
	require.NoError(t, e.Close(t.Context()))
}

func TestQuestionsThatShareNoRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		open := make(chan struct{})
		e := engine.New(held(&runs, open), engine.Options{ShareKey: byWords, Deadline: time.Minute})
		q := event.Question{Query: "why?"}
		first, _ := e.Ask(t.Context(), q, engine.Caller{})
		for _, c := range []struct {
			name   string
			q      event.Question
			by     string
			wait   time.Duration
			joined bool
		}{
			{"the same", q, "", 0, true},
			{"another", event.Question{Query: "how?"}, "", 0, false},
			{"another account", q, "alice", 0, false},
			{"no cache", event.Question{Query: "why?", NoCache: true}, "", 0, false},
			{"soon after", q, "", 29 * time.Second, true},
			{"when half of the time is over", q, "", 2 * time.Second, false},
		} {
			time.Sleep(c.wait)
			id, err := e.Ask(t.Context(), c.q, engine.Caller{Account: c.by})
			if err != nil || (id == first) != c.joined {
				t.Errorf("%s: run %s, %v; the first is %s", c.name, id, err, first)
			}
		}
		close(open)
		synctest.Wait()
		if id, err := e.Ask(t.Context(), q, engine.Caller{}); err != nil || id == first {
			t.Errorf("a run that is over was joined: %v", err)
		}
		require.NoError(t, e.Close(t.Context()))
	})
}

func TestSharedRunStopsWithoutCallers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave func(t *testing.T, e *engine.Engine, id event.RunID, detach []func())
		lives bool
	}{
		"cancelled once": {func(t *testing.T, e *engine.Engine, id event.RunID, _ []func()) { _ = e.Cancel(t.Context(), id, "") }, true},
		"cancelled twice": {func(t *testing.T, e *engine.Engine, id event.RunID, _ []func()) {
			_ = e.Cancel(t.Context(), id, "")
			_ = e.Cancel(t.Context(), id, "")
		}, false},
		"one reader left":   {func(_ *testing.T, _ *engine.Engine, _ event.RunID, d []func()) { d[0]() }, true},
		"both readers left": {func(_ *testing.T, _ *engine.Engine, _ event.RunID, d []func()) { d[0](); d[1]() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				open := make(chan struct{})
				e := engine.New(held(new(atomic.Int32), open), engine.Options{ShareKey: byWords, Grace: time.Second})
				var detach []func()
				var id event.RunID
				for range 2 {
					i, d, err := e.AskAttached(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
					if err != nil || id != "" && i != id {
						t.Fatal(i, id, err)
					}
					id, detach = i, append(detach, d)
				}
				c.leave(t, e, id, detach)
				time.Sleep(2 * time.Second)
				close(open)
				synctest.Wait()
				if got := failed(logged(t, e, id)); (got == "") != c.lives || got != "" && got != fault.Cancelled {
					t.Errorf("it ended with %q", got)
				}
				require.NoError(t, e.Close(t.Context()))
			})
		})
	}
}

// TestCallerCancelsItsOwnQuestions checks that the run continues for the others, however often one caller cancels.
func TestCallerCancelsItsOwnQuestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked   string // callers, one letter each
		attach  string // those of them that read, and leave before the cancels
		cancels string
		lives   bool
	}{
		"one cancels twice":              {"ab", "", "aa", true},
		"a stranger cancels":             {"ab", "", "xyz", true},
		"both cancel":                    {"ab", "", "ab", false},
		"both cancel several times":      {"ab", "", "aaabbb", false},
		"asked twice and cancelled once": {"aab", "", "ab", true},
		"asked twice, cancelled twice":   {"aab", "", "aba", false},
		"not shared":                     {"a", "", "x", false},
		"the other has left":             {"ab", "b", "a", false},
		"the one who waits stays":        {"ab", "b", "b", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				open := make(chan struct{})
				e := engine.New(held(new(atomic.Int32), open), engine.Options{ShareKey: byWords, Grace: time.Second})
				var id event.RunID
				for _, who := range c.asked {
					q, by := event.Question{Query: "why?"}, engine.Caller{ID: string(who)}
					var err error
					if strings.ContainsRune(c.attach, who) {
						var detach func()
						id, detach, err = e.AskAttached(t.Context(), q, by)
						defer detach()
						if err == nil {
							detach()
						}
					} else {
						id, err = e.Ask(t.Context(), q, by)
					}
					require.NoError(t, err)
				}
				for _, who := range c.cancels {
					require.NoError(t, e.Cancel(t.Context(), id, string(who)))
				}
				time.Sleep(2 * time.Second)
				close(open)
				synctest.Wait()
				if got := failed(logged(t, e, id)); (got == "") != c.lives || got != "" && got != fault.Cancelled {
					t.Errorf("it ended with %q", got)
				}
				require.NoError(t, e.Close(t.Context()))
			})
		})
	}
}

// A reader that leaves does not stop the run of one who asked without reading.
func TestSharedRunContinuesForCallerWithoutReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		e := engine.New(held(new(atomic.Int32), open), engine.Options{ShareKey: byWords, Grace: time.Second})
		id := ask(t, e)
		_, detach, err := e.AskAttached(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
		require.NoError(t, err)
		detach()
		time.Sleep(2 * time.Second)
		close(open)
		if got := failed(logged(t, e, id)); got != "" {
			t.Errorf("it ended with %q", got)
		}
		require.NoError(t, e.Close(t.Context()))
	})
}

func TestJoinedRunThatCannotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open, boom := make(chan struct{}), errors.New("disk full")
		store := faulty{eventlog.NewMemory(), func(event.Event) bool { <-open; return true }}
		e := engine.New(saying(answered()...), engine.Options{Store: store, ShareKey: byWords})
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{})
				errs <- err
			}()
		}
		synctest.Wait()
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := e.Ask(gone, event.Question{Query: "why?"}, engine.Caller{}); !errors.Is(err, context.Canceled) {
			t.Errorf("who leaves while it begins gets %v", err)
		}
		close(open)
		for range 2 {
			if err := <-errs; err == nil {
				t.Errorf("no error, want one of %v", boom)
			}
		}
		require.NoError(t, e.Close(t.Context()))
	})
}
