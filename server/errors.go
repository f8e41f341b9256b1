package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

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

// setDeadlines limits the time for reading the request and writing the reply. Handlers that wait for a run call
// [Server.clearDeadlines].
func (s *Server) setDeadlines(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	now := time.Now()
	_ = rc.SetReadDeadline(now.Add(s.o.BodyTimeout)) // not supported by the recorders of tests
	_ = rc.SetWriteDeadline(now.Add(s.o.WriteTimeout))
}

// clearDeadlines reads the rest of the body, which net/http would wait for, and removes the deadlines.
func (s *Server) clearDeadlines(w http.ResponseWriter, r *http.Request) error {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, s.o.MaxBody)); err != nil {
		return bodyFault(err, s.o.MaxBody)
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
	return nil
}

// bodyFault converts an error of reading the body.
func bodyFault(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.New(fault.TooLarge, "body: over the limit of %d bytes", limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &refusal{http.StatusRequestTimeout, fault.Invalid("body", "not received in time")}
	}
	if invalid, ok := errors.AsType[*fault.Error](err); ok {
		return invalid
	}
	return fault.Invalid("body", "could not be read")
}

// replyJSON writes a JSON reply.
func replyJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // fails if the client has disconnected
}

// replyError writes an error reply. Errors without a code are logged, because their reply does not contain the cause.
func (h handler) replyError(w http.ResponseWriter, err error) {
	err = coded(err)
	f := fault.Public(err)
	if f.Code == fault.Internal {
		h.o.Logger.Error("request failed", "error", err)
	}
	status := statusOf(f.Code)
	if r, ok := errors.AsType[*refusal](err); ok {
		status = r.status
	}
	h.replyFault(w, status, f)
}

func (h handler) replyFault(w http.ResponseWriter, status int, f *fault.Error) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	replyJSON(w, status, h.Fault(f))
}

// coded adds the code to an error of the run log.
func coded(err error) error {
	if errors.Is(err, eventlog.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such run")
	}
	return err
}

// readJSON reads the JSON body of a request. It writes errors to w.
func (h handler) readJSON(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	r.Body = http.MaxBytesReader(w, r.Body, h.o.MaxBody)
	body, err := ReadJSON(r)
	if err == nil {
		err = h.clearDeadlines(w, r)
	} else if _, refused := errors.AsType[*refusal](err); !refused {
		err = bodyFault(err, h.o.MaxBody)
	}
	if err != nil {
		h.replyError(w, err)
		return nil, false
	}
	return body, true
}
