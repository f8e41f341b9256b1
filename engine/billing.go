package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Billing charges runs in two phases. All methods are idempotent by the id of the run, may be called at once, and return after their effect is
// durable. A billing is a store beside the run log, so after a crash either may lack a write that the other has. This is the order of writes:
//
//  1. Authorize holds credits.
//  2. The first event is written, and those that follow. Those of a run with a hold are synced: see [eventlog.Syncer].
//  3. Settle posts the charge; or else, Refund releases the hold.
//  4. Settled and RunFinished are written; or else, RunFailed is.
//
// The third write decides whether the run costs something, and [Engine.Recover] does what is missing after it. Package ledger implements Billing.
type Billing interface {
	// Authorize holds the most that the run may cost. An error of code [fault.Payment] means that the account cannot pay it.
	Authorize(ctx context.Context, start event.RunStarted) error
	// Settle posts the charge of a run whose answer is complete; nil: nobody pays. After a success, the run is finished. A repeated call returns the same.
	// If the run has a hold, Settle calls durable before it posts, and posts nothing if that fails.
	Settle(ctx context.Context, s event.State, durable func(context.Context) error) (*event.Settled, error)
	// Payment returns how far the payment of a run is.
	Payment(ctx context.Context, id event.RunID) (event.Payment, error)
	// Refund makes a run that failed cost nothing, even if its charge was posted.
	Refund(ctx context.Context, id event.RunID) error
	// Void releases the hold of a run, if it has one.
	Void(ctx context.Context, id event.RunID) error
	// Holds returns the runs that hold credits.
	Holds(ctx context.Context) ([]event.RunID, error)
}

// free is the billing of an engine whose runs cost nothing.
type free struct{}

func (free) Authorize(context.Context, event.RunStarted) error { return nil }
func (free) Settle(context.Context, event.State, func(context.Context) error) (*event.Settled, error) {
	return nil, nil //nolint:nilnil // nobody pays
}
func (free) Payment(context.Context, event.RunID) (event.Payment, error) { return event.Unpaid, nil }
func (free) Refund(context.Context, event.RunID) error                   { return nil }
func (free) Void(context.Context, event.RunID) error                     { return nil }
func (free) Holds(context.Context) ([]event.RunID, error)                { return nil, nil }

// begin holds the credits for a run that was asked for at a time, and writes its first event.
func (e *Engine) begin(ctx context.Context, start event.RunStarted, asked time.Time) (rec *answer.Recorder, err error) {
	if err = e.o.Billing.Authorize(ctx, start); err == nil {
		start.Waited = event.MillisOf(e.o.Now().Sub(asked))
		rec, err = answer.NewRecorder(ctx, e.o.Store, e.o.Now, start)
	}
	if err != nil {
		e.void(ctx, start.Run)
		return nil, err
	}
	return rec, nil
}

// settle charges a run. A loss of power must not take the answer of a run that was charged, so the log of a run that may cost something is
// synced before.
func (e *Engine) settle(ctx context.Context, s event.State) (*event.Settled, error) {
	return e.o.Billing.Settle(ctx, s, func(ctx context.Context) error {
		if syncer, ok := e.o.Store.(eventlog.Syncer); ok {
			return syncer.Sync(ctx, s.Run)
		}
		return nil
	})
}

// refund makes a run that fails cost nothing.
func (e *Engine) refund(ctx context.Context, id event.RunID) {
	e.undo(ctx, id, "refund", e.o.Billing.Refund)
}

// void releases the hold of a run that did not start.
func (e *Engine) void(ctx context.Context, id event.RunID) { e.undo(ctx, id, "void", e.o.Billing.Void) }

// The pauses between attempts of the billing to undo a payment.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
)

// undo undoes a payment. If the billing fails, for example because another process has locked the ledger, undo repeats it in the background for
// about a minute, unless the engine is closed and cannot wait. After that, the next [Engine.Recover] does it.
func (e *Engine) undo(ctx context.Context, id event.RunID, what string, do func(context.Context, event.RunID) error) {
	ctx = context.WithoutCancel(ctx)
	err := do(ctx, id)
	if err == nil {
		return
	}
	e.o.Logger.Warn("a payment could not be undone yet", "run", id, "action", what, "error", err)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing && len(e.runs) == 0 {
		return // nobody waits
	}
	e.wg.Go(func() {
		for pause := firstPause; err != nil && pause <= lastPause; pause *= 2 {
			select {
			case <-time.After(pause):
				err = do(ctx, id)
			case <-e.hurry.Done():
				return
			}
		}
		if err != nil {
			e.o.Logger.Error("a payment could not be undone", "run", id, "action", what, "error", err)
		}
	})
}

// startTimeout is how long a hold or the mark of a server can exist before the first event of its run is written. Another server may write it.
const startTimeout = 2 * time.Minute

// recoverHolds releases the holds of runs that an earlier process did not start or whose failure is in the log. If there are other servers, a run
// that was not started is one that has no log after startTimeout.
func (e *Engine) recoverHolds(ctx context.Context, archive eventlog.Archive) error {
	holds, err := e.o.Billing.Holds(ctx)
	if err != nil {
		return fmt.Errorf("recover holds: %w", err)
	}
	unstarted := map[event.RunID]time.Time{}
	for _, id := range holds {
		e.mu.Lock()
		own := e.runs[id] != nil // this process answers it
		since := e.peers.unstarted[id]
		e.mu.Unlock()
		if own {
			continue
		}
		s, err := archive.Summary(ctx, id)
		if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
			return fmt.Errorf("recover holds: %w", err)
		}
		now := e.o.Now()
		switch {
		case err == nil && !s.Ended:
		case err == nil || e.o.Peers == nil || !since.IsZero() && now.Sub(since) >= startTimeout:
			e.void(ctx, id) // one that was charged has no hold
		case since.IsZero():
			unstarted[id] = now
		default:
			unstarted[id] = since
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.peers.unstarted = unstarted
	return nil
}
