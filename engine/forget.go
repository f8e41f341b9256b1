package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Delete removes a run and all that is kept of it. One that is still being answered is cancelled first, for all who asked for it, and
// waited for. Errors: [eventlog.ErrNotFound], the store's, ctx's; [errors.ErrUnsupported], if the store cannot delete.
func (e *Engine) Delete(ctx context.Context, id event.RunID) error {
	d, ok := e.o.Store.(eventlog.Deleter)
	if !ok {
		return fmt.Errorf("delete run: %w", errors.ErrUnsupported)
	}
	e.mu.Lock()
	r := e.live[id]
	if r != nil {
		e.unshare(r)
		r.cancel(errCancelled())
	}
	e.mu.Unlock()
	if r != nil {
		select {
		case <-r.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := d.Delete(ctx, id); err != nil {
		return fmt.Errorf("delete run: %w", err)
	}
	e.o.Deleted(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.fading[id]; r != nil {
		r.grace.Stop()
		delete(e.fading, id)
	}
	return nil
}

// known gives a run that is live, or that is yet to be forgotten.
func (e *Engine) known(id event.RunID) *run {
	if r := e.live[id]; r != nil {
		return r
	}
	return e.fading[id]
}

// fade deletes an ephemeral run that ended after a grace period, in which a reader that was cut off may come back for its end.
func (e *Engine) fade(r *run) {
	wait := e.grace(r)
	if wait < 0 {
		wait = 30 * time.Second
	}
	e.fading[r.id] = r
	r.grace = time.AfterFunc(wait, func() { e.expire(r, max(wait, time.Second)) })
}

// expire deletes an ephemeral run, or tries again later while somebody reads it or if the store fails.
func (e *Engine) expire(r *run, again time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fading[r.id] != r {
		return
	}
	if r.readers == 0 {
		e.mu.Unlock()
		done := e.remove(context.Background(), r.id)
		e.mu.Lock()
		if done {
			delete(e.fading, r.id)
		}
		if e.fading[r.id] != r {
			return
		}
	}
	r.grace.Reset(again)
}

// expireAll deletes the ephemeral runs that have ended and are not being read. The others are left to [Engine.Recover] of the next
// process, so that their readers get the end.
func (e *Engine) expireAll() {
	e.mu.Lock()
	var unread []event.RunID
	for id, r := range e.fading {
		r.grace.Stop()
		if r.readers == 0 {
			unread = append(unread, id)
		}
	}
	clear(e.fading)
	e.mu.Unlock()
	for _, id := range unread {
		e.remove(context.Background(), id)
	}
}

// recoverEphemeral deletes an ephemeral run that an earlier process left, after a grace period for its readers.
func (e *Engine) recoverEphemeral(id event.RunID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known(id) == nil && !e.closing {
		e.fade(&run{id: id, recovered: true})
	}
}

// remove deletes an ephemeral run. False: the store failed.
func (e *Engine) remove(ctx context.Context, id event.RunID) bool {
	d, ok := e.o.Store.(eventlog.Deleter)
	if !ok {
		return true
	}
	err := d.Delete(ctx, id)
	if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		e.o.Logger.Error("delete ephemeral run", "run", id, "error", err)
		return false
	}
	return true
}
