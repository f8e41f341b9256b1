package forrst

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// LimitKey is a counter of calls with its limit. Limits with different names, and different subjects of one limit, have
// counters of their own.
type LimitKey struct {
	Name    string // of the limit
	Subject string // whose calls are counted, at most 64 bytes; empty: all
	Limit   int64
	Window  time.Duration
}

// Usage is the state of a counter.
type Usage struct {
	Used int64 // calls in the window, at most the limit
	// Reset is the time until the first of them leaves the window. Zero: there is none.
	Reset time.Duration
}

// LimitStore counts calls. It is safe for concurrent use.
type LimitStore interface {
	// Take counts a call with each of the keys, or with none of them if one has no call left, as one step. The usages have
	// the order of the keys, and include the call if it is counted.
	Take(ctx context.Context, keys []LimitKey) (usages []Usage, counted bool, err error)
	// Peek returns the usages without counting a call.
	Peek(ctx context.Context, keys []LimitKey) ([]Usage, error)
}

const (
	maxSubjects = 20_000 // of one limit
	windowParts = 32
)

// memoryLimits is a LimitStore in memory.
type memoryLimits struct {
	mu     sync.Mutex
	epoch  time.Time // times are durations since then
	limits map[string]*subjects
}

// subjects are the counters of one limit, the least recently used last.
type subjects struct {
	counters map[string]*list.Element
	order    list.List // of *counter
}

// counter is a sliding window log. Calls that come within a part of the window are one entry, which leaves the window with
// the last of them. So a counter has at most windowParts+1 entries, and never counts fewer calls than the window has.
type counter struct {
	subject string
	entries []entry // in the order of time
	used    int64   // the sum of their calls
}

type entry struct {
	first, last time.Duration
	calls       int64
}

// NewMemoryLimits returns a store in memory with a sliding window: no window of time, wherever it begins, has more calls than
// the limit. A call is counted for the length of the window and up to 1/32 more. This is the sliding window log with joined
// entries; fixed windows and token buckets (GCRA) let up to twice the limit through within one window. The store keeps 20,000
// subjects for each limit, about 1 KiB each at most, and forgets the calls of the least recently active.
func NewMemoryLimits() LimitStore {
	return &memoryLimits{epoch: time.Now(), limits: map[string]*subjects{}}
}

// Take implements [LimitStore].
func (m *memoryLimits) Take(_ context.Context, keys []LimitKey) ([]Usage, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.epoch)
	counters := make([]*counter, len(keys))
	full := false
	for i, k := range keys {
		counters[i] = m.counter(k)
		counters[i].expire(now, k.Window)
		full = full || counters[i].used >= k.Limit
	}
	usages := make([]Usage, len(keys))
	for i, k := range keys {
		if !full {
			counters[i].add(now, k.Window)
		}
		usages[i] = counters[i].usage(now, k)
	}
	return usages, !full, nil
}

// Peek implements [LimitStore].
func (m *memoryLimits) Peek(_ context.Context, keys []LimitKey) ([]Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Since(m.epoch)
	usages := make([]Usage, len(keys))
	for i, k := range keys {
		if s := m.limits[k.Name]; s != nil && s.counters[k.Subject] != nil {
			c := s.counters[k.Subject].Value.(*counter)
			c.expire(now, k.Window)
			usages[i] = c.usage(now, k)
		}
	}
	return usages, nil
}

// counter returns the counter of a key, which becomes the most recently used.
func (m *memoryLimits) counter(k LimitKey) *counter {
	s := m.limits[k.Name]
	if s == nil {
		s = &subjects{counters: map[string]*list.Element{}}
		m.limits[k.Name] = s
	}
	if e := s.counters[k.Subject]; e != nil {
		s.order.MoveToFront(e)
		return e.Value.(*counter)
	}
	if len(s.counters) >= maxSubjects {
		delete(s.counters, s.order.Remove(s.order.Back()).(*counter).subject)
	}
	c := &counter{subject: k.Subject}
	s.counters[k.Subject] = s.order.PushFront(c)
	return c
}

// expire deletes the entries that have left the window.
func (c *counter) expire(now, window time.Duration) {
	n := 0
	for n < len(c.entries) && now-c.entries[n].last >= window {
		c.used -= c.entries[n].calls
		n++
	}
	c.entries = append(c.entries[:0], c.entries[n:]...)
}

// add counts a call.
func (c *counter) add(now, window time.Duration) {
	c.used++
	if n := len(c.entries); n > 0 && now-c.entries[n-1].first < window/windowParts {
		c.entries[n-1].last = now
		c.entries[n-1].calls++
		return
	}
	c.entries = append(c.entries, entry{now, now, 1})
}

func (c *counter) usage(now time.Duration, k LimitKey) Usage {
	u := Usage{Used: min(c.used, k.Limit)}
	if len(c.entries) > 0 {
		u.Reset = c.entries[0].last + k.Window - now
	}
	return u
}
