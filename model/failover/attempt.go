package failover

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-rag/sluice/model"
)

// errReserve ends a request that would leave no time for the next model.
var errReserve = errors.New("no time left but for the next model")

// failure is the last failure of a model in this request.
type failure struct {
	err *model.Error // nil: no failure
	at  time.Time
}

// transient reports whether a retry may succeed.
func (f failure) transient() bool { return f.err != nil && f.err.Failure.Transient() }

// remaining returns how long the model still asks to wait.
func (f failure) remaining() time.Duration { return max(0, f.err.RetryAfter-time.Since(f.at)) }

// attempt is the state of one request to the chain.
type attempt struct {
	chain    *Chain
	request  model.Request
	yield    func(model.Piece, error) bool
	buffered bool // nothing is yielded before a model has finished

	failed      []failure    // the last one of each link
	unreported  []takeover   // failures that nothing has replaced yet
	last        *model.Error // the last failure of a model that was asked
	prefix      []byte       // the text so far
	called      bool         // a tool call was yielded
	interrupted bool         // a model failed in the middle; Resumed is not yielded yet
	done        bool         // the sequence has ended
}

// takeover is a failure that is not reported yet.
type takeover struct {
	err  *model.Error
	name string
}

// started reports whether a model has yielded something that later models must continue.
func (a *attempt) started() bool { return len(a.prefix) > len(a.request.Prefix) || a.called }

// run tries the models, and those with transient failures again.
func (a *attempt) run(ctx context.Context) {
	waits := &backoff.ExponentialBackOff{ // full jitter: from zero to twice the interval
		InitialInterval: a.chain.opts.Backoff / 2, RandomizationFactor: 1, Multiplier: 2, MaxInterval: a.chain.opts.MaxWait,
	}
	for round := range a.chain.opts.Rounds {
		if round > 0 && !a.wait(ctx, waits.NextBackOff()) {
			break
		}
		if a.round(ctx, round > 0); a.done {
			return
		}
		if a.started() {
			a.giveUp(ctx)
			return
		}
	}
	switch {
	case a.done:
	case ctx.Err() != nil:
		a.finish(model.Piece{}, ctx.Err())
	case a.last != nil:
		a.finish(model.Piece{}, a.last)
	default:
		a.finish(model.Piece{}, a.chain.links[0].skipError())
	}
}

// round asks one model after the other until one has answered. After the first round it only asks models with a transient
// failure and models that were skipped. If all of them are skipped, it bypasses the circuit breakers of those that failed in
// this attempt.
func (a *attempt) round(ctx context.Context, again bool) {
	asked := false
	for i, l := range a.chain.links {
		if f := a.failed[i]; again && f.err != nil && !f.transient() {
			continue
		}
		ended, ok := l.admit(ctx)
		if !ok {
			if !again {
				a.unreported = append(a.unreported, takeover{l.skipError(), l.chat.Name()})
			}
			continue
		}
		asked = true
		if a.ask(ctx, i, ended); a.done {
			return
		}
	}
	if asked || !again {
		return
	}
	for i, l := range a.chain.links {
		if f := a.failed[i]; !f.transient() || f.remaining() > 0 {
			continue
		}
		if a.ask(ctx, i, l.bypass()); a.done {
			return
		}
	}
}

// wait waits before the next round: until the first model that is not skipped may be asked again or, if all are skipped, the
// first one with a transient failure. It reports whether there is a next round.
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
		if !f.transient() {
			continue
		}
		shortest := &pause
		if l.open() {
			shortest = &pauseTripped
		}
		if d := max(backOff, f.remaining()); *shortest < 0 || d < *shortest {
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

// ask asks a model once. Afterwards the attempt is done, or the failure of the model is recorded.
func (a *attempt) ask(ctx context.Context, i int, ended func(error)) {
	if ctx.Err() != nil {
		ended(errAbandoned)
		a.finish(model.Piece{}, ctx.Err())
		return
	}
	l := a.chain.links[i]
	a.report(ctx, l.chat.Name())
	t := &try{attempt: a, index: i, verdict: errAbandoned}
	defer func() { ended(t.verdict) }()
	if a.interrupted {
		a.interrupted = false
		a.prefix = withoutOpenMarker(a.prefix)
		if !a.emit(model.Piece{Resumed: true}) {
			return
		}
	}
	r := a.request
	r.Prefix = ""
	if len(a.prefix) > 0 {
		said := string(a.prefix)
		r = continuation(ctx, l, r, said)
		t.splicer = newSplicer(said, func(word string) bool { return mentions(a.request, said, word) })
	}
	err := t.run(ctx, l, a.budget(ctx, i), r)
	if err == nil || a.done {
		return
	}
	if ctx.Err() != nil {
		a.finish(model.Piece{}, ctx.Err())
		return
	}
	t.verdict = err
	a.chain.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "model failed",
		slog.String("model", l.chat.Name()), slog.String("failure", string(err.Failure)), slog.Int("status", err.Status))
	a.failed[i] = failure{err, time.Now()}
	a.last = err
	a.unreported = append(a.unreported, takeover{err, l.chat.Name()})
	a.interrupted = a.interrupted || t.started
	if a.called || t.diverged {
		a.giveUp(ctx)
	}
}

// budget returns how long the model may be silent; 0: no limit.
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

// report reports what takes over from the models that failed.
func (a *attempt) report(ctx context.Context, next string) {
	for _, m := range a.unreported {
		if next == "" && m.err.Failure == model.Skipped {
			continue // nothing took over
		}
		model.Failed(ctx, m.err, m.name, next)
	}
	a.unreported = nil
}

// giveUp ends an answer that no model can continue.
func (a *attempt) giveUp(ctx context.Context) {
	a.report(ctx, "")
	a.finish(model.Piece{Stop: model.StopIncomplete}, nil)
}

// emit yields a piece. It returns false if the consumer has stopped.
func (a *attempt) emit(p model.Piece) bool {
	a.prefix = append(a.prefix, p.Text...)
	a.called = a.called || p.Call != nil
	if !a.yield(p, nil) {
		a.done = true
	}
	return !a.done
}

// finish yields the last piece or error.
func (a *attempt) finish(p model.Piece, err error) {
	if !a.done {
		a.done = true
		a.yield(p, err)
	}
}
