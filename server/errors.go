package server

import (
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// textType is the content type of a [wire.Text].
const textType = "text/plain; charset=utf-8"

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
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.Overloaded, fault.Quota:
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
	if l, ok := errors.AsType[*auth.LimitError](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(l.After.Seconds()))))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt((l.After+time.Millisecond-1).Milliseconds(), 10))
		if l.Fault.Code == fault.Quota {
			w.Header().Set("X-Should-Retry", "false") // SDKs would repeat the request at once, because the wait is too long for them
		}
	}
	h.replyFault(w, status, f)
}

// askLater says when to repeat a request that was refused because of load, unless the reply says it already.
func askLater(w http.ResponseWriter, status int) {
	if (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
}

func (h handler) replyFault(w http.ResponseWriter, status int, f *fault.Error) {
	askLater(w, status)
	switch body := h.Fault(f).(type) {
	case wire.Text:
		w.Header().Set("Content-Type", textType)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, string(body)) // fails if the client has disconnected
	default:
		ReplyJSON(w, status, body)
	}
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

// Forbid returns an error with the status 403.
func Forbid(f *fault.Error) error { return &statusError{http.StatusForbidden, f} }

// Refuse replies with an error to a request that does not reach a [Server]. The error has the form of the protocol of the path. Of the options,
// only Protocols, Forms, Logger and the timeouts are used; all but Forms must be set.
func Refuse(w http.ResponseWriter, r *http.Request, o Options, err error) {
	s := &Server{o: o}
	s.setDeadlines(w, r)
	s.defaultHandler().forPath(r).replyError(w, err)
}

// ShowRate adds to a reply how much of the rate of a key is left, in the headers of the protocol of the request's path. full is how long it takes until
// all of it is. Of the options, only Protocols is used.
func ShowRate(w http.ResponseWriter, r *http.Request, o Options, rate auth.Limit, full time.Duration) {
	if h := (&Server{o: o}).defaultHandler().forPath(r); h.RateHeaders != nil {
		h.RateHeaders(w.Header(), rate.N, rate.Left(full), full)
	}
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
