package eventlog

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/sluice-rag/sluice/event"
)

// Memory is a Store and an Archive in memory. It keeps every run until [Memory.Remove].
type Memory struct {
	mu      sync.RWMutex
	runs    map[event.RunID]*runLog
	waiters sync.Pool // of *waiter; one for each store, as a channel made in a synctest bubble must not leave it
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		runs:    map[event.RunID]*runLog{},
		waiters: sync.Pool{New: func() any { return &waiter{wake: make(chan struct{}, 1)} }},
	}
}

// runLog holds the events of one run. Events never change, so readers share the array; append copies it when it grows.
type runLog struct {
	mu      sync.Mutex
	events  []event.Event
	ended   bool
	gone    bool
	waiting []*waiter
	notify  []*func() // of [Memory.Notify]; the pointers tell them apart
}

// waiter is a waiting reader. It is woken by one send. Unused waiters are in the pool.
type waiter struct{ wake chan struct{} }

func (m *Memory) runLog(run event.RunID) *runLog {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.runs[run]
}

// Append implements [Store].
func (m *Memory) Append(_ context.Context, run event.RunID, es ...event.Event) error {
	if len(es) == 0 {
		return nil
	}
	t := m.runLog(run)
	if t == nil {
		if err := CheckAppend(0, false, es); err != nil {
			return err
		}
		m.mu.Lock()
		if m.runs[run] == nil {
			m.runs[run] = &runLog{}
		}
		t = m.runs[run]
		m.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return ErrNotFound
	}
	if err := CheckAppend(t.last(), t.ended, es); err != nil {
		return err
	}
	t.events = append(t.events, es...)
	t.ended = event.Terminal(es[len(es)-1].Body)
	t.wakeAll()
	return nil
}

func (t *runLog) wakeAll() {
	for i, w := range t.waiting {
		w.wake <- struct{}{}
		t.waiting[i] = nil
	}
	t.waiting = t.waiting[:0]
	for _, f := range t.notify {
		(*f)()
	}
}

// Load implements [Store].
func (m *Memory) Load(_ context.Context, run event.RunID, after event.Seq) ([]event.Event, error) {
	t := m.runLog(run)
	if t == nil {
		return nil, ErrNotFound
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.after(after)
}

func (t *runLog) after(after event.Seq) ([]event.Event, error) {
	last := t.last()
	switch {
	case t.gone:
		return nil, ErrNotFound
	case after > last:
		return nil, ErrBeyond
	case after == last && t.ended:
		return nil, ErrEnd
	}
	n := len(t.events)
	from := n
	if after < last { // only the last event may follow a gap in the numbers
		from = int(min(after, event.Seq(n-1)))
	}
	return t.events[from:n:n], nil
}

// last returns the number of the last event.
func (t *runLog) last() event.Seq {
	if n := len(t.events); n > 0 {
		return t.events[n-1].Seq
	}
	return 0
}

// Wait implements [Store].
func (m *Memory) Wait(ctx context.Context, run event.RunID, after event.Seq) error {
	t := m.runLog(run)
	if t == nil {
		return ErrNotFound
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.mu.Lock()
		es, err := t.after(after)
		if err != nil || len(es) > 0 {
			t.mu.Unlock()
			return err
		}
		w := m.waiters.Get().(*waiter)
		t.waiting = append(t.waiting, w)
		t.mu.Unlock()
		select {
		case <-w.wake:
		case <-ctx.Done():
			t.leave(w)
		}
		m.waiters.Put(w)
	}
}

// leave removes w from the list. If w was woken meanwhile, leave receives the signal from its channel.
func (t *runLog) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return
	}
	<-w.wake
}

// Notify implements [Notifier].
func (m *Memory) Notify(run event.RunID, f func()) (stop func(), err error) {
	t := m.runLog(run)
	if t == nil {
		return nil, ErrNotFound
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return nil, ErrNotFound
	}
	t.notify = append(t.notify, &f)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := slices.Index(t.notify, &f); i >= 0 {
			t.notify = slices.Delete(t.notify, i, i+1)
		}
	}, nil
}

// Remove removes a run. Waiting readers get ErrNotFound.
func (m *Memory) Remove(run event.RunID) {
	m.mu.Lock()
	t := m.runs[run]
	delete(m.runs, run)
	m.mu.Unlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	t.wakeAll()
}

// Delete implements [Deleter].
func (m *Memory) Delete(_ context.Context, run event.RunID) error {
	t := m.runLog(run)
	if t == nil {
		return ErrNotFound
	}
	t.mu.Lock()
	ended, none := t.ended, t.gone || len(t.events) == 0
	t.mu.Unlock()
	switch {
	case none:
		return ErrNotFound
	case !ended:
		return ErrRunning
	}
	m.Remove(run)
	return nil
}

// Runs implements [Archive].
func (m *Memory) Runs(ctx context.Context, before event.RunID, limit int) ([]Summary, error) {
	m.mu.RLock()
	ids := make([]event.RunID, 0, len(m.runs))
	for id := range m.runs {
		if before == "" || id < before {
			ids = append(ids, id)
		}
	}
	m.mu.RUnlock()
	slices.SortFunc(ids, func(a, b event.RunID) int { return cmp.Compare(b, a) })
	var out []Summary
	for _, id := range ids {
		if len(out) >= limit {
			break
		}
		if s, err := m.Summary(ctx, id); err == nil {
			out = append(out, s)
		}
	}
	return out, nil
}

// Summary implements [Archive].
func (m *Memory) Summary(_ context.Context, run event.RunID) (Summary, error) {
	t := m.runLog(run)
	if t == nil {
		return Summary{}, ErrNotFound
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone || len(t.events) == 0 {
		return Summary{}, ErrNotFound
	}
	var s Summary
	s.Apply(t.events[0])
	s.Apply(t.events[len(t.events)-1])
	return s, nil
}
