package forrst

import (
	"context"
	"errors"
	"time"
)

// ErrLeaseLost is returned to a call whose lock on a key has expired, so that another call may have the key by now.
var ErrLeaseLost = errors.New("forrst: the lock on the key has expired")

// IdempotencyKey identifies calls that are the same to a client. Version is complete, and Key has 1 to 255 bytes of ASCII.
type IdempotencyKey struct{ Caller, Function, Version, Key string }

// IdempotencyRecord is what is known of a key: its first call, and the outcome if that has ended.
type IdempotencyRecord struct {
	// Holder is a random text that identifies the first call among all servers. RequestID is chosen by the client.
	Holder, RequestID string
	// Fingerprint is that of the arguments, at most 100 bytes.
	Fingerprint string
	// Operation is the id of the operation that the call has become, at most 100 bytes. It is empty for other calls.
	Operation string
	// Outcome is JSON, and nil while the call runs.
	Outcome []byte
	// Stored is when the outcome was stored, and Expires until when it is kept. Both are zero while the call runs.
	Stored, Expires time.Time
}

// IdempotencyStore holds keys and the outcomes of their calls. A call locks its key for a time and renews the lock until it
// ends, so that the keys of a server that has crashed become free by themselves. Methods that name a holder return
// ErrLeaseLost if the key is not locked by it. The store takes the time from time.Now, and keeps times to the millisecond or
// better. It is safe for concurrent use.
type IdempotencyStore interface {
	// Lock locks a key for the call that the record describes, and returns nil. If the key is locked, or has an outcome that
	// has not expired, it changes nothing and returns that record. Of several calls at the same time, one has the lock.
	Lock(ctx context.Context, key IdempotencyKey, r IdempotencyRecord, lease time.Duration) (*IdempotencyRecord, error)
	// Renew extends the lock: it ends when the lease has passed from now.
	Renew(ctx context.Context, key IdempotencyKey, holder string, lease time.Duration) error
	// SetOperation sets the operation of the record.
	SetOperation(ctx context.Context, key IdempotencyKey, holder, operation string) error
	// Store stores the outcome and ends the lock. The record is deleted after the time expires.
	Store(ctx context.Context, key IdempotencyKey, holder string, outcome []byte, stored, expires time.Time) error
	// Unlock deletes the record of a call that has no outcome to store. It returns nil if the holder does not have the lock.
	Unlock(ctx context.Context, key IdempotencyKey, holder string) error
}

// Limits of the memory store of keys. The oldest outcomes are deleted first.
const (
	maxKeys     = 100_000
	maxKeyBytes = 64 << 20
)

// memoryKeys is an IdempotencyStore in memory.
type memoryKeys struct {
	rows table[IdempotencyKey, IdempotencyRecord]
}

// NewMemoryIdempotency returns a store in memory. It holds 100,000 outcomes and 64 MiB at most; if there are more, it deletes
// the oldest before they expire, of all callers. The keys of running calls are not limited.
func NewMemoryIdempotency() IdempotencyStore {
	return &memoryKeys{newTable[IdempotencyKey, IdempotencyRecord](maxKeys, maxKeyBytes)}
}

func (m *memoryKeys) Lock(_ context.Context, key IdempotencyKey, r IdempotencyRecord, lease time.Duration) (*IdempotencyRecord, error) {
	defer m.rows.lock()()
	if found := m.rows.get(key); found != nil {
		existing := found.value
		return &existing, nil
	}
	m.rows.add(key, r, lease)
	return nil, nil
}

// held returns the row of a key that the holder has locked.
func (m *memoryKeys) held(key IdempotencyKey, holder string) (*row[IdempotencyKey, IdempotencyRecord], error) {
	r := m.rows.get(key)
	if r == nil || r.finished || r.value.Holder != holder {
		return nil, ErrLeaseLost
	}
	return r, nil
}

func (m *memoryKeys) Renew(_ context.Context, key IdempotencyKey, holder string, lease time.Duration) error {
	defer m.rows.lock()()
	r, err := m.held(key, holder)
	if err == nil {
		r.expires = time.Now().Add(lease)
	}
	return err
}

func (m *memoryKeys) SetOperation(_ context.Context, key IdempotencyKey, holder, operation string) error {
	defer m.rows.lock()()
	r, err := m.held(key, holder)
	if err == nil {
		r.value.Operation = operation
	}
	return err
}

func (m *memoryKeys) Store(_ context.Context, key IdempotencyKey, holder string, outcome []byte, stored, expires time.Time) error {
	defer m.rows.lock()()
	r, err := m.held(key, holder)
	if err == nil {
		r.value.Outcome, r.value.Stored, r.value.Expires = outcome, stored, expires
		m.rows.finish(r, len(outcome)+len(r.value.RequestID), expires)
	}
	return err
}

func (m *memoryKeys) Unlock(_ context.Context, key IdempotencyKey, holder string) error {
	defer m.rows.lock()()
	if _, err := m.held(key, holder); err == nil {
		delete(m.rows.rows, key)
	}
	return nil
}
