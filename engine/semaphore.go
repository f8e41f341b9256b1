package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// fairSemaphore is a weighted semaphore whose waiting clients take turns. Invariants: used is the sum of held; a client is in
// turns exactly if it has waiters; a waiter waits only while its cost exceeds what is left of its client's share or of the
// capacity, or while the next waiter's cost exceeds what is left of the capacity.
type fairSemaphore struct {
	capacity, share, queue int // share of one client; 0: no limit. Waiters at most; negative: no limit
	wait                   time.Duration

	mu      sync.Mutex
	used    int
	held    map[string]int
	waiting map[string][]*waiter
	turns   []string // clients with waiters, the next first
	queued  int
}

// waiter is a request for slots.
type waiter struct {
	cost  int
	ready chan struct{} // closed when the slots are granted
}

func newFairSemaphore(capacity, share, queue int, wait time.Duration) *fairSemaphore {
	return &fairSemaphore{capacity: capacity, share: share, queue: queue, wait: wait, held: map[string]int{}, waiting: map[string][]*waiter{}}
}

// acquire takes slots for a client when it is its turn. A cost above the share or the capacity is reduced to it, so such a
// request waits until the client holds no slots. Errors: [fault.Overloaded], and ctx's.
func (f *fairSemaphore) acquire(ctx context.Context, client string, cost int) (release func(), err error) {
	f.mu.Lock()
	cost = min(max(cost, 1), f.capacity)
	if f.share > 0 {
		cost = min(cost, f.share)
	}
	t := &waiter{cost: cost, ready: make(chan struct{})}
	release = sync.OnceFunc(func() { f.release(client, cost) })
	f.enqueue(client, t)
	f.dispatch()
	select {
	case <-t.ready:
		f.mu.Unlock()
		return release, nil
	default:
	}
	if f.queue >= 0 && (f.queued > f.queue || len(f.waiting[client]) > (f.queue+1)/2) {
		f.cancel(client, t)
		f.mu.Unlock()
		return nil, fault.New(fault.Overloaded, "too many questions are waiting; try again")
	}
	f.mu.Unlock()
	var late <-chan time.Time
	if f.wait > 0 {
		timer := time.NewTimer(f.wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.ready:
		return release, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
		err = fault.New(fault.Overloaded, "no run slot was free within %s; try again", f.wait)
	}
	f.mu.Lock()
	granted := !f.cancel(client, t)
	f.mu.Unlock()
	if granted { // at the same moment
		release()
	}
	return nil, err
}

func (f *fairSemaphore) enqueue(client string, t *waiter) {
	if len(f.waiting[client]) == 0 {
		f.turns = append(f.turns, client)
	}
	f.waiting[client] = append(f.waiting[client], t)
	f.queued++
}

// cancel removes a waiter, and reports whether it was still waiting.
func (f *fairSemaphore) cancel(client string, t *waiter) bool {
	i := slices.Index(f.waiting[client], t)
	if i < 0 {
		return false
	}
	f.waiting[client] = slices.Delete(f.waiting[client], i, i+1)
	f.queued--
	if len(f.waiting[client]) == 0 {
		delete(f.waiting, client)
		f.turns = slices.DeleteFunc(f.turns, func(c string) bool { return c == client })
	}
	f.dispatch() // others may have waited for it
	return true
}

func (f *fairSemaphore) release(client string, cost int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used -= cost
	if f.held[client] -= cost; f.held[client] == 0 {
		delete(f.held, client)
	}
	f.dispatch()
}

// dispatch grants slots to the waiters that fit. A client that got slots goes to the end of turns; a client whose share is used up
// is skipped.
func (f *fairSemaphore) dispatch() {
	for i := 0; i < len(f.turns); {
		client := f.turns[i]
		t := f.waiting[client][0]
		if f.share > 0 && f.held[client]+t.cost > f.share {
			i++
			continue
		}
		if f.used+t.cost > f.capacity {
			return
		}
		f.used += t.cost
		f.held[client] += t.cost
		f.queued--
		close(t.ready)
		f.turns = slices.Delete(f.turns, i, i+1)
		if f.waiting[client] = f.waiting[client][1:]; len(f.waiting[client]) > 0 {
			f.turns = append(f.turns, client)
		} else {
			delete(f.waiting, client)
		}
	}
}
