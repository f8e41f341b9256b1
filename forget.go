package sluice

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

// fade lets a run that ended be forgotten after a grace period, in which a reader that was cut off may come back for its end.
func (e *Engine) fade(r *run) {
	wait := e.o.Grace
	if wait < 0 {
		wait = 30 * time.Second
	}
	e.fading[r.id] = r
	r.grace = time.AfterFunc(wait, func() { e.forget(r, wait) })
}

// forget removes a run, or looks again later while somebody reads it.
func (e *Engine) forget(r *run, wait time.Duration) {
	e.mu.Lock()
	if e.fading[r.id] != r {
		e.mu.Unlock()
		return
	}
	if r.readers > 0 {
		r.grace.Reset(max(wait, time.Second))
		e.mu.Unlock()
		return
	}
	delete(e.fading, r.id)
	e.mu.Unlock()
	e.remove(context.Background(), r.id)
}

// forgetAll removes the runs that are yet to be forgotten.
func (e *Engine) forgetAll() {
	e.mu.Lock()
	fading := e.fading
	e.fading = map[event.RunID]*run{}
	e.mu.Unlock()
	for id, r := range fading {
		r.grace.Stop()
		e.remove(context.Background(), id)
	}
}

func (e *Engine) remove(ctx context.Context, id event.RunID) {
	d, ok := e.o.Store.(eventlog.Deleter)
	if !ok {
		return
	}
	if err := d.Delete(ctx, id); err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		e.o.Logger.Error("a run that was not to be kept could not be removed", "run", id, "error", err)
	}
}
