package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Billing charges runs in two phases. All methods are idempotent by the id of the run, may be called at once, and return after their effect is
// durable. A billing is a store beside the run log, so after a crash either may lack a write that the other has. This is the order of writes:
//
//  1. Authorize holds credits.
//  2. The first event is written, and those that follow.
//  3. Settle posts the charge; or else, RunFailed is written.
//  4. Settled and RunFinished are written; or else, Refund releases the hold.
//
// The third write decides whether the run costs something, and [Engine.Recover] does what is missing after it. Package ledger implements Billing.
type Billing interface {
	// Authorize holds the most that the run may cost. An error of code [fault.Payment] means that the account cannot pay it.
	Authorize(ctx context.Context, start event.RunStarted) error
	// Settle posts the charge of a run whose answer is complete; nil: nobody pays. After a success, the run is finished. A repeated call returns the same.
	Settle(ctx context.Context, s event.State) (*event.Settled, error)
	// Settled reports whether the charge of a run was posted.
	Settled(ctx context.Context, id event.RunID) (bool, error)
	// Refund makes a run that failed cost nothing, even if its charge was posted.
	Refund(ctx context.Context, id event.RunID) error
	// Void releases the hold of a run, if it has one.
	Void(ctx context.Context, id event.RunID) error
	// Holds returns the runs that hold credits.
	Holds(ctx context.Context) ([]event.RunID, error)
}

// free is the billing of an engine whose runs cost nothing.
type free struct{}

func (free) Authorize(context.Context, event.RunStarted) error           { return nil }
func (free) Settle(context.Context, event.State) (*event.Settled, error) { return nil, nil } //nolint:nilnil // nobody pays
func (free) Settled(context.Context, event.RunID) (bool, error)          { return false, nil }
func (free) Refund(context.Context, event.RunID) error                   { return nil }
func (free) Void(context.Context, event.RunID) error                     { return nil }
func (free) Holds(context.Context) ([]event.RunID, error)                { return nil, nil }

// begin holds the credits for a run and writes its first event.
func (e *Engine) begin(ctx context.Context, start event.RunStarted) (rec *answer.Recorder, err error) {
	if err = e.o.Billing.Authorize(ctx, start); err == nil {
		rec, err = answer.NewRecorder(ctx, e.o.Store, e.o.Now, start)
	}
	if err != nil {
		e.void(ctx, start.Run)
		return nil, err
	}
	return rec, nil
}

// refund makes a run that failed cost nothing. If the billing fails, the next [Engine.Recover] does it.
func (e *Engine) refund(ctx context.Context, id event.RunID) {
	if err := e.o.Billing.Refund(context.WithoutCancel(ctx), id); err != nil {
		e.o.Logger.Error("a run that failed could not be refunded", "run", id, "error", err)
	}
}

// void releases the hold of a run that did not start. If the billing fails, the next [Engine.Recover] does it.
func (e *Engine) void(ctx context.Context, id event.RunID) {
	if err := e.o.Billing.Void(context.WithoutCancel(ctx), id); err != nil {
		e.o.Logger.Error("a run that did not start still holds credits", "run", id, "error", err)
	}
}

// finishSettled finishes a run that was charged before its process ended. It reports whether the run was charged.
func (e *Engine) finishSettled(ctx context.Context, rec *answer.Recorder) (bool, error) {
	settled, err := e.o.Billing.Settled(ctx, rec.State().Run)
	if err != nil || !settled {
		return false, err
	}
	return true, answer.Run(ctx, completeAnswerer{}, rec, answer.Ending{Settle: e.o.Billing.Settle})
}

// completeAnswerer is the answerer of runs whose answer is complete.
type completeAnswerer struct{}

// Answer implements [answer.Answerer].
func (completeAnswerer) Answer(context.Context, *answer.Recorder) error { return nil }

// recoverHolds releases the holds of runs that an earlier process did not start or whose failure is in the log.
func (e *Engine) recoverHolds(ctx context.Context, archive eventlog.Archive) error {
	holds, err := e.o.Billing.Holds(ctx)
	if err != nil {
		return fmt.Errorf("recover holds: %w", err)
	}
	for _, id := range holds {
		e.mu.Lock()
		own := e.runs[id] != nil // this process answers it
		e.mu.Unlock()
		if own {
			continue
		}
		s, err := archive.Summary(ctx, id)
		if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
			return fmt.Errorf("recover holds: %w", err)
		}
		if err != nil || s.Ended { // one that was charged has no hold
			e.void(ctx, id)
		}
	}
	return nil
}
