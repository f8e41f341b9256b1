package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/ledger/sqlstore"
)

func ask(t *testing.T, e *engine.Engine, account string) (event.RunID, error) {
	t.Helper()
	return e.Ask(t.Context(), event.Question{Query: "why?"}, engine.Caller{Account: account})
}

// end waits for the end of a run and returns its state.
func end(t *testing.T, e *engine.Engine, id event.RunID) event.State {
	t.Helper()
	var s event.State
	for batch, err := range e.Events(t.Context(), id, 0) {
		require.NoError(t, err)
		for _, ev := range batch {
			s.Apply(ev)
		}
	}
	return s
}

func TestTooLittleBalance(t *testing.T) {
	t.Parallel()
	store, log := openIn(t, t.TempDir()), eventlog.NewMemory()
	e := engine.New(script{}, engine.Options{Store: log, Billing: billing(store)})
	credit(t, store, "1", "ann", fee)
	id, err := ask(t, e, "ann")
	require.NoError(t, err)
	if s := end(t, e, id).Settlement; s == nil || s.Before != fee || s.After != 0 || s.Distributed != fee*60/100 {
		t.Errorf("settlement %+v", s)
	}
	for _, account := range []string{"ann", "nobody", ledger.Platform, ledger.Issuer} {
		if _, err := ask(t, e, account); fault.Public(err).Code != fault.Payment {
			t.Errorf("%s asks: %v", account, err)
		}
	}
	if id, err = ask(t, e, ""); err != nil || end(t, e, id).Settlement != nil {
		t.Errorf("nobody asks: %v", err)
	}
	if runs, err := log.Runs(t.Context(), "", 10); err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// TestLogRefusesTheEnd checks that a run whose end the log refuses after the charge does not fail, and is finished by the recovery.
func TestLogRefusesTheEnd(t *testing.T) {
	t.Parallel()
	store, log := openIn(t, t.TempDir()), eventlog.NewMemory()
	credit(t, store, "1", "ann", fee)
	refusing := &refusing{Store: log}
	e := engine.New(script{}, engine.Options{Store: refusing, Billing: billing(store)})
	id, err := ask(t, e, "ann")
	require.NoError(t, err)
	_ = e.Close(t.Context())
	sum, err := log.Summary(t.Context(), id)
	if err != nil || sum.Ended || refusing.refused.Load() != 1 {
		t.Fatalf("the log has %+v, %v, after %d refusals", sum, err, refusing.refused.Load())
	}
	e = engine.New(script{}, engine.Options{Store: log, Billing: billing(store), Deadline: time.Nanosecond})
	if _, err := e.Recover(t.Context(), engine.Recovery{}); err != nil {
		t.Fatal(err)
	}
	if s := end(t, e, id); s.Status != event.Finished || s.Settlement == nil {
		t.Errorf("after the recovery: %s, %+v", s.Status, s.Settlement)
	}
	agree(t, log, store, "recovered")
}

// refusing refuses settlements.
type refusing struct {
	eventlog.Store
	refused atomic.Int64
}

func (r *refusing) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	if _, settled := es[0].Body.(event.Settled); settled {
		r.refused.Add(1)
		return errors.New("the disk failed")
	}
	return r.Store.Append(ctx, run, es...)
}

// TestLostPower checks that a run that was charged, but whose last events the log lost with the power, is refunded: the log ends it as failed.
func TestLostPower(t *testing.T) {
	t.Parallel()
	store, log := openIn(t, t.TempDir()), eventlog.NewMemory()
	credit(t, store, "1", "ann", fee)
	q := event.Question{Query: "why?"}
	q.SetDefaults()
	start := event.Event{Seq: 1, At: now, Body: event.RunStarted{Run: "r", Account: "ann", Question: q}}
	failed := event.Event{Seq: 2 + event.Gap, At: now, Body: event.RunFailed{Code: fault.Internal, Message: "the power failed"}}
	require.NoError(t, errors.Join(store.Hold(t.Context(), "r", "ann", fee, now), log.Append(t.Context(), "r", start, failed)))
	if _, err := store.Post(t.Context(), charge("r", "ann", fee, event.Source{Document: "d", Contributor: "bob", Weight: 1})); err != nil {
		t.Fatal(err)
	}
	e := engine.New(script{}, engine.Options{Store: log, Billing: billing(store)})
	for range 2 {
		if _, err := e.Recover(t.Context(), engine.Recovery{}); err != nil {
			t.Fatal(err)
		}
		agree(t, log, store, "recovered")
	}
	if a, err := store.Account(t.Context(), "ann"); err != nil || a.Balance != fee {
		t.Errorf("ann has %+v, %v", a, err)
	}
}

// TestChargedWithoutAnswer checks a run that was charged, but whose log lacks the end of its answer: it is answered on, and keeps its charge, or it
// fails and costs nothing.
func TestChargedWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, fail := range []bool{false, true} {
		store, log := openIn(t, t.TempDir()), eventlog.NewMemory()
		credit(t, store, "1", "ann", fee)
		q := event.Question{Query: "why?"}
		q.SetDefaults()
		at := time.Now().UTC().Truncate(time.Microsecond)
		start := event.Event{Seq: 1, At: at, Body: event.RunStarted{Run: "r", Account: "ann", Question: q}}
		require.NoError(t, errors.Join(store.Hold(t.Context(), "r", "ann", fee, now), log.Append(t.Context(), "r", start)))
		if _, err := store.Post(t.Context(), charge("r", "ann", fee, event.Source{Document: "d", Contributor: "bob", Weight: 1})); err != nil {
			t.Fatal(err)
		}
		e := engine.New(script{}, engine.Options{Store: log, Billing: billing(store)})
		if _, err := e.Recover(t.Context(), engine.Recovery{Fail: fail}); err != nil {
			t.Fatal(err)
		}
		s := end(t, e, "r")
		if fail && s.Status != event.Failed || !fail && (s.Status != event.Finished || s.Settlement == nil) {
			t.Errorf("fail %v: %s, %+v", fail, s.Status, s.Settlement)
		}
		_ = e.Close(t.Context())
		agree(t, log, store, "recovered")
	}
}

// TestVoidedRunIsNotResumed checks that a run that failed, and whose hold was released before the log had its end, fails.
func TestVoidedRunIsNotResumed(t *testing.T) {
	t.Parallel()
	store, log := openIn(t, t.TempDir()), eventlog.NewMemory()
	credit(t, store, "1", "ann", fee)
	q := event.Question{Query: "why?"}
	q.SetDefaults()
	start := event.Event{Seq: 1, At: time.Now().UTC().Truncate(time.Microsecond), Body: event.RunStarted{Run: "r", Account: "ann", Question: q}}
	require.NoError(t, errors.Join(store.Hold(t.Context(), "r", "ann", fee, now), log.Append(t.Context(), "r", start), store.Void(t.Context(), "r", now)))
	e := engine.New(script{}, engine.Options{Store: log, Billing: billing(store)})
	if n, err := e.Recover(t.Context(), engine.Recovery{}); err != nil || n.Resumed != 0 || n.Failed != 1 {
		t.Fatalf("%+v, %v", n, err)
	}
	agree(t, log, store, "recovered")
}

// stubborn refuses to release holds at first.
type stubborn struct {
	ledger.Runs
	refuse atomic.Int64
}

func (s *stubborn) Refund(ctx context.Context, run event.RunID, at time.Time) error {
	if s.refuse.Add(-1) >= 0 {
		return errors.New("the ledger is locked")
	}
	return s.Runs.Refund(ctx, run, at)
}

// TestFailedRunReleasesItsHold checks that the credits of a run that fails are free when its end is in the log, and that a release that the ledger
// refuses is repeated.
func TestFailedRunReleasesItsHold(t *testing.T) {
	t.Parallel()
	store := openIn(t, t.TempDir())
	credit(t, store, "1", "ann", fee)
	runs := &stubborn{Runs: store}
	e := engine.New(script{fails: true}, engine.Options{Store: checksEnds{eventlog.NewMemory(), store, t}, Billing: billing(runs)})
	for range 20 {
		id, err := ask(t, e, "ann")
		require.NoError(t, err)
		end(t, e, id)
	}
	_ = e.Close(t.Context())
	runs.refuse.Store(3)
	e = engine.New(script{fails: true}, engine.Options{Billing: billing(runs)})
	if _, err := ask(t, e, "ann"); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, e.Close(t.Context()))
	if holds, err := store.Holds(t.Context()); err != nil || len(holds) > 0 || runs.refuse.Load() >= 0 {
		t.Errorf("holds %v, %v", holds, err)
	}
}

// checksEnds checks that a run has no hold when its failure is written.
type checksEnds struct {
	eventlog.Store
	ledger *sqlstore.Store
	t      *testing.T
}

func (c checksEnds) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	if _, failed := es[0].Body.(event.RunFailed); failed {
		if r, err := c.ledger.Run(ctx, run); err != nil || r.Held > 0 {
			c.t.Errorf("%s ends with %+v, %v", run, r, err)
		}
	}
	return c.Store.Append(ctx, run, es...)
}

// synced is a log that counts syncs.
type synced struct {
	eventlog.Store
	ledger *sqlstore.Store
	before atomic.Int64 // syncs of runs that were not charged
}

func (s *synced) Sync(ctx context.Context, run event.RunID) error {
	if r, err := s.ledger.Run(ctx, run); err == nil && r.Settled == nil {
		s.before.Add(1)
	}
	return nil
}

// TestLogIsSyncedBeforeTheCharge checks that a paid answer is durable before its charge is, and that a free run does not wait for that.
func TestLogIsSyncedBeforeTheCharge(t *testing.T) {
	t.Parallel()
	store := openIn(t, t.TempDir())
	credit(t, store, "1", "ann", fee)
	log := &synced{Store: eventlog.NewMemory(), ledger: store}
	for i, b := range []engine.Billing{billing(store), ledger.NewBilling(store, ledger.Options{})} {
		e := engine.New(script{}, engine.Options{Store: log, Billing: b})
		id, err := ask(t, e, "ann")
		require.NoError(t, err)
		if s := end(t, e, id); s.Settlement == nil || log.before.Load() != 1 {
			t.Errorf("%d: %d syncs before the charge %+v", i, log.before.Load(), s.Settlement)
		}
		_ = e.Close(t.Context())
	}
}

// crashing is a process that may be dead: then no write reaches a store.
type crashing struct {
	eventlog.Store
	ledger.Runs
	left atomic.Int64 // writes until it is dead
}

var errDead = errors.New("the process is dead")

func (c *crashing) write(do func() error) error {
	if c.left.Add(-1) < 0 {
		return errDead
	}
	return do()
}

func (c *crashing) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	return c.write(func() error { return c.Store.Append(ctx, run, es...) })
}

func (c *crashing) Hold(ctx context.Context, run event.RunID, account string, amount ledger.Credits, at time.Time) error {
	return c.write(func() error { return c.Runs.Hold(ctx, run, account, amount, at) })
}

func (c *crashing) Post(ctx context.Context, ch ledger.Charge) (s event.Settled, err error) {
	err = c.write(func() error { s, err = c.Runs.Post(ctx, ch); return err })
	return s, err
}

func (c *crashing) Void(ctx context.Context, run event.RunID, at time.Time) error {
	return c.write(func() error { return c.Runs.Void(ctx, run, at) })
}

func (c *crashing) Refund(ctx context.Context, run event.RunID, at time.Time) error {
	return c.write(func() error { return c.Runs.Refund(ctx, run, at) })
}

// TestSchedules runs concurrent askers, failures, cancellations and transfers through several connections, with crashes between them. Afterwards no
// credit is made or lost: the accounts are what the log and the accepted transfers say.
func TestSchedules(t *testing.T) { each(t, testSchedules) }

func testSchedules(t *testing.T, place func(testing.TB) string) {
	for seed := range seeds(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := &schedule{path: place(t), log: eventlog.NewMemory(), want: map[string]ledger.Credits{}}
			rnd := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // reproducible
			for range 4 {
				s.process(t, rnd)
			}
			store := open(t, s.path)
			e := engine.New(script{}, engine.Options{Store: s.log, Billing: billing(store)})
			if _, err := e.Recover(t.Context(), engine.Recovery{}); err != nil {
				t.Fatal(err)
			}
			_ = e.Close(t.Context())
			agree(t, s.log, store, "at the end")
			s.balances(t, store)
		})
	}
}

type schedule struct {
	path string
	log  *eventlog.Memory

	mu        sync.Mutex
	want      map[string]ledger.Credits // by credits and transfers alone
	transfers int
}

// process is one process from its recovery to its crash.
func (s *schedule) process(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	store, other := open(t, s.path), open(t, s.path)
	if rnd.IntN(2) == 0 {
		other = store
	}
	c := &crashing{Store: s.log, Runs: store}
	c.left.Store(1 << 30)
	good := engine.New(script{}, engine.Options{Store: c, Billing: billing(c)})
	bad := engine.New(script{fails: true}, engine.Options{Store: c, Billing: billing(c)})
	if _, err := good.Recover(t.Context(), engine.Recovery{Fail: rnd.IntN(2) == 0}); err != nil {
		t.Fatal(err)
	}
	s.move(t, other, ledger.Issuer, "ann", fee*3)
	s.move(t, other, ledger.Issuer, "bob", fee)
	c.left.Store(50 + rnd.Int64N(300))
	var askers sync.WaitGroup
	for i := range 4 {
		account, seed := []string{"ann", "bob"}[i%2], rnd.Uint64()
		askers.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // reproducible
			for range 8 {
				e := good
				if rnd.IntN(3) == 0 {
					e = bad
				}
				id, err := ask(t, e, account)
				switch {
				case err != nil:
					if fault.Public(err).Code != fault.Payment && !errors.Is(err, errDead) {
						t.Errorf("%s asks: %v", account, err)
					}
				case rnd.IntN(4) == 0:
					_ = e.Cancel(t.Context(), id, "") // it may have ended
				}
				if rnd.IntN(3) == 0 {
					s.move(t, other, account, "cid", ledger.Credits(rnd.Int64N(int64(fee))+1))
				}
			}
		})
	}
	askers.Wait()
	if rnd.IntN(2) == 0 {
		c.left.Store(0) // the runs in progress cannot end
	}
	_, _ = good.Close(t.Context()), bad.Close(t.Context())
	verify(t, store)
}

// move transfers credits if the balance suffices.
func (s *schedule) move(t *testing.T, store *sqlstore.Store, from, to string, amount ledger.Credits) {
	t.Helper()
	s.mu.Lock()
	s.transfers++
	id := fmt.Sprint("t", s.transfers)
	s.mu.Unlock()
	err := store.Transfer(t.Context(), ledger.Transfer{ID: id, From: from, To: to, Amount: amount, At: now})
	if errors.Is(err, ledger.ErrInsufficient) {
		return
	}
	if err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.want[from] -= amount
	s.want[to] += amount
}

// balances compares the accounts with the transfers and the settlements in the log.
func (s *schedule) balances(t *testing.T, store *sqlstore.Store) {
	t.Helper()
	runs, err := s.log.Runs(t.Context(), "", 10_000)
	require.NoError(t, err)
	finished, failed := 0, 0
	for _, r := range runs {
		if r.Status() != event.Finished {
			failed++
			continue
		}
		finished++
		s.want[r.Start.Account] -= fee
		earned := fee * 60 / 100
		if r.Start.Account == "bob" {
			earned = 0 // his own document
		}
		s.want["bob"] += earned
		s.want[ledger.Platform] += fee - earned
	}
	t.Logf("%d runs finished, %d did not", finished, failed)
	accounts, err := store.Accounts(t.Context(), "", 100)
	require.NoError(t, err)
	sum := ledger.Credits(0)
	for _, a := range accounts {
		if sum += a.Balance; a.Balance != s.want[a.ID] || a.Held != 0 {
			t.Errorf("%+v, want a balance of %d", a, s.want[a.ID])
		}
	}
	if sum != 0 || len(accounts) < 4 || finished == 0 || failed == 0 {
		t.Errorf("%d accounts sum to %d, %d runs finished, %d failed", len(accounts), sum, finished, failed)
	}
}
