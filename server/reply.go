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
	"github.com/sluice-rag/sluice/wire"
)

// statusOf gives the HTTP status of a code.
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

// limit bounds the time that a request may take to be read and its reply to be taken. What waits for a run lifts that with
// [Server.unlimit].
func (s *Server) limit(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	now := time.Now()
	_ = rc.SetReadDeadline(now.Add(s.o.BodyTimeout)) // a test's recorder has no deadlines
	_ = rc.SetWriteDeadline(now.Add(s.o.WriteTimeout))
}

// unlimit reads what is left of the request's body, which net/http would wait for, and lets the reply take its time.
func (s *Server) unlimit(w http.ResponseWriter, r *http.Request) error {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, s.o.MaxBody)); err != nil {
		return bodyFault(err, s.o.MaxBody)
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
	return nil
}

// bodyFault tells why a body could not be read.
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

// replyJSON writes one JSON object.
func replyJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client has left
}

// port is a protocol's entry as the server serves it: its errors have the protocol's form.
type port struct {
	*Server
	wire.Entry
}

// replyError writes err in its public form. What has no code is logged, since the client is told nothing of it.
func (p port) replyError(w http.ResponseWriter, err error) {
	err = coded(err)
	f := fault.Public(err)
	if f.Code == fault.Internal {
		p.o.Logger.Error("request failed", "error", err)
	}
	status := statusOf(f.Code)
	if r, ok := errors.AsType[*refusal](err); ok {
		status = r.status
	}
	p.replyFault(w, status, f)
}

func (p port) replyFault(w http.ResponseWriter, status int, f *fault.Error) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	replyJSON(w, status, p.Fault(f))
}

// coded gives the errors of the log their codes.
func coded(err error) error {
	if errors.Is(err, eventlog.ErrNotFound) {
		return fault.Wrap(fault.NotFound, err, "no such run")
	}
	return err
}

// readJSON reads a request's body. Errors are written to w.
func (p port) readJSON(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	r.Body = http.MaxBytesReader(w, r.Body, p.o.MaxBody)
	body, err := ReadJSON(r)
	if err == nil {
		err = p.unlimit(w, r)
	} else if _, refused := errors.AsType[*refusal](err); !refused {
		err = bodyFault(err, p.o.MaxBody)
	}
	if err != nil {
		p.replyError(w, err)
		return nil, false
	}
	return body, true
}
