package sqlstore_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/ledger/sqlstore"
)

// model is a ledger that a reader can check at a glance.
type model struct {
	balance, held map[string]ledger.Credits
	runs          map[event.RunID]*modelRun
}

type modelRun struct {
	account         string
	hold, fee       ledger.Credits
	earned          map[string]ledger.Credits
	held, paid, off bool
}

func newModel() *model {
	return &model{map[string]ledger.Credits{}, map[string]ledger.Credits{}, map[event.RunID]*modelRun{}}
}

func (m *model) run(id event.RunID) *modelRun {
	if m.runs[id] == nil {
		m.runs[id] = &modelRun{}
	}
	return m.runs[id]
}

func (m *model) hold(id event.RunID, account string, amount ledger.Credits) error {
	r := m.run(id)
	switch {
	case r.off:
		return ledger.ErrVoided
	case r.held || r.paid:
		return nil
	case m.balance[account]-m.held[account] < amount:
		return ledger.ErrInsufficient
	}
	m.held[account] += amount
	r.account, r.hold, r.held = account, amount, true
	return nil
}

func (m *model) post(id event.RunID, fee ledger.Credits, s event.Settled) error {
	r := m.run(id)
	switch {
	case r.off:
		return ledger.ErrVoided
	case r.paid:
		return nil
	}
	m.held[r.account] -= r.hold
	m.balance[r.account] -= fee
	r.fee, r.earned, r.held, r.paid = fee, map[string]ledger.Credits{ledger.Platform: fee}, false, true
	for _, share := range s.Shares {
		if share.Earned != nil {
			r.earned[share.Contributor] += *share.Earned
			r.earned[ledger.Platform] -= *share.Earned
		}
	}
	for account, amount := range r.earned {
		m.balance[account] += amount
	}
	return nil
}

func (m *model) void(id event.RunID) {
	if r := m.run(id); r.held {
		m.held[r.account] -= r.hold
		r.held, r.off = false, true
	}
}

func (m *model) refund(id event.RunID) error {
	r := m.run(id)
	if !r.paid || r.off {
		m.void(id)
		return nil
	}
	missing := r.fee
	take := func(account string, most ledger.Credits) {
		most = min(most, m.balance[account]-m.held[account])
		m.balance[account] -= most
		missing -= most
	}
	for account, amount := range r.earned {
		if account != ledger.Platform {
			take(account, amount)
		}
	}
	take(ledger.Platform, missing)
	m.balance[ledger.Issuer] -= missing
	m.balance[r.account] += r.fee
	r.off = true
	return nil
}

func (m *model) transfer(from, to string, amount ledger.Credits) error {
	if from != ledger.Issuer && m.balance[from]-m.held[from] < amount {
		return ledger.ErrInsufficient
	}
	m.balance[from] -= amount
	m.balance[to] += amount
	return nil
}

// TestModel compares random operations with the model. From time to time the file is opened again, or written through another connection.
func TestModel(t *testing.T) { each(t, testModel) }

func testModel(t *testing.T, place func(testing.TB) string) {
	for seed := range seeds(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
			path := place(t)
			stores := []*sqlstore.Store{open(t, path), open(t, path)}
			m := newModel()
			askers := []string{"ann", "bob", "cid"}
			names := append([]string{ledger.Platform}, askers...)
			for i := range 150 {
				s := stores[rnd.IntN(len(stores))]
				id := event.RunID(fmt.Sprint("r", rnd.IntN(20)))
				amount := ledger.Credits(1 + rnd.IntN(50))
				var got, want error
				var what string
				switch k := rnd.IntN(12); {
				case k < 3:
					account := askers[rnd.IntN(3)]
					what = fmt.Sprint("hold ", id, account, amount)
					got, want = s.Hold(t.Context(), id, account, amount, now), m.hold(id, account, amount)
				case k < 6:
					r := m.run(id)
					if !r.held && !r.paid && !r.off {
						continue // a free run: see TestFeeAboveHold
					}
					fee := ledger.Credits(rnd.Int64N(int64(r.hold) + 1))
					c := charge(id, r.account, fee, sources(rnd)...)
					what = fmt.Sprint("post ", id, fee)
					_, got = s.Post(t.Context(), c)
					want = m.post(id, fee, c.Settlement)
				case k < 8:
					what, got = fmt.Sprint("void ", id), s.Void(t.Context(), id, now)
					m.void(id)
				case k < 9:
					what = fmt.Sprint("refund ", id)
					got, want = s.Refund(t.Context(), id, now), m.refund(id)
				case k < 10:
					from, to := names[rnd.IntN(4)], names[rnd.IntN(4)]
					if from == to {
						continue
					}
					what = fmt.Sprint("transfer ", from, to, amount)
					got, want = s.Transfer(t.Context(), ledger.Transfer{ID: fmt.Sprint("t", i), From: from, To: to, Amount: amount, At: now}), m.transfer(from, to, amount)
				case k < 11:
					to := names[rnd.IntN(4)]
					what = fmt.Sprint("credit ", to, amount)
					got, want = s.Transfer(t.Context(), ledger.Transfer{ID: fmt.Sprint("t", i), From: ledger.Issuer, To: to, Amount: amount, At: now}), m.transfer(ledger.Issuer, to, amount)
				default:
					stores = append(stores[1:], open(t, path))
				}
				if !errors.Is(got, want) {
					t.Fatalf("%d: %s: got %v, want %v", i, what, got, want)
				}
				m.compare(t, s)
				if t.Failed() {
					t.Fatalf("after %d: %s", i, what)
				}
			}
			verify(t, stores[0])
		})
	}
}

func (m *model) compare(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	accounts, err := s.Accounts(t.Context(), "", 100)
	require.NoError(t, err)
	balance, held := map[string]ledger.Credits{}, map[string]ledger.Credits{}
	for _, a := range accounts {
		balance[a.ID], held[a.ID] = a.Balance, a.Held
	}
	zero := func(_ string, c ledger.Credits) bool { return c == 0 }
	wantBalance, wantHeld := maps.Clone(m.balance), maps.Clone(m.held)
	for _, each := range []map[string]ledger.Credits{balance, held, wantBalance, wantHeld} {
		maps.DeleteFunc(each, zero)
	}
	if diff := cmp.Diff([]any{wantBalance, wantHeld}, []any{balance, held}); diff != "" {
		t.Error(diff)
	}
	var open []event.RunID
	for id, r := range m.runs {
		if r.held {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	if got, err := s.Holds(t.Context()); err != nil || !slices.Equal(got, open) {
		t.Errorf("holds %v, %v, want %v", got, err, open)
	}
}

// seeds returns the number of random schedules: fewer under the race detector, with which SQLite is slow.
func seeds(n uint64) uint64 {
	if race.Enabled {
		return max(n/4, 1)
	}
	return n
}

func sources(rnd *rand.Rand) []event.Source {
	var out []event.Source
	for range rnd.IntN(4) {
		n := rnd.IntN(4)
		out = append(out, event.Source{Document: corpus.DocumentID(fmt.Sprint("d", n)), Contributor: []string{"ann", "bob", "cid", ""}[n], Weight: rnd.Float64()})
	}
	return out
}
