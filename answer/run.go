package answer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Answerer answers a question: it emits everything between the run's first event and its terminal event, and returns
// what ended it early, if anything did. [Pipeline] is the one that there is. The log of a run that is resumed after a restart holds
// events already: see [Recorder.Past].
type Answerer interface {
	Answer(ctx context.Context, r *Recorder) error
}

// Run answers the recorder's question and ends its log exactly once: on success, error, panic, deadline or cancel. Answered,
// if not nil, is called when only the end is left to write. An error that it returns is for logs: it was written to the
// run in its public form; [ErrNoEnd] says that this could not be done.
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

// ErrNoEnd says that the store took no terminal event, so that the log of a run that is over looks like that of a live one.
var ErrNoEnd = errors.New("the run's end could not be written")

// end writes the terminal event that err and ctx ask for, unless the answerer has written one. A generation that was begun
// is closed first.
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
		return nil // told in the run, and nothing for an operator to do
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
