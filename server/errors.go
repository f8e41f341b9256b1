package server

import (
	"errors"
	"net/http"
	"os"

	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

// statusOf returns the HTTP status of an error code.
func statusOf(code fault.Code) int {
	switch code {
	case fault.InvalidRequest:
		return http.StatusBadRequest
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict, fault.Cancelled:
		return http.StatusConflict
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.Payment:
		return http.StatusPaymentRequired
	case fault.Overloaded:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.NoDocuments:
		return http.StatusUnprocessableEntity
	case fault.Model, fault.Index:
		return http.StatusBadGateway
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.NoSpace:
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// bodyFault converts an error of reading the body.
func bodyFault(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.New(fault.TooLarge, "body: over the limit of %d bytes", limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &statusError{http.StatusRequestTimeout, fault.Invalid("body", "not received in time")}
	}
	if invalid, ok := errors.AsType[*fault.Error](err); ok {
		return invalid
	}
	return fault.Invalid("body", "could not be read")
}

// replyError writes an error reply. Errors without a code are logged, because their reply does not contain the cause.
func (h handler) replyError(w http.ResponseWriter, err error) {
	err = coded(err)
	f := fault.Public(err)
	if f.Code == fault.Internal {
		h.o.Logger.Error("request failed", "error", err)
	}
	status := statusOf(f.Code)
	if r, ok := errors.AsType[*statusError](err); ok {
		status = r.status
	}
	h.replyFault(w, status, f)
}

func (h handler) replyFault(w http.ResponseWriter, status int, f *fault.Error) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	ReplyJSON(w, status, h.Fault(f))
}

// coded adds the code to an error of the run log.
func coded(err error) error {
	if errors.Is(err, eventlog.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such run")
	}
	return err
}

// UnsupportedMedia returns an error with the status 415. The field is a header or a part of a form that has an unsupported
// content type.
func UnsupportedMedia(field, message string) error {
	return &statusError{http.StatusUnsupportedMediaType, fault.Invalid(field, "%s", message)}
}

// statusError is an error with its own HTTP status.
type statusError struct {
	status int
	err    *fault.Error
}

// Error implements error.
func (r *statusError) Error() string { return r.err.Error() }

// Unwrap returns the cause.
func (r *statusError) Unwrap() error { return r.err }
