package failover

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/sluice-rag/sluice/model"
)

const (
	maxFailures   = 3               // failures in a row that open the circuit breaker
	maxRetryAfter = 5 * time.Minute // for which a model may ask to be skipped
	probeWait     = time.Second / 4 // for which requests wait for the outcome of the first one
)

// errAbandoned ends a request whose outcome says nothing about the model.
var errAbandoned = errors.New("abandoned")

type breaker = gobreaker.TwoStepCircuitBreaker[struct{}]

// link is a model of the chain with its health. Its methods may be called concurrently.
type link struct {
	chat     model.Chat
	cooldown time.Duration

	mu      sync.Mutex
	reached bool          // a request succeeded before; the circuit breaker is enough from then on
	probing chan struct{} // closed when the probe ends; nil: none is running
	breaker *breaker
	until   time.Time // rate limited until then
	limits  model.Limits
	failed  *model.Error // the last failure that counted; nil: none
}

func newLink(chat model.Chat, cooldown time.Duration) *link {
	return &link{chat: chat, cooldown: cooldown, breaker: newBreaker(cooldown)}
}

// newBreaker returns a circuit breaker that opens at once for failures that a retry does not change, and for others after
// several in a row.
func newBreaker(cooldown time.Duration) *breaker {
	grave := false // of the last failure: the breaker calls IsSuccessful and then ReadyToTrip under one lock
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     cooldown,
		IsExcluded:  func(err error) bool { return errors.Is(err, errAbandoned) },
		IsSuccessful: func(err error) bool {
			f := failureOf(err)
			grave = f == model.Unreachable || f == model.Unauthorized
			return err == nil || provesReachable(f)
		},
		ReadyToTrip: func(n gobreaker.Counts) bool { return grave || n.ConsecutiveFailures >= maxFailures },
	})
}

func failureOf(err error) model.Failure {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e.Failure
	}
	return ""
}

// provesReachable reports whether a failure shows that the model works: it rejected this request, or its answer was not usable.
func provesReachable(f model.Failure) bool {
	switch f {
	case model.TooLong, model.Rejected, model.Malformed, model.Empty, model.Skipped:
		return true
	}
	return false
}

// admit reports whether the circuit breaker lets a request through. The caller must report its outcome: nil, a [model.Error] or
// errAbandoned.
//
// While nothing is known of the model, one request probes it and the others wait for a moment, so that an unreachable model
// costs one attempt.
func (l *link) admit(ctx context.Context) (ended func(error), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := l.probing; !l.reached && first != nil {
		l.mu.Unlock()
		timer := time.NewTimer(probeWait)
		select {
		case <-first:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		l.mu.Lock()
	}
	if time.Now().Before(l.until) {
		return nil, false
	}
	done, err := l.breaker.Allow()
	if err != nil {
		return nil, false
	}
	if !l.reached && l.probing == nil {
		l.probing = make(chan struct{})
	}
	return func(err error) {
		done(err)
		l.remember(err)
		l.honourRetryAfter(err)
		l.settleProbe(err == nil || provesReachable(failureOf(err)))
	}, true
}

// settleProbe ends the probe. Reached reports that the model works.
func (l *link) settleProbe(reached bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reached = l.reached || reached
	if l.probing != nil {
		close(l.probing)
		l.probing = nil
	}
}

// bypass lets a request through an open circuit breaker. Success closes it.
func (l *link) bypass() (ended func(error)) {
	return func(err error) {
		if err == nil {
			l.mu.Lock()
			l.breaker = newBreaker(l.cooldown)
			l.mu.Unlock()
		}
		l.remember(err)
		l.honourRetryAfter(err)
	}
}

// remember stores the last failure.
func (l *link) remember(err error) {
	e, ok := errors.AsType[*model.Error](err)
	if err != nil && (!ok || provesReachable(e.Failure)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = e
}

// skipError returns the error of a request that is not sent, with the last failure of the model.
func (l *link) skipError() *model.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &model.Error{Model: l.chat.Name(), Failure: model.Skipped}
	if l.failed != nil {
		e.SkipReason, e.Status, e.Reason = l.failed.Failure, l.failed.Status, l.failed.Reason
	}
	return e
}

// honourRetryAfter skips the model for as long as it asks.
func (l *link) honourRetryAfter(err error) {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Failure != model.RateLimited || e.RetryAfter <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(min(e.RetryAfter, maxRetryAfter)); until.After(l.until) {
		l.until = until
	}
}

// open reports whether the circuit breaker is open.
func (l *link) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.breaker.State() == gobreaker.StateOpen
}

// skipped reports whether the next request would be refused. It ignores the probe after the cooldown.
func (l *link) skipped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until) || l.breaker.State() == gobreaker.StateOpen
}

// fetchLimits updates the limits, unless the circuit breaker is open.
func (l *link) fetchLimits(ctx context.Context) {
	if l.open() {
		return
	}
	limits := l.chat.Limits(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if limits != (model.Limits{}) {
		l.limits = limits
	}
}

// cachedLimits returns the last known limits.
func (l *link) cachedLimits() model.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limits
}
