package sqlstore_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/ledger/sqlstore"
)

// filled returns a ledger with a credit, a charge, a free charge, a void, a refund and a hold.
func filled(t *testing.T) (*sqlstore.Store, string) {
	t.Helper()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "ledger.db")
	s := open(t, path)
	credit(t, s, "1", "ann", 1000)
	errs := []error{s.Hold(ctx, "void", "ann", 50, now), s.Void(ctx, "void", now)}
	for run, fee := range map[event.RunID]event.Credits{"paid": 20, "refunded": 10, "free": 0, "open": -1} {
		if fee != 0 {
			errs = append(errs, s.Hold(ctx, run, "ann", 50, now))
		}
		if fee >= 0 {
			_, err := s.Post(ctx, charge(run, "ann", fee, event.Source{Document: "d", Contributor: "bob", Weight: 1}))
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.Refund(ctx, "refunded", now), s.Transfer(ctx, ledger.Transfer{ID: "2", From: "ann", To: "cid", Amount: 5, At: now}))
	require.NoError(t, errors.Join(errs...))
	verify(t, s)
	return s, path
}

// edit changes a file as a person could by hand: without the triggers, which it restores. What follows THEN changes it afterwards.
func edit(t *testing.T, path, change string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
	require.NoError(t, err)
	defer rows.Close()
	var drop, create []string
	for rows.Next() {
		var name, text string
		require.NoError(t, rows.Scan(&name, &text))
		drop, create = append(drop, "DROP TRIGGER "+name), append(create, text)
	}
	require.NoError(t, rows.Err())
	change, after, _ := strings.Cut(change, "THEN ")
	if _, err := db.ExecContext(t.Context(), strings.Join(slices.Concat(drop, []string{change}, create, []string{after}), ";\n")); err != nil {
		t.Fatal(err)
	}
}

// TestDamage checks that a change by hand is found: by Verify, and the ones of balances also at the start.
func TestDamage(t *testing.T) {
	t.Parallel()
	const newest = "(SELECT max(transfer) FROM entries e WHERE e.account = entries.account)"
	for name, c := range map[string]struct {
		change, start, want string // start and want are parts of what the start and Verify report; start is empty if the start does not find it
	}{
		"balance": {"UPDATE accounts SET balance = balance + 1 WHERE id = 'ann'", "account ann: the balance", "account ann: the balance"},
		"held":    {"UPDATE accounts SET held = held - 1 WHERE id = 'ann'", "account ann: the balance or the held amount", "account ann"},
		"forged newest entries": {"UPDATE entries SET balance = balance + iif(account = 'ann', 9, -9) WHERE account IN ('ann', 'issuer') AND transfer = " + newest +
			"; UPDATE accounts SET balance = balance + iif(id = 'ann', 9, -9) WHERE id IN ('ann', 'issuer')", "account ann: the balance", "the balance after it is wrong"},
		"orphan":          {"PRAGMA foreign_keys = 0; INSERT INTO entries VALUES (99, 'cid', 0, 0, 5)", "there is no transfer 99", "there is no transfer 99"},
		"account":         {"INSERT INTO accounts VALUES ('dan', 0, 0)", "account dan", "account dan"},
		"no account":      {"DELETE FROM accounts WHERE id = 'cid'", "account cid", "account cid"},
		"hold":            {"UPDATE holds SET run = 'other'", "", "run other: the hold is not that of its transfer"},
		"hold gone":       {"DELETE FROM holds", "account ann: the held amount", "run open: the hold is missing"},
		"old hold":        {"INSERT INTO holds VALUES ('void', 'bob', 1)", "account bob", "run void: the hold was released and is still there"},
		"amount":          {"UPDATE entries SET amount = amount + 1 WHERE account = 'bob' AND amount = 12", "account bob", "its entries sum to 1"},
		"running balance": {"UPDATE entries SET balance = balance + 1 WHERE account = 'ann' AND transfer = 1", "", "entry of ann in transfer 1: the balance after it is wrong"},
		"gap": {"PRAGMA foreign_keys = 0; DELETE FROM entries WHERE transfer IN (SELECT seq FROM transfers WHERE run = 'void'); DELETE FROM transfers WHERE run = 'void'",
			"", "2 transfers before it are missing"},
		"transfer gone":    {"PRAGMA foreign_keys = 0; DELETE FROM transfers WHERE id = 'charge_paid'", "", "entry of bob: there is no transfer"},
		"charge gone":      {"DELETE FROM charges WHERE run = 'free'", "", "run free: the charge has no record"},
		"renamed run":      {"UPDATE charges SET run = 'x' WHERE run = 'free'", "", "run x: the record is not that of its transfer"},
		"time":             {"UPDATE charges SET at = 0 WHERE run = 'free'", "", "run free: the record is not that of its transfer"},
		"fee":              {"UPDATE charges SET fee = fee + 1 WHERE run = 'paid'", "", "run paid: the settlement is not that of the record"},
		"earned":           {"UPDATE charges SET settlement = json_set(settlement, '$.shares[0].earned', 13) WHERE run = 'paid'", "", "run paid: the settlement is not what was posted to the account bob"},
		"contributor":      {"UPDATE charges SET settlement = json_set(settlement, '$.shares[0].contributor', 'eve') WHERE run = 'paid'", "", "not what was posted to the account eve"},
		"portion":          {"UPDATE charges SET settlement = json_set(settlement, '$.shares[0].portion', 5) WHERE run = 'paid'", "", "run paid: the portions sum to 5"},
		"platform":         {"UPDATE charges SET settlement = json_set(settlement, '$.distributed', 7), distributed = 7 WHERE run = 'paid'", "", "not what was posted to the account platform"},
		"before and after": {"UPDATE charges SET settlement = json_set(settlement, '$.before', 21, '$.after', 1) WHERE run = 'paid'", "", "run paid: the balances before and after"},
		"transaction":      {"UPDATE charges SET settlement = json_set(settlement, '$.transaction', 'x') WHERE run = 'paid'", "", "run paid: the settlement is not that of the record"},
		"payer": {"UPDATE entries SET account = 'dan' WHERE account = 'ann'; UPDATE accounts SET id = 'dan' WHERE id = 'ann'; UPDATE holds SET account = 'dan'",
			"", "run paid: the settlement is not what was posted to the account dan"},
		"earner": {"UPDATE entries SET account = 'eve' WHERE account = 'bob'; UPDATE accounts SET id = 'eve' WHERE id = 'bob'",
			"", "run paid: the settlement is not what was posted to the account bob"},
		"not JSON":            {"UPDATE charges SET settlement = '{' WHERE run = 'free'; UPDATE charges SET fee = fee + 1 WHERE run = 'paid'", "", "run paid: the settlement is not that of the record"},
		"not JSON, its run":   {"UPDATE charges SET settlement = '{' WHERE run = 'free'", "", "run free: the settlement cannot be read"},
		"charge as transfer":  {"UPDATE transfers SET kind = 'transfer', run = '', id = 'x' WHERE id = 'charge_paid'", "", "its entries are not those of a transfer"},
		"credit as transfer":  {"UPDATE transfers SET kind = 'transfer' WHERE id = '1'", "", "transfer 1: its entries are not those of a transfer"},
		"transfer as credit":  {"UPDATE transfers SET kind = 'credit' WHERE id = '2'", "", "its entries are not those of a credit"},
		"void as refund":      {"UPDATE transfers SET kind = 'refund', id = 'refund_void' WHERE id = 'void_void'", "", "its entries are not those of a refund"},
		"refund as void":      {"UPDATE transfers SET kind = 'void', id = 'void_x', run = 'x' WHERE id = 'refund_refunded'", "", "its entries are not those of a void"},
		"dropped trigger":     {"THEN DROP TRIGGER entries_update", "schema: the trigger entries_update is missing", "schema: the trigger entries_update is missing"},
		"dropped index":       {"DROP INDEX transfers_ends", "schema: the index transfers_ends is missing", "schema: the index transfers_ends is missing"},
		"dropped table":       {"THEN DROP TABLE charges", "schema: the table charges is missing", "a check failed"},
		"another trigger":     {"THEN CREATE TRIGGER extra AFTER INSERT ON transfers BEGIN SELECT 1; END", "schema: the trigger extra was added", "schema: the trigger extra was added"},
		"damaged by overflow": {"UPDATE entries SET held = 9223372036854775807 WHERE account = 'ann'", "integer overflow", "a check failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, path := filled(t)
			edit(t, path, c.change)
			s := open(t, path)
			switch err := s.Check(t.Context()); {
			case c.start == "" && err != nil, c.start != "" && (err == nil || !strings.Contains(err.Error(), c.start)):
				t.Errorf("check at start: %v, want %q", err, c.start)
			}
			report, err := s.Verify(t.Context())
			if err != nil || !slices.ContainsFunc(report.Problems, func(p string) bool { return strings.Contains(p, c.want) }) {
				t.Errorf("verify: %q, %v, want %q", report.Problems, err, c.want)
			}
		})
	}
}

// TestUnreadable opens files that are no database.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	_, path := filled(t)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(content, "garbage!garbage!garbage!")
	path = filepath.Join(t.TempDir(), "ledger.db")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	if s, err := sqlstore.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "restore ledger.db from a backup") {
		t.Errorf("opened %v, %v", s, err)
	}
}
