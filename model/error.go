package model

import (
	"fmt"
	"time"
)

// Failure is the kind of a model's failure.
type Failure string

// The failures. Another model may succeed after any of them; see [Failure.Transient] for a retry of the same one.
const (
	Unreachable  Failure = "unreachable"  // no connection: refused, unknown host, TLS
	Unauthorized Failure = "unauthorized" // 401 or 403: the key is missing, wrong or lacks permission
	RateLimited  Failure = "limited"      // 429: too many requests, or the quota is used up
	ServerError  Failure = "broken"       // 5xx, or an error in the stream
	Stalled      Failure = "stalled"      // no byte arrived within the idle timeout
	Truncated    Failure = "cut"          // the stream ended before the answer
	Malformed    Failure = "malformed"    // the reply cannot be parsed or does not match the request
	Empty        Failure = "empty"        // an answer without text and without tool calls
	TooLong      Failure = "too_long"     // the request exceeds the context window
	Rejected     Failure = "rejected"     // any other 4xx
	TimedOut     Failure = "late"         // no answer within the time limit
	Skipped      Failure = "skipped"      // the circuit breaker is open; no request was sent
)

// Transient reports whether a retry of the same request may succeed.
func (f Failure) Transient() bool {
	switch f {
	case Unreachable, RateLimited, ServerError, Stalled, Truncated:
		return true
	}
	return false
}

// Error is the failure of a model. Nothing in it, the cause included, holds a key, a prompt or the raw body of a reply.
type Error struct {
	Model      string
	Failure    Failure
	SkipReason Failure       // for [Skipped]: the last failure of the model; empty if unknown
	Status     int           // HTTP status; 0 without a reply
	RetryAfter time.Duration // how long the provider asks to wait; 0 if it does not say
	Reason     string        // the provider's explanation, without secrets; empty if there is none that may be shown
	Cause      error         // for logs; may be nil
}

// Error returns the text for logs.
func (e *Error) Error() string {
	s := e.Public()
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Public returns the text for users: model, failure, HTTP status and the provider's reason.
func (e *Error) Public() string {
	text := e.Failure.text()
	if e.Failure == Skipped && e.SkipReason != "" {
		text = e.SkipReason.text()
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP status %d)", e.Status)
	}
	if e.Failure == Skipped && e.SkipReason != "" {
		text += " a moment ago and was not asked"
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return e.Model + " " + text
}

func (f Failure) text() string {
	text := map[Failure]string{
		Unreachable: "could not be reached", Unauthorized: "refused the key", RateLimited: "is limiting requests",
		ServerError: "failed", Stalled: "stopped sending", Truncated: "broke off", Malformed: "sent an invalid reply",
		Empty: "sent no answer", TooLong: "rejected the request as too long", Rejected: "rejected the request",
		TimedOut: "took too long", Skipped: "failed a moment ago and was not asked",
	}[f]
	if text == "" {
		return "failed"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
