package transport

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/sluice-rag/sluice/model"
)

// The ways in which a reply is none.
var (
	ErrUnreadable = errors.New("the reply cannot be read")
	ErrTooLarge   = errors.New("the reply is too large")
	ErrEmpty      = errors.New("the answer has no text and calls no tool")
	ErrTruncated  = errors.New("the stream ended before the answer did")
	errReported   = errors.New("the server reported an error in its reply")
)

// Reported is an error that came in place of an answer or within it.
type StreamError struct{ Failure model.Failure }

// Error says that there was one.
func (*StreamError) Error() string { return errReported.Error() }

// Fail gives the error for a request to the model of the name that failed: ctx's own if that is why, and one that says so
// already as it is. Classify tells how a refusal failed. What it does not know is an unreachable server.
func NewError(ctx context.Context, name string, err error, classify func(*StatusError) model.Failure) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ready, ok := errors.AsType[*model.Error](err); ok {
		return ready
	}
	e := &model.Error{Model: name, Failure: model.Unreachable, Cause: WithoutURL(err)}
	var refused *StatusError
	var reported *StreamError
	switch {
	case errors.As(err, &refused):
		e.Status, e.RetryAfter, e.Cause = refused.Status, refused.RetryAfter(), refused.Cause()
		e.Failure = classify(refused)
	case errors.As(err, &reported):
		e.Failure, e.Cause = reported.Failure, errReported
	case errors.Is(err, ErrStalled):
		e.Failure = model.Stalled
	case errors.Is(err, ErrUnreadable), errors.Is(err, ErrTooLarge), errors.Is(err, bufio.ErrTooLong):
		e.Failure = model.Malformed
	case errors.Is(err, ErrEmpty):
		e.Failure = model.Empty
	case errors.Is(err, ErrTruncated), errors.Is(err, io.ErrUnexpectedEOF):
		e.Failure = model.Truncated
	}
	return e
}

// Broke gives the error of Fail for a request that was taken and whose reply then broke off: the server could be reached.
func AfterResponse(err error) error {
	if e, ok := errors.AsType[*model.Error](err); ok && e.Failure == model.Unreachable {
		e.Failure = model.Truncated
	}
	return err
}
