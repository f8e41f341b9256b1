package forrst

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// Incoming is a request as it came over a transport.
type Incoming struct {
	Body     []byte // the request document
	Headers  Headers
	Received time.Time // default: now
}

// Headers are what a request has beside its document. Members of the document take precedence over them.
type Headers struct {
	TraceID, SpanID, ParentSpanID, Traceparent string
	// RequestID is the id in replies to documents that cannot be read.
	RequestID string
	// Caller is the name that the client gives itself. It is not authenticated.
	Caller string
}

// Writer sends the reply to one call over a transport: either one response document, or a stream. Its methods are not called
// at the same time, and not after one of them has failed: the client has disconnected then.
type Writer interface {
	// Header returns the headers of the reply, which can be changed until Reply or Begin is called. A transport without headers
	// ignores them.
	Header() http.Header
	// Reply sends the response document. The status is that of HTTP.
	Reply(status int, document []byte) error
	// Begin starts a stream.
	Begin() error
	// Event sends one server-sent event, with the empty line at its end, or a comment in the same form. It returns as soon as the
	// transport has the event, which the client should have without delay. The last one is the event complete. It must not keep the bytes.
	Event(event []byte, last bool) error
}

// Serve answers one call of a transport. It returns when the reply is sent or the context has ended, which means that the
// client has disconnected. [Server.ServeHTTP] is this method for HTTP.
func (s *Server) Serve(ctx context.Context, in Incoming, w Writer) {
	if in.Received.IsZero() {
		in.Received = time.Now()
	}
	if int64(len(in.Body)) > s.options.MaxRequest {
		s.Refuse(in, s.tooLarge(), w)
		return
	}
	req := decode(in.Body, s.options.StrictVersions)
	call := newCall(req, in)
	if name := in.Headers.Caller; name != "" && call.Context["caller"] == nil {
		if call.Context == nil {
			call.Context = map[string]json.RawMessage{}
		}
		call.Context["caller"], _ = encodeJSON(name)
	}
	call.reply, call.server = &replyState{w: w}, s
	out := s.run(ctx, call, req)
	switch {
	case out.Abandoned:
	case call.streaming != "" && len(out.Errors) == 0 || out.Streamed:
		s.complete(call, out)
	default:
		s.reply(in, req, call, out, w)
	}
}

// MaxRequest returns the limit of a request document in bytes, for transports that must know it before they read one.
func (s *Server) MaxRequest() int64 { return s.options.MaxRequest }

// WriteTimeout returns how long a write to a client that does not read may take.
func (s *Server) WriteTimeout() time.Duration { return s.options.WriteTimeout }

// Logger returns the logger of the options, for panics of hooks of a transport.
func (s *Server) Logger() *slog.Logger { return s.log() }

func (s *Server) tooLarge() *CallError {
	e := Errorf(InvalidRequest, "the body is larger than %d bytes", s.options.MaxRequest)
	e.status = http.StatusRequestEntityTooLarge
	return e
}

// Refuse replies to a request that is not run. The error is as functions return them. Transports use it for what only they know.
func (s *Server) Refuse(in Incoming, err error, w Writer) {
	errs, _ := public(err)
	s.reply(in, request{}, nil, Outcome{Errors: errs}, w)
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

// reply sends a response document. The id of the request takes precedence over that of its header.
func (s *Server) reply(in Incoming, req request, call *Call, out Outcome, w Writer) {
	var id *string
	if req.hasID {
		id = &req.id
	}
	text, out := s.document(id, call, out)
	h := w.Header()
	s.setHeader(h, cmp.Or(req.id, in.Headers.RequestID))
	h.Set("X-Forrst-Duration-Ms", strconv.FormatInt(time.Since(in.Received).Milliseconds(), 10))
	if len(out.Errors) == 1 && out.Errors[0].RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds(out.Errors[0].RetryAfter).Value, 10))
	}
	_ = w.Reply(out.Errors.status(), text) // fails only if the client has disconnected
}

// setHeader sets the headers of all replies.
func (s *Server) setHeader(h http.Header, id string) {
	setRequestID(h, id)
	if s.options.Node != "" {
		h.Set("X-Forrst-Node", s.options.Node)
	}
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
