package forrst

import (
	"context"
	"time"
)

// Retry is the retry extension: it advises clients whether and when to repeat a call that failed. Temporary errors
// always have the advice. If the request lists the extension, every error has it.
type Retry struct{}

// URN returns urn:forrst:ext:retry.
func (Retry) URN() string { return "urn:forrst:ext:retry" }

// Capability returns nothing.
func (Retry) Capability() map[string]any { return nil }

// Check accepts everything: the extension has no options.
func (Retry) Check(*Call, *Asked) error { return nil }

// ObservesRefusals makes the extension an [Observer].
func (Retry) ObservesRefusals() {}

type advice struct {
	Allowed     bool      `json:"allowed"`
	Strategy    string    `json:"strategy,omitempty"`
	After       *Duration `json:"after,omitempty"`
	MaxAttempts int       `json:"max_attempts,omitempty"`
}

// retries are the defaults of the protocol.
var retries = map[Code]struct {
	strategy string
	after    time.Duration
	attempts int
}{
	RateLimited:           {"fixed", 60 * time.Second, 3},
	Unavailable:           {"exponential", time.Second, 5},
	DeadlineExceeded:      {"immediate", 0, 1},
	InternalError:         {"exponential", time.Second, 3},
	DependencyError:       {"exponential", 2 * time.Second, 3},
	IdempotencyProcessing: {"fixed", time.Second, 3},
	ServerMaintenance:     {"fixed", 60 * time.Second, 1},
	FunctionMaintenance:   {"fixed", 60 * time.Second, 1},
	FunctionDisabled:      {"fixed", 30 * time.Second, 2},
}

// Run adds the advice for the first error.
func (r Retry) Run(ctx context.Context, _ *Call, asked *Asked, next Next) Outcome {
	out := next(ctx)
	if len(out.Errors) == 0 {
		return out
	}
	urn := r.URN()
	if asked != nil {
		urn = asked.URN
	}
	first := out.Errors[0]
	known, allowed := retries[first.Code]
	if !allowed {
		if asked != nil {
			out.Add(urn, advice{})
		}
		return out
	}
	a := advice{Allowed: true, Strategy: known.strategy, MaxAttempts: known.attempts}
	if after := max(first.RetryAfter, 0); after > 0 {
		known.after = after
	}
	if known.after > 0 {
		d := seconds(known.after)
		a.After = &d
	}
	out.Add(urn, a)
	return out
}
