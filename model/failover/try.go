package failover

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/model"
)

// try is one request to one model.
type try struct {
	*attempt
	index    int           // of the link
	splicer  *splicer      // nil if there is no prefix or the splice point is found
	buffer   []model.Piece // yielded when the answer is complete
	timer    *time.Timer   // time limit; nil: none
	started  bool          // text or a tool call was yielded
	diverged bool          // the continuation does not match the prefix
	verdict  error         // outcome for the circuit breaker
}

// run asks the model. It returns nil if the answer has ended or the consumer has stopped.
func (t *try) run(ctx context.Context, l *link, budget time.Duration, r model.Request) *model.Error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if budget > 0 {
		t.timer = time.AfterFunc(budget, func() { cancel(errReserve) })
		defer t.removeTimeLimit()
	}
	name := l.chat.Name()
	for p, err := range l.chat.Complete(own, r) {
		if err != nil {
			if errors.Is(context.Cause(own), errReserve) {
				return stalled(name)
			}
			return asError(err, name)
		}
		if p.Stop != "" {
			return t.stop(p, name)
		}
		if ok, err := t.accept(p, name); !ok {
			return err
		}
	}
	if errors.Is(context.Cause(own), errReserve) {
		return stalled(name)
	}
	return &model.Error{Model: name, Failure: model.Truncated, Cause: errors.New("the sequence ended without a reason")}
}

func stalled(name string) *model.Error {
	return &model.Error{Model: name, Failure: model.Stalled, Cause: errReserve}
}

// asError converts the error of a model.
func asError(err error, name string) *model.Error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	return &model.Error{Model: name, Failure: model.ServerError, Cause: err}
}

// removeTimeLimit lets the model take its time. It returns false if the limit was reached.
func (t *try) removeTimeLimit() bool {
	if t.timer == nil {
		return true
	}
	inTime := t.timer.Stop()
	t.timer = nil
	return inTime
}

// accept yields a piece, or buffers it. It returns false if the model must be stopped.
func (t *try) accept(p model.Piece, name string) (bool, *model.Error) {
	switch {
	case t.buffered:
		t.buffer = append(t.buffer, p)
		return true, nil
	case p.Text != "" && t.splicer != nil:
		out, state := t.splicer.add(p.Text)
		return t.resolve(out, state, name)
	case p.Text != "" || p.Call != nil:
		return t.forward(p, name)
	case p.Reasoning != "":
		return t.emit(p), nil
	}
	return true, nil // a chain inside of this one reports its own takeover
}

// forward yields a piece that later models must continue.
func (t *try) forward(p model.Piece, name string) (bool, *model.Error) {
	if !t.removeTimeLimit() {
		return false, stalled(name)
	}
	if !t.started {
		l := t.chain.links[t.index]
		l.settleProbe(true)
	}
	t.started, t.verdict = true, nil // the model works, even if the consumer stops
	return t.emit(p), nil
}

// resolve acts on the decision of the splicer.
func (t *try) resolve(out string, state splice, name string) (bool, *model.Error) {
	switch state {
	case undecided:
		return true, nil
	case diverged:
		t.diverged = true
		return false, &model.Error{
			Model: name, Failure: model.Malformed, Cause: errors.New("it repeated the answer instead of continuing it"),
		}
	}
	t.splicer = nil
	if out == "" {
		return true, nil
	}
	return t.forward(model.Piece{Text: out}, name)
}

// stop yields the buffered pieces and ends the answer.
func (t *try) stop(p model.Piece, name string) *model.Error {
	t.removeTimeLimit() // the answer is complete
	t.verdict = nil
	if t.splicer != nil {
		out, state := t.splicer.end()
		if ok, err := t.resolve(out, state, name); !ok {
			return err
		}
	}
	for _, h := range t.buffer {
		if !t.emit(h) {
			return nil
		}
	}
	t.finish(p, nil)
	return nil
}
