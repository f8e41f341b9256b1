package sqlstore_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/ledger/sqlstore"
)

var now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// An engine keeps ledgers. Its function returns the place of a new one: the path of a file, or a URL.
var engines = map[string]func(testing.TB) string{"sqlite": func(t testing.TB) string { return filepath.Join(t.TempDir(), "ledger.db") }}

// connect opens the ledger of a URL, with connections of its own.
var connect func(t testing.TB, url string) (*sqlstore.Store, error)

// each runs a test with each engine.
func each(t *testing.T, test func(t *testing.T, place func(testing.TB) string)) {
	t.Parallel()
	for name, place := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place)
		})
	}
}

// open opens the ledger of a place.
func open(t testing.TB, place string) *sqlstore.Store {
	t.Helper()
	opened := func(t testing.TB, path string) (*sqlstore.Store, error) { return sqlstore.Open(t.Context(), path) }
	if strings.HasPrefix(place, "postgres://") {
		opened = connect
	}
	s, err := opened(t, place)
	require.NoError(t, err)
	require.CloseAfter(t, s)
	return s
}

func credit(t testing.TB, s *sqlstore.Store, id, to string, amount ledger.Credits) {
	t.Helper()
	require.NoError(t, s.Transfer(t.Context(), ledger.Transfer{ID: id, From: ledger.Issuer, To: to, Amount: amount, At: now}))
}

// check fails unless the accounts have these balances and held amounts, and the whole ledger agrees.
func check(t testing.TB, s *sqlstore.Store, want ...ledger.Account) {
	t.Helper()
	got, err := s.Accounts(t.Context(), "", 1000)
	require.NoError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	verify(t, s)
}

func verify(t testing.TB, s *sqlstore.Store) {
	t.Helper()
	report, err := s.Verify(t.Context())
	if err == nil {
		err = s.Check(t.Context())
	}
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("verify: %v, %v", report.Problems, err)
	}
}

func charge(run event.RunID, account string, fee event.Credits, sources ...event.Source) ledger.Charge {
	s := ledger.Settle(fee, 60, account, sources)
	s.Type = "query_usage"
	return ledger.Charge{Run: run, Account: account, At: now, Settlement: s, Model: "m", Collection: "c", Input: 10, Output: 5}
}

// TestRefundOfSpentShares checks that the payer gets everything back, whatever contributors and the platform have spent.
func TestRefundOfSpentShares(t *testing.T) { each(t, testRefundOfSpentShares) }

func testRefundOfSpentShares(t *testing.T, place func(testing.TB) string) {
	// What bob has spent of his 30, and the platform of its 20; what it has besides; what it has and what is in circulation after the refund.
	for _, c := range []struct{ bob, platform, besides, left, circulating ledger.Credits }{{0, 0, 0, 0, 100}, {12, 0, 7, 0, 112}, {12, 0, 40, 28, 140}, {30, 20, 0, 0, 150}} {
		s := open(t, place(t))
		credit(t, s, "1", "ann", 100)
		if c.besides > 0 {
			credit(t, s, "2", ledger.Platform, c.besides)
		}
		require.NoError(t, s.Hold(t.Context(), "r", "ann", 50, now))
		if _, err := s.Post(t.Context(), charge("r", "ann", 50, event.Source{Document: "d", Contributor: "bob", Weight: 1})); err != nil {
			t.Fatal(err)
		}
		for from, amount := range map[string]ledger.Credits{"bob": c.bob, ledger.Platform: c.platform} {
			if amount > 0 {
				require.NoError(t, s.Transfer(t.Context(), ledger.Transfer{ID: from, From: from, To: "cid", Amount: amount, At: now}))
			}
		}
		if err := s.Refund(t.Context(), "r", now); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		for id, want := range map[string]ledger.Credits{"ann": 100, "bob": 0, ledger.Platform: c.left, ledger.Issuer: -c.circulating} {
			if a, err := s.Account(t.Context(), id); err != nil || a.Balance != want {
				t.Errorf("%+v: %s has %d, %v, want %d", c, id, a.Balance, err, want)
			}
		}
		verify(t, s)
	}
}

func TestTwoPhases(t *testing.T) { each(t, testTwoPhases) }

func testTwoPhases(t *testing.T, place func(testing.TB) string) {
	ctx := t.Context()
	s := open(t, place(t))
	credit(t, s, "1", "ann", 100)
	require.NoError(t, s.Hold(ctx, "r1", "ann", 60, now))
	if err := s.Hold(ctx, "r1", "ann", 60, now); err != nil {
		t.Errorf("the same hold again: %v", err)
	}
	if err := s.Hold(ctx, "r2", "ann", 41, now); !errors.Is(err, ledger.ErrInsufficient) {
		t.Errorf("more than is available: %v", err)
	}
	if err := s.Hold(ctx, "r2", "nobody", 1, now); !errors.Is(err, ledger.ErrInsufficient) {
		t.Errorf("an account without entries: %v", err)
	}
	if err := s.Transfer(ctx, ledger.Transfer{ID: "2", From: "ann", To: "bob", Amount: 41, At: now}); !errors.Is(err, ledger.ErrInsufficient) {
		t.Errorf("a transfer of held credits: %v", err)
	}
	check(t, s, ledger.Account{ID: "ann", Balance: 100, Held: 60}, ledger.Account{ID: "issuer", Balance: -100})
	c := charge("r1", "ann", 50, event.Source{Document: "d", Contributor: "bob", Weight: 1})
	first, err := s.Post(ctx, c)
	require.NoError(t, err)
	want := c.Settlement
	want.Transaction, want.Before, want.After = "charge_r1", 100, 50
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	again, err := s.Post(ctx, charge("r1", "ann", 10))
	if diff := cmp.Diff(first, again); err != nil || diff != "" {
		t.Errorf("posted again: %v %s", err, diff)
	}
	if err := errors.Join(s.Void(ctx, "r1", now), s.Hold(ctx, "r1", "ann", 60, now), s.Void(ctx, "unknown", now), s.Refund(ctx, "unknown", now)); err != nil {
		t.Error(err)
	}
	check(t, s, ledger.Account{ID: "ann", Balance: 50}, ledger.Account{ID: "bob", Balance: 30}, ledger.Account{ID: "issuer", Balance: -100},
		ledger.Account{ID: "platform", Balance: 20})
	require.NoError(t, errors.Join(s.Hold(ctx, "r3", "ann", 50, now), s.Void(ctx, "r3", now), s.Void(ctx, "r3", now)))
	if _, err := s.Post(ctx, charge("r3", "ann", 1)); !errors.Is(err, ledger.ErrVoided) {
		t.Errorf("a charge after the void: %v", err)
	}
	if err := s.Hold(ctx, "r3", "ann", 1, now); !errors.Is(err, ledger.ErrVoided) {
		t.Errorf("a hold after the void: %v", err)
	}
	require.NoError(t, errors.Join(s.Refund(ctx, "r1", now), s.Refund(ctx, "r1", now)))
	if run, err := s.Run(ctx, "r1"); err != nil || run.Settled != nil || !run.Voided {
		t.Errorf("after the refund: %+v, %v", run, err)
	}
	check(t, s, ledger.Account{ID: "ann", Balance: 100}, ledger.Account{ID: "bob"}, ledger.Account{ID: "issuer", Balance: -100}, ledger.Account{ID: "platform"})
	if u, err := s.Usage(ctx, ledger.UsageQuery{}); err != nil || u[0].Runs != 0 {
		t.Errorf("usage after the refund: %+v, %v", u, err)
	}
}

func TestFeeAboveHold(t *testing.T) { each(t, testFeeAboveHold) }

func testFeeAboveHold(t *testing.T, place func(testing.TB) string) {
	s := open(t, place(t))
	credit(t, s, "1", "ann", 100)
	require.NoError(t, s.Hold(t.Context(), "r", "ann", 10, now))
	for _, c := range []ledger.Charge{charge("r", "ann", 11), charge("r", "bob", 1), charge("free", "ann", 1)} {
		if _, err := s.Post(t.Context(), c); err == nil {
			t.Errorf("charge %+v", c)
		}
	}
	if _, err := s.Post(t.Context(), charge("free", "ann", 0)); err != nil {
		t.Error(err)
	}
	check(t, s, ledger.Account{ID: "ann", Balance: 100, Held: 10}, ledger.Account{ID: "issuer", Balance: -100})
}

func TestTransfer(t *testing.T) { each(t, testTransfer) }

func testTransfer(t *testing.T, place func(testing.TB) string) {
	ctx := t.Context()
	s := open(t, place(t))
	credit(t, s, "1", "ann", 100)
	credit(t, s, "1", "ann", 100)
	for _, bad := range []ledger.Transfer{
		{ID: "1", From: ledger.Issuer, To: "ann", Amount: 99}, {ID: "1", From: ledger.Issuer, To: "bob", Amount: 100},
		{ID: "2", From: "ann", To: "ann", Amount: 1}, {ID: "2", From: "ann", To: "bob"}, {ID: "2", From: "ann", To: "bob", Amount: -1},
		{ID: "2", From: "ann", To: "", Amount: 1}, {ID: "2", From: "a\n", To: "bob", Amount: 1}, {ID: "2", From: "ann", To: "bob", Amount: 101},
		{ID: "2", From: "ann", To: "bob", Amount: 1, Note: "a\nb"}, {ID: "", From: "ann", To: "bob", Amount: 1}, {ID: "a b", From: "ann", To: "bob", Amount: 1},
		{ID: "a\u00e4", From: "ann", To: "bob", Amount: 1}, {ID: strings.Repeat("a", 129), From: "ann", To: "bob", Amount: 1},
		{ID: "hold_r", From: "ann", To: "bob", Amount: 1}, {ID: "charge_r", From: "ann", To: "bob", Amount: 1},
		{ID: "void_r", From: "ann", To: "bob", Amount: 1}, {ID: "refund_r", From: "ann", To: "bob", Amount: 1}, {ID: "2", From: ledger.Issuer, To: "ann", Amount: ledger.MaxCredits},
	} {
		if err := s.Transfer(ctx, bad); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
	check(t, s, ledger.Account{ID: "ann", Balance: 100}, ledger.Account{ID: "issuer", Balance: -100})
}

func TestStatementAndUsage(t *testing.T) { each(t, testStatementAndUsage) }

func testStatementAndUsage(t *testing.T, place func(testing.TB) string) {
	ctx := t.Context()
	s := open(t, place(t))
	credit(t, s, "1", "ann", 1000)
	for i, run := range []event.RunID{"a", "b", "c"} {
		c := charge(run, "ann", 10)
		c.At, c.Cached, c.Settlement.Duration = now.Add(time.Duration(i)*12*time.Hour), i == 2, 1500
		require.NoError(t, s.Hold(ctx, run, "ann", 10, now))
		if _, err := s.Post(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	for _, account := range []string{"ann", ""} {
		var cursor ledger.Cursor
		var amounts []event.Credits
		for {
			page, err := s.Statement(ctx, account, cursor, 2)
			require.NoError(t, err)
			for _, e := range page {
				amounts, cursor = append(amounts, e.Amount), e.Cursor()
			}
			if len(page) < 2 {
				break
			}
		}
		want := map[string][]event.Credits{"ann": {-10, 0, -10, 0, -10, 0, 1000}, "": {10, -10, 0, 10, -10, 0, 10, -10, 0, -1000, 1000}}[account]
		if diff := cmp.Diff(want, amounts); diff != "" {
			t.Errorf("statement of %q: %s", account, diff)
		}
	}
	byDay, err := s.Usage(ctx, ledger.UsageQuery{Account: "ann", By: []ledger.Group{ledger.ByDay, ledger.ByModel}})
	want := []ledger.Usage{
		{Day: "2026-01-31", Model: "m", Runs: 1, Input: 10, Output: 5, Duration: 1500 * time.Millisecond, Fee: 10},
		{Day: "2026-02-01", Model: "m", Runs: 2, Cached: 1, Input: 20, Output: 10, Duration: 3 * time.Second, Fee: 20},
	}
	if diff := cmp.Diff(want, byDay); err != nil || diff != "" {
		t.Error(err, diff)
	}
	sum, err := s.Usage(ctx, ledger.UsageQuery{From: now.Add(time.Hour), To: now.Add(24 * time.Hour)})
	if err != nil || len(sum) != 1 || sum[0].Runs != 1 {
		t.Errorf("the second run alone: %+v, %v", sum, err)
	}
}

// withCharge adds a credit, a charge and a hold.
func withCharge(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	credit(t, s, "1", "ann", 100)
	require.NoError(t, s.Hold(t.Context(), "r1", "ann", 60, now))
	if _, err := s.Post(t.Context(), charge("r1", "ann", 50)); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.Hold(t.Context(), "r2", "ann", 20, now))
}

// forbidden are statements that the schema refuses, by the error.
var forbidden = func() map[string]string {
	entry := func(account, amount, held, balance string) string {
		return "INSERT INTO entries SELECT max(seq) + 1, '" + account + "', " + amount + ", " + held + ", " + balance + " FROM transfers;"
	}
	transfer := func(id, kind, run string) string {
		return "INSERT INTO transfers SELECT max(seq) + 1, '" + id + "', '" + kind + "', '" + run + "', 0, '' FROM transfers;"
	}
	return map[string]string{
		"transfers are only appended":                  "UPDATE transfers SET note = 'x'",
		"transfers are only appended (delete)":         "DELETE FROM transfers",
		"transfers are only appended (replace)":        "REPLACE INTO transfers SELECT * FROM transfers",
		"entries are only appended":                    "UPDATE entries SET amount = 0",
		"entries are only appended (delete)":           "DELETE FROM entries",
		"the transfer is complete":                     "REPLACE INTO entries SELECT * FROM entries",
		"charges are only appended":                    "UPDATE charges SET fee = 0",
		"charges are only appended (delete)":           "DELETE FROM charges",
		"charges are only appended (replace)":          "REPLACE INTO charges SELECT * FROM charges",
		"balances come from entries":                   "UPDATE accounts SET balance = balance + 1 WHERE id = 'ann'",
		"accounts are not deleted":                     "DELETE FROM accounts",
		"the hold was neither posted nor voided":       "DELETE FROM holds",
		"holds are not changed":                        "UPDATE holds SET amount = 1",
		"FOREIGN KEY constraint failed":                entry("ann", "5", "0", "55"),
		"entries belong to the next transfer":          "INSERT INTO entries VALUES (99, 'ann', 5, 0, 55)",
		"the entries of a transfer must sum to zero":   entry("ann", "5", "0", "55") + transfer("x", "credit", ""),
		"the balance is not that of the account after": entry("ann", "5", "0", "56"),
		"below zero":                                  entry("ann", "-31", "0", "19"),
		"below zero (ignore)":                         "INSERT OR IGNORE" + strings.TrimPrefix(entry("ann", "-31", "0", "19"), "INSERT"),
		"below zero (held)":                           entry("ann", "0", "-21", "50"),
		"the account does not allow the balance":      "INSERT OR IGNORE" + strings.TrimPrefix(entry("big", "2000000000000000000", "0", "2000000000000000000"), "INSERT"),
		"CHECK constraint failed: kind IN":            transfer("x", "gift", ""),
		"CHECK constraint failed (id)":                entry("ann", "50", "0", "100") + entry("platform", "-50", "0", "0") + transfer("x", "refund", "r1"),
		"a void releases a hold":                      transfer("void_r", "void", "r"),
		"the id is reserved for runs":                 transfer("void_r", "transfer", ""),
		"a credit moves credits of the issuer":        entry("ann", "-5", "0", "45") + entry("bob", "5", "0", "5") + transfer("x", "credit", ""),
		"a credit moves credits of the issuer, a":     entry("issuer", "-5", "0", "-105") + entry("bob", "5", "0", "5") + transfer("x", "transfer", ""),
		"a credit moves credits of the issuer, a (0)": transfer("x", "transfer", ""),
		"accounts come from entries":                  "INSERT INTO accounts VALUES ('bob', 5, 0)",
		"accounts come from entries (zero)":           "INSERT INTO accounts VALUES ('bob', 0, 0)",
		"accounts come from entries (replace)":        "REPLACE INTO accounts VALUES ('ann', 0, 0)",
		"balances come from entries (held)":           "UPDATE accounts SET held = held + 5 WHERE id = 'ann'",
		"balances come from entries (again)":          entry("ann", "-5", "0", "45") + "UPDATE accounts SET balance = balance - 5 WHERE id = 'ann'",
		"the held amount is not the sum of the holds": entry("ann", "0", "5", "50") + "UPDATE accounts SET held = held + 5 WHERE id = 'ann';" + transfer("hold_r3", "hold", "r3"),
		"holds come from transfers":                   "INSERT INTO holds VALUES ('r3', 'ann', 5)",
		"holds come from transfers (replace)":         "REPLACE INTO holds VALUES ('r2', 'ann', 5)",
		"holds come from transfers (posted)":          "INSERT INTO holds VALUES ('r1', 'ann', 60)",
		"transfers are only appended (gap)":           "INSERT INTO transfers SELECT max(seq) + 2, 'x', 'transfer', '', 0, '' FROM transfers",
		"the run was charged or voided (replace)":     "REPLACE" + strings.TrimPrefix(transfer("void_r1", "void", "r1"), "INSERT"),
		"no such charge":                              "INSERT INTO charges SELECT transfer + 1, 'r9', account, at, '', '', 0, 0, 0, 0, 0, 0, '' FROM charges",
		"only a hold holds":                           entry("bob", "0", "0", "0") + transfer("hold_r", "hold", "r"),
		"a charge or void must release":               transfer("void_r2", "void", "r2"),
		"the run was charged or voided":               transfer("void_r1", "void", "r1"),
		"only the account of a hold releases it":      entry("ann", "0", "-20", "50") + transfer("x", "transfer", ""),
		"a charge is at most its hold":                entry("ann", "-21", "-20", "29") + entry("bob", "21", "0", "21") + transfer("charge_r2", "charge", "r2"),
		"a void moves nothing":                        entry("ann", "-1", "-20", "49") + entry("bob", "1", "0", "1") + transfer("void_r2", "void", "r2"),
		"a refund reverses a charge":                  entry("ann", "1", "0", "51") + entry("platform", "-1", "0", "49") + transfer("refund_r1", "refund", "r1"),
		"transfers are only appended (id)":            entry("ann", "0", "0", "50") + transfer("1", "credit", ""),
	}
}()

// TestSchema checks that the schema itself enforces the rules: each statement comes from a program that does not use this package.
func TestSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := open(t, path)
	withCharge(t, s)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(1)")
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	defer db.Close()
	for want, statements := range forbidden {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		if _, err = tx.ExecContext(t.Context(), statements); err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback()
		}
		wanted, _, _ := strings.Cut(want, " (")
		if err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: got %v, want %s", statements, err, want)
		}
	}
	check(t, s, ledger.Account{ID: "ann", Balance: 50, Held: 20}, ledger.Account{ID: "issuer", Balance: -100}, ledger.Account{ID: "platform", Balance: 50})
}

// TestFreeCharge checks that a free charge counts the usage of a run and changes no balance, and that no run with a hold has one.
func TestFreeCharge(t *testing.T) { each(t, testFreeCharge) }

func testFreeCharge(t *testing.T, place func(testing.TB) string) {
	ctx := t.Context()
	s := open(t, place(t))
	require.NoError(t, s.Transfer(ctx, ledger.Transfer{ID: "1", From: "issuer", To: "ann", Amount: 100, At: now}))
	free := charge("r1", "ann", 0)
	free.Free = true
	first, err := s.Post(ctx, free)
	require.NoError(t, err)
	again, err := s.Post(ctx, free)
	if diff := cmp.Diff(first, again); err != nil || diff != "" {
		t.Errorf("posted again: %v %s", err, diff)
	}
	if run, err := s.Run(ctx, "r1"); err != nil || run.Settled == nil {
		t.Errorf("the run is not settled: %+v, %v", run, err)
	}
	require.NoError(t, s.Hold(ctx, "r2", "ann", 10, now))
	free.Run = "r2"
	if _, err := s.Post(ctx, free); err == nil {
		t.Error("a free charge of a run with a hold")
	}
	check(t, s, ledger.Account{ID: "ann", Balance: 100, Held: 10}, ledger.Account{ID: "issuer", Balance: -100})
}
