package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Route is a route of the server. The fields from Summary on describe it in the OpenAPI document, which contains the routes
// that have a Summary.
type Route struct {
	Method, Path string // in the form of [http.ServeMux] patterns
	// Serve handles the request. If it returns an error and nothing was written yet, the reply is the error in the form of
	// Fault. Errors without a code are logged, and the reply does not contain the cause. Errors of reading the body have
	// codes.
	Serve func(w http.ResponseWriter, r *http.Request) error
	// Stream is called before Serve if it is set. If it returns a reading, the reply is the stream of that run. If it
	// returns nil, Serve is called.
	Stream func(r *http.Request) (*Reading, error)

	MaxBody int64 // limit of the body in bytes; default [Options.MaxBody]
	// BodyIdle replaces [Options.BodyTimeout] if it is set: the next 16 KiB of the body, or its end, must arrive within
	// this time. The whole body may take longer.
	BodyIdle time.Duration
	// Timeout is when the context of the request ends, counted from its start or, with BodyIdle, from the end of the body.
	// The default is [Options.WriteTimeout].
	Timeout time.Duration
	Fault   func(f *fault.Error) any // returns the JSON of an error; default: that of the first protocol

	Summary string
	Request []any // values of the types of the body and the parameters
	Reply   any   // value of the type of the reply
	Status  int   // of the reply; 0: 200
	Events  []any // values of the types of the events, if the route streams
	Faults  []int // statuses of errors
	Empty   bool  // the reply may be 204

	name    string           // schema name of Events
	any     []string         // schema names of the events of all protocols, if the route streams in any of them
	own     http.HandlerFunc // handles the request instead of Serve, and sets its own limits
	partial []int            // statuses of incomplete replies
	failure any              // value of the type of an error, if Fault is not set
}

// Reading is a run to be streamed from after a cursor. A nil Protocol is the server's default.
type Reading struct {
	Run      event.RunID
	Protocol wire.Protocol
	After    wire.Cursor
	Named    string // the parameter that has After, for errors; default: Last-Event-ID
}

// ReplyJSON writes a JSON reply.
func ReplyJSON(w http.ResponseWriter, status int, v any) { replyJSON(w, status, v) }

// ReadJSON reads the body of a request, whose content type must be JSON. It does not parse the body. Serve should return
// its errors.
func ReadJSON(r *http.Request) ([]byte, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, UnsupportedMedia("Content-Type", "want application/json in UTF-8")
	}
	return io.ReadAll(r.Body)
}

// UnsupportedMedia returns an error with the status 415. The field is a header or a part of a form that has an unsupported
// content type.
func UnsupportedMedia(field, message string) error {
	return &refusal{http.StatusUnsupportedMediaType, fault.Invalid(field, "%s", message)}
}

// refusal is an error with its own HTTP status.
type refusal struct {
	status int
	why    *fault.Error
}

// Error implements error.
func (r *refusal) Error() string { return r.why.Error() }

// Unwrap returns the cause.
func (r *refusal) Unwrap() error { return r.why }

// bounded returns the handler of a route with its limits.
func (s *Server) bounded(rt Route) http.Handler {
	setDefault(&rt.MaxBody, s.o.MaxBody)
	setDefault(&rt.Timeout, s.o.WriteTimeout)
	h := s.defaultHandler()
	if rt.Fault != nil {
		h.Fault = rt.Fault
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := r.Context()
		ctx, cancel := context.WithCancelCause(client)
		defer cancel(nil)
		r = r.WithContext(ctx)
		rw := &replying{ResponseWriter: w, rc: http.NewResponseController(w), timeout: s.o.WriteTimeout}
		over := func() { cancel(context.DeadlineExceeded) }
		b := newBody(rw, r, rt, over)
		r.Body = b
		defer b.stop()
		if err := h.serve(rw, r, rt); err != nil && !rw.wrote {
			switch canceled := errors.Is(err, context.Canceled); {
			case canceled && client.Err() != nil: // the run was not cancelled; the client may have closed only its side
				err = fault.New(fault.InvalidRequest, "the client left before the request was done")
			case canceled && ctx.Err() != nil:
				err = context.Cause(ctx)
			}
			h.replyError(rw, err)
		} else if err != nil {
			s.o.Logger.Error("reply broke off", "path", rt.Path, "error", err)
			panic(http.ErrAbortHandler)
		}
	})
}

func (h handler) serve(w *replying, r *http.Request, rt Route) error {
	if rt.Stream == nil {
		return rt.Serve(w, r)
	}
	reading, err := rt.Stream(r)
	if err != nil || reading == nil && rt.Serve == nil {
		return err
	}
	if reading == nil {
		return rt.Serve(w, r)
	}
	if reading.Protocol != nil {
		h.Protocol = reading.Protocol
	}
	// A stream has its own limits and lasts until its reader disconnects.
	r.Body.(*body).stop()
	setDefault(&reading.Named, headerLast)
	h.streamFrom(w.ResponseWriter, r, reading.Run, reading.After, reading.Named)
	w.wrote = true
	return nil
}

// minProgress is the number of bytes of a body that must arrive in each [Route.BodyIdle], so that clients cannot hold
// connections without sending data.
const minProgress = 16 << 10

// body limits the body of a request. Its errors have codes.
type body struct {
	io.ReadCloser
	rc      *http.ResponseController
	max     int64
	idle    time.Duration // 0: the deadline is not extended
	left    int           // bytes until it is extended
	ended   bool
	timeout time.Duration
	over    func()
	timer   *time.Timer
}

func newBody(w *replying, r *http.Request, rt Route, over func()) *body {
	b := &body{ReadCloser: http.MaxBytesReader(w.ResponseWriter, r.Body, rt.MaxBody), rc: w.rc, max: rt.MaxBody, idle: rt.BodyIdle, left: minProgress,
		timeout: rt.Timeout, over: over}
	if b.idle > 0 {
		_ = b.rc.SetReadDeadline(time.Now().Add(b.idle)) // not supported by the recorders of tests
	} else {
		b.timer = time.AfterFunc(b.timeout, over)
	}
	if r.Body == http.NoBody {
		b.end()
	}
	return b
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left <= 0 && b.idle > 0 && err == nil {
		b.left = minProgress
		_ = b.rc.SetReadDeadline(time.Now().Add(b.idle))
	}
	if err != nil {
		b.end()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = bodyFault(err, b.max)
	}
	return n, err
}

// end is called at the end of the body. A read deadline would later cancel the context of the request.
func (b *body) end() {
	if b.ended {
		return
	}
	b.ended = true
	_ = b.rc.SetReadDeadline(time.Time{})
	if b.timer == nil {
		b.timer = time.AfterFunc(b.timeout, b.over)
	}
}

func (b *body) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}

// replying sets the write deadline anew for each part of a reply.
type replying struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	wrote   bool
	until   time.Time
}

func (w *replying) extend() {
	w.wrote = true
	if now := time.Now(); w.until.Sub(now) < w.timeout/2 {
		w.until = now.Add(w.timeout)
		_ = w.rc.SetWriteDeadline(w.until)
	}
}

// WriteHeader implements [http.ResponseWriter].
func (w *replying) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *replying) Write(b []byte) (int, error) {
	w.extend()
	return w.ResponseWriter.Write(b)
}

// Unwrap implements the interface of [http.ResponseController].
func (w *replying) Unwrap() http.ResponseWriter { return w.ResponseWriter }
