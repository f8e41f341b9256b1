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
	inARow     = 3               // failures after which a model is skipped
	maxLimited = 5 * time.Minute // for which a model may ask to be left alone
	firstTry   = time.Second / 4 // for which requests wait to see how the first one to a model fares
)

// errAbandoned ends a try of which nobody knows how it would have ended.
var errAbandoned = errors.New("abandoned")

type breaker = gobreaker.TwoStepCircuitBreaker[struct{}]

// link is a model of the chain and what is known of its health. Its methods may be called at once.
type link struct {
	chat     model.Chat
	cooldown time.Duration

	mu      sync.Mutex
	proven  bool          // it was there once: from then on its breaker says enough
	trying  chan struct{} // closed when the first request to a model that is not proven has shown something; nil: there is none
	breaker *breaker
	until   time.Time // it limits requests until then
	limits  model.Limits
	failed  *model.Error // the last failure that was held against it; nil: there is none
}

func newLink(chat model.Chat, cooldown time.Duration) *link {
	return &link{chat: chat, cooldown: cooldown, breaker: newBreaker(cooldown)}
}

// newBreaker makes a breaker that opens at once for failures that no second try changes, and for others after some in a row.
func newBreaker(cooldown time.Duration) *breaker {
	grave := false // of the failure being judged: the breaker asks IsSuccessful and then ReadyToTrip under one lock
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     cooldown,
		IsExcluded:  func(err error) bool { return errors.Is(err, errAbandoned) },
		IsSuccessful: func(err error) bool {
			f := failureOf(err)
			grave = f == model.Unreachable || f == model.Unauthorized
			return err == nil || ofRequest(f)
		},
		ReadyToTrip: func(n gobreaker.Counts) bool { return grave || n.ConsecutiveFailures >= inARow },
	})
}

func failureOf(err error) model.Failure {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e.Failure
	}
	return ""
}

// ofRequest tells the failures by which a model shows that it is there: it took the request and did not like it, or answered
// and was not understood.
func ofRequest(f model.Failure) bool {
	switch f {
	case model.TooLong, model.Rejected, model.Malformed, model.Empty, model.Skipped:
		return true
	}
	return false
}

// admit lets a request through unless the model is being skipped. It is to be told how the request ended: nil, a
// [model.Error] or errAbandoned.
//
// Of the requests that come before anything is known of the model, one goes first and the others wait a moment: a model that
// cannot be reached costs one attempt, however many want it at once.
func (l *link) admit(ctx context.Context) (ended func(error), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := l.trying; !l.proven && first != nil {
		l.mu.Unlock()
		timer := time.NewTimer(firstTry)
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
	if !l.proven && l.trying == nil {
		l.trying = make(chan struct{})
	}
	return func(err error) {
		done(err)
		l.note(err)
		l.limited(err)
		l.shown(err == nil || ofRequest(failureOf(err)))
	}, true
}

// shown says that something is known of the model now: that it is there, or that a request has ended otherwise.
func (l *link) shown(there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proven = l.proven || there
	if l.trying != nil {
		close(l.trying)
		l.trying = nil
	}
}

// force lets a request through whatever the breaker says. One that ends well closes it, for whoever comes next.
func (l *link) force() (ended func(error)) {
	return func(err error) {
		if err == nil {
			l.mu.Lock()
			l.breaker = newBreaker(l.cooldown)
			l.mu.Unlock()
		}
		l.note(err)
		l.limited(err)
	}
}

// note keeps how the model failed.
func (l *link) note(err error) {
	e, ok := errors.AsType[*model.Error](err)
	if err != nil && (!ok || ofRequest(e.Failure)) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = e
}

// skip gives the error of a request for which the model is not asked, with the failure that it is skipped for.
func (l *link) skip() *model.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &model.Error{Model: l.chat.Name(), Failure: model.Skipped}
	if l.failed != nil {
		e.SkipReason, e.Status, e.Reason = l.failed.Failure, l.failed.Status, l.failed.Reason
	}
	return e
}

// limited keeps requests away from a model that asks for it.
func (l *link) limited(err error) {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Failure != model.RateLimited || e.RetryAfter <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(min(e.RetryAfter, maxLimited)); until.After(l.until) {
		l.until = until
	}
}

// tripped tells whether the breaker is open.
func (l *link) tripped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.breaker.State() == gobreaker.StateOpen
}

// skipped tells whether the next request would not be let through, but for the one that tries a model after its cooldown.
func (l *link) skipped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.until) || l.breaker.State() == gobreaker.StateOpen
}

// learn asks for the model's limits, unless it is being skipped.
func (l *link) learn(ctx context.Context) {
	if l.tripped() {
		return
	}
	limits := l.chat.Limits(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if limits != (model.Limits{}) {
		l.limits = limits
	}
}

// known gives the limits that were learnt last.
func (l *link) known() model.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limits
}
