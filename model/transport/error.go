package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/sluice-rag/sluice/model"
)

// Errors of a reply with status 2xx.
var (
	ErrUnreadable = errors.New("the reply cannot be read")
	ErrTooLarge   = errors.New("the reply is too large")
	ErrEmpty      = errors.New("the answer has no text and calls no tool")
	ErrTruncated  = errors.New("the stream ended before the answer did")
	errReported   = errors.New("the server reported an error in its reply")
)

// StreamError is an error object that a server sent within or instead of an answer.
type StreamError struct{ Problem Problem }

// Error returns a fixed text.
func (*StreamError) Error() string { return errReported.Error() }

// NewError returns the error of a request to the named model: the error of ctx if it has ended, an [*model.Error] as it is, and
// otherwise an [*model.Error] for err. Classify reads the body of a [StatusError]. Unknown errors are [model.Unreachable].
func NewError(ctx context.Context, name string, err error, classify func(*StatusError) Problem) error {
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
		p := classify(refused)
		e.Status, e.RetryAfter, e.Cause = refused.Status, refused.RetryAfter(), refused.Cause()
		e.Failure, e.Reason = p.Failure, Reason(refused.Request, refused.Status, p)
	case errors.As(err, &reported):
		e.Failure, e.Cause = reported.Problem.Failure, errReported
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

// AfterResponse returns the error of a request whose reply began with status 2xx: the server was reachable.
func AfterResponse(ctx context.Context, name string, err error, sent *http.Request) error {
	failed := NewError(ctx, name, err, nil)
	e, ok := errors.AsType[*model.Error](failed)
	if !ok {
		return failed
	}
	if e.Failure == model.Unreachable {
		e.Failure = model.Truncated
	}
	if reported, ok := errors.AsType[*StreamError](err); ok {
		e.Reason = Reason(sent, 0, reported.Problem)
	}
	return e
}
