package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// Options are what an [Engine] may be given. The zero value works.
type Options struct {
	Store   eventlog.Store // default: in memory
	MaxRuns int            // runs at once; default 1,000
	Admission
	Deadline time.Duration // of a run; default 30 s
	// Grace is how long a run goes on when its last reader has left: default 30 s; negative: for ever; to cancel at
	// once, say a nanosecond.
	Grace time.Duration
	// Equal gives a key of a question. One that is asked while another of its key is being answered, in the first half of the
	// deadline, joins that run: see [Engine.Cancel]. An empty key has a run of its own; nil: all have.
	Equal  func(context.Context, event.RunStarted) string
	Logger *slog.Logger      // default: silent
	Ended  func(event.State) // called after a run's terminal event, from the run's goroutine; without the text
	// Deleted is called with the id of each run that was deleted, so that data derived from it can be deleted too.
	Deleted func(event.RunID)
	Now     func() time.Time   // default time.Now
	NewID   func() event.RunID // default: a ULID
}

// Engine answers questions. Each question is a run, which goes on whoever reads it. All methods may be called at once.
type Engine struct {
	o        Options
	answerer answer.Answerer
	places   *fairSemaphore // of questions that name a client; nil: see [Admission]
	workers  *fairSemaphore

	mu      sync.Mutex
	live    map[event.RunID]*run
	equal   map[string]*run      // runs that others may join, by key
	fading  map[event.RunID]*run // runs that have ended and are to be forgotten once they were read
	lost    map[event.RunID]bool // runs that are over and whose end the store did not take
	busy    int                  // live runs that are still being answered
	closing bool
	wg      sync.WaitGroup
}

// run is a run that is being answered.
type run struct {
	id      event.RunID
	cancel  context.CancelCauseFunc
	readers int
	grace   *time.Timer
	graces  int             // grace periods begun
	over    context.Context // ends if the run is lost
	lose    context.CancelFunc
	ended   chan struct{} // closed when it is no longer live
	forget  bool          // nothing is kept of it
	client  string        // see [Caller]
	release func()        // gives its place back; nil: it has none
	shared

	recovered bool // an earlier process began it
}

// Caller is who asks a question. The zero value is an anonymous program that uses the library.
type Caller struct {
	// ID identifies the caller among those who share a run, so that each can cancel only its own questions: see [Engine.Cancel].
	ID string
	// Client is whose share of the run slots the question takes: see [Admission]. Empty: it takes none.
	Client string
	// Protocol is the protocol of the request; default "library".
	Protocol string
}

// New makes an engine. Close it when done; the store stays open, it is the caller's.
func New(a answer.Answerer, o Options) *Engine {
	if o.Store == nil {
		o.Store = eventlog.NewMemory()
	}
	if o.MaxRuns <= 0 {
		o.MaxRuns = 1000
	}
	if o.Deadline <= 0 {
		o.Deadline = 30 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Deleted == nil {
		o.Deleted = func(event.RunID) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() event.RunID { return event.RunID("run_" + strings.ToLower(ulid.Make().String())) }
	}
	e := &Engine{o: o, answerer: a, live: map[event.RunID]*run{}, equal: map[string]*run{},
		fading: map[event.RunID]*run{}, lost: map[event.RunID]bool{}}
	if o.PerClient > 0 {
		e.places = newFairSemaphore(o.MaxRuns, o.PerClient, max(o.Queue, 0), cmp.Or(o.Wait, 10*time.Second))
	}
	if o.Workers > 0 {
		e.workers = newFairSemaphore(o.Workers, 0, -1, 0)
	}
	return e
}

// Store gives the engine's store, for reading.
func (e *Engine) Store() eventlog.Store { return e.o.Store }

// Ask starts a run, or joins one that answers an equal question (see [Options]), and returns once its first event is in the
// log. The run does not end with ctx: see [Engine.Cancel]. Errors carry a code: [fault.InvalidRequest], [fault.Overloaded].
func (e *Engine) Ask(ctx context.Context, q event.Question, c Caller) (event.RunID, error) {
	return e.ask(ctx, q, c, false)
}

// AskAttached is Ask with a reader already counted: the caller calls detach once when it stops reading.
func (e *Engine) AskAttached(ctx context.Context, q event.Question, c Caller) (id event.RunID, detach func(), err error) {
	if id, err = e.ask(ctx, q, c, true); err != nil {
		return "", nil, err
	}
	return id, e.detacher(id), nil
}

func (e *Engine) ask(ctx context.Context, q event.Question, c Caller, attached bool) (event.RunID, error) {
	if err := q.Validate(); err != nil {
		return "", err
	}
	q.SetDefaults()
	start := event.RunStarted{Run: e.o.NewID(), Protocol: cmp.Or(c.Protocol, "library"), Question: q}
	key := e.key(ctx, start)
	runCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release, err := e.place(ctx, &q, c.Client, key)
	if err != nil {
		cancel(nil)
		return "", err
	}
	by := asker{c.ID, attached}
	r, joined, err := e.admit(start, key, cancel, by)
	if joined {
		release()
		cancel(nil)
		return e.joined(ctx, r, by)
	}
	if err != nil {
		release()
		cancel(nil)
		return "", err
	}
	r.client, r.release = c.Client, release
	rec, err := answer.NewRecorder(ctx, e.o.Store, e.o.Now, start)
	r.begin(err)
	if err != nil {
		e.answered(r)
		e.leave(start.Run, false)
		return "", fmt.Errorf("start run: %w", err)
	}
	go e.run(runCtx, r, rec, e.o.Deadline)
	return start.Run, nil
}

// key gives the key under which equal questions join a run; empty: none do.
func (e *Engine) key(ctx context.Context, start event.RunStarted) string {
	if e.o.Equal == nil || start.NoCache || start.Ephemeral {
		return ""
	}
	return e.o.Equal(ctx, start)
}

// admit gives a run its place, or finds the one to join.
func (e *Engine) admit(start event.RunStarted, key string, cancel context.CancelCauseFunc, by asker) (r *run, joined bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closing {
		if r := e.join(key, by); r != nil {
			return r, true, nil
		}
	}
	if err := e.mayStart(start.Run); err != nil {
		return nil, false, err
	}
	r = e.enter(start, cancel)
	e.share(r, key, by)
	return r, false, nil
}

// mayStart says why a run may not begin, if there is a reason. The caller holds mu, as for enter.
func (e *Engine) mayStart(id event.RunID) error {
	switch {
	case e.closing:
		return fault.New(fault.Unavailable, "the server is stopping")
	case e.live[id] != nil:
		return fault.New(fault.Conflict, "the run %q is being answered already", id)
	case e.busy >= e.o.MaxRuns:
		return fault.New(fault.Overloaded, "%d runs are being answered, which is the limit", e.busy)
	}
	return nil
}

// enter makes a run live.
func (e *Engine) enter(start event.RunStarted, cancel context.CancelCauseFunc) *run {
	r := &run{id: start.Run, cancel: cancel, ended: make(chan struct{}), forget: start.Ephemeral}
	r.over, r.lose = context.WithCancel(context.Background())
	e.live[r.id] = r
	e.busy++
	e.wg.Add(1)
	return r
}

func (e *Engine) run(ctx context.Context, r *run, rec *answer.Recorder, left time.Duration) {
	ctx, stop := context.WithTimeout(ctx, left)
	defer stop()
	answerer := e.answerer
	if e.workers != nil {
		answerer = fairAnswerer{answerer, e.workers, r.client}
	}
	err := answer.Run(ctx, answerer, rec, func() { e.answered(r) })
	defer e.leave(r.id, errors.Is(err, answer.ErrNoEnd))
	if err != nil {
		e.o.Logger.Error("run failed", "run", r.id, "error", err)
	}
	if e.o.Ended != nil {
		e.o.Ended(rec.State())
	}
}

// answered gives a run's place to another: who has read its last event may ask again at once.
func (e *Engine) answered(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy--
	if r.release != nil {
		r.release()
	}
	e.unshare(r)
}

func (e *Engine) leave(id event.RunID, lost bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.live[id]
	if r.grace != nil {
		r.grace.Stop()
	}
	r.cancel(nil)
	if lost {
		e.lost[id] = true
		r.lose()
	}
	delete(e.live, id)
	close(r.ended)
	if r.forget {
		e.fade(r)
	}
	e.wg.Done()
}

// Events streams a run's events from after the cursor, live or from the store: see [eventlog.Tail]. For a run that is over
// and whose end the store did not take, the stream ends with [answer.ErrNoEnd].
func (e *Engine) Events(ctx context.Context, id event.RunID, after event.Seq) iter.Seq2[[]event.Event, error] {
	e.mu.Lock()
	r, lost := e.live[id], e.lost[id]
	e.mu.Unlock()
	switch {
	case r == nil && lost:
		return eventlog.Tail(ctx, lostEnds{e.o.Store}, id, after)
	case r == nil:
		return eventlog.Tail(ctx, e.o.Store, id, after)
	}
	return func(yield func([]event.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(r.over, func() { cancel(answer.ErrNoEnd) })()
		for batch, err := range eventlog.Tail(ctx, e.o.Store, id, after) {
			if err != nil && errors.Is(context.Cause(ctx), answer.ErrNoEnd) {
				err = answer.ErrNoEnd
			}
			if !yield(batch, err) {
				return
			}
		}
	}
}

// lostEnds is a store of runs that get no more events, whether they have a terminal event or not.
type lostEnds struct{ eventlog.Store }

// Wait implements [eventlog.Store]. It returns [answer.ErrNoEnd] where a reader would wait.
func (s lostEnds) Wait(ctx context.Context, id event.RunID, after event.Seq) error {
	batch, err := s.Load(ctx, id, after)
	if err == nil && len(batch) == 0 {
		return answer.ErrNoEnd
	}
	return err
}

// Attach counts a reader of the run until detach is called, once. When the last one has left a live run, the run is
// cancelled after the grace period unless somebody comes back.
func (e *Engine) Attach(id event.RunID) (detach func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.known(id)
	if r == nil {
		return func() {}
	}
	r.readers++
	if r.grace != nil && e.fading[id] == nil {
		r.grace.Stop()
		r.grace = nil
	}
	return e.detacher(id)
}

func (e *Engine) detacher(id event.RunID) func() {
	return sync.OnceFunc(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		r := e.known(id)
		if r == nil {
			return
		}
		if e.fading[id] != nil {
			r.readers--
			return
		}
		r.readers--
		e.unread(r)
	})
}

// abandon cancels a run that nobody came back to. A grace period that somebody ended while it ran out counts no more.
func (e *Engine) abandon(id event.RunID, grace int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.live[id]; r != nil && r.grace != nil && r.graces == grace {
		e.unshare(r)
		r.cancel(fault.New(fault.Cancelled, "the run was cancelled: nobody was left reading it"))
	}
}

// Cancel withdraws one question of the caller, whose [Caller.ID] it is given, from a live run. The run stops when no question is
// left, and its terminal event follows soon after. Any caller can cancel a run that only ever answered one question. Cancel
// does not change a run that has ended. Errors: [eventlog.ErrNotFound].
func (e *Engine) Cancel(ctx context.Context, id event.RunID, caller string) error {
	e.mu.Lock()
	r := e.live[id]
	stop := r != nil && e.withdraw(r, caller)
	e.mu.Unlock()
	if r != nil && !stop {
		return nil
	}
	if r != nil {
		r.cancel(errCancelled())
		return nil
	}
	_, err := e.o.Store.Load(ctx, id, math.MaxInt64) // of a run that exists, this is beyond the end
	if err != nil && !errors.Is(err, eventlog.ErrBeyond) {
		return fmt.Errorf("cancel run: %w", err)
	}
	return nil
}

// Live gives the number of runs being answered.
func (e *Engine) Live() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.live)
}

// Closing tells whether new questions are refused, since [Engine.Close] was called.
func (e *Engine) Closing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closing
}

// Close refuses new questions and waits for the live runs. When ctx ends first they are cancelled, and waited for.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.wg.Wait(); close(done) }()
	defer e.expireAll()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	e.mu.Lock()
	for _, r := range e.live {
		r.cancel(fault.New(fault.Cancelled, "the run was cancelled: the server is stopping"))
	}
	e.mu.Unlock()
	<-done
	return ctx.Err()
}

func errCancelled() error { return fault.New(fault.Cancelled, "the run was cancelled by request") }
