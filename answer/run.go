package answer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Answerer answers a question. It emits all events between the run's first event and its terminal event, and returns the error that
// ended it early, if any. [Pipeline] implements it. The log of a run that is resumed after a restart has events already: see
// [Recorder.Resumed].
type Answerer interface {
	Answer(ctx context.Context, r *Recorder) error
}

// Run answers the recorder's question and ends its log exactly once: on success, error, panic, deadline or cancellation. It calls
// answered, if not nil, before it writes the terminal event. The error is for logs, since the terminal event has its public form.
// [ErrNoEnd] means that the terminal event could not be written.
func Run(ctx context.Context, a Answerer, r *Recorder, answered func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("answer run: panic: %v\n%s", p, debug.Stack())
		}
		if answered != nil {
			answered()
		}
		err = end(ctx, r, err)
	}()
	return a.Answer(ctx, r)
}

// ErrNoEnd means that the store refused the terminal event, so that the log looks like that of a live run.
var ErrNoEnd = errors.New("the run's end could not be written")

// end writes the terminal event for err and ctx, unless the answerer has written one. It first ends a generation that was started.
func end(ctx context.Context, r *Recorder, err error) error {
	if r.State().Status != event.Running {
		return err
	}
	if err == nil {
		if err = r.Emit(ctx, event.RunFinished{}); err == nil {
			return nil
		}
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
	if werr := r.Emit(context.WithoutCancel(ctx), event.RunFailed{Code: public.Code, Message: public.Message}); werr != nil {
		return errors.Join(err, werr, ErrNoEnd)
	}
	switch public.Code {
	case fault.Cancelled, fault.Timeout, fault.NoDocuments, fault.Unavailable:
		return nil // the run's log has the error, and an operator has nothing to do
	}
	return err
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
