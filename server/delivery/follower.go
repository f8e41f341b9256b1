package delivery

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// errDeadline says that there was no event until a deadline.
var errDeadline = errors.New("no event until the deadline")

// errWait says that a follower that polls has no events yet.
var errWait = errors.New("no event yet")

// follower waits for the events of a run and loads them, on behalf of one stream. It is for one goroutine.
type follower struct {
	ctx  context.Context // ends with the request, and with over if the follower does not poll
	over context.Context // see [Source]
	log  eventlog.Store
	run  event.RunID

	polls bool      // next does not wait, but returns errWait
	read  event.Seq // last event of the log when it was loaded in this step of a stream that polls; 0: not loaded

	wait   context.Context // ends at the time until
	until  time.Time
	cancel context.CancelFunc
	leave  func() // releases ctx; nil: nothing to release
}

// join makes ctx end with over. It is called before next waits.
func (f *follower) join() {
	ctx, cancel := context.WithCancelCause(f.ctx)
	unregister := context.AfterFunc(f.over, func() { cancel(context.Cause(f.over)) })
	f.ctx, f.leave = ctx, func() {
		unregister()
		cancel(nil)
	}
}

// ended returns the cause with which the request or the run has ended.
func (f *follower) ended() error {
	if f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	return context.Cause(f.over)
}

// next waits for events after a sequence number, until the deadline, and returns them. The zero time is no deadline. Errors: errDeadline,
// [io.EOF] after the terminal event, those of the log, and the cause with which the context ended.
func (f *follower) next(after event.Seq, deadline time.Time) ([]event.Event, error) {
	if f.polls {
		return f.poll(after, deadline)
	}
	for {
		wait := f.ctx
		if !deadline.IsZero() {
			wait = f.waitUntil(deadline)
		}
		err := f.log.Wait(wait, f.run, after)
		late := err != nil && f.ctx.Err() == nil && wait.Err() != nil
		if late && time.Now().Before(deadline) {
			continue
		}
		var events []event.Event
		if err == nil || late {
			events, err = f.log.Load(f.ctx, f.run, after)
		}
		switch {
		case errors.Is(err, eventlog.ErrEnd):
			return nil, io.EOF
		case err != nil && f.ctx.Err() != nil:
			return nil, context.Cause(f.ctx)
		case err != nil || len(events) > 0:
			return events, err
		case late:
			return nil, errDeadline
		}
	}
}

// poll is next without waiting.
func (f *follower) poll(after event.Seq, deadline time.Time) ([]event.Event, error) {
	if err := f.ended(); err != nil {
		return nil, err
	}
	var events []event.Event
	var err error
	if f.read == 0 || after < f.read { // otherwise later events lead to another step
		events, err = f.log.Load(f.ctx, f.run, after)
	}
	switch {
	case errors.Is(err, eventlog.ErrEnd):
		return nil, io.EOF
	case err != nil:
		return nil, cmp.Or(f.ended(), err)
	case len(events) > 0:
		f.read = events[len(events)-1].Seq
		return events, nil
	case !deadline.IsZero() && !time.Now().Before(deadline):
		return nil, errDeadline
	}
	return nil, errWait
}

// waitUntil returns a context that ends at a deadline or before. Most deadlines are later than the one before. So the context is not renewed
// for each call, but when it ends.
func (f *follower) waitUntil(deadline time.Time) context.Context {
	if f.cancel == nil || deadline.Before(f.until) || f.wait.Err() != nil {
		f.stopWait()
		f.wait, f.cancel = context.WithDeadline(f.ctx, deadline)
		f.until = deadline
	}
	return f.wait
}

// stop releases the timer of the last wait, and ctx.
func (f *follower) stop() {
	f.stopWait()
	if f.leave != nil {
		f.leave()
	}
}

func (f *follower) stopWait() {
	if f.cancel != nil {
		f.cancel()
	}
}
