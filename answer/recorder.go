package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Recorder writes one run's log: it sets the number and time of each event. It is safe for concurrent use.
type Recorder struct {
	store eventlog.Store
	now   func() time.Time

	resumed event.State // state of a resumed run when it was resumed

	mu    sync.Mutex
	state event.State
	check event.Check
	taken error          // why another server has the run: the store's [eventlog.ErrConflict] or [ErrTakenOver]; nil: none has
	next  [1]event.Event // buffer for Append, to avoid an allocation for each token
}

// NewRecorder starts a run. It appends the log's first event before it returns.
func NewRecorder(ctx context.Context, store eventlog.Store, now func() time.Time, start event.RunStarted) (*Recorder, error) {
	r := &Recorder{store: store, now: now}
	r.state.Run = start.Run
	return r, r.Emit(ctx, start)
}

// ResumeRecorder continues the log of a run that an earlier process left without a terminal event. A log that breaks the rules
// of [event.Check], or has ended, is an error.
func ResumeRecorder(store eventlog.Store, now func() time.Time, log []event.Event) (*Recorder, error) {
	r := &Recorder{store: store, now: now, resumed: event.Fold(log)}
	for _, e := range log {
		if err := r.check.Next(e); err != nil {
			return nil, fmt.Errorf("resume run: %w", err)
		}
	}
	if len(log) == 0 || r.check.Ended() {
		return nil, fmt.Errorf("resume run: %w", eventlog.ErrEnd)
	}
	r.state = r.resumed
	r.state.Text, r.state.Reasoning, r.state.Citations, r.state.Quoted = nil, nil, nil, nil
	r.state.Searches, r.state.Calls, r.state.Grades = slices.Clone(r.resumed.Searches), slices.Clone(r.resumed.Calls), slices.Clone(r.resumed.Grades)
	r.state.Usage, r.state.Warnings, r.state.Tools = slices.Clone(r.resumed.Usage), slices.Clone(r.resumed.Warnings), slices.Clone(r.resumed.Tools)
	return r, nil
}

// Resumed returns the state of a resumed run when it was resumed, with the text, and the zero state for a new run. Do not change it.
func (r *Recorder) Resumed() event.State { return r.resumed }

// Emit appends an event. An event that violates the rules of [event.Check] is an error and is not written. Emit writes to the store
// even if ctx has ended, since a run that stops still needs its terminal event.
func (r *Recorder) Emit(ctx context.Context, b event.Body) error {
	if err := r.emit(ctx, b); err != nil {
		return err
	}
	switch b.(type) {
	case event.Token, event.Reasoned:
	default:
		// Let the readers that were notified run before the next step, which may use the processor for milliseconds. Tokens are too
		// frequent for that, and can be sent together.
		runtime.Gosched()
	}
	return nil
}

// emit appends events in one step, so that a log has all of them or none.
func (r *Recorder) emit(ctx context.Context, bodies ...event.Body) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken != nil {
		return r.taken
	}
	before, next := r.check, r.next[:0]
	for i, b := range bodies {
		e := r.event(i, b)
		if err := r.check.Next(e); err != nil {
			r.check = before
			return err
		}
		next = append(next, e)
	}
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if err := r.store.Append(ctx, r.state.Run, next...); err != nil {
		r.check = before // the terminal event can still be written if the store recovers
		err = fmt.Errorf("append to run %s: %w", r.state.Run, err)
		if errors.Is(err, eventlog.ErrConflict) {
			r.taken = err // what follows here belongs to another answer
		}
		return err
	}
	for _, e := range next {
		r.state.Seq, r.state.UpdatedAt = e.Seq, e.At
		switch e.Body.(type) {
		case event.Token:
			r.state.Tokens++
		case event.Cited, event.Reasoned:
		default:
			r.state.Apply(e)
		}
	}
	return nil
}

// event returns the event with a body that follows after i others. The caller holds mu.
func (r *Recorder) event(i int, b event.Body) event.Event {
	at := r.now().UTC().Truncate(time.Microsecond)
	if at.Before(r.state.UpdatedAt) {
		at = r.state.UpdatedAt
	}
	return event.Event{Seq: r.state.Seq + 1 + event.Seq(i), At: at, Body: b} //nolint:gosec // a small index
}

// HandOver refuses all further events with [ErrTakenOver], so that another server can continue the run.
func (r *Recorder) HandOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = cmp.Or(r.taken, ErrTakenOver)
}

// takenOver reports whether another server has the run.
func (r *Recorder) takenOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken != nil
}

// Complete reports whether the answer is complete, so that only the end of the run is missing.
func (r *Recorder) Complete() bool { return r.permits(event.RunFinished{}) == nil }

// Continue tells a recorder of [ResumeRecorder] that this process begins to work on the run: the time since its last event is [event.State.Idle].
func (r *Recorder) Continue() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Idle = max(r.now().Sub(r.state.UpdatedAt), 0)
}

// permits returns an error if the event must not be next in the log.
func (r *Recorder) permits(b event.Body) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	check := r.check
	return check.Next(r.event(0, b))
}

// State returns a copy of the state so far, without the answer's text, its citations and the reasoning, which are in the log. Do not
// change it.
func (r *Recorder) State() event.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}
