package failover

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-rag/sluice/model"
)

// errReserve ends a try that would leave no time to the next model.
var errReserve = errors.New("no time left but for the next model")

// failure is how a model failed in this attempt.
type failure struct {
	err *model.Error // nil: it did not, or was not asked
	at  time.Time
}

// passes tells whether asking the model again may help.
func (f failure) passes() bool { return f.err != nil && f.err.Failure.Transient() }

// ready gives how long to leave the model alone from now on, if it says so.
func (f failure) ready() time.Duration { return max(0, f.err.RetryAfter-time.Since(f.at)) }

// attempt is one request making its way along the chain.
type attempt struct {
	chain   *Chain
	request model.Request
	yield   func(model.Piece, error) bool
	hold    bool // nothing is given before a model has ended

	failed []failure    // of each link, its last
	untold []moved      // failures in whose place nothing has come yet
	last   *model.Error // of a model that was asked
	said   []byte       // the text that was given
	called bool         // a tool call was given
	broken bool         // a model broke off, and that was not said yet
	over   bool         // the sequence has ended
}

// moved is a failure to be told.
type moved struct {
	err  *model.Error
	name string
}

// begun tells whether a model has given something that binds the models after it.
func (a *attempt) begun() bool { return len(a.said) > len(a.request.Prefix) || a.called }

// run goes through the models, and through those whose failure passes again.
func (a *attempt) run(ctx context.Context) {
	waits := &backoff.ExponentialBackOff{ // an interval of ±100 %: from nothing to twice the interval
		InitialInterval: a.chain.opts.Backoff / 2, RandomizationFactor: 1, Multiplier: 2, MaxInterval: a.chain.opts.MaxWait,
	}
	for round := range a.chain.opts.Rounds {
		if round > 0 && !a.wait(ctx, waits.NextBackOff()) {
			break
		}
		if a.round(ctx, round > 0); a.over {
			return
		}
		if a.begun() {
			a.giveUp(ctx)
			return
		}
	}
	switch {
	case a.over:
	case ctx.Err() != nil:
		a.end(model.Piece{}, ctx.Err())
	case a.last != nil:
		a.end(model.Piece{}, a.last)
	default:
		a.end(model.Piece{}, a.chain.links[0].skip())
	}
}

// round asks one model after the other until one has answered. In rounds after the first only those are asked whose failure
// passes or that were skipped before, and if all of them are being skipped, those that this attempt saw fail all the same.
func (a *attempt) round(ctx context.Context, again bool) {
	asked := false
	for i, l := range a.chain.links {
		if f := a.failed[i]; again && f.err != nil && !f.passes() {
			continue
		}
		ended, ok := l.admit(ctx)
		if !ok {
			if !again {
				a.untold = append(a.untold, moved{l.skip(), l.chat.Name()})
			}
			continue
		}
		asked = true
		if a.ask(ctx, i, ended); a.over {
			return
		}
	}
	if asked || !again {
		return
	}
	for i, l := range a.chain.links {
		if f := a.failed[i]; !f.passes() || f.ready() > 0 {
			continue
		}
		if a.ask(ctx, i, l.force()); a.over {
			return
		}
	}
}

// wait lets time pass before the next round: until the first model may be asked again that is not being skipped, or, if
// all of them are, the first whose failure passes. It tells whether there is a next round.
func (a *attempt) wait(ctx context.Context, backOff time.Duration) bool {
	allowed := a.chain.opts.MaxWait
	if deadline, ok := ctx.Deadline(); ok {
		allowed = min(allowed, time.Until(deadline)-a.chain.opts.Reserve)
	}
	if allowed <= 0 {
		return false
	}
	backOff = min(backOff, allowed)
	pause, pauseTripped := time.Duration(-1), time.Duration(-1)
	for i, l := range a.chain.links {
		f := a.failed[i]
		if !f.passes() {
			continue
		}
		shortest := &pause
		if l.tripped() {
			shortest = &pauseTripped
		}
		if d := max(backOff, f.ready()); *shortest < 0 || d < *shortest {
			*shortest = d
		}
	}
	if pause < 0 {
		pause = pauseTripped
	}
	if pause < 0 || pause > allowed {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask asks a model once. Afterwards the attempt is over, or the model has failed and is among the failed.
func (a *attempt) ask(ctx context.Context, i int, ended func(error)) {
	if ctx.Err() != nil {
		ended(errAbandoned)
		a.end(model.Piece{}, ctx.Err())
		return
	}
	l := a.chain.links[i]
	a.tell(ctx, l.chat.Name())
	t := &try{attempt: a, place: i, verdict: errAbandoned}
	defer func() { ended(t.verdict) }()
	if a.broken {
		a.broken = false
		a.said = whole(a.said)
		if !a.give(model.Piece{Resumed: true}) {
			return
		}
	}
	r := a.request
	r.Prefix = ""
	if len(a.said) > 0 {
		said := string(a.said)
		r = resume(ctx, l, r, said)
		t.seam = newSeam(said, func(word string) bool { return mentions(a.request, said, word) })
	}
	err := t.run(ctx, l, a.budget(ctx, i), r)
	if err == nil || a.over {
		return
	}
	if ctx.Err() != nil {
		a.end(model.Piece{}, ctx.Err())
		return
	}
	t.verdict = err
	a.chain.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "model failed",
		slog.String("model", l.chat.Name()), slog.String("failure", string(err.Failure)), slog.Int("status", err.Status))
	a.failed[i] = failure{err, time.Now()}
	a.last = err
	a.untold = append(a.untold, moved{err, l.chat.Name()})
	a.broken = a.broken || t.gave
	if a.called || t.strayed {
		a.giveUp(ctx)
	}
}

// budget gives how long the model of the link may say nothing; 0: for ever.
func (a *attempt) budget(ctx context.Context, i int) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	for _, l := range a.chain.links[i+1:] {
		if !l.skipped() {
			left := time.Until(deadline)
			return max(left-a.chain.opts.Reserve, left/2, 1)
		}
	}
	return 0
}

// tell says what takes the place of the models that failed.
func (a *attempt) tell(ctx context.Context, next string) {
	for _, m := range a.untold {
		if next == "" && m.err.Failure == model.Skipped {
			continue // nothing took its place
		}
		model.Failed(ctx, m.err, m.name, next)
	}
	a.untold = nil
}

// giveUp ends an answer that was begun and that nobody can go on with.
func (a *attempt) giveUp(ctx context.Context) {
	a.tell(ctx, "")
	a.end(model.Piece{Stop: model.StopIncomplete}, nil)
}

// give yields a piece, and false if nobody listens any more.
func (a *attempt) give(p model.Piece) bool {
	a.said = append(a.said, p.Text...)
	a.called = a.called || p.Call != nil
	if !a.yield(p, nil) {
		a.over = true
	}
	return !a.over
}

// end yields the last piece or error.
func (a *attempt) end(p model.Piece, err error) {
	if !a.over {
		a.over = true
		a.yield(p, err)
	}
}
