package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Delete deletes a run and all data of it. A run that is being answered is cancelled first, for all of its callers, and Delete
// waits for its end. Errors: [eventlog.ErrNotFound], the store's, ctx's; [errors.ErrUnsupported], if the store cannot delete.
func (e *Engine) Delete(ctx context.Context, id event.RunID) error {
	d, ok := e.o.Store.(eventlog.Deleter)
	if !ok {
		return fmt.Errorf("delete run: %w", errors.ErrUnsupported)
	}
	e.mu.Lock()
	r := e.runs[id]
	live := r.live()
	if live {
		e.cancelRun(r, errCancelled())
	}
	e.mu.Unlock()
	if live {
		select {
		case <-r.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := e.endElsewhere(ctx, id); err != nil {
		return fmt.Errorf("delete run: %w", err)
	}
	e.o.Deleted(id) // before the log, so that a crash leaves no derived data of a run that is gone
	if err := d.Delete(ctx, id); err != nil {
		return fmt.Errorf("delete run: %w", err)
	}
	e.o.Deleted(id) // and after it, for what was derived meanwhile
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.runs[id]; r != nil && r.ephemeral {
		r.timer.Stop()
		delete(e.runs, id)
	}
	return nil
}

// defaultExpiry is how long an ephemeral run is kept after its end if the grace period never ends.
const defaultExpiry = 30 * time.Second

// expireLater deletes an ephemeral run after the grace period, in which a reader whose connection broke may read its end. The
// caller holds mu.
func (e *Engine) expireLater(r *run) {
	wait := e.grace(r)
	if wait < 0 {
		wait = defaultExpiry
	}
	e.runs[r.id] = r
	r.timer = time.AfterFunc(wait, func() { e.expire(r, max(wait, time.Second)) })
}

// expire deletes an ephemeral run that has ended. While it has a reader, or if the store fails, it tries again later.
func (e *Engine) expire(r *run, again time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[r.id] != r {
		return
	}
	if !e.read(r) {
		e.mu.Unlock()
		deleted := e.deleteExpired(r.id)
		e.mu.Lock()
		if deleted && e.runs[r.id] == r {
			delete(e.runs, r.id)
		}
		if e.runs[r.id] != r {
			return
		}
	}
	r.timer.Reset(again)
}

// read reports whether an ephemeral run that has ended has readers, here or on another server. The caller holds mu.
func (e *Engine) read(r *run) bool {
	return e.readers[r.id] > 0 || e.o.Now().Sub(r.readElse) < readKeep
}

// expireAll deletes the ephemeral runs that have ended and have no reader. [Engine.Recover] of the next process deletes the others,
// so that their readers get the end.
func (e *Engine) expireAll() {
	e.mu.Lock()
	var unread []event.RunID
	for id, r := range e.runs {
		if !r.ephemeral || r.live() {
			continue
		}
		r.timer.Stop()
		if !e.read(r) {
			unread = append(unread, id)
		}
		delete(e.runs, id)
	}
	e.mu.Unlock()
	for _, id := range unread {
		e.deleteExpired(id)
	}
}

// deleteExpired deletes the log of an ephemeral run. It returns false if the store failed.
func (e *Engine) deleteExpired(id event.RunID) bool {
	d, ok := e.o.Store.(eventlog.Deleter)
	if !ok {
		return true
	}
	err := d.Delete(context.Background(), id)
	if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		e.o.Logger.Error("delete ephemeral run", "run", id, "error", err)
		return false
	}
	return true
}
