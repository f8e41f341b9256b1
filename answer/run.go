package answer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// Answerer answers a question. It emits all events between the run's first event and its terminal event, and returns the error that
// ended it early, if any. [Pipeline] implements it. The log of a run that is resumed after a restart has events already: see
// [Recorder.Resumed].
type Answerer interface {
	Answer(ctx context.Context, r *Recorder) error
}

// Ending is what [Run] does before it writes the terminal event. The functions may be nil.
type Ending struct {
	Answered func() // called when the answer is complete or has failed
	// Settle charges a run whose answer is complete, and returns the settlement for its log, or nil. It is called with the state of the run. A run
	// that was charged is finished whatever happens, so a repeated call for the same run must return the same settlement.
	Settle func(context.Context, event.State) (*event.Settled, error)
	// Refund makes a run that fails cost nothing. It is called before the terminal event is written, so that the
	// credits are available again when a client reads that event.
	Refund func(context.Context, event.RunID)
	// Shared calls Refund after the terminal event: another server that has taken the run over, so that the event is refused, may charge it.
	Shared bool
}

// Run answers the recorder's question and ends its log exactly once: on success, error, panic, deadline or cancellation. The error is for
// logs, since the terminal event has its public form. [ErrNoEnd] means that the terminal event could not be written, and [ErrTakenOver] that another
// server answers the run.
func Run(ctx context.Context, a Answerer, r *Recorder, ending Ending) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("answer run: panic: %v\n%s", p, debug.Stack())
		}
		if ending.Answered != nil {
			ending.Answered()
		}
		err = end(ctx, r, ending, err)
	}()
	return a.Answer(ctx, r)
}

// ErrNoEnd means that the store refused the terminal event, so that the log looks like that of a live run.
var ErrNoEnd = errors.New("the run's end could not be written")

// ErrTakenOver means that another server has taken the run over. It answers and charges the run, and this server has changed nothing since.
var ErrTakenOver = errors.New("another server has taken the run over")

// end writes the terminal event for err and ctx, unless the answerer has written one. It first ends a generation that was started.
func end(ctx context.Context, r *Recorder, ending Ending, err error) error {
	if r.State().Status != event.Running {
		return err
	}
	if err == nil && !r.takenOver() {
		err = finish(ctx, r, ending)
		if err == nil {
			return nil
		}
	}
	if r.takenOver() || errors.Is(err, eventlog.ErrConflict) {
		return ErrTakenOver
	}
	if errors.Is(err, ErrNoEnd) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		err = cause
	}
	public := fault.Public(err)
	s := r.State()
	if s.Generation != nil && s.Stop == "" {
		if werr := r.Emit(context.WithoutCancel(ctx), event.GenerationFinished{Reason: reason(public.Code)}); werr != nil {
			err = errors.Join(err, werr)
		}
	}
	werr := fail(ctx, r, ending, event.RunFailed{Code: public.Code, Message: public.Message})
	if r.takenOver() {
		return ErrTakenOver
	}
	if werr != nil {
		return errors.Join(err, werr, ErrNoEnd)
	}
	switch public.Code {
	case fault.Cancelled, fault.Timeout, fault.NoDocuments, fault.Unavailable:
		return nil // the run's log has the error, and an operator has nothing to do
	}
	return err
}

// fail writes the terminal event of a run that failed, and makes the run cost nothing.
func fail(ctx context.Context, r *Recorder, ending Ending, failed event.RunFailed) error {
	ctx = context.WithoutCancel(ctx)
	refund := func() {
		if ending.Refund != nil {
			ending.Refund(ctx, r.State().Run)
		}
	}
	if !ending.Shared {
		refund()
		return r.Emit(ctx, failed)
	}
	err := r.Emit(ctx, failed)
	if err == nil {
		refund()
	}
	return err
}

// finish charges a run and writes its last events in one append. If the store refuses them after the charge, the run must not fail: a recovery
// writes them.
func finish(ctx context.Context, r *Recorder, ending Ending) error {
	settled := r.State().Settlement
	if settled != nil || ending.Settle == nil {
		return unended(r.Emit(ctx, event.RunFinished{}), settled)
	}
	if err := r.permits(event.RunFinished{}); err != nil {
		return err
	}
	settled, err := ending.Settle(ctx, r.State())
	if err != nil {
		return err
	}
	if settled == nil {
		return r.Emit(ctx, event.RunFinished{})
	}
	return unended(r.emit(ctx, *settled, event.RunFinished{}), settled)
}

// unended adds [ErrNoEnd] to an error of writing the end of a run that was charged.
func unended(err error, settled *event.Settled) error {
	if err == nil || settled == nil {
		return err
	}
	return errors.Join(err, ErrNoEnd)
}

func reason(code fault.Code) string {
	switch code {
	case fault.Timeout:
		return "timeout"
	case fault.Cancelled:
		return "cancelled"
	}
	return "error"
}
