package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
)

// Admission says how the engine's places are shared between clients: see [Caller]. Questions without
// one are bounded by [Options.MaxRuns] alone. The zero value shares nothing.
type Admission struct {
	PerClient int           // places of one client; 0: no such bound
	Queue     int           // questions that wait for a place, half of them of one client at most; over it they are refused
	Wait      time.Duration // how long a question waits for a place; default 10 s
	// Workers is the number of runs that compute at once; the others wait, and clients take turns. A run that waits for a model's
	// tokens does not compute. 0: no bound.
	Workers int
}

// costUnit is how many bytes of text cost one place: a question with a long history takes several.
const costUnit = 16 << 10

// cost is how many places a question takes.
func cost(q *event.Question) int {
	n := len(q.Query) + len(q.Instructions)
	for _, t := range q.History {
		n += len(t.Text)
	}
	return 1 + n/costUnit
}

// fairSemaphore is a semaphore for whose slots clients take turns. Invariants: used is the sum of held; a client is in turns exactly if it
// has waiters; a waiter waits only while its client's share or the capacity has no room for it, or another one that has no
// room in the capacity is before it.
type fairSemaphore struct {
	capacity, share, queue int // share 0: none
	wait                   time.Duration

	mu      sync.Mutex
	used    int
	held    map[string]int
	waiting map[string][]*waiter
	turns   []string // clients with waiters, the next first
	queued  int
}

// waiter is a request that waits for its turn.
type waiter struct {
	cost  int
	ready chan struct{} // closed when it was granted
}

func newFairSemaphore(capacity, share, queue int, wait time.Duration) *fairSemaphore {
	return &fairSemaphore{capacity: capacity, share: share, queue: queue, wait: wait, held: map[string]int{}, waiting: map[string][]*waiter{}}
}

// acquire takes places for a client, once it is its turn, and returns what gives them back. What costs more than the client's share
// or all places waits until the client holds nothing. Errors: [fault.Overloaded], and ctx's.
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
	f.dispatch() // it may have stood before others
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

// dispatch grants what has room. Clients that got a place go to the end of the line; one without room in its share is passed over.
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

// place waits for the place of a question. Questions that can join a run need none.
func (e *Engine) place(ctx context.Context, q *event.Question, client, key string) (release func(), err error) {
	e.mu.Lock()
	joins := e.joinable(key) != nil
	e.mu.Unlock()
	if e.places == nil || client == "" || joins {
		return func() {}, nil
	}
	return e.places.acquire(ctx, client, cost(q))
}

// fairAnswerer answers while it holds one of the engine's workers, which it releases while it waits for a model.
type fairAnswerer struct {
	answer.Answerer
	workers *fairSemaphore
	client  string
}

// Answer implements [answer.Answerer].
func (w fairAnswerer) Answer(ctx context.Context, r *answer.Recorder) error {
	s := &workerLease{fairAnswerer: w}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	return w.Answerer.Answer(model.WithIdle(ctx, s.idle), r)
}

// workerLease is the worker that a run holds. Calls of one run may wait for models side by side: the worker is given back by the first of them and
// taken again by the last.
type workerLease struct {
	fairAnswerer
	mu      sync.Mutex
	idling  int
	over    bool
	release func()
}

func (s *workerLease) begin(ctx context.Context) error {
	release, err := s.workers.acquire(ctx, s.client, 1)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.idling > 0 || s.release != nil {
		release()
		return nil
	}
	s.release = release
	return nil
}

func (s *workerLease) give() {
	if s.release != nil {
		s.release()
		s.release = nil
	}
}

func (s *workerLease) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.give()
}

func (s *workerLease) idle(ctx context.Context) (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idling++
	s.give()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.idling--
		again := s.idling == 0 && !s.over
		s.mu.Unlock()
		if again {
			_ = s.begin(ctx) // without a worker, ctx has ended, and so does the run
		}
	})
}
