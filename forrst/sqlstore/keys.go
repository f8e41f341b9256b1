package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// keys is an IdempotencyStore. A row is locked while it has no outcome. It expires with the lock, or with the outcome.
type keys Stores

func hashOf(k forrst.IdempotencyKey) []byte { return hash(k.Caller, k.Function, k.Version, k.Key) }

// errContended is returned if other calls lock and unlock a key again and again.
var errContended = errors.New("other calls lock and unlock the key again and again")

// Lock implements [forrst.IdempotencyStore].
func (s *keys) Lock(ctx context.Context, key forrst.IdempotencyKey, r forrst.IdempotencyRecord, lease time.Duration) (*forrst.IdempotencyRecord, error) {
	(*Stores)(s).sweep(ctx)
	for range 10 { // a row that was there for the first statement may be gone for the second
		now := time.Now()
		ok, err := changed(ctx, s.db, `INSERT INTO forrst_keys (key, holder, request, fingerprint, operation, outcome, stored, expires)
			VALUES ($1, $2, $3, $4, $5, NULL, 0, $6)
			ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, request = excluded.request, fingerprint = excluded.fingerprint,
			operation = excluded.operation, outcome = NULL, stored = 0, expires = excluded.expires WHERE forrst_keys.expires <= $7`,
			hashOf(key), r.Holder, quoted(r.RequestID), r.Fingerprint, r.Operation, micros(now.Add(lease)), micros(now))
		if ok || err != nil {
			return nil, err
		}
		existing, err := s.get(ctx, key)
		if !errors.Is(err, sql.ErrNoRows) {
			return existing, err
		}
	}
	return nil, errContended
}

// get returns the record of a key that has not expired, or sql.ErrNoRows.
func (s *keys) get(ctx context.Context, key forrst.IdempotencyKey) (*forrst.IdempotencyRecord, error) {
	var r forrst.IdempotencyRecord
	var request string
	var stored, expires int64
	err := s.db.QueryRowContext(ctx, `SELECT holder, request, fingerprint, operation, outcome, stored, expires FROM forrst_keys
		WHERE key = $1 AND expires > $2`, hashOf(key), micros(time.Now())).
		Scan(&r.Holder, &request, &r.Fingerprint, &r.Operation, &r.Outcome, &stored, &expires)
	if err != nil {
		return nil, err
	}
	if r.Outcome != nil {
		r.Stored, r.Expires = timeOf(stored), timeOf(expires)
	}
	r.RequestID, err = unquoted(request)
	return &r, err
}

// update changes the row of a key if the holder has locked it.
func (s *keys) update(ctx context.Context, key forrst.IdempotencyKey, holder, set string, values ...any) error {
	args := append([]any{hashOf(key), holder, micros(time.Now())}, values...)
	ok, err := changed(ctx, s.db, `UPDATE forrst_keys SET `+set+` WHERE key = $1 AND holder = $2 AND outcome IS NULL AND expires > $3`, args...)
	if err == nil && !ok {
		err = forrst.ErrLeaseLost
	}
	return err
}

// Renew implements [forrst.IdempotencyStore].
func (s *keys) Renew(ctx context.Context, key forrst.IdempotencyKey, holder string, lease time.Duration) error {
	return s.update(ctx, key, holder, `expires = $4`, micros(time.Now().Add(lease)))
}

// SetOperation implements [forrst.IdempotencyStore].
func (s *keys) SetOperation(ctx context.Context, key forrst.IdempotencyKey, holder, operation string) error {
	return s.update(ctx, key, holder, `operation = $4`, operation)
}

// Store implements [forrst.IdempotencyStore].
func (s *keys) Store(ctx context.Context, key forrst.IdempotencyKey, holder string, outcome []byte, stored, expires time.Time) error {
	return s.update(ctx, key, holder, `outcome = $4, stored = $5, expires = $6`, string(outcome), micros(stored), micros(expires))
}

// Unlock implements [forrst.IdempotencyStore].
func (s *keys) Unlock(ctx context.Context, key forrst.IdempotencyKey, holder string) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM forrst_keys WHERE key = $1 AND holder = $2 AND outcome IS NULL`, hashOf(key), holder)
	return err
}
