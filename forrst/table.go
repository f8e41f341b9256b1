package forrst

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// table holds the records of a memory store until they expire. Of the finished ones it keeps a limited number and size, the
// newest. Its methods are called with the lock.
type table[K comparable, V any] struct {
	mu                sync.Mutex
	rows              map[K]*row[K, V]
	finished          []*row[K, V] // the oldest first
	bytes             int          // of the finished rows
	maxRows, maxBytes int
	swept             time.Time
}

// row is a record. It does not exist any more from the time expires on.
type row[K comparable, V any] struct {
	key      K
	value    V
	expires  time.Time
	size     int // once finished
	finished bool
}

// sweepEvery is the time between searches for expired rows.
const sweepEvery = time.Minute

func newTable[K comparable, V any](maxRows, maxBytes int) table[K, V] {
	return table[K, V]{rows: map[K]*row[K, V]{}, maxRows: maxRows, maxBytes: maxBytes, swept: time.Now()}
}

// lock locks the table and returns the function that unlocks it.
func (t *table[K, V]) lock() (unlock func()) {
	t.mu.Lock()
	if time.Since(t.swept) >= sweepEvery {
		t.sweep()
	}
	return t.mu.Unlock
}

func (t *table[K, V]) sweep() {
	now := time.Now()
	t.swept = now
	maps.DeleteFunc(t.rows, func(_ K, r *row[K, V]) bool { return !now.Before(r.expires) })
	t.finished = slices.DeleteFunc(t.finished, func(r *row[K, V]) bool {
		gone := t.rows[r.key] != r
		if gone {
			t.bytes -= r.size
		}
		return gone
	})
}

// get returns a row that has not expired, or nil.
func (t *table[K, V]) get(key K) *row[K, V] {
	if r := t.rows[key]; r != nil && time.Now().Before(r.expires) {
		return r
	}
	return nil
}

// add adds a row that is not finished. It takes the place of an expired one.
func (t *table[K, V]) add(key K, value V, keep time.Duration) {
	t.rows[key] = &row[K, V]{key: key, value: value, expires: time.Now().Add(keep)}
}

// finish marks a row as finished, and deletes the oldest ones if there are too many.
func (t *table[K, V]) finish(r *row[K, V], size int, expires time.Time) {
	r.finished, r.size, r.expires = true, size, expires
	t.finished = append(t.finished, r)
	t.bytes += size
	for len(t.finished) > 1 && (len(t.finished) > t.maxRows || t.bytes > t.maxBytes) {
		oldest := t.finished[0]
		t.finished[0] = nil
		t.finished = t.finished[1:]
		t.bytes -= oldest.size
		if t.rows[oldest.key] == oldest { // not added again
			delete(t.rows, oldest.key)
		}
	}
}
