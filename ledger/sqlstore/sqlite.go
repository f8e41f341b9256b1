// Package sqlstore keeps a ledger in an SQLite file or a PostgreSQL database. Its schema enforces the rules of the ledger: see schema.go.
package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/sqldb"
)

// readers is the number of connections for reads.
const readers = 2

// Store is a ledger in a file or a database. Call [Store.Close] after use.
type Store struct{ write, read sqldb.DB }

var (
	_ ledger.Runs = (*Store)(nil)
	_ ledger.Book = (*Store)(nil)
)

// Open opens the file path, creates it if it does not exist, and upgrades a file of an earlier version. Other processes may have it open. Call
// [Store.Check] before it is relied on.
func Open(ctx context.Context, path string) (*Store, error) {
	write, read, err := sqlitedb.Open(ctx, path, migrations, readers)
	if err != nil {
		return nil, wrap("open "+filepath.Base(path), err)
	}
	return &Store{write: write, read: read}, nil
}

// Close waits for running transactions and closes the file.
func (s *Store) Close() error {
	return errors.Join(s.read.Close(), s.write.Close())
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, sqlitedb.Explain("ledger.db", err))
}

// transfer is a transfer to append.
type transfer struct {
	kind    ledger.Kind
	id      string // of the kinds without a run
	run     event.RunID
	at      time.Time
	note    string
	entries []ledger.Entry // Account, Amount and Held
}

// add appends a transfer and returns its sequence number.
func add(ctx context.Context, tx sqldb.Querier, t transfer) (seq int64, err error) {
	if t.run != "" {
		t.id = string(t.kind) + "_" + string(t.run)
	}
	if seq, err = sqldb.One(ctx, tx, sqldb.Integer, "SELECT coalesce(max(seq), 0) + 1 FROM transfers"); err != nil {
		return 0, err
	}
	for _, e := range t.entries {
		a, err := account(ctx, tx, e.Account)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return 0, err
		}
		if e.Account != ledger.Issuer && a.Balance+e.Amount < a.Held+e.Held { // the sums are small: see ledger.MaxCredits
			return 0, ledger.ErrInsufficient
		}
		if a.Balance+e.Amount > ledger.MaxCredits || a.Balance+e.Amount < -ledger.MaxCredits {
			return 0, fmt.Errorf("the balance of %s would exceed %s", e.Account, ledger.FormatCredits(ledger.MaxCredits))
		}
		if _, err := tx.Do(ctx, "INSERT INTO entries (transfer, account, amount, held, balance) VALUES (?, ?, ?, ?, ?)",
			seq, e.Account, e.Amount, e.Held, a.Balance+e.Amount); err != nil {
			return 0, err
		}
	}
	_, err = tx.Do(ctx, "INSERT INTO transfers (seq, id, kind, run, at, note) VALUES (?, ?, ?, ?, ?, ?)",
		seq, t.id, t.kind, t.run, sqldb.Micros(t.at), t.note)
	return seq, err
}

func account(ctx context.Context, q sqldb.Querier, id string) (ledger.Account, error) {
	a, err := sqldb.One(ctx, q, scanAccount, "SELECT id, balance, held FROM accounts WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		err = ledger.ErrNotFound
	}
	return a, err
}

func scanAccount(scan func(...any) error) (a ledger.Account, err error) {
	err = scan(&a.ID, &a.Balance, &a.Held)
	return a, err
}

// Hold implements [ledger.Runs].
func (s *Store) Hold(ctx context.Context, run event.RunID, account string, amount ledger.Credits, at time.Time) error {
	return wrap("hold credits", s.write.Change(ctx, func(tx sqldb.Querier) error {
		state, err := runOf(ctx, tx, run)
		switch {
		case err != nil:
			return err
		case state.Voided:
			return ledger.ErrVoided
		case state.Held > 0 || state.Settled != nil:
			return nil
		}
		_, err = add(ctx, tx, transfer{kind: ledger.KindHold, run: run, at: at, entries: []ledger.Entry{{Account: account, Held: amount}}})
		return err
	}))
}

// Run implements [ledger.Runs].
func (s *Store) Run(ctx context.Context, run event.RunID) (ledger.Run, error) {
	r, err := runOf(ctx, s.read, run)
	return r, wrap("read charge", err)
}

func runOf(ctx context.Context, q sqldb.Querier, run event.RunID) (ledger.Run, error) {
	return sqldb.One(ctx, q, func(scan func(...any) error) (r ledger.Run, err error) {
		var settlement []byte
		if err := scan(&r.Held, &settlement, &r.Voided); err != nil {
			return r, err
		}
		if settlement != nil && !r.Voided {
			r.Settled = &event.Settled{}
			err = json.Unmarshal(settlement, r.Settled)
		}
		return r, err
	}, `SELECT coalesce((SELECT amount FROM holds WHERE run = ?1), 0), (SELECT settlement FROM charges WHERE run = ?1),
		EXISTS (SELECT 1 FROM transfers WHERE id IN ('void_' || ?1, 'refund_' || ?1) AND kind IN ('void', 'refund') AND run = ?1)`, run)
}

// holdOf returns the account and the amount of a hold; the amount is 0 if there is none.
func holdOf(ctx context.Context, tx sqldb.Querier, run event.RunID) (ledger.Entry, error) {
	e, err := sqldb.One(ctx, tx, func(scan func(...any) error) (e ledger.Entry, err error) {
		err = scan(&e.Account, &e.Held)
		return e, err
	}, "SELECT account, amount FROM holds WHERE run = ?", run)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return e, err
}

// Post implements [ledger.Runs].
func (s *Store) Post(ctx context.Context, c ledger.Charge) (out event.Settled, err error) {
	change := s.write.Change
	if db, ok := s.write.(*sqlitedb.DB); ok && c.Free {
		change = db.ChangeUnsynced // an answer does not wait for the disk
	}
	err = change(ctx, func(tx sqldb.Querier) error {
		state, err := runOf(ctx, tx, c.Run)
		switch {
		case err != nil:
			return err
		case state.Voided:
			return ledger.ErrVoided
		case state.Settled != nil:
			out = *state.Settled
			return nil
		}
		out, err = post(ctx, tx, c)
		return err
	})
	return out, wrap("post charge", err)
}

func post(ctx context.Context, tx sqldb.Querier, c ledger.Charge) (event.Settled, error) {
	out := c.Settlement
	hold, err := holdOf(ctx, tx, c.Run)
	if err != nil {
		return out, err
	}
	if hold.Held > 0 && (hold.Account != c.Account || c.Free) || out.Fee > hold.Held {
		return out, fmt.Errorf("the run holds %s of %q", ledger.FormatCredits(hold.Held), hold.Account)
	}
	payer, err := account(ctx, tx, c.Account)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return out, err
	}
	out.Transaction = string(ledger.KindCharge) + "_" + string(c.Run)
	out.Before, out.After = payer.Balance, payer.Balance-out.Fee
	t := transfer{kind: ledger.KindCharge, run: c.Run, at: c.At, entries: chargeEntries(out, c.Account, hold.Held)}
	settlement, err := json.Marshal(out)
	if err != nil {
		return out, err
	}
	seq, err := add(ctx, tx, t)
	if err != nil {
		return out, err
	}
	_, err = tx.Do(ctx, `INSERT INTO charges (transfer, run, account, at, model, collection, input, output, duration, cached, fee, distributed, settlement)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, seq, c.Run, c.Account, sqldb.Micros(c.At), c.Model, c.Collection, c.Input, c.Output,
		out.Duration, c.Cached, out.Fee, out.Distributed, string(settlement))
	return out, err
}

// chargeEntries returns the entries of a charge: of the payer, of each contributor, of the platform. Entries that change nothing are left out.
func chargeEntries(s event.Settled, payer string, held ledger.Credits) []ledger.Entry {
	out := []ledger.Entry{{Account: payer, Amount: -s.Fee, Held: -held}}
	for _, share := range s.Shares {
		if share.Earned == nil {
			continue
		}
		i := slices.IndexFunc(out, func(e ledger.Entry) bool { return e.Account == share.Contributor })
		if i < 0 {
			i, out = len(out), append(out, ledger.Entry{Account: share.Contributor})
		}
		out[i].Amount += *share.Earned
	}
	out = append(out, ledger.Entry{Account: ledger.Platform, Amount: s.Fee - s.Distributed})
	return slices.DeleteFunc(out, func(e ledger.Entry) bool { return e.Amount == 0 && e.Held == 0 })
}

// Void implements [ledger.Runs].
func (s *Store) Void(ctx context.Context, run event.RunID, at time.Time) error {
	return wrap("void charge", s.undo(ctx, run, func(tx sqldb.Querier, state ledger.Run) error {
		if state.Held == 0 {
			return nil
		}
		return void(ctx, tx, run, at)
	}))
}

// Refund implements [ledger.Runs].
func (s *Store) Refund(ctx context.Context, run event.RunID, at time.Time) error {
	return wrap("refund charge", s.undo(ctx, run, func(tx sqldb.Querier, state ledger.Run) error {
		switch {
		case state.Settled != nil:
			return refund(ctx, tx, run, at)
		case state.Held > 0:
			return void(ctx, tx, run, at)
		}
		return nil
	}))
}

// undo runs do in a transaction if the run has a hold or a charge. The runs of a free server have no hold, and do not wait for the lock.
func (s *Store) undo(ctx context.Context, run event.RunID, do func(sqldb.Querier, ledger.Run) error) error {
	if state, err := runOf(ctx, s.read, run); err != nil || state.Held == 0 && state.Settled == nil {
		return err
	}
	return s.write.Change(ctx, func(tx sqldb.Querier) error {
		state, err := runOf(ctx, tx, run)
		if err != nil {
			return err
		}
		return do(tx, state)
	})
}

func void(ctx context.Context, tx sqldb.Querier, run event.RunID, at time.Time) error {
	hold, err := holdOf(ctx, tx, run)
	if err == nil {
		_, err = add(ctx, tx, transfer{kind: ledger.KindVoid, run: run, at: at, entries: []ledger.Entry{{Account: hold.Account, Held: -hold.Held}}})
	}
	return err
}

// refund returns a charge to its payer. A contributor that has spent its share returns what it has; the platform bears the rest and, if it has too
// little, the issuer.
func refund(ctx context.Context, tx sqldb.Querier, run event.RunID, at time.Time) error {
	charged, err := sqldb.All(ctx, tx, func(scan func(...any) error) (e ledger.Entry, err error) {
		err = scan(&e.Account, &e.Amount)
		return e, err
	}, "SELECT account, amount FROM entries WHERE transfer = (SELECT transfer FROM charges WHERE run = ?) AND amount <> 0 AND account <> ?", run, ledger.Platform)
	if err != nil {
		return err
	}
	missing := ledger.Credits(0) // of what the payer gets
	var entries []ledger.Entry
	take := func(from string, most ledger.Credits) error {
		a, err := account(ctx, tx, from)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
		if from != ledger.Issuer {
			most = min(most, a.Available())
		}
		if most > 0 {
			missing -= most
			entries = append(entries, ledger.Entry{Account: from, Amount: -most})
		}
		return nil
	}
	for _, e := range charged {
		if e.Amount < 0 { // the payer
			missing = -e.Amount
			entries = append(entries, ledger.Entry{Account: e.Account, Amount: -e.Amount})
		}
	}
	for _, e := range charged {
		if e.Amount > 0 {
			if err := take(e.Account, e.Amount); err != nil {
				return err
			}
		}
	}
	for _, last := range []string{ledger.Platform, ledger.Issuer} {
		if err := take(last, missing); err != nil {
			return err
		}
	}
	_, err = add(ctx, tx, transfer{kind: ledger.KindRefund, run: run, at: at, entries: entries})
	return err
}

// Holds implements [ledger.Runs].
func (s *Store) Holds(ctx context.Context) ([]event.RunID, error) {
	ids, err := sqldb.All(ctx, s.read, func(scan func(...any) error) (id event.RunID, err error) {
		err = scan(&id)
		return id, err
	}, "SELECT run FROM holds ORDER BY run")
	return ids, wrap("list holds", err)
}
