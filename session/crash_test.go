package session_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/kill"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
	"github.com/sluice-rag/sluice/wire"
)

// resumable answers like echo, and continues after the events that the log has.
func resumable(ctx context.Context, r *answer.Recorder) error {
	for i, b := range []event.Body{
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"}, event.CacheChecked{}, event.GenerationStarted{Model: "m"}, event.Token{Text: "yes"},
		event.GenerationFinished{Reason: event.StopEnd}, event.Verified{Claims: []event.Claim{}, By: "rules"}, event.Attributed{Sources: []event.Source{}, By: "rules"},
	} {
		if r.State().Seq >= event.Seq(i+2) { //nolint:gosec // a small index
			continue
		}
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// moments is both stores, with the moments of their writes.
type moments struct {
	eventlog.Store
	session.Turns
	*kill.Moments
}

func (m *moments) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	return m.Around(func() error { return m.Store.Append(ctx, run, es...) })
}

func (m *moments) Begin(ctx context.Context, key session.Key, b session.Begin) (begun session.Message, err error) {
	err = m.Around(func() error { begun, err = m.Turns.Begin(ctx, key, b); return err })
	return begun, err
}

func (m *moments) End(ctx context.Context, e session.End) error {
	return m.Around(func() error { return m.Turns.End(ctx, e) })
}

// observed is a store whose turns are counted.
type observed struct {
	*sqlstore.Store
	m *moments
}

func (o observed) Begin(ctx context.Context, key session.Key, b session.Begin) (session.Message, error) {
	return o.m.Begin(ctx, key, b)
}

func (o observed) End(ctx context.Context, e session.End) error { return o.m.End(ctx, e) }

func TestMain(m *testing.M) { kill.Main(m, child) }

// child answers two questions of a session.
func child(at *kill.Moments, dir, _ string) error {
	ctx := context.Background()
	log, err := filelog.Open(filepath.Join(dir, "runs"), filelog.Options{})
	if err != nil {
		return err
	}
	store, err := sqlstore.Open(ctx, filepath.Join(dir, "sessions.db"))
	if err != nil {
		return err
	}
	m := &moments{log, store, at}
	s := session.New(observed{store, m}, session.Options{})
	e := engine.New(script(resumable), engine.Options{Store: m, Ended: s.Ended, Deleted: s.Deleted})
	s.Bind(e)
	for _, text := range []string{"one", "two"} {
		run, detach, err := s.Ask(ctx, event.Question{Query: text, Session: "s"}, session.Turn{}, engine.Caller{Account: "ada"})
		if err != nil {
			return err
		}
		for _, err := range e.Events(ctx, run, 0) {
			if err != nil {
				return err
			}
		}
		detach()
	}
	return e.Close(ctx)
}

// TestExhaustiveKills kills a process before and after each write to the run log and the sessions. After the recovery, each run is an answer of the
// session with the same status and text, no turn is open, and the conversation goes on.
func TestExhaustiveKills(t *testing.T) {
	race.Measure(t)
	t.Parallel()
	for _, mode := range []string{"resume", "fail"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			kill.Each(t, "", 40, t.TempDir, func(dir, what string) { recovered(t, dir, mode == "fail", what) })
		})
	}
}

// recovered recovers a data folder and checks that the run log and the session agree.
func recovered(t *testing.T, dir string, fail bool, what string) {
	t.Helper()
	ctx := t.Context()
	log, err := filelog.Open(filepath.Join(dir, "runs"), filelog.Options{})
	require.NoError(t, err)
	defer func() { _ = log.Close() }()
	b := open(t, filepath.Join(dir, "sessions.db"), log, script(resumable), session.Options{})
	defer b.engine.Close(ctx)
	if _, err := b.engine.Recover(ctx, engine.Recovery{Fail: fail}); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := b.service.Recover(ctx, nil); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	runs, err := log.Runs(ctx, "", 10)
	require.NoError(t, err)
	for _, r := range runs {
		state := b.wait(r.Start.Run)
		b.settled(r.Start.Run)
		_, m, err := b.service.ByRun(ctx, r.Start.Run)
		if err != nil || m.Text != string(state.Text) || (m.Status == session.Completed) != (state.Status == event.Finished) || m.Status.Open() {
			t.Errorf("%s: run %s is %s, its answer %s %q, %v", what, r.Start.Run, state.Status, m.Status, m.Text, err)
		}
	}
	if open, err := b.store.Open(ctx); err != nil || len(open) > 0 {
		t.Errorf("%s: open turns %v, %v", what, open, err)
	}
	if state := b.wait(b.ask("s", "three", wire.Turn{})); state.Status != event.Finished {
		t.Errorf("%s: the next turn is %s", what, state.Status)
	}
}

// settled waits until no turn of the run is open.
func (b *bench) settled(run event.RunID) {
	for {
		if _, m, err := b.service.ByRun(b.t.Context(), run); err != nil || !m.Status.Open() {
			return
		}
	}
}
