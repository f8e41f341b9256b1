package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/race"
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

// moments counts the writes to both stores, and calls stop at one of the moments before and after them.
type moments struct {
	eventlog.Store
	session.Turns
	count atomic.Int64
	at    int64
	stop  func()
}

func (m *moments) around(write func() error) error {
	m.next()
	err := write()
	m.next()
	return err
}

func (m *moments) next() {
	if m.count.Add(1) == m.at {
		m.stop()
	}
}

func (m *moments) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	return m.around(func() error { return m.Store.Append(ctx, run, es...) })
}

func (m *moments) Begin(ctx context.Context, key session.Key, b session.Begin) (begun session.Message, err error) {
	err = m.around(func() error { begun, err = m.Turns.Begin(ctx, key, b); return err })
	return begun, err
}

func (m *moments) End(ctx context.Context, e session.End) error {
	return m.around(func() error { return m.Turns.End(ctx, e) })
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

const (
	childDir    = "SLUICE_SESSION_TEST_DIR"
	childMoment = "SLUICE_SESSION_TEST_MOMENT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		at, _ := strconv.ParseInt(os.Getenv(childMoment), 10, 64)
		if err := child(dir, at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child answers two questions of a session, and kills its process at a moment.
func child(dir string, at int64) error {
	ctx := context.Background()
	log, err := filelog.Open(filepath.Join(dir, "runs"), filelog.Options{})
	if err != nil {
		return err
	}
	store, err := sqlstore.Open(ctx, filepath.Join(dir, "sessions.db"))
	if err != nil {
		return err
	}
	m := &moments{Store: log, Turns: store, at: at, stop: func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		fmt.Fprintln(os.Stderr, "kill:", err)
		select {}
	}}
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"resume", "fail"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for moment := 1; ; moment++ {
				dir := t.TempDir()
				c := exec.CommandContext(t.Context(), self)
				c.Env = append(os.Environ(), childDir+"="+dir, childMoment+"="+strconv.Itoa(moment))
				out, err := c.CombinedOutput()
				if _, killed := errors.AsType[*exec.ExitError](err); err != nil && (!killed || len(out) > 0) {
					t.Fatalf("child: %v: %s", err, out)
				}
				recovered(t, dir, mode == "fail", fmt.Sprint("killed at moment ", moment))
				if err == nil {
					if moment < 40 {
						t.Errorf("only %d moments", moment)
					}
					return // it had fewer moments
				}
			}
		})
	}
}

// recovered recovers a data folder and checks that the run log and the session agree.
func recovered(t *testing.T, dir string, fail bool, what string) {
	t.Helper()
	ctx := t.Context()
	log, err := filelog.Open(filepath.Join(dir, "runs"), filelog.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
