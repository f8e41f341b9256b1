package forrst

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Defaults of the options.
const (
	defaultMaxRequest   = 1 << 20
	defaultMaxResponse  = 10 << 20
	defaultHeartbeat    = 15 * time.Second
	defaultWriteTimeout = time.Minute
	defaultCheckTimeout = 5 * time.Second
)

// Options are the settings of a server. The zero value works.
type Options struct {
	// Service and Version name the service in the replies of the system functions. Default of Service: "forrst".
	Service, Version string
	// Node identifies this process in responses. Empty: it is left out.
	Node string
	// Extensions are run in this order, the first outermost. Nil: [Extensions]. Empty: none.
	Extensions []Extension
	// StrictExtensions refuses all extensions that the server does not have. By default those that the protocol does not
	// define are ignored.
	StrictExtensions bool
	// StrictVersions refuses short versions of functions. By default "1" selects the newest stable version 1.x.y.
	StrictVersions bool
	// Caller returns the authenticated caller of a request, from values that your middleware put into its context. Callers
	// cannot cancel the calls of others. Nil: all clients are one caller.
	Caller func(ctx context.Context) string
	// Authorize is called before each call. An error of it refuses the call: use the codes Unauthorized and Forbidden. The
	// arguments are not validated yet.
	Authorize func(ctx context.Context, call *Call) error
	// Unavailable is called before each call of a function other than the system functions. A non-nil result is the reply.
	Unavailable func(ctx context.Context) *CallError
	// Checks are the components of the health function. A nil error is healthy, one of [Degraded] is degraded, and any
	// other is unhealthy; its text is not shown. All of them have 5 seconds.
	Checks map[string]func(ctx context.Context) error
	// MaxRequest and MaxResponse limit documents and events, in bytes. Defaults: 1 MiB and 10 MiB.
	MaxRequest, MaxResponse int64
	// Heartbeat is the time without an event after which a stream gets a comment. Default: 15 s. Negative: never.
	Heartbeat time.Duration
	// WriteTimeout limits each write of an event to a client that does not read; a write may be cut off after half of it.
	// Default: one minute.
	WriteTimeout time.Duration
	// Logger gets panics and errors without a code, without values of the call. Nil: slog.Default.
	Logger *slog.Logger
}

// Server calls functions over HTTP. It is safe for concurrent use.
type Server struct {
	options    Options
	functions  registry
	extensions []Extension
	checks     *checks
	running    sync.WaitGroup // functions
}

// New returns a server of some functions and of the system functions. It reports every function and extension that is
// wrong.
func New(functions []Function, o Options) (*Server, error) {
	s := &Server{options: withDefaults(o), functions: registry{}, extensions: o.Extensions}
	if o.Extensions == nil {
		s.extensions = Extensions()
	}
	s.checks = newChecks(s.options.Checks)
	var errs []error
	for _, f := range functions {
		errs = append(errs, s.functions.add(f, false))
	}
	system := s.systemFunctions()
	seen := map[string]bool{}
	for _, e := range s.extensions {
		if urn := canonicalURN(e.URN()); !validURN(e.URN()) || seen[urn] {
			errs = append(errs, fmt.Errorf("forrst: extension %q: the URN is malformed or used twice", e.URN()))
		} else {
			seen[urn] = true
		}
		if p, ok := e.(Provider); ok {
			system = append(system, p.Functions()...)
		}
	}
	for _, f := range system {
		errs = append(errs, s.functions.add(f, true))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func withDefaults(o Options) Options {
	if o.Service == "" {
		o.Service = "forrst"
	}
	if o.MaxRequest <= 0 {
		o.MaxRequest = defaultMaxRequest
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = defaultMaxResponse
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = defaultHeartbeat
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	return o
}

// Wait waits for functions that still run although their callers have their replies. Call it after http.Server.Shutdown.
// It returns the error of the context if that ends first.
func (s *Server) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { // ends with the last function
		defer close(done)
		s.running.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) log() *slog.Logger {
	if s.options.Logger != nil {
		return s.options.Logger
	}
	return slog.Default()
}

// ServeHTTP answers one call. Mount it at any path, usually POST /forrst.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received, requestID := time.Now(), r.Header.Get("X-Forrst-Request-Id")
	refuse := func(status int, e *CallError) {
		e.status = status
		s.reply(w, requestID, request{}, nil, Failed(e), received)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(http.StatusMethodNotAllowed, Errorf(InvalidRequest, "the method must be POST"))
		return
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		refuse(http.StatusUnsupportedMediaType, Errorf(InvalidRequest, "the content type must be application/json"))
		return
	}
	body, err := readBody(w, r, s.options.MaxRequest)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(http.StatusRequestEntityTooLarge, Errorf(InvalidRequest, "the body is larger than %d bytes", s.options.MaxRequest))
		return
	case err != nil:
		refuse(http.StatusBadRequest, Errorf(InvalidRequest, "the body cannot be read"))
		return
	}
	req := decode(body, s.options.StrictVersions)
	call := newCall(req, received)
	call.headers = headersOf(r.Header)
	if name := r.Header.Get("X-Forrst-Caller"); name != "" && call.Context["caller"] == nil {
		if call.Context == nil {
			call.Context = map[string]json.RawMessage{}
		}
		call.Context["caller"], _ = encodeJSON(name)
	}
	sink := &eventWriter{w: w, rc: http.NewResponseController(w), timeout: s.options.WriteTimeout, proto: r.ProtoMajor}
	call.events = sink
	out := s.run(r.Context(), call, req)
	switch {
	case out.Abandoned:
	case call.streaming != "" && len(out.Errors) == 0 || out.Streamed:
		s.complete(call, out)
	default:
		s.reply(w, requestID, req, call, out, received)
	}
}

// readBody reads the body to its end: only then net/http notices that the client is gone.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
}

// response is a response document.
type response struct {
	Protocol   protocol        `json:"protocol"`
	ID         *string         `json:"id"`
	Result     json.RawMessage `json:"result"`
	Errors     Errors          `json:"errors,omitempty"`
	Extensions []ExtensionData `json:"extensions,omitempty"`
	Meta       map[string]any  `json:"meta,omitempty"`
}

type protocol struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// document encodes a response. call is nil if the request could not be read.
func (s *Server) document(id *string, call *Call, out Outcome) ([]byte, Outcome) {
	encode := func(out Outcome) (json.RawMessage, error) {
		doc := response{Protocol: protocol{"forrst", version}, ID: id, Result: out.Result, Extensions: out.Extensions}
		if len(out.Errors) > 0 {
			doc.Result, doc.Errors = nil, out.Errors[:min(len(out.Errors), maxErrors)]
		}
		if s.options.Node != "" {
			doc.Meta = map[string]any{"node": s.options.Node}
		}
		if call != nil && call.function != nil && call.function.Deprecated != nil {
			if doc.Meta == nil {
				doc.Meta = map[string]any{}
			}
			doc.Meta["deprecated"] = call.function.Deprecated
		}
		return encodeJSON(doc)
	}
	text, err := encode(out)
	if err == nil && int64(len(text)) <= s.options.MaxResponse {
		return text, out
	}
	e := internal()
	if err == nil {
		e = Errorf(InternalError, "the response is larger than %d bytes", s.options.MaxResponse)
	} else {
		s.log().Error("response cannot be encoded", "error", err)
	}
	out.Result, out.Errors, out.Extensions = nil, Errors{e}, nil
	text, _ = encode(out) // of our own types
	return text, out
}

// reply writes a response document. The id of the request takes precedence over that of its header.
func (s *Server) reply(w http.ResponseWriter, requestID string, req request, call *Call, out Outcome, received time.Time) {
	var id *string
	if req.hasID {
		id = &req.id
	}
	text, out := s.document(id, call, out)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	setRequestID(h, cmp.Or(req.id, requestID))
	h.Set("X-Forrst-Duration-Ms", strconv.FormatInt(time.Since(received).Milliseconds(), 10))
	if s.options.Node != "" {
		h.Set("X-Forrst-Node", s.options.Node)
	}
	if len(out.Errors) == 1 && out.Errors[0].RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds(out.Errors[0].RetryAfter).Value, 10))
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(out.Errors.status())
	_, _ = w.Write(text) // a client that is gone needs no reply
}

// setRequestID echoes the id of a request, if it is fit for a header.
func setRequestID(h http.Header, id string) {
	if id == "" || len(id) > 256 {
		return
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return
		}
	}
	h.Set("X-Forrst-Request-Id", id)
}
