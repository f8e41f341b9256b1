package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
)

// charges is a store of one run that holds everything, and records what is held and posted.
type charges struct {
	ledger.Runs
	held   ledger.Credits
	posted ledger.Charge
	lost   error // of Run
}

func (c *charges) Hold(_ context.Context, _ event.RunID, _ string, amount ledger.Credits, _ time.Time) error {
	c.held = amount
	return nil
}

func (c *charges) Run(context.Context, event.RunID) (ledger.Run, error) {
	return ledger.Run{Held: c.held}, c.lost
}

func (c *charges) Post(_ context.Context, charge ledger.Charge) (event.Settled, error) {
	c.posted = charge
	return charge.Settlement, nil
}

// TestFlaggedAnswerPaysNobody checks that contributors earn nothing from an answer that their documents do not support.
func TestFlaggedAnswerPaysNobody(t *testing.T) {
	t.Parallel()
	store := &charges{held: ledger.MaxCredits}
	b := ledger.NewBilling(store, ledger.Options{Share: 60, Prices: prices(t, "default base=1")})
	s := event.State{RunStarted: event.RunStarted{Run: "r", Account: "ann"}, Check: &event.Verified{Flagged: true},
		Sources: []event.Source{{Document: "d", Contributor: "bob", Weight: 1, Cited: true}}}
	for flagged, want := range map[bool]ledger.Credits{true: 0, false: 600_000} {
		s.Check = &event.Verified{Flagged: flagged}
		settled, err := b.Settle(t.Context(), s, durable)
		if err != nil || settled.Fee != 1_000_000 || settled.Distributed != want {
			t.Errorf("flagged %v: %+v, %v", flagged, settled, err)
		}
	}
}

// TestDowntimeIsFree checks that the time in which no process worked on a run costs nothing.
func TestDowntimeIsFree(t *testing.T) {
	t.Parallel()
	store := &charges{held: ledger.MaxCredits}
	b := ledger.NewBilling(store, ledger.Options{Prices: prices(t, "default second=1")})
	log, clock := eventlog.NewMemory(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tick := func() time.Time { clock = clock.Add(time.Second); return clock }
	q := event.Question{Query: "why?"}
	q.SetDefaults()
	if _, err := answer.NewRecorder(t.Context(), log, tick, event.RunStarted{Run: "r", Account: "ann", Question: q}); err != nil {
		t.Fatal(err)
	}
	events, err := log.Load(t.Context(), "r", 0)
	require.NoError(t, err)
	rec, err := answer.ResumeRecorder(log, tick, events)
	require.NoError(t, err)
	clock = clock.Add(time.Hour)
	rec.Continue()                                                       // a second later
	if err := rec.Emit(t.Context(), event.QueryAnalyzed{}); err != nil { // and another one
		t.Fatal(err)
	}
	settled, err := b.Settle(t.Context(), rec.State(), durable)
	if err != nil || settled.Fee != 1_000_000 || settled.Duration != 1000 {
		t.Errorf("%+v, %v", settled, err)
	}
}

// TestPriceOfTheWriter checks that a run costs what the models that worked on it cost, and that its hold is enough for each that may write.
func TestPriceOfTheWriter(t *testing.T) {
	t.Parallel()
	writers := []string{"first", "sluice-extractive"}
	store := &charges{}
	b := ledger.NewBilling(store, ledger.Options{Writers: func() []string { return writers },
		Prices: prices(t, "first base=5 output=2", "sluice-extractive base=0.001", "judge input=3", "default base=9")})
	start := event.RunStarted{Run: "r", Account: "ann", Writer: event.ModelInfo{Model: "127.0.0.1:8080"}}
	for want, names := range map[ledger.Credits][]string{5_020_000: writers, 9_170_000: nil} { // 10,000 output tokens, and 50,000 of input
		if writers = names; b.Authorize(t.Context(), start) != nil || store.held != want {
			t.Errorf("writers %v: hold %d, want %d", names, store.held, want)
		}
	}
	store.held = ledger.MaxCredits
	s := event.State{RunStarted: start, Usage: []event.ModelUsed{{Model: "judge", Input: 1000, Output: 7}, {Model: "first", Input: 9, Output: 500}}}
	for model, want := range map[string]ledger.Credits{"first": 5_004_000, "sluice-extractive": 5_000, "other": 9_004_000} {
		s.Generation = &event.GenerationStarted{Model: model}
		if settled, err := b.Settle(t.Context(), s, durable); err != nil || settled.Fee != want || store.posted.Model != model {
			t.Errorf("%s: %+v, %v, charged as %s", model, settled, err, store.posted.Model)
		}
	}
}

func durable(context.Context) error { return nil }

// TestAnswerIsDurableBeforeItsCharge checks that a run with a hold is charged only if its answer is durable, and that a free run does not wait for that.
func TestAnswerIsDurableBeforeItsCharge(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	s := event.State{RunStarted: event.RunStarted{Run: "r", Account: "ann"}}
	for held, want := range map[ledger.Credits]error{0: nil, ledger.MaxCredits: failure} {
		store := &charges{held: held}
		b := ledger.NewBilling(store, ledger.Options{Prices: prices(t, "default base=1")})
		_, err := b.Settle(t.Context(), s, func(context.Context) error { return failure })
		if !errors.Is(err, want) || (store.posted.Run == "") != (want != nil) {
			t.Errorf("held %d: posted %q, %v", held, store.posted.Run, err)
		}
	}
}

// TestSettleFails: an error of the lookup of a run tells what was done, and keeps its cause.
func TestSettleFails(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	b := ledger.NewBilling(&charges{lost: failure}, ledger.Options{Prices: prices(t, "default base=1")})
	_, err := b.Settle(t.Context(), event.State{RunStarted: event.RunStarted{Run: "r", Account: "ann"}}, durable)
	if !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), "charge run: ") {
		t.Error(err)
	}
}
