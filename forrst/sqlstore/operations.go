package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// operations is an OperationStore. An active row whose lease has passed is read as failed.
type operations Stores

const isActive = `status IN ('pending', 'processing')`

// Create implements [forrst.OperationStore].
func (s *operations) Create(ctx context.Context, op forrst.Operation, limit int, lease, keep time.Duration) error {
	(*Stores)(s).sweep(ctx)
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	caller := hash(op.Caller)
	// Operations of one caller are created one after the other, so that none is created between the count and the insertion.
	if _, err := tx.ExecContext(ctx, `INSERT INTO forrst_locks (slot, held) VALUES ($1, 1) ON CONFLICT (slot) DO UPDATE SET held = 1`, int64(caller[0])); err != nil {
		return err
	}
	now := time.Now()
	var active int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM forrst_operations WHERE caller = $1 AND `+isActive+` AND leased > $2`, caller, micros(now)).Scan(&active); err != nil {
		return err
	}
	if active >= limit {
		return forrst.ErrTooManyOperations
	}
	leased := now.Add(lease)
	if _, err := tx.ExecContext(ctx, `INSERT INTO forrst_operations
		(id, caller, function, version, request, status, progress, outcome, started, completed, leased, keep, expires)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		[]byte(op.ID), caller, op.Function, op.Version, quoted(op.RequestID), string(op.Status), op.Progress, optional(op.Outcome),
		micros(op.Started), micros(op.Completed), micros(leased), keep.Microseconds(), micros(leased.Add(keep))); err != nil {
		return err
	}
	return tx.Commit()
}

// Renew implements [forrst.OperationStore].
func (s *operations) Renew(ctx context.Context, id string, progress float64, lease time.Duration) error {
	now := time.Now()
	ok, err := changed(ctx, s.db, `UPDATE forrst_operations SET progress = $1, leased = $2, expires = $3 + keep
		WHERE id = $4 AND `+isActive+` AND leased > $5`, progress, micros(now.Add(lease)), micros(now.Add(lease)), []byte(id), micros(now))
	if ok || err != nil {
		return err
	}
	return s.whyNot(ctx, `SELECT count(*) FROM forrst_operations WHERE id = $1 AND expires > $2`, []byte(id), micros(now))
}

// Finish implements [forrst.OperationStore].
func (s *operations) Finish(ctx context.Context, caller, id string, status forrst.OperationStatus, outcome []byte, completed time.Time, keep time.Duration) error {
	now := time.Now()
	set := `status = $1, outcome = $2, completed = $3, expires = $4`
	if status == forrst.OperationCompleted {
		set += `, progress = 1`
	}
	ok, err := changed(ctx, s.db, `UPDATE forrst_operations SET `+set+` WHERE id = $5 AND caller = $6 AND `+isActive+` AND leased > $7`,
		string(status), optional(outcome), micros(completed), micros(completed.Add(keep)), []byte(id), hash(caller), micros(now))
	if ok || err != nil {
		return err
	}
	return s.whyNot(ctx, `SELECT count(*) FROM forrst_operations WHERE id = $1 AND caller = $2 AND expires > $3`, []byte(id), hash(caller), micros(now))
}

// whyNot returns why an operation was not changed: it has ended, or it does not exist.
func (s *operations) whyNot(ctx context.Context, count string, args ...any) error {
	var n int
	if err := s.db.QueryRowContext(ctx, count, args...).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return forrst.ErrOperationNotFound
	}
	return forrst.ErrOperationFinal
}

// columns are those that scan reads, before the outcome.
const columns = `id, function, version, request, status, progress, started, completed, leased`

// scan reads a row as it is at a time.
func scan(row interface{ Scan(...any) error }, now time.Time, caller string, more ...any) (forrst.Operation, error) {
	op := forrst.Operation{Caller: caller}
	var id []byte
	var request, status string
	var started, completed, leased int64
	err := row.Scan(append([]any{&id, &op.Function, &op.Version, &request, &status, &op.Progress, &started, &completed, &leased}, more...)...)
	if err != nil {
		return op, err
	}
	op.ID, op.Status, op.Started, op.Completed = string(id), forrst.OperationStatus(status), timeOf(started), timeOf(completed)
	if !op.Status.Final() && leased <= micros(now) {
		op.Status, op.Completed = forrst.OperationFailed, timeOf(leased)
	}
	op.RequestID, err = unquoted(request)
	return op, err
}

// Get implements [forrst.OperationStore].
func (s *operations) Get(ctx context.Context, caller, id string) (forrst.Operation, error) {
	now := time.Now()
	var outcome []byte
	op, err := scan(s.db.QueryRowContext(ctx, `SELECT `+columns+`, outcome FROM forrst_operations WHERE id = $1 AND caller = $2 AND expires > $3`,
		[]byte(id), hash(caller), micros(now)), now, caller, &outcome)
	if errors.Is(err, sql.ErrNoRows) {
		return forrst.Operation{}, forrst.ErrOperationNotFound
	}
	op.Outcome = outcome
	return op, err
}

// List implements [forrst.OperationStore].
func (s *operations) List(ctx context.Context, q forrst.OperationQuery) ([]forrst.Operation, error) {
	if strings.ContainsRune(q.Function, 0) {
		return nil, nil // no function has such a name, and PostgreSQL refuses the text
	}
	now := time.Now()
	where := []string{`caller = $1`, `expires > $2`}
	args := []any{hash(q.Caller), micros(now)}
	and := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	if q.Status != "" {
		and(`CASE WHEN `+isActive+` AND leased <= $2 THEN 'failed' ELSE status END = $%d`, string(q.Status))
	}
	if q.Function != "" {
		and(`function = $%d`, q.Function)
	}
	if q.Before != "" {
		and(`id < $%d`, []byte(q.Before))
	}
	args = append(args, q.Limit)
	rows, err := s.db.QueryContext(ctx, fmt.Sprintf(`SELECT `+columns+` FROM forrst_operations WHERE %s ORDER BY id DESC LIMIT $%d`,
		strings.Join(where, ` AND `), len(args)), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []forrst.Operation
	for rows.Next() {
		op, err := scan(rows, now, q.Caller)
		if err != nil {
			return nil, err
		}
		out = append(out, op)
	}
	return out, rows.Err()
}
