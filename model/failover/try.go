package failover

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/model"
)

// try is one model being asked once.
type try struct {
	*attempt
	place   int           // of its link
	seam    *seam         // where it goes on after what was said; nil once that is found, or if nothing was said
	held    []model.Piece // given once it has ended
	timer   *time.Timer   // ends it; nil: nothing does, or no longer
	gave    bool          // it has given text or a tool call
	strayed bool          // it said something else than what was said
	verdict error         // what its breaker is told
}

// run asks the model. It gives nil if the answer has ended, also because nobody listens.
func (t *try) run(ctx context.Context, l *link, budget time.Duration, r model.Request) *model.Error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if budget > 0 {
		t.timer = time.AfterFunc(budget, func() { cancel(errReserve) })
		defer t.lift()
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
		if ok, err := t.take(p, name); !ok {
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

// asError makes what a model returned an Error.
func asError(err error, name string) *model.Error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	return &model.Error{Model: name, Failure: model.ServerError, Cause: err}
}

// lift lets the model take all the time there is. It is false if its time was over.
func (t *try) lift() bool {
	if t.timer == nil {
		return true
	}
	inTime := t.timer.Stop()
	t.timer = nil
	return inTime
}

// take gives a piece of the answer, or keeps it until it may be given. It is false if the model is not to go on.
func (t *try) take(p model.Piece, name string) (bool, *model.Error) {
	switch {
	case t.hold:
		t.held = append(t.held, p)
		return true, nil
	case p.Text != "" && t.seam != nil:
		out, state := t.seam.add(p.Text)
		return t.join(out, state, name)
	case p.Text != "" || p.Call != nil:
		return t.pass(p, name)
	case p.Reasoning != "":
		return t.give(p), nil
	}
	return true, nil // a model's own Resumed is none of ours
}

// pass gives a piece that binds the models that follow.
func (t *try) pass(p model.Piece, name string) (bool, *model.Error) {
	if !t.lift() {
		return false, stalled(name)
	}
	if !t.gave {
		l := t.chain.links[t.place]
		l.shown(true)
	}
	t.gave, t.verdict = true, nil // from here on the model has shown that it works, even if nobody listens to the end
	return t.give(p), nil
}

// join goes on by what the seam says.
func (t *try) join(out string, state joint, name string) (bool, *model.Error) {
	switch state {
	case pending:
		return true, nil
	case astray:
		t.strayed = true
		return false, &model.Error{
			Model: name, Failure: model.Malformed, Cause: errors.New("it did not go on with what was said but told it again"),
		}
	}
	t.seam = nil
	if out == "" {
		return true, nil
	}
	return t.pass(model.Piece{Text: out}, name)
}

// stop ends the answer, after all that was kept.
func (t *try) stop(p model.Piece, name string) *model.Error {
	t.lift() // an answer that is there is not late
	t.verdict = nil
	if t.seam != nil {
		out, state := t.seam.end()
		if ok, err := t.join(out, state, name); !ok {
			return err
		}
	}
	for _, h := range t.held {
		if !t.give(h) {
			return nil
		}
	}
	t.end(p, nil)
	return nil
}
