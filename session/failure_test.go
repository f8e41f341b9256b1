package session_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/wire"
)

var errLocked = errors.New("the database is locked")

// failing is a store whose writes fail while locked is set, and whose attempts to start are counted.
type failing struct {
	*sqlstore.Store
	locked atomic.Bool
	starts atomic.Int64
	// While held is set, those who have read the turn of a run wait for release.
	held    atomic.Bool
	arrived atomic.Int64
	release chan struct{}
}

func (f *failing) write(do func() error) error {
	if f.locked.Load() {
		return errLocked
	}
	return do()
}

func (f *failing) Start(ctx context.Context, run event.RunID, now, until time.Time) error {
	f.starts.Add(1)
	return f.write(func() error { return f.Store.Start(ctx, run, now, until) })
}

func (f *failing) End(ctx context.Context, e session.End) error {
	return f.write(func() error { return f.Store.End(ctx, e) })
}

func (f *failing) Erase(ctx context.Context, key session.Key) error {
	return f.write(func() error { return f.Store.Erase(ctx, key) })
}

func (f *failing) EraseRun(ctx context.Context, run event.RunID) error {
	return f.write(func() error { return f.Store.EraseRun(ctx, run) })
}

// ByRun waits while held is set, after it has read.
func (f *failing) ByRun(ctx context.Context, run event.RunID) (session.Session, session.Message, error) {
	found, m, err := f.Store.ByRun(ctx, run)
	if f.held.Load() {
		f.arrived.Add(1)
		<-f.release
	}
	return found, m, err
}

// damaged is a run log with a run that cannot be read.
type damaged struct {
	*eventlog.Memory
	run event.RunID
}

func (d damaged) Load(ctx context.Context, run event.RunID, after event.Seq) ([]event.Event, error) {
	if run == d.run {
		return nil, errors.New("the run's records are damaged")
	}
	return d.Memory.Load(ctx, run, after)
}

// openFailing returns a bench over a store that can fail.
func openFailing(t *testing.T, a answer.Answerer, o session.Options, of engine.Options) (*bench, *failing) {
	t.Helper()
	st, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
	require.NoError(t, err)
	f := &failing{Store: st, release: make(chan struct{})}
	s := session.New(f, o)
	of.Store, of.Ended, of.Deleted = eventlog.NewMemory(), s.Ended, s.Deleted
	e := engine.New(a, of)
	s.Bind(e)
	b := &bench{t, s, e, st, of.Store}
	t.Cleanup(b.close)
	return b, f
}

// TestDamagedRunBlocksNothing opens a store whose open turn has a run that cannot be read.
func TestDamagedRunBlocksNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := open(t, filepath.Join(t.TempDir(), "sessions.db"), damaged{eventlog.NewMemory(), "run-a"}, script(echo), session.Options{})
	for _, id := range []event.RunID{"run-a", "run-b"} {
		s, err := b.service.Create(ctx, "ada", string(id), "")
		require.NoError(t, err)
		if _, err = b.store.Begin(ctx, s.Key, session.Begin{Run: id, New: true, At: s.CreatedAt, Until: s.CreatedAt.Add(time.Hour),
			Question: session.Message{ID: id.QuestionID(), Role: event.RoleUser, Text: "one", Parent: session.AtHead}}); err != nil {
			t.Fatal(err)
		}
	}
	b.wantTexts("run-a", "", "one", "")
	if err := b.service.Recover(ctx, nil); err != nil {
		t.Errorf("recovery: %v", err)
	}
	for _, id := range []string{"run-a", "run-b"} {
		b.ask(id, "two", wire.Turn{})
		b.wantTexts(id, "", "one", "", "two", "TWO")
	}
}

// TestDeletionWhileTurnBegins deletes a session after its turn was stored and before the engine has the run.
func TestDeletionWhileTurnBegins(t *testing.T) {
	t.Parallel()
	var b *bench
	var run event.RunID
	b, _ = openFailing(t, script(echo), session.Options{}, engine.Options{Writer: func(ctx context.Context, _ event.Question) event.ModelInfo {
		messages, err := b.service.Branch(ctx, "ada", "s", "", 1)
		if err != nil || len(messages) != 1 {
			t.Errorf("the turn that begins: %v, %v", messages, err)
			return event.ModelInfo{}
		}
		run = messages[0].Run
		if err := b.service.Delete(ctx, "ada", "s", false); err != nil {
			t.Error(err)
		}
		return event.ModelInfo{}
	}})
	if _, err := b.tryAsk("s", "one", wire.Turn{}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the question: %v", err)
	}
	if _, err := b.log.Load(t.Context(), run, 0); !errors.Is(err, eventlog.ErrNotFound) {
		t.Errorf("the run of the deleted session: %v", err)
	}
}

// TestInterruptedTurnBegins lets another server end a turn whose run has not begun. The run begins nevertheless.
func TestInterruptedTurnBegins(t *testing.T) {
	t.Parallel()
	var b *bench
	b, _ = openFailing(t, script(echo), session.Options{}, engine.Options{Writer: func(ctx context.Context, _ event.Question) event.ModelInfo {
		messages, err := b.service.Branch(ctx, "ada", "s", "", 1)
		if err != nil || len(messages) != 1 {
			t.Errorf("the turn that begins: %v, %v", messages, err)
			return event.ModelInfo{}
		}
		failure := session.Interrupted
		end := session.End{Run: messages[0].Run, Answer: session.Answer{Run: messages[0].Run, Status: session.Failed, EndedAt: time.Now(), Failure: &failure}}
		if err := b.store.End(ctx, end); err != nil {
			t.Error(err)
		}
		return event.ModelInfo{}
	}})
	run := b.ask("s", "one", wire.Turn{})
	b.service.Ended(b.wait(run)) // readers may see the end of the run before the engine has called it
	b.wantTexts("s", "", "one", "ONE")
}

// TestClockJumpsWhileTurnBegins moves the clock beyond the lease of a turn that waits for the engine.
func TestClockJumpsWhileTurnBegins(t *testing.T) {
	t.Parallel()
	var b *bench
	var jump atomic.Int64
	var jumped atomic.Bool
	b, _ = openFailing(t, script(echo), session.Options{Now: func() time.Time { return time.Now().Add(time.Duration(jump.Load())) }},
		engine.Options{Writer: func(context.Context, event.Question) event.ModelInfo {
			if jumped.CompareAndSwap(false, true) {
				jump.Store(int64(time.Hour))
				if _, err := b.tryAsk("s", "refused", wire.Turn{}); fault.CodeOf(err) != fault.Conflict {
					t.Errorf("a second question: %v", err)
				}
			}
			return event.ModelInfo{}
		}})
	b.settled(b.ask("s", "one", wire.Turn{}))
	b.wantTexts("s", "", "one", "ONE")
}

// TestWritesOfWaitingTurns checks that a turn that waits rarely writes, keeps its lease, and waits while the store fails for a moment.
func TestWritesOfWaitingTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, f := openFailing(t, script(func(ctx context.Context, r *answer.Recorder) error {
			if r.State().Query == "one" {
				time.Sleep(10 * time.Minute)
			}
			return echo(ctx, r)
		}), session.Options{Lease: 15 * time.Minute}, engine.Options{Deadline: time.Hour})
		_, detach, err := b.service.Ask(t.Context(), event.Question{Query: "one", Session: "s"}, session.Turn{}, engine.Caller{Account: "ada"})
		require.NoError(t, err)
		defer detach()
		b.ask("s", "two", wire.Turn{Wait: true})
		if n := f.starts.Load(); n > 200 {
			t.Errorf("%d writes in 10 minutes", n)
		}
		b.close()
	})
}

// TestLineIsBounded checks that a question is not stored if too many wait already.
func TestLineIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b, _ := openFailing(t, script(func(ctx context.Context, r *answer.Recorder) error {
			<-release
			return echo(ctx, r)
		}), session.Options{}, engine.Options{})
		_, detach, err := b.service.Ask(t.Context(), event.Question{Query: "one", Session: "s"}, session.Turn{}, engine.Caller{Account: "ada"})
		require.NoError(t, err)
		defer detach()
		var refused, answered atomic.Int64
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() {
				switch _, err := b.tryAsk("s", fmt.Sprint(n), wire.Turn{Wait: true}); {
				case err == nil:
					answered.Add(1)
				case fault.CodeOf(err) == fault.Conflict:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Second)
		close(release)
		wg.Wait()
		if n := len(b.texts("s", "")); answered.Load() != 16 || refused.Load() != 4 || n != 2*17 {
			t.Errorf("%d answered, %d refused, %d messages", answered.Load(), refused.Load(), n)
		}
		b.close()
	})
}

// TestWritesAreRepeated locks the store while a run ends, a run is deleted and a session is deleted.
func TestWritesAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, f := openFailing(t, script(echo), session.Options{}, engine.Options{})
		deleted := b.ask("deleted", "one", wire.Turn{})
		b.ask("gone", "one", wire.Turn{})
		synctest.Wait()
		f.locked.Store(true)
		ended := b.ask("ended", "one", wire.Turn{})
		if err := b.engine.Delete(t.Context(), deleted); err != nil {
			t.Error(err)
		}
		if err := b.service.Delete(t.Context(), "ada", "gone", false); !errors.Is(err, errLocked) {
			t.Errorf("delete: %v", err)
		}
		time.Sleep(15 * time.Second)
		f.locked.Store(false)
		time.Sleep(time.Minute)
		for run, want := range map[event.RunID]session.Status{ended: session.Completed, deleted: session.Deleted} {
			if _, m, err := b.store.ByRun(t.Context(), run); err != nil || m.Status != want {
				t.Errorf("answer is %s, %v, want %s", m.Status, err, want)
			}
		}
		if left, err := b.store.Hidden(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("sessions left: %v, %v", left, err)
		}
		b.close()
	})
}

// TestTurnThatCannotStartEnds checks that a question that the engine refused does not block its session when the lock of the store is released.
func TestTurnThatCannotStartEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, f := openFailing(t, script(echo), session.Options{}, engine.Options{})
		require.NoError(t, b.engine.Close(t.Context()))
		f.locked.Store(true)
		if _, err := b.tryAsk("s", "one", wire.Turn{}); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("ask: %v", err)
		}
		f.locked.Store(false)
		time.Sleep(2 * time.Second)
		if open, err := b.store.Open(t.Context()); err != nil || len(open) > 0 {
			t.Errorf("open turns %v, %v", open, err)
		}
		b.close()
	})
}

// TestTitlesOfOwnModels checks that no model of the server sees a conversation that a model of the caller answers.
func TestTitlesOfOwnModels(t *testing.T) {
	t.Parallel()
	b, _ := openFailing(t, script(echo), session.Options{Title: func(context.Context, string, string) (string, string, error) {
		t.Error("a model of the server saw the conversation")
		return "", "", errors.New("no title")
	}}, engine.Options{Writer: func(context.Context, event.Question) event.ModelInfo { return event.ModelInfo{OwnKey: true} }})
	b.settled(b.ask("s", "one", wire.Turn{}))
	b.service.Close()
}

// TestIDsCanBePaths checks that each session can be named in a path.
func TestIDsCanBePaths(t *testing.T) {
	t.Parallel()
	b := newBench(t, script(echo))
	for _, id := range []string{".", ".."} {
		if _, err := b.tryAsk(id, "one", wire.Turn{}); fault.CodeOf(err) != fault.InvalidRequest {
			t.Errorf("session %q: %v", id, err)
		}
	}
}

// TestStopWhileTurnWaits stops a server while a turn waits for one of another server.
func TestStopWhileTurnWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := openFailing(t, script(echo), session.Options{}, engine.Options{})
		s, err := b.service.Create(t.Context(), "ada", "s", "")
		require.NoError(t, err)
		if _, err = b.store.Begin(t.Context(), s.Key, session.Begin{Run: "run-a", Server: "other", New: true, At: s.CreatedAt, Until: s.CreatedAt.Add(time.Hour),
			Question: session.Message{ID: event.RunID("run-a").QuestionID(), Role: event.RoleUser, Text: "one", Parent: session.AtHead}}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.tryAsk("s", "two", wire.Turn{Wait: true}); fault.CodeOf(err) != fault.Unavailable || time.Since(s.CreatedAt) > time.Minute {
				t.Errorf("the turn that waits: %v after %s", err, time.Since(s.CreatedAt))
			}
		})
		time.Sleep(10 * time.Second)
		if err := b.engine.Close(t.Context()); err != nil {
			t.Error(err)
		}
		b.service.Close()
		if open, err := b.store.Open(t.Context()); err != nil || len(open) != 1 {
			t.Errorf("open turns when the store can be closed: %v, %v", open, err)
		}
		if _, err := b.tryAsk("s", "three", wire.Turn{Wait: true}); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("a question after the end: %v", err)
		}
		wg.Wait()
		b.close()
	})
}

// TestSizeOfRetries asks a question that always fails again and again. The number of its answers is bounded, and the session stays usable.
func TestSizeOfRetries(t *testing.T) {
	race.Measure(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := openFailing(t, script(func(context.Context, *answer.Recorder) error { return fault.New(fault.Model, "the model is down") }), session.Options{}, engine.Options{})
		for range session.MaxSiblings + 1 {
			b.ask("s", "one", wire.Turn{})
		}
		b.wantTexts("s", "", "one", "", "one", "")
		if _, err := b.tryAsk("s", "", wire.Turn{Regenerate: b.first("s")}); fault.CodeOf(err) != fault.InvalidRequest {
			t.Errorf("one more answer: %v", err)
		}
		b.close()
	})
}

// first returns the id of the first message of a session.
func (b *bench) first(id string) string {
	b.t.Helper()
	messages, err := b.service.All(b.t.Context(), "ada", id, 0, 1)
	if err != nil || len(messages) != 1 {
		b.t.Fatal(messages, err)
	}
	return messages[0].ID
}

// TestInterruptedTurnEndsOnce reads an interrupted turn, whose run another server has finished, several times at once: only one reader stores the end and has a title made.
func TestInterruptedTurnEndsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const readers = 8
		var titles atomic.Int64
		b, f := openFailing(t, script(echo), session.Options{Title: func(_ context.Context, question, _ string) (string, string, error) {
			titles.Add(1)
			return "Title of " + question, "m", nil
		}}, engine.Options{})
		interrupt(t, b, "s", "run-a")
		rec, err := answer.NewRecorder(t.Context(), b.log, time.Now, event.RunStarted{Run: "run-a", Question: event.Question{Query: "one", Session: "s"}})
		require.NoError(t, err)
		require.NoError(t, answer.Run(t.Context(), script(echo), rec, answer.Ending{}))
		f.held.Store(true)
		for range readers {
			b.wantTexts("s", "", "one", "ONE")
		}
		synctest.Wait() // all have seen that the turn is interrupted
		if f.arrived.Load() != readers {
			t.Errorf("%d readers end the turn, want %d", f.arrived.Load(), readers)
		}
		close(f.release)
		synctest.Wait()
		if s, err := b.service.Session(t.Context(), "ada", "s"); err != nil || titles.Load() != 1 || s.Title != "Title of one" {
			t.Errorf("%d titles, the last is %q, %v", titles.Load(), s.Title, err)
		}
		if _, m, err := b.store.ByRun(t.Context(), "run-a"); err != nil || m.Status != session.Completed || m.Text != "ONE" {
			t.Errorf("stored answer %+v, %v", m, err)
		}
		b.close()
	})
}

// TestInterruptedTurnWithoutEnd reads a turn that was interrupted and whose run never ends: it stays failed, and shows no text that seems to be an answer.
func TestInterruptedTurnWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := openFailing(t, script(echo), session.Options{Title: func(context.Context, string, string) (string, string, error) {
			t.Error("a title of a turn without an answer")
			return "", "", errors.New("no title")
		}}, engine.Options{})
		interrupt(t, b, "s", "run-a")
		rec, err := answer.NewRecorder(t.Context(), b.log, time.Now, event.RunStarted{Run: "run-a", Question: event.Question{Query: "one", Session: "s"}})
		require.NoError(t, err)
		for _, body := range []event.Body{event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"}, event.CacheChecked{}, event.GenerationStarted{Model: "m"}, event.Token{Text: "half an ans"}} {
			require.NoError(t, rec.Emit(t.Context(), body))
		}
		for range 2 {
			messages, err := b.service.Branch(t.Context(), "ada", "s", "", 1)
			if err != nil || len(messages) != 1 || messages[0].Status != session.Failed || !messages[0].Interrupted() || messages[0].Text != "" {
				t.Errorf("messages %+v, %v", messages, err)
			}
			synctest.Wait()
		}
		b.ask("s", "two", wire.Turn{})
		b.wantTexts("s", "", "one", "", "two", "TWO")
		b.close()
	})
}

// interrupt adds a session whose only turn was ended because its server seemed to have stopped.
func interrupt(t *testing.T, b *bench, id string, run event.RunID) {
	t.Helper()
	s, err := b.service.Create(t.Context(), "ada", id, "")
	require.NoError(t, err)
	if _, err := b.store.Begin(t.Context(), s.Key, session.Begin{Run: run, New: true, Title: "one", At: s.CreatedAt, Until: s.CreatedAt.Add(time.Hour),
		Question: session.Message{ID: run.QuestionID(), Role: event.RoleUser, Text: "one", Parent: session.AtHead}}); err != nil {
		t.Fatal(err)
	}
	failure := session.Interrupted
	require.NoError(t, b.store.End(t.Context(), session.End{Run: run, Answer: session.Answer{Run: run, Status: session.Failed, EndedAt: s.CreatedAt, Failure: &failure}}))
}
