package engine

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
)

// Admission shares the run slots of a [Limiter] between clients: see [Caller]. Questions without a client are limited by
// [Options.MaxRuns] alone. The zero value sets no other limit.
type Admission struct {
	PerClient int           // slots of one client; 0: no limit
	Queue     int           // questions that wait for a slot, at most half of them of one client; more are refused
	Wait      time.Duration // how long a question waits for a slot; default 10 s
	// Workers is the number of runs that compute at once; the others wait, and clients take turns. A run that waits for a model's
	// tokens does not compute. 0: no limit.
	Workers int
}

// Limiter bounds the runs of the engines that share it: see [Options.Limiter]. It is safe for concurrent use.
type Limiter struct {
	maxRuns int
	slots   *fairSemaphore // of runs whose question names a client; nil: see [Admission]
	workers *fairSemaphore // nil: no limit

	mu   sync.Mutex
	busy int // runs before the state answered
}

// NewLimiter returns a limiter of the runs that are answered at once (0: 1,000).
func NewLimiter(maxRuns int, a Admission) *Limiter {
	if maxRuns <= 0 {
		maxRuns = 1000
	}
	l := &Limiter{maxRuns: maxRuns}
	if a.PerClient > 0 {
		l.slots = newFairSemaphore(maxRuns, a.PerClient, max(a.Queue, 0), cmp.Or(a.Wait, 10*time.Second))
	}
	if a.Workers > 0 {
		l.workers = newFairSemaphore(a.Workers, 0, -1, 0)
	}
	return l
}

// begin counts a run that begins. Errors: [fault.Overloaded].
func (l *Limiter) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy >= l.maxRuns {
		return fault.New(fault.Overloaded, "%d runs are being answered, which is the limit", l.busy)
	}
	l.busy++
	return nil
}

// resume counts a run of another server. There is no limit, since the run has begun.
func (l *Limiter) resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy++
	return nil
}

// end ends the count of a run.
func (l *Limiter) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
}

// slotBytes is the size of the text that one slot covers: a question with a long history takes several.
const slotBytes = 16 << 10

// cost returns the number of slots that a question takes.
func cost(q *event.Question) int {
	n := len(q.Query) + len(q.Instructions)
	for _, t := range q.History {
		n += len(t.Text)
	}
	return 1 + n/slotBytes
}

// acquireSlot waits for the slots of a question that names a client.
func (l *Limiter) acquireSlot(ctx context.Context, q *event.Question, client string) (release func(), err error) {
	if l.slots == nil || client == "" {
		return func() {}, nil
	}
	return l.slots.acquire(ctx, client, cost(q))
}

// Acquire takes a slot of a client for work that is no run, such as one request to a model, until release is called. It waits like a question.
// Errors: [fault.Overloaded], and that of the context.
func (l *Limiter) Acquire(ctx context.Context, client string) (release func(), err error) {
	free, err := l.acquireSlot(ctx, &event.Question{}, client)
	if err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		free()
		return nil, err
	}
	return sync.OnceFunc(func() {
		l.end()
		free()
	}), nil
}

// fairAnswerer answers while it holds one of the engine's workers. It releases the worker while it waits for a model.
type fairAnswerer struct {
	answer.Answerer
	workers *fairSemaphore
	client  string
}

// Answer implements [answer.Answerer].
func (w fairAnswerer) Answer(ctx context.Context, r *answer.Recorder) error {
	l := &workerLease{fairAnswerer: w}
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.end()
	return w.Answerer.Answer(model.WithIdle(ctx, l.idle), r)
}

// workerLease is the worker of one run. Calls of the run may wait for models concurrently: the first of them releases the worker
// and the last one acquires it again.
type workerLease struct {
	fairAnswerer
	mu      sync.Mutex
	idling  int
	over    bool
	release func()
}

func (l *workerLease) begin(ctx context.Context) error {
	release, err := l.workers.acquire(ctx, l.client, 1)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.idling > 0 || l.release != nil {
		release()
		return nil
	}
	l.release = release
	return nil
}

// free releases the worker. The caller holds mu.
func (l *workerLease) free() {
	if l.release != nil {
		l.release()
		l.release = nil
	}
}

func (l *workerLease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.free()
}

func (l *workerLease) idle(ctx context.Context) (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idling++
	l.free()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		l.idling--
		again := l.idling == 0 && !l.over
		l.mu.Unlock()
		if again {
			_ = l.begin(ctx) // it fails only if ctx has ended, and then the run ends too
		}
	})
}
