package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/sqldb"
)

// Account implements [ledger.Book].
func (s *Store) Account(ctx context.Context, id string) (ledger.Account, error) {
	a, err := account(ctx, s.read, id)
	return a, wrap("read account", err)
}

// Accounts implements [ledger.Book].
func (s *Store) Accounts(ctx context.Context, after string, limit int) ([]ledger.Account, error) {
	list, err := sqldb.All(ctx, s.read, scanAccount, "SELECT id, balance, held FROM accounts WHERE id > ? ORDER BY id LIMIT ?", after, limit)
	return list, wrap("list accounts", err)
}

const entryColumns = "e.transfer, e.account, t.id, t.kind, t.run, t.at, e.amount, e.held, e.balance, t.note"

func scanEntry(scan func(...any) error) (e ledger.Entry, err error) {
	var at int64
	err = scan(&e.Transfer, &e.Account, &e.ID, &e.Kind, &e.Run, &at, &e.Amount, &e.Held, &e.Balance, &e.Note)
	e.At = sqldb.FromMicros(at)
	return e, err
}

// Statement implements [ledger.Book].
func (s *Store) Statement(ctx context.Context, account string, before ledger.Cursor, limit int) (list []ledger.Entry, err error) {
	if before.Transfer == 0 {
		before.Transfer = math.MaxInt64
	}
	if account != "" {
		list, err = sqldb.All(ctx, s.read, scanEntry, "SELECT "+entryColumns+` FROM entries e JOIN transfers t ON t.seq = e.transfer
			WHERE e.account = ? AND e.transfer < ? ORDER BY e.transfer DESC LIMIT ?`, account, before.Transfer, limit)
	} else {
		list, err = sqldb.All(ctx, s.read, scanEntry, "SELECT "+entryColumns+` FROM entries e JOIN transfers t ON t.seq = e.transfer
			WHERE (e.transfer, e.account) < (?, ?) ORDER BY e.transfer DESC, e.account DESC LIMIT ?`, before.Transfer, before.Account, limit)
	}
	return list, wrap("read statement", err)
}

// The greatest lengths of an id and a note, in bytes.
const (
	maxID   = 128
	maxNote = 500
)

// checkID returns an error for an id that a transfer of a person cannot have: those of the transfers of runs are "kind_run".
func checkID(id string) error {
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("transfer: the id must have 1 to %d bytes of printable ASCII without spaces", maxID)
	}
	for _, kind := range []ledger.Kind{ledger.KindHold, ledger.KindCharge, ledger.KindVoid, ledger.KindRefund} {
		if strings.HasPrefix(id, string(kind)+"_") {
			return fmt.Errorf("transfer: the id must not begin with %s_, which is reserved for runs", kind)
		}
	}
	return nil
}

// Transfer implements [ledger.Book].
func (s *Store) Transfer(ctx context.Context, t ledger.Transfer) error {
	kind := ledger.KindTransfer
	if t.From == ledger.Issuer {
		kind = ledger.KindCredit
	}
	valid := func(name string) bool {
		return corpus.ValidAccount(name) || name == ledger.Platform || name == ledger.Issuer
	}
	if err := checkID(t.ID); err != nil {
		return err
	}
	switch {
	case !valid(t.From) || !valid(t.To):
		return errors.New("transfer: an account must be named with up to 128 bytes of printable text")
	case t.From == t.To:
		return errors.New("transfer: the accounts must differ")
	case t.Amount <= 0 || t.Amount > ledger.MaxCredits:
		return fmt.Errorf("transfer: the amount must be above 0 and at most %s", ledger.FormatCredits(ledger.MaxCredits))
	case len(t.Note) > maxNote || !utf8.ValidString(t.Note) || strings.ContainsFunc(t.Note, unicode.IsControl):
		return fmt.Errorf("transfer: the note must have at most %d bytes of UTF-8 without control characters", maxNote)
	}
	entries := []ledger.Entry{{Account: t.From, Amount: -t.Amount}, {Account: t.To, Amount: t.Amount}}
	return wrap("transfer", s.write.Change(ctx, func(tx sqldb.Querier) error {
		same, err := sqldb.All(ctx, tx, scanEntry, "SELECT "+entryColumns+` FROM transfers t JOIN entries e ON t.seq = e.transfer WHERE t.id = ?`, t.ID)
		if err != nil {
			return err
		}
		if len(same) > 0 {
			for _, e := range same {
				if e.Kind != kind || !slices.ContainsFunc(entries, func(w ledger.Entry) bool { return w.Account == e.Account && w.Amount == e.Amount }) {
					return ledger.ErrExists
				}
			}
			return nil
		}
		_, err = add(ctx, tx, transfer{kind: kind, id: t.ID, at: t.At, note: t.Note, entries: entries})
		return err
	}))
}

// Usage implements [ledger.Book].
func (s *Store) Usage(ctx context.Context, q ledger.UsageQuery) ([]ledger.Usage, error) {
	by := map[ledger.Group]string{ledger.ByModel: "c.model", ledger.ByCollection: "c.collection",
		ledger.ByDay: s.read.Dialect().Pick("date(c.at / 1000000, 'unixepoch')", "to_char(to_timestamp(c.at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')")}
	columns, groups := []string{"''", "''", "''"}, []string{}
	for i, group := range []ledger.Group{ledger.ByDay, ledger.ByModel, ledger.ByCollection} {
		if slices.Contains(q.By, group) {
			columns[i] = by[group]
			groups = append(groups, fmt.Sprint(i+1))
		}
	}
	query := "SELECT " + strings.Join(columns, ", ") + `, count(*), count(*) FILTER (WHERE c.cached), coalesce(sum(c.input), 0), coalesce(sum(c.output), 0),
		coalesce(sum(c.duration), 0), coalesce(sum(c.fee), 0), coalesce(sum(c.distributed), 0) FROM charges c
		WHERE c.at >= ? AND c.at < ? AND NOT EXISTS (SELECT 1 FROM transfers t WHERE t.id = 'refund_' || c.run AND t.kind = 'refund' AND t.run = c.run)`
	from, to := sqldb.Micros(q.From), sqldb.Micros(q.To)
	if q.To.IsZero() {
		to = math.MaxInt64
	}
	args := []any{from, to}
	if q.Account != "" {
		query += " AND c.account = ?"
		args = append(args, q.Account)
	}
	if len(groups) > 0 {
		list := strings.Join(groups, ", ")
		query += " GROUP BY " + list + " ORDER BY " + list
	}
	rows, err := sqldb.All(ctx, s.read, func(scan func(...any) error) (u ledger.Usage, err error) {
		var millis int64
		err = scan(&u.Day, &u.Model, &u.Collection, &u.Runs, &u.Cached, &u.Input, &u.Output, &millis, &u.Fee, &u.Distributed)
		u.Duration = time.Duration(millis) * time.Millisecond
		return u, err
	}, query, args...)
	return rows, wrap("sum usage", err)
}
