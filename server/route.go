package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server/delivery"
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
	// Stream is called before Serve if it is set. If it returns a Replay, the reply is the stream of that run. If it
	// returns nil, Serve is called; if Serve is nil, Stream has written the reply.
	Stream func(w http.ResponseWriter, r *http.Request) (*Replay, error)

	// Scope is what a key needs for the route; default [auth.Admin].
	Scope auth.Scope
	// Own is set if a key with [auth.Ask] may use the route for the runs of its own account. The parameter id is that of the run.
	Own bool
	// Limited is set if a key that is limited to collections may use the route: see [auth.Identity.Limited].
	Limited bool
	// Needs describes what a key needs if Serve checks it: with the scope [AnyKey].
	Needs string

	MaxBody int64 // limit of the body in bytes; default [Options.MaxBody]
	// BodyIdle replaces [Options.BodyTimeout] if it is set: the next 16 KiB of the body, or its end, must arrive within
	// this time. The whole body may take longer.
	BodyIdle time.Duration
	// Timeout is when the context of the request ends, counted from its start or, with BodyIdle, from the end of the body.
	// The default is [Options.WriteTimeout].
	Timeout time.Duration
	Fault   func(f *fault.Error) any // returns the JSON of an error; default: that of the first protocol

	Summary string
	Request []any  // values of the types of the body and the parameters
	Reply   any    // value of the type of the reply
	Text    string // media type of the reply if it is a text; with Reply, it depends on the request
	Status  int    // of the reply; 0: 200
	Events  []any  // values of the types of the events, if the route streams
	Faults  []int  // statuses of errors
	Empty   bool   // the reply may be 204

	name    string              // schema name of Events
	media   string              // media type of the stream; default: that of server-sent events
	any     map[string][]string // schema names of the events of all protocols by media type, if the route streams in any of them
	handle  http.HandlerFunc    // handles the request instead of Serve, and sets its own limits
	partial []int               // statuses of replies to runs that failed
	failed  any                 // value of the type of such a reply; default: Reply
	failure any                 // value of the type of an error, if Fault is not set
}

// Replay is a run to stream from after a cursor. A nil Protocol is the server's default.
type Replay struct {
	Run      event.RunID
	Protocol wire.Protocol
	After    wire.Cursor
	// CursorParam is the parameter that After comes from, for errors; default: Last-Event-ID.
	CursorParam string
}

// errLeft is the error of a request whose client has left. The client may have closed only its side.
var errLeft = fault.New(fault.InvalidRequest, "the client left before the request was done")

// limited returns the handler of a route with its limits.
func (s *Server) limited(rt Route) http.Handler {
	setDefault(&rt.MaxBody, s.o.MaxBody)
	setDefault(&rt.Timeout, s.o.WriteTimeout)
	h := s.defaultHandler()
	if rt.Fault != nil {
		h.Fault = rt.Fault
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := r.Context()
		ctx, cancel := context.WithCancelCause(client)
		defer delivery.AtEnd(ctx, func() { cancel(nil) })
		r = r.WithContext(ctx)
		rw := &replyWriter{ResponseWriter: w, rc: http.NewResponseController(w), timeout: s.o.WriteTimeout}
		expire := func() { cancel(context.DeadlineExceeded) }
		b := newBody(rw, r, rt, s.o.BodyTimeout, expire)
		r.Body = b
		defer b.stop()
		if err := h.serve(rw, r, rt); err != nil && !rw.wrote {
			switch canceled := errors.Is(err, context.Canceled); {
			case canceled && client.Err() != nil: // the run was not cancelled
				err = errLeft
			case canceled && ctx.Err() != nil:
				err = context.Cause(ctx)
			}
			h.replyError(rw, err)
		} else if err != nil {
			if !rw.gone && client.Err() == nil {
				s.o.Logger.Error("reply aborted", "path", rt.Path, "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	})
}

func (h handler) serve(w *replyWriter, r *http.Request, rt Route) error {
	if rt.Stream == nil {
		return rt.Serve(w, r)
	}
	replay, err := rt.Stream(w, r)
	if err != nil || replay == nil && rt.Serve == nil {
		return err
	}
	if replay == nil {
		return rt.Serve(w, r)
	}
	if replay.Protocol != nil {
		h.Protocol = replay.Protocol
	}
	// A stream has its own limits and lasts until its reader disconnects.
	r.Body.(*body).stop()
	setDefault(&replay.CursorParam, headerLast)
	h.streamFrom(w.ResponseWriter, r, replay.Run, replay.After, replay.CursorParam)
	w.wrote = true
	return nil
}
