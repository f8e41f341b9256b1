package forrst

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// Errors of an [OperationStore].
var (
	ErrOperationNotFound = errors.New("forrst: the operation does not exist")
	ErrOperationFinal    = errors.New("forrst: the operation has ended")
	ErrTooManyOperations = errors.New("forrst: the caller has too many active operations")
)

// OperationStatus is the state of an operation. Pending and processing are active, the others are final.
type OperationStatus string

// The states of an operation.
const (
	OperationPending    OperationStatus = "pending"
	OperationProcessing OperationStatus = "processing"
	OperationCompleted  OperationStatus = "completed"
	OperationFailed     OperationStatus = "failed"
	OperationCancelled  OperationStatus = "cancelled"
)

// Final reports whether the state does not change any more.
func (s OperationStatus) Final() bool { return s != OperationPending && s != OperationProcessing }

// Operation is an asynchronous call.
type Operation struct {
	// ID has at most 100 bytes of ASCII. Ids of later operations are greater.
	ID string
	// Caller owns the operation.
	Caller            string
	Function, Version string
	RequestID         string
	Status            OperationStatus
	Progress          float64 // 0 to 1
	// Outcome is JSON. It is nil while the operation is active, if it was cancelled, and if its server has crashed.
	Outcome []byte
	Started time.Time
	// Completed is when the operation became final. It is zero before.
	Completed time.Time
}

// OperationQuery selects operations of a caller.
type OperationQuery struct {
	Caller   string
	Status   OperationStatus // empty: any
	Function string          // empty: any
	Before   string          // only ids less than this one; empty: any
	Limit    int             // positive
}

// OperationStore holds asynchronous calls. The server that runs one leases it for a time and renews the lease until it ends. An
// active operation whose lease has passed is failed: each method sees it with that state, without an outcome, and completed
// when the lease ended; it is deleted when keep has passed from then. The store takes the time from time.Now, and keeps times
// to the millisecond or better. It is safe for concurrent use.
type OperationStore interface {
	// Create adds an active operation. If the caller has limit active ones already, it returns ErrTooManyOperations. The limit
	// holds for calls at the same time too.
	Create(ctx context.Context, op Operation, limit int, lease, keep time.Duration) error
	// Renew sets the progress of an active operation, and extends its lease: it ends when the time has passed from now. It
	// returns ErrOperationFinal for one that has ended, whose server must then stop it, and ErrOperationNotFound.
	Renew(ctx context.Context, id string, progress float64, lease time.Duration) error
	// Finish ends an active operation of a caller in a final state. Completed sets the progress to 1. The operation is deleted
	// when keep has passed from completed. It returns ErrOperationFinal or ErrOperationNotFound and changes nothing if it
	// cannot. Of several calls at the same time, one succeeds.
	Finish(ctx context.Context, caller, id string, status OperationStatus, outcome []byte, completed time.Time, keep time.Duration) error
	// Get returns an operation of a caller, or ErrOperationNotFound.
	Get(ctx context.Context, caller, id string) (Operation, error)
	// List returns operations without their outcomes, the greatest id first.
	List(ctx context.Context, q OperationQuery) ([]Operation, error)
}

// Limits of the memory store of operations. The oldest are deleted first.
const (
	maxOperations     = 10_000
	maxOperationBytes = 64 << 20
)

// memoryOperations is an OperationStore in memory.
type memoryOperations struct {
	rows table[string, leased]
}

// leased is an operation with the end of its lease and how long it is kept.
type leased struct {
	Operation
	until time.Time
	keep  time.Duration
}

// NewMemoryOperations returns a store in memory. It holds 10,000 operations that have ended, and 64 MiB at most; if
// there are more, it deletes the oldest before they expire, of all callers.
func NewMemoryOperations() OperationStore {
	return &memoryOperations{newTable[string, leased](maxOperations, maxOperationBytes)}
}

// now returns the operation as it is at this time.
func (l *leased) now() Operation {
	op := l.Operation
	if !op.Status.Final() && !time.Now().Before(l.until) {
		op.Status, op.Completed = OperationFailed, l.until
	}
	return op
}

func (m *memoryOperations) Create(_ context.Context, op Operation, limit int, lease, keep time.Duration) error {
	defer m.rows.lock()()
	active := 0
	for _, r := range m.rows.rows {
		if r.value.Caller == op.Caller && !r.value.now().Status.Final() {
			active++
		}
	}
	if active >= limit {
		return ErrTooManyOperations
	}
	m.rows.add(op.ID, leased{op, time.Now().Add(lease), keep}, lease+keep)
	return nil
}

// active returns the row of an operation that has not ended.
func (m *memoryOperations) active(id string) (*row[string, leased], error) {
	r := m.rows.get(id)
	if r == nil {
		return nil, ErrOperationNotFound
	}
	if r.value.now().Status.Final() {
		return nil, ErrOperationFinal
	}
	return r, nil
}

func (m *memoryOperations) Renew(_ context.Context, id string, progress float64, lease time.Duration) error {
	defer m.rows.lock()()
	r, err := m.active(id)
	if err == nil {
		r.value.Progress, r.value.until = progress, time.Now().Add(lease)
		r.expires = r.value.until.Add(r.value.keep)
	}
	return err
}

func (m *memoryOperations) Finish(_ context.Context, caller, id string, status OperationStatus, outcome []byte, completed time.Time, keep time.Duration) error {
	defer m.rows.lock()()
	if r := m.rows.get(id); r == nil || r.value.Caller != caller {
		return ErrOperationNotFound
	}
	r, err := m.active(id)
	if err != nil {
		return err
	}
	op := &r.value
	op.Status, op.Outcome, op.Completed = status, outcome, completed
	if status == OperationCompleted {
		op.Progress = 1
	}
	m.rows.finish(r, len(outcome)+len(op.RequestID), completed.Add(keep))
	return nil
}

func (m *memoryOperations) Get(_ context.Context, caller, id string) (Operation, error) {
	defer m.rows.lock()()
	if r := m.rows.get(id); r != nil && r.value.Caller == caller {
		return r.value.now(), nil
	}
	return Operation{}, ErrOperationNotFound
}

func (m *memoryOperations) List(_ context.Context, q OperationQuery) ([]Operation, error) {
	defer m.rows.lock()()
	var out []Operation
	now := time.Now()
	for id, r := range m.rows.rows {
		if r.value.Caller != q.Caller || !now.Before(r.expires) || q.Before != "" && id >= q.Before {
			continue
		}
		op := r.value.now()
		if (q.Status == "" || op.Status == q.Status) && (q.Function == "" || op.Function == q.Function) {
			op.Outcome = nil
			out = append(out, op)
		}
	}
	slices.SortFunc(out, func(a, b Operation) int { return cmp.Compare(b.ID, a.ID) })
	return out[:min(len(out), q.Limit)], nil
}
