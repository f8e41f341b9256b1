package server

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// bodyTimeout is how long a client may take to send a request's body.
const bodyTimeout = 30 * time.Second

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
	case fault.NoDocuments:
		return http.StatusUnprocessableEntity
	case fault.Model, fault.Index:
		return http.StatusBadGateway
	case fault.Timeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
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
	p.replyFault(w, statusOf(f.Code), f)
}

func (p port) replyFault(w http.ResponseWriter, status int, f *fault.Error) {
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	replyJSON(w, status, p.Fault(f))
}

// coded gives the errors of the log their codes.
func coded(err error) error {
	switch {
	case errors.Is(err, eventlog.ErrNotFound):
		return fault.Wrap(fault.NotFound, err, "no such run")
	case errors.Is(err, eventlog.ErrBeyond):
		return fault.Invalid("Last-Event-ID", "beyond the end of the run")
	}
	return err
}

// readJSON reads a request's body. Errors are written to w.
func (p port) readJSON(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		p.replyFault(w, http.StatusUnsupportedMediaType,
			&fault.Error{Code: fault.InvalidRequest, Field: "Content-Type", Message: "Content-Type: want application/json in UTF-8"})
		return nil, false
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // a test's recorder has no deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, p.o.MaxBody))
	_ = rc.SetReadDeadline(time.Time{})
	if err == nil {
		return body, true
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		p.replyError(w, fault.New(fault.TooLarge, "body: over the limit of %d bytes", p.o.MaxBody))
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		p.replyFault(w, http.StatusRequestTimeout, fault.Invalid("body", "not received in time"))
	} else {
		p.replyError(w, fault.Invalid("body", "could not be read"))
	}
	return nil, false
}
