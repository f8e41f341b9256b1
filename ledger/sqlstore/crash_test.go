package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/kill"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
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

// world is both stores, with the moments of their writes.
type world struct {
	eventlog.Store
	ledger.Runs
	*kill.Moments
}

func (w *world) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	return w.Around(func() error { return w.Store.Append(ctx, run, es...) })
}

func (w *world) Sync(ctx context.Context, run event.RunID) error {
	return w.Around(func() error { return w.Store.(eventlog.Syncer).Sync(ctx, run) })
}

func (w *world) Hold(ctx context.Context, run event.RunID, account string, amount ledger.Credits, at time.Time) error {
	return w.Around(func() error { return w.Runs.Hold(ctx, run, account, amount, at) })
}

func (w *world) Post(ctx context.Context, c ledger.Charge) (s event.Settled, err error) {
	err = w.Around(func() error { s, err = w.Runs.Post(ctx, c); return err })
	return s, err
}

func (w *world) Void(ctx context.Context, run event.RunID, at time.Time) error {
	return w.Around(func() error { return w.Runs.Void(ctx, run, at) })
}

func (w *world) Refund(ctx context.Context, run event.RunID, at time.Time) error {
	return w.Around(func() error { return w.Runs.Refund(ctx, run, at) })
}

// billing charges the fee for each run.
func billing(runs ledger.Runs) *ledger.Billing {
	return ledger.NewBilling(runs, ledger.Options{Share: 60, Prices: ledger.PriceList{{Name: ledger.PriceDefault, Price: ledger.Price{Base: fee}}}})
}

func TestMain(m *testing.M) { kill.Main(m, child) }

// child answers one question. In the mode "fails", the model fails.
func child(moments *kill.Moments, dir, mode string) error {
	ctx := context.Background()
	log, err := filelog.Open(filepath.Join(dir, "runs"), filelog.Options{})
	if err != nil {
		return err
	}
	store, err := sqlstore.Open(ctx, filepath.Join(dir, "ledger.db"))
	if err != nil {
		return err
	}
	w := &world{log, store, moments}
	e := engine.New(script{mode == "fails"}, engine.Options{Store: w, Billing: billing(w)})
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
	for _, fails := range []string{"", "fails"} {
		for _, mode := range []string{"resume", "fail"} {
			t.Run(mode+" "+fails, func(t *testing.T) {
				t.Parallel()
				kill.Each(t, fails, 10, func() string {
					dir := t.TempDir()
					credit(t, openIn(t, dir), "1", "ann", initial)
					return dir
				}, func(dir, what string) { recovered(t, dir, mode == "fail", fails != "", what) })
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
	require.NoError(t, err)
	posted := usage[0].Runs == 1
	for range 2 {
		log, err := filelog.Open(filepath.Join(dir, "runs"), filelog.Options{})
		require.NoError(t, err)
		e := engine.New(script{fails}, engine.Options{Store: log, Billing: billing(store)})
		if _, err := e.Recover(t.Context(), engine.Recovery{Fail: fail}); err != nil {
			t.Errorf("%s: recover: %v", what, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		agree(t, log, store, what)
		runs, err := log.Runs(t.Context(), "", 10)
		require.NoError(t, err)
		for _, r := range runs {
			ids = append(ids, r.Start.Run)
			if finished := r.Status() == event.Finished; posted && !finished || fails && finished {
				t.Errorf("%s: the run is %s; posted before the recovery: %v", what, r.Status(), posted)
			}
		}
		if posted && len(runs) != 1 {
			t.Errorf("%s: the run that was charged is gone", what)
		}
		require.NoError(t, log.Close())
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
	require.NoError(t, err)
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
		require.NoError(t, err)
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
