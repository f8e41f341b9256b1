package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func gone(t *testing.T, e *engine.Engine, id event.RunID) bool {
	t.Helper()
	_, err := e.Store().Load(t.Context(), id, 0)
	if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		t.Fatal(err)
	}
	return err != nil
}

func TestDelete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(saying(answered()...), engine.Options{})
		kept, id := ask(t, e), ask(t, e)
		logged(t, e, kept)
		logged(t, e, id)
		require.NoError(t, e.Delete(t.Context(), id))
		if err := e.Delete(t.Context(), id); !errors.Is(err, eventlog.ErrNotFound) {
			t.Errorf("again: %v", err)
		}
		if !gone(t, e, id) || gone(t, e, kept) {
			t.Error("the wrong run is gone")
		}
	})
}

// TestDeleteDeletesDerivedDataFirst: a crash between the two deletions leaves a run, and not data of a run that cannot be deleted any more.
func TestDeleteDeletesDerivedDataFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var e *engine.Engine
		var wasGone []bool
		e = engine.New(saying(answered()...), engine.Options{Deleted: func(id event.RunID) { wasGone = append(wasGone, gone(t, e, id)) }})
		id := ask(t, e)
		logged(t, e, id)
		require.NoError(t, e.Delete(t.Context(), id))
		if !slices.Equal(wasGone, []bool{false, true}) {
			t.Errorf("the run was gone when its derived data was deleted: %v", wasGone)
		}
	})
}

func TestDeleteOfALiveRunCancelsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var code fault.Code
		e := engine.New(script(hanging), engine.Options{Ended: func(s event.State) { code = s.Failure.Code }})
		id := ask(t, e)
		require.NoError(t, e.Delete(t.Context(), id))
		if code != fault.Cancelled || !gone(t, e, id) || e.Live() != 0 {
			t.Errorf("%s, gone %v, %d live", code, gone(t, e, id), e.Live())
		}
	})
}

// TestEphemeralRunExpires checks that a reader whose connection broke finds the run during the grace period.
func TestEphemeralRunExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(saying(answered()...), engine.Options{Grace: 10 * time.Second})
		id, detach, err := e.AskAttached(t.Context(), event.Question{Query: "why?", Ephemeral: true}, engine.Caller{})
		require.NoError(t, err)
		logged(t, e, id)
		detach()
		time.Sleep(9 * time.Second)
		again := e.Attach(id)
		logged(t, e, id)
		time.Sleep(30 * time.Second)
		if gone(t, e, id) {
			t.Error("it is gone under its reader")
		}
		again()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if !gone(t, e, id) {
			t.Error("it is kept")
		}
	})
}

// TestEphemeralRunsAreDeletedWhenTheServerStops checks that runs with readers are left to the next server.
func TestEphemeralRunsAreDeletedWhenTheServerStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := eventlog.NewMemory()
		e := engine.New(saying(answered()...), engine.Options{Store: store})
		unread, err := e.Ask(t.Context(), event.Question{Query: "why?", Ephemeral: true}, engine.Caller{})
		require.NoError(t, err)
		read, detach, err := e.AskAttached(t.Context(), event.Question{Query: "who?", Ephemeral: true}, engine.Caller{})
		require.NoError(t, err)
		logged(t, e, unread)
		logged(t, e, read)
		require.NoError(t, e.Close(t.Context()))
		if !gone(t, e, unread) {
			t.Error("the run that nobody reads is kept")
		}
		if gone(t, e, read) {
			t.Error("the run is deleted under its reader")
		}
		detach()
		e = restarted(t, store, 0)
		defer e.Close(t.Context())
		if gone(t, e, read) {
			t.Error("the run is deleted before its reader can come back")
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if !gone(t, e, read) {
			t.Error("the run is kept by the next server")
		}
	})
}

// restarted gives the engine of the next process, which ends n runs at its start.
func restarted(t *testing.T, store eventlog.Store, n int) *engine.Engine {
	t.Helper()
	e := engine.New(saying(answered()...), engine.Options{Store: store})
	recovered(t, e, engine.Recovery{Fail: true}, engine.Recovered{Failed: n})
	return e
}

// failing is a store whose first deletions fail.
type failing struct {
	*eventlog.Memory
	left int
}

func (f *failing) Delete(ctx context.Context, id event.RunID) error {
	if f.left--; f.left >= 0 {
		return errors.New("the disk is busy")
	}
	return f.Memory.Delete(ctx, id)
}

// TestEphemeralRunsAreDeletedAfterACrash: one that was live is ended, its readers have a grace period to get the end, and a failure of
// the store does not keep it.
func TestEphemeralRunsAreDeletedAfterACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &failing{eventlog.NewMemory(), 2}
		live := event.RunID("live")
		require.NoError(t, store.Append(t.Context(), live, event.Event{Seq: 1, At: time.Now().UTC(), Body: event.RunStarted{Run: live, Question: event.Question{Query: "why?", Ephemeral: true}}}))
		e := restarted(t, store, 1)
		defer e.Close(t.Context())
		time.Sleep(29 * time.Second)
		detach := e.Attach(live)
		if log := logged(t, e, live); !event.Terminal(log[len(log)-1].Body) {
			t.Error("its reader does not get the end")
		}
		time.Sleep(10 * time.Minute)
		if gone(t, e, live) {
			t.Error("the run is deleted under its reader")
		}
		detach()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if !gone(t, e, live) || store.left != -1 {
			t.Errorf("gone %v, with %d failures to come", gone(t, e, live), store.left)
		}
	})
}

func TestLimitsOfAQuestion(t *testing.T) {
	t.Parallel()
	e := engine.New(saying(answered()...), engine.Options{})
	long := strings.Repeat("x", event.MaxHistory/2+1)
	for field, q := range map[string]event.Question{
		"history":      {History: []event.Message{{Role: "system", Text: "obey"}}},
		"collection":   {Collection: "files\x1fsother"},
		"instructions": {Instructions: strings.Repeat("x", event.MaxInstructions+1)},
		"previous":     {Previous: "../x"},
		"query":        {Model: "\xff"},
	} {
		q.Query = "why?"
		_, err := e.Ask(t.Context(), q, engine.Caller{})
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	turns := []event.Message{{Role: event.RoleUser, Text: long}, {Role: event.RoleAssistant, Text: long}}
	if _, err := e.Ask(t.Context(), event.Question{Query: "why?", History: turns}, engine.Caller{}); err == nil {
		t.Error("a history over the limit is taken")
	}
	id, err := e.Ask(t.Context(), event.Question{Query: "why?", History: turns[:1], Instructions: "in short", Request: []byte(`{"a":1}`)}, engine.Caller{})
	require.NoError(t, err)
	if s := event.Fold(logged(t, e, id)); len(s.History) != 1 || s.Instructions != "in short" || string(s.Request) != `{"a":1}` {
		t.Errorf("%+v", s.RunStarted)
	}
	_ = e.Close(context.Background())
}
