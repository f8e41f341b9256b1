package model

import (
	"fmt"
	"time"
)

// Failure is how a model failed.
type Failure string

// The failures. Another model may do better after any of them; the same one may after those that [Failure.Passing] tells.
const (
	Unreachable  Failure = "unreachable"  // no connection: refused, no such host, TLS
	Unauthorized Failure = "unauthorized" // 401 or 403: the key is missing, wrong or not allowed this
	Limited      Failure = "limited"      // 429: too many requests, or no money left
	Broken       Failure = "broken"       // 5xx, or an error in the stream
	Stalled      Failure = "stalled"      // no byte for as long as was allowed
	Cut          Failure = "cut"          // the stream ended before the answer did
	Malformed    Failure = "malformed"    // what came cannot be read, or does not fit what was asked for
	Empty        Failure = "empty"        // an answer without text and without tool calls
	TooLong      Failure = "too_long"     // the request does not fit into the context
	Rejected     Failure = "rejected"     // any other 4xx
	Late         Failure = "late"         // it did not answer within the time that there was for it
	Skipped      Failure = "skipped"      // it failed a moment ago and was not asked
)

// Passing tells whether the same request may succeed a moment later.
func (f Failure) Passing() bool {
	switch f {
	case Unreachable, Limited, Broken, Stalled, Cut:
		return true
	}
	return false
}

// Error is a model that failed. Its text names the model and the failure. Nothing in it, the cause included, holds a key,
// a prompt or the body of a reply.
type Error struct {
	Model   string
	Failure Failure
	Was     Failure       // why the model is skipped, for [Skipped]; empty where that is not known
	Status  int           // of HTTP; 0 where none came
	After   time.Duration // how long the provider asks to wait; 0 where it does not say
	Cause   error         // for logs; may be nil
}

// Error gives the text for logs.
func (e *Error) Error() string {
	s := e.Public()
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Public gives the text that may leave the process: model and failure alone.
func (e *Error) Public() string {
	text := e.Failure.text()
	if e.Failure == Skipped && e.Was != "" {
		text = e.Was.text()
	}
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP status %d)", e.Status)
	}
	if e.Failure == Skipped && e.Was != "" {
		text += " a moment ago and was not asked"
	}
	return e.Model + " " + text
}

func (f Failure) text() string {
	text := map[Failure]string{
		Unreachable: "could not be reached", Unauthorized: "refused the key", Limited: "is limiting requests",
		Broken: "failed", Stalled: "stopped sending", Cut: "broke off", Malformed: "gave what cannot be used",
		Empty: "gave no answer", TooLong: "takes no request of this length", Rejected: "rejected the request",
		Late: "took too long", Skipped: "failed a moment ago and was not asked",
	}[f]
	if text == "" {
		return "failed"
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }
