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

// Route is a path with what answers it. The fields behind Fault are for the OpenAPI document, which lists the routes that
// have a Summary.
type Route struct {
	Method, Path string // as patterns of [http.ServeMux]
	// Serve answers. An error that it returns is replied in the form of Fault, unless something was written already; one
	// without a code is logged, and the client is told nothing of it. Errors of reading the body carry their codes.
	Serve func(w http.ResponseWriter, r *http.Request) error
	// Stream is asked before Serve, if it is there: a request for which it gives a reading is answered with that run's
	// stream, and one for which it gives nil by Serve.
	Stream func(r *http.Request) (*Reading, error)

	MaxBody int64 // bytes of a request's body; default [Options.MaxBody]
	// BodyIdle, if set, lets a body take any time, as long as 16 KiB of it, or its end, come within each such time. Otherwise
	// the whole body has [Options.BodyTimeout].
	BodyIdle time.Duration
	// Timeout is when the context of Serve's request ends: so long after its start, or, with BodyIdle, after the end of its
	// body; default [Options.WriteTimeout].
	Timeout time.Duration
	Fault   func(f *fault.Error) any // the JSON object of an error; default: that of the first protocol

	Summary string
	Request []any // body and parameters
	Reply   any   // of status 200, or of the status given
	Status  int   // 0: 200
	Events  []any // of a route that streams: the forms of an event's data
	Faults  []int // the statuses of errors
	Empty   bool  // 204 may be replied

	name    string           // of Events as one schema
	any     []string         // of a route that streams in any protocol: the names of their events
	own     http.HandlerFunc // answers in Serve's place, and sees to its limits itself
	partial []int            // statuses of a reply that is not whole
	failure any              // an error's object, where it is not Fault's
}

// Reading is a run to be streamed, from behind a cursor. A nil Protocol is the server's default.
type Reading struct {
	Run      event.RunID
	Protocol wire.Protocol
	After    wire.Cursor
	Named    string // what the request calls After, for errors; default: Last-Event-ID
}

// ReplyJSON writes one JSON object, or what else v makes in JSON.
func ReplyJSON(w http.ResponseWriter, status int, v any) { replyJSON(w, status, v) }

// ReadJSON reads the body of a request whose content type is JSON, in the bounds of its route. It does not parse it. Its
// errors are for a [Route]'s Serve to return.
func ReadJSON(r *http.Request) ([]byte, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := params["charset"]; err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, UnsupportedMedia("Content-Type", "want application/json in UTF-8")
	}
	return io.ReadAll(r.Body)
}

// UnsupportedMedia is an error that is replied with the status 415: the field, a header or a part of a form, names a kind of
// content that is not taken.
func UnsupportedMedia(field, message string) error {
	return &refusal{http.StatusUnsupportedMediaType, fault.Invalid(field, "%s", message)}
}

// refusal is an error with a status of its own.
type refusal struct {
	status int
	why    *fault.Error
}

// Error implements error.
func (r *refusal) Error() string { return r.why.Error() }

// Unwrap gives the reason.
func (r *refusal) Unwrap() error { return r.why }

// bounded serves a route of the options within its limits.
func (s *Server) bounded(rt Route) http.Handler {
	setDefault(&rt.MaxBody, s.o.MaxBody)
	setDefault(&rt.Timeout, s.o.WriteTimeout)
	p := port{s, s.o.Protocols[0]}
	if rt.Fault != nil {
		p.Fault = rt.Fault
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
		if err := p.serve(rw, r, rt); err != nil && !rw.wrote {
			switch canceled := errors.Is(err, context.Canceled); {
			case canceled && client.Err() != nil: // no run was cancelled; it may have closed its side alone
				err = fault.New(fault.InvalidRequest, "the client left before the request was done")
			case canceled && ctx.Err() != nil:
				err = context.Cause(ctx)
			}
			p.replyError(rw, err)
		} else if err != nil {
			s.o.Logger.Error("reply broke off", "path", rt.Path, "error", err)
			panic(http.ErrAbortHandler)
		}
	})
}

func (p port) serve(w *replying, r *http.Request, rt Route) error {
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
		p.Protocol = reading.Protocol
	}
	// A stream has limits of its own, and lasts as long as its reader stays.
	r.Body.(*body).stop()
	setDefault(&reading.Named, headerLast)
	p.read(w.ResponseWriter, r, reading.Run, reading.After, reading.Named)
	w.wrote = true
	return nil
}

// enough is how many bytes of a body must come in each [Route.BodyIdle], so that nobody can hold a connection for nothing.
const enough = 16 << 10

// body bounds a request's body, and tells in its errors what was wrong with it.
type body struct {
	io.ReadCloser
	rc      *http.ResponseController
	max     int64
	idle    time.Duration // 0: the deadline is not moved
	left    int           // bytes until it is moved again
	ended   bool
	timeout time.Duration
	over    func()
	timer   *time.Timer
}

func newBody(w *replying, r *http.Request, rt Route, over func()) *body {
	b := &body{ReadCloser: http.MaxBytesReader(w.ResponseWriter, r.Body, rt.MaxBody), rc: w.rc, max: rt.MaxBody, idle: rt.BodyIdle, left: enough,
		timeout: rt.Timeout, over: over}
	if b.idle > 0 {
		_ = b.rc.SetReadDeadline(time.Now().Add(b.idle)) // a test's recorder has no deadlines
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
		b.left = enough
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

// end is called when nothing more is to be read. The deadline of reading would end the context of the request.
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

// replying gives a client the write timeout for each piece of a reply, from when it is written.
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

// Unwrap is for http.ResponseController.
func (w *replying) Unwrap() http.ResponseWriter { return w.ResponseWriter }
