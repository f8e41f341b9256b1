package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// connectionAdvice is for failures of the transport, of which the server cannot give advice.
var connectionAdvice = Advice{Allowed: true, Strategy: "exponential", After: time.Second, MaxAttempts: 3}

// wait waits until a call that has been sent n times may be sent again. It returns false if it must not be.
func (c *Client) wait(ctx context.Context, p *prepared, n int, err error) bool {
	if !p.options.Repeatable && p.options.IdempotencyKey == "" || n >= c.options.MaxAttempts {
		return false
	}
	advice := adviceFor(err)
	if advice == nil || !advice.Allowed || advice.MaxAttempts > 0 && n > advice.MaxAttempts {
		return false
	}
	after := advice.delay(n, c.options.MaxRetryWait)
	if after > c.options.MaxRetryWait {
		return false
	}
	if at, ok := ctx.Deadline(); ok && time.Until(at) <= after {
		return false
	}
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// adviceFor returns the advice for an error, or nil.
func adviceFor(err error) *Advice {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Retry
	}
	var failed *sendError
	switch {
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrResponse):
		return nil
	case errors.As(err, &failed), errors.Is(err, ErrBroken):
		return &connectionAdvice
	}
	return nil
}

// delay returns the wait before the call is sent for the (n+1)th time. Exponential delays double from one to the next, up to a limit, and
// have a random part of at most half, so that clients do not repeat their calls at the same moment.
func (a *Advice) delay(n int, limit time.Duration) time.Duration {
	switch a.Strategy {
	case "immediate":
		return 0
	case "exponential":
		d := a.After
		for i := 1; i < n && d < limit; i++ {
			d = min(2*d, limit)
		}
		if d > 1 && d <= limit {
			d = d/2 + rand.N(d/2)
		}
		return d
	}
	return a.After
}
