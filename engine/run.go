package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// state is how far a run is:
//
//	           first event            answer complete        terminal event
//	           in the log             or failed              in the log, or refused
//	Ask ─▶ starting ─────▶ answering ─────────────▶ answered ─────────────▶ ended ─▶ removed from the table
//	           │               ▲
//	           │               └──── Recover, for a run of an earlier process or of another server
//	           └─▶ answered, if the first event could not be written
//
// A run takes one of [Options.MaxRuns] and can be joined before it is answered. It can be cancelled before it has ended. One
// that is answered without a reader for the grace period is cancelled. A run that has ended is removed from the table at
// once, with two exceptions: an ephemeral run stays until it has had no reader for the grace period and is deleted, and a run
// whose terminal event the store refused (lost) stays, so that its readers do not wait for the event. A run that another server has taken over ends
// here without a terminal event.
type state int

const (
	starting  state = iota // the first event is being written
	answering              // the answerer works
	answered               // the terminal event is being written
	ended
)

// run is an entry in the engine's table of runs.
type run struct {
	id        event.RunID
	key       string    // equal questions join it; empty: none does
	since     time.Time // when it was asked
	ephemeral bool
	recovered bool   // an earlier process or another server started it
	client    string // see [Caller]
	release   func() // releases its slot; nil: it has none

	ctx      context.Context // of the answerer
	cancel   context.CancelCauseFunc
	begun    chan struct{} // closed after the state starting
	startErr error         // why it could not start; set before begun is closed
	over     context.Context
	lose     context.CancelCauseFunc // ends over
	ended    chan struct{}           // closed in the state ended

	// Guarded by Engine.mu.
	state    state
	lost     bool                 // it ended without a terminal event; over has ended
	reserved eventlog.Reservation // of the key on all servers; zero: it has none
	requests []request            // that it answers and that were not withdrawn
	shared   bool                 // several questions were asked of it
	readElse time.Time            // when another server last reported readers
	rec      *answer.Recorder
	timer    *time.Timer // of the grace period, while there is one
	graces   int         // grace periods begun: a timer of an earlier one has no effect
}

// request is one of the questions that a run answers.
type request struct {
	caller   string // see [Caller.ID]
	attached bool   // it was asked by [Engine.AskAttached]
	peer     bool   // it was asked on another server, which reports its readers
}

// live reports whether the run has not ended. A nil run is not live.
func (r *run) live() bool { return r != nil && r.state != ended }

// join adds a request to the run that answers a question of the key, if there is one.
func (e *Engine) join(key string, by request) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.joinLocked(key, by)
}

func (e *Engine) joinLocked(key string, by request) *run {
	r := e.byKey[key]
	if !e.joinable(r) {
		return nil
	}
	e.add(r, by)
	r.shared = true
	return r
}

// joinable reports whether questions can join a run.
func (e *Engine) joinable(r *run) bool {
	return r != nil && e.byKey[r.key] == r && !e.closing && e.o.Now().Sub(r.since) <= e.o.Deadline/2
}

// joinOrAdd joins a run, or else adds a new one to the table.
func (e *Engine) joinOrAdd(ctx context.Context, start event.RunStarted, key string, by request) (r *run, joined bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.joinLocked(key, by); r != nil {
		return r, true, nil
	}
	r, err = e.addRun(ctx, start, e.limiter.begin)
	if err != nil {
		return nil, false, err
	}
	if r.key = key; key != "" {
		e.byKey[key] = r
	}
	e.add(r, by)
	return r, false, nil
}

// addRun adds a run in the state starting, which begin counts. The caller holds mu.
func (e *Engine) addRun(ctx context.Context, start event.RunStarted, begin func() error) (*run, error) {
	switch {
	case e.closing:
		return nil, fault.New(fault.Unavailable, "the server is stopping")
	case e.runs[start.Run].live():
		return nil, fault.New(fault.Conflict, "the run %q is being answered already", start.Run)
	}
	if err := begin(); err != nil {
		return nil, err
	}
	r := &run{id: start.Run, since: e.o.Now(), ephemeral: start.Ephemeral, begun: make(chan struct{}), ended: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	r.over, r.lose = context.WithCancelCause(context.Background())
	e.runs[r.id] = r
	e.wg.Add(1)
	return r, nil
}

// started ends the state starting. The error is why the first event could not be written.
func (e *Engine) started(r *run, err error) {
	e.mu.Lock()
	r.state, r.startErr = answering, err
	if err != nil {
		for _, by := range r.requests {
			e.leaveReader(r.id, by)
		}
		r.requests = nil
		e.unshare(r)
	}
	close(r.begun)
	e.mu.Unlock()
	if err != nil {
		e.answered(r)
		e.end(r, false)
	}
}

// awaitStart waits until a run that was joined has started.
func (e *Engine) awaitStart(ctx context.Context, r *run, by request) error {
	select {
	case <-r.begun:
	case <-ctx.Done():
		e.mu.Lock()
		defer e.mu.Unlock()
		if r.drop(by) {
			e.leaveReader(r.id, by)
		}
		if r.live() {
			e.beginGrace(r)
		}
		return ctx.Err()
	}
	if r.startErr != nil {
		return fmt.Errorf("start run: %w", r.startErr)
	}
	return nil
}

// answer answers a run and ends it.
func (e *Engine) answer(r *run, rec *answer.Recorder, left time.Duration) {
	ctx, stop := context.WithTimeout(r.ctx, left)
	defer stop()
	e.mu.Lock()
	r.rec = rec
	e.mu.Unlock()
	answerer := e.answerer
	if e.limiter.workers != nil {
		answerer = fairAnswerer{answerer, e.limiter.workers, r.client}
	}
	err := answer.Run(ctx, answerer, rec, answer.Ending{Answered: func() { e.answered(r) }, Settle: e.settle, Refund: e.refund, Shared: e.o.Peers != nil})
	if errors.Is(err, answer.ErrTakenOver) {
		e.o.Logger.Info("another server continues a run", "run", r.id)
		e.leave(r)
		return
	}
	defer e.end(r, errors.Is(err, answer.ErrNoEnd))
	if err != nil {
		e.o.Logger.Error("run failed", "run", r.id, "error", err)
	}
	e.o.Ended(rec.State())
}

// answered releases what the run takes from others before its terminal event is written, so that callers may start a new run as
// soon as they have read that event.
func (e *Engine) answered(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.state = answered
	e.limiter.end()
	if r.release != nil {
		r.release()
	}
	e.unshare(r)
}

// end ends a run after its terminal event. The store refused that event if lost is set.
func (e *Engine) end(r *run, lost bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stop(r)
	if r.lost = lost; lost {
		r.lose(answer.ErrNoEnd)
	}
	switch {
	case r.ephemeral:
		e.expireLater(r)
	case !lost:
		delete(e.runs, r.id)
	}
}

// leave removes a run that another server has taken over. Its readers here follow it there.
func (e *Engine) leave(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stop(r)
	delete(e.runs, r.id)
}

// stop puts a run in the state ended. The caller holds mu.
func (e *Engine) stop(r *run) {
	r.stopGrace()
	r.cancel(nil)
	r.state = ended
	close(r.ended)
	e.wg.Done()
}

// unshare removes the run from those that can be joined.
func (e *Engine) unshare(r *run) {
	if e.byKey[r.key] == r {
		delete(e.byKey, r.key)
	}
	e.release(r)
}

// add adds a request.
func (e *Engine) add(r *run, by request) {
	r.requests = append(r.requests, by)
	if by.attached && !by.peer {
		e.readers[r.id]++
	}
	r.stopGrace()
}

// drop removes a request, or else another one of the same caller. It reports whether there was one.
func (r *run) drop(by request) bool {
	i := slices.Index(r.requests, by)
	if i < 0 {
		i = slices.IndexFunc(r.requests, func(b request) bool { return b.caller == by.caller })
	}
	if i < 0 {
		return false
	}
	r.requests = slices.Delete(r.requests, i, i+1)
	return true
}

// withdraw drops a request of the caller, and cancels the run if no request is left or if it only ever had one.
func (e *Engine) withdraw(r *run, caller string) {
	if r.shared && (!r.drop(request{caller: caller}) || len(r.requests) > 0) {
		e.beginGrace(r)
		return
	}
	e.cancelRun(r, errCancelled())
}

func (e *Engine) cancelRun(r *run, cause error) {
	e.unshare(r)
	r.cancel(cause)
}

func errCancelled() error { return fault.New(fault.Cancelled, "the run was cancelled by request") }

// detacher returns a function that removes a reader of a run once.
func (e *Engine) detacher(id event.RunID) func() {
	return sync.OnceFunc(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.leaveReader(id, request{attached: true})
		if r := e.runs[id]; r.live() {
			e.beginGrace(r)
		}
	})
}

// leaveReader ends the count of a request's reader. The caller holds mu.
func (e *Engine) leaveReader(id event.RunID, by request) {
	if !by.attached || by.peer {
		return
	}
	if e.readers[id]--; e.readers[id] == 0 {
		delete(e.readers, id)
	}
}

// awaited reports whether a caller without a reader shares the run: it may read the run later.
func (r *run) awaited() bool {
	return r.shared && slices.ContainsFunc(r.requests, func(by request) bool { return !by.attached })
}

// beginGrace begins the grace period of a live run without readers, unless it is awaited.
func (e *Engine) beginGrace(r *run) {
	if e.readers[r.id] > 0 || r.timer != nil || e.o.Grace < 0 || r.awaited() {
		return
	}
	r.graces++
	n := r.graces
	r.timer = time.AfterFunc(e.grace(r), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if r.live() && r.timer != nil && r.graces == n {
			e.cancelRun(r, fault.New(fault.Cancelled, "the run was cancelled: nobody was left reading it"))
		}
	})
}

func (r *run) stopGrace() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

// recoveredGrace is the shortest grace period of a recovered run: its readers have to connect again, and clients pause for up to
// 10 seconds between attempts.
const recoveredGrace = 10 * time.Second

// grace returns the grace period of a run. A negative one never ends.
func (e *Engine) grace(r *run) time.Duration {
	grace := e.o.Grace
	if grace < 0 {
		return grace
	}
	if !r.readElse.IsZero() {
		grace = max(grace, readKeep)
	}
	if r.recovered {
		grace = max(grace, recoveredGrace)
	}
	return grace
}
