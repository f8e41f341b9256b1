package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/ledger/sqlstore"
)

// initial is the balance of the asker, fee what an answer costs.
const (
	initial ledger.Credits = 10_000_000
	fee     ledger.Credits = 1_000_000
)

// script emits the events of an answer. It continues after those that the log has.
type script struct{ fails bool }

// Answer implements [answer.Answerer].
func (s script) Answer(ctx context.Context, r *answer.Recorder) error {
	for i, b := range []event.Body{
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"},
		event.CacheChecked{},
		event.GenerationStarted{Model: "m"},
		event.Token{Text: "yes"},
		event.GenerationFinished{Reason: event.StopEnd},
		event.Verified{Claims: []event.Claim{}, By: "rules"},
		event.Attributed{Sources: []event.Source{{N: 1, Document: "d", Contributor: "bob", Weight: 1, Cited: true}}, By: "rules"},
	} {
		if r.State().Seq >= event.Seq(i+2) { //nolint:gosec // a small index
			continue
		}
		if s.fails && i == 3 {
			return fault.New(fault.Model, "the model failed")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// world counts the writes to both stores and calls stop at one of the moments before and after them.
type world struct {
	eventlog.Store
	ledger.Runs
	moments atomic.Int64
	at      int64
	stop    func()
}

func (w *world) around(write func() error) error {
	w.moment()
	err := write()
	w.moment()
	return err
}

func (w *world) moment() {
	if w.moments.Add(1) == w.at {
		w.stop()
	}
}

func (w *world) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	return w.around(func() error { return w.Store.Append(ctx, run, es...) })
}

func (w *world) Sync(ctx context.Context, run event.RunID) error {
	return w.around(func() error { return w.Store.(eventlog.Syncer).Sync(ctx, run) })
}

func (w *world) Hold(ctx context.Context, run event.RunID, account string, amount ledger.Credits, at time.Time) error {
	return w.around(func() error { return w.Runs.Hold(ctx, run, account, amount, at) })
}

func (w *world) Post(ctx context.Context, c ledger.Charge) (s event.Settled, err error) {
	err = w.around(func() error { s, err = w.Runs.Post(ctx, c); return err })
	return s, err
}

func (w *world) Void(ctx context.Context, run event.RunID, at time.Time) error {
	return w.around(func() error { return w.Runs.Void(ctx, run, at) })
}

func (w *world) Refund(ctx context.Context, run event.RunID, at time.Time) error {
	return w.around(func() error { return w.Runs.Refund(ctx, run, at) })
}

// billing charges the fee for each run.
func billing(runs ledger.Runs) *ledger.Billing {
	return ledger.NewBilling(runs, ledger.Options{Share: 60, Prices: ledger.PriceList{{Name: ledger.PriceDefault, Price: ledger.Price{Base: fee}}}})
}

const (
	childDir    = "SLUICE_LEDGER_TEST_DIR"
	childMoment = "SLUICE_LEDGER_TEST_MOMENT"
	childFails  = "SLUICE_LEDGER_TEST_FAILS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		at, _ := strconv.ParseInt(os.Getenv(childMoment), 10, 64)
		if err := child(dir, at, os.Getenv(childFails) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child answers one question, and kills its process at a moment.
func child(dir string, at int64, fails bool) error {
	ctx := context.Background()
	log, err := filelog.Open(filepath.Join(dir, "runs"), filelog.Options{})
	if err != nil {
		return err
	}
	store, err := sqlstore.Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		return err
	}
	w := &world{Store: log, Runs: store, at: at, stop: func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		fmt.Fprintln(os.Stderr, "kill:", err)
		select {}
	}}
	e := engine.New(script{fails}, engine.Options{Store: w, Billing: billing(w)})
	if _, err := e.Ask(ctx, event.Question{Query: "why?"}, engine.Caller{Account: "ann"}); err != nil {
		return err
	}
	return e.Close(ctx)
}

// TestExhaustiveKills kills a process before and after each write to the run log and the ledger. After the recovery, the run is finished and charged
// once, or it costs nothing.
func TestExhaustiveKills(t *testing.T) {
	race.Measure(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, fails := range []bool{false, true} {
		for _, mode := range []string{"resume", "fail"} {
			t.Run(fmt.Sprintf("%s fails=%v", mode, fails), func(t *testing.T) {
				t.Parallel()
				for moment := 1; ; moment++ {
					dir := t.TempDir()
					credit(t, openIn(t, dir), "1", "ann", initial)
					c := exec.CommandContext(t.Context(), self)
					c.Env = append(os.Environ(), childDir+"="+dir, childMoment+"="+strconv.Itoa(moment))
					if fails {
						c.Env = append(c.Env, childFails+"=1")
					}
					out, err := c.CombinedOutput()
					if _, killed := errors.AsType[*exec.ExitError](err); err != nil && (!killed || len(out) > 0) {
						t.Fatalf("child: %v: %s", err, out)
					}
					recovered(t, dir, mode == "fail", fails, fmt.Sprint("killed at moment ", moment))
					if err == nil {
						if least := 10; moment < least {
							t.Errorf("only %d moments", moment)
						}
						return // it had fewer moments
					}
				}
			})
		}
	}
}

func openIn(t testing.TB, dir string) *sqlstore.Store {
	t.Helper()
	return open(t, filepath.Join(dir, "ledger.db"))
}

// recovered recovers a data folder twice and checks that the run log and the ledger agree.
func recovered(t *testing.T, dir string, fail, fails bool, what string) {
	t.Helper()
	store := openIn(t, dir)
	var ids []event.RunID
	usage, err := store.Usage(t.Context(), ledger.UsageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	posted := usage[0].Runs == 1
	for range 2 {
		log, err := filelog.Open(filepath.Join(dir, "runs"), filelog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := engine.New(script{fails}, engine.Options{Store: log, Billing: billing(store)})
		if _, err := e.Recover(t.Context(), engine.Recovery{Fail: fail}); err != nil {
			t.Errorf("%s: recover: %v", what, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		agree(t, log, store, what)
		runs, err := log.Runs(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			ids = append(ids, r.Start.Run)
			if finished := r.Status() == event.Finished; posted && !finished || fails && finished {
				t.Errorf("%s: the run is %s; posted before the recovery: %v", what, r.Status(), posted)
			}
		}
		if posted && len(runs) != 1 {
			t.Errorf("%s: the run that was charged is gone", what)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) > 2 {
		t.Errorf("%s: runs %v", what, ids)
	}
}

// agree checks that the ledger has exactly the settlements of the log, no hold, and nothing else but credits.
func agree(t *testing.T, log eventlog.Store, store *sqlstore.Store, what string) {
	t.Helper()
	verify(t, store)
	if holds, err := store.Holds(t.Context()); err != nil || len(holds) > 0 {
		t.Errorf("%s: holds %v, %v", what, holds, err)
	}
	runs, err := log.(eventlog.Archive).Runs(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	paid, distributed := ledger.Credits(0), ledger.Credits(0)
	for _, r := range runs {
		events, err := eventlog.Read(t.Context(), log, r.Start.Run, 0, r.Last)
		if err == nil {
			err = event.CheckLog(events, true)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s := event.Fold(events)
		run, err := store.Run(t.Context(), r.Start.Run)
		if err != nil {
			t.Fatal(err)
		}
		if (s.Status == event.Finished) != (s.Settlement != nil) {
			t.Errorf("%s: a run is %s with the settlement %+v", what, s.Status, s.Settlement)
		}
		if diff := cmp.Diff(s.Settlement, run.Settled); diff != "" {
			t.Errorf("%s: run log and ledger differ: %s", what, diff)
		}
		if s.Settlement != nil {
			paid, distributed = paid+s.Settlement.Fee, distributed+s.Settlement.Distributed
		}
	}
	usage, err := store.Usage(t.Context(), ledger.UsageQuery{})
	if err != nil || usage[0].Fee != paid || usage[0].Distributed != distributed {
		raw, _ := json.Marshal(usage)
		t.Errorf("%s: usage %s, %v, want a fee of %d, %d distributed", what, raw, err, paid, distributed)
	}
	platform, err := store.Account(t.Context(), ledger.Platform)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) || platform.Balance != paid-distributed {
		t.Errorf("%s: the platform has %d, %v, want %d", what, platform.Balance, err, paid-distributed)
	}
}
