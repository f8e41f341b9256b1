package forrst

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// Stream is the stream extension: a streamable function sends chunks as server-sent events. The server runs it in the
// innermost place whatever its position.
type Stream struct{}

const (
	streamURN   = "urn:forrst:ext:stream"
	contentType = "text/event-stream"
)

// URN returns urn:forrst:ext:stream.
func (Stream) URN() string { return streamURN }

// Capability returns the content type and the events.
func (Stream) Capability() map[string]any {
	return map[string]any{"content_type": contentType, "events": eventNamesInOrder}
}

var eventNamesInOrder = []string{"data", "progress", "error", "done"}

// accepted reports whether the client asks for a stream. Anything but true does not.
func accepted(asked *Asked) bool { return asked != nil && string(asked.Option("accept")) == "true" }

// Check reports a function that does not support streaming.
func (Stream) Check(call *Call, asked *Asked) error {
	if !accepted(asked) || call.function == nil || call.function.Stream != nil {
		return nil
	}
	return Errorf(ExtensionNotApplicable, "Function does not support streaming").With(struct {
		Function  string `json:"function"`
		Extension string `json:"extension"`
	}{call.Function, asked.URN})
}

// Run makes the call a stream.
func (Stream) Run(ctx context.Context, call *Call, asked *Asked, next Next) Outcome {
	if asked == nil {
		return next(ctx)
	}
	if accepted(asked) {
		call.streaming = asked.URN // the data is added when the stream is complete
		return next(ctx)
	}
	out := next(ctx)
	out.Add(asked.URN, map[string]bool{"enabled": false})
	return out
}

// ahead is how many events a function may be ahead of a slow client. A few of them save a switch between goroutines for
// each event.
const ahead = 16

// stream runs the function and writes its events. The function runs in a goroutine of its own, so that the end of the
// context is noticed while it works.
func (s *Server) stream(ctx context.Context, call *Call) Outcome {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := call.events.begin(call.ID, s.options.Node); err != nil {
		return Outcome{Abandoned: true, Streamed: true}
	}
	frames := make(chan frame, ahead)
	s.running.Go(func() {
		defer close(frames)
		s.produce(ctx, call, frames)
	})
	var idle <-chan time.Time // never, if there is no heartbeat
	var timer *time.Timer
	if s.options.Heartbeat > 0 {
		timer = time.NewTimer(s.options.Heartbeat)
		defer timer.Stop()
		idle = timer.C
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return interruptedStream(ctx)
		case <-idle:
			if time.Since(call.events.written) >= s.options.Heartbeat {
				err = call.events.write([]byte(": keep-alive\n\n"))
			}
			timer.Reset(time.Until(call.events.written.Add(s.options.Heartbeat)))
		case f, more := <-frames:
			switch {
			case ctx.Err() != nil:
				return interruptedStream(ctx)
			case !more:
				return Outcome{Streamed: true}
			}
			err = call.events.writeFrame(f)
			if f.final {
				return Outcome{Streamed: true, Abandoned: err != nil, Result: f.result, Errors: f.errors}
			}
		}
		if err != nil {
			return Outcome{Abandoned: true, Streamed: true}
		}
	}
}

// interruptedStream returns the outcome of a stream whose context has ended.
func interruptedStream(ctx context.Context) Outcome {
	out := interrupted(ctx)
	out.Streamed = true
	return out
}

// produce iterates over the function and sends its events. It returns when the function has ended and cleaned up. If the
// context ends, the function is stopped at its next chunk.
func (s *Server) produce(ctx context.Context, call *Call, frames chan<- frame) {
	send := func(f frame) bool {
		if ctx.Err() != nil {
			return false
		}
		select {
		case frames <- f:
			return true
		case <-ctx.Done():
			return false
		}
	}
	final, ended := false, false
	defer func() {
		panicked := recover() != nil
		if panicked {
			s.logPanic(call)
		}
		if !ended && !final { // a panic, or the end of the goroutine
			f, _ := errorFrame(Errors{internal()}) // of our own types
			send(f)
		}
	}()
	for chunk, err := range call.function.Stream(ctx, call) {
		f := s.encode(ctx, call, chunk, err)
		final = f.final
		if !send(f) || final {
			final = true // nothing more is sent
			break
		}
	}
	ended = true
}

// encode returns the event of a chunk, or of the error that took its place.
func (s *Server) encode(ctx context.Context, call *Call, chunk Chunk, err error) (f frame) {
	if err == nil {
		f, err = chunk.encode()
	}
	if err == nil && int64(len(f.bytes)) > s.options.MaxResponse {
		err = Errorf(InternalError, "an event is larger than %d bytes", s.options.MaxResponse)
	}
	if err != nil {
		errs := s.public(ctx, call, err)
		if f, err = errorFrame(errs); err != nil { // the details cannot be encoded
			f, _ = errorFrame(Errors{internal()})
		}
	}
	return f
}

// complete writes the end of a stream: the terminal event if there was none, and the response document. An extension may
// have answered without the function; its result is sent as a done event. After a done event, the call has succeeded.
func (s *Server) complete(call *Call, out Outcome) {
	e := call.events
	if !e.begun && e.begin(call.ID, s.options.Node) != nil {
		return
	}
	failed := len(out.Errors) > 0
	var f frame
	switch {
	case failed && e.ended == "":
		var err error
		if f, err = errorFrame(out.Errors); err != nil {
			out.Errors = Errors{internal()}
			f, _ = errorFrame(out.Errors) // of our own types
		}
	case failed && e.ended == "done":
		s.log().Error("an extension failed after the end of the stream", "function", call.Function, "error", out.Errors)
		out.Errors, failed = nil, false
	case !failed && !out.Streamed:
		f = frame{bytes: encodeEvent("done", []byte(cmp.Or(string(out.Result), "null"))), final: true}
	}
	if f.bytes != nil && e.writeFrame(f) != nil {
		return
	}
	out.Extensions = slices.Insert(out.Extensions, 0, ExtensionData{call.streaming, map[string]bool{"completed": !failed}})
	out.Result = json.RawMessage(`{"streamed":true}`)
	text, _ := s.document(&call.ID, call, out)
	_ = e.write(encodeEvent("complete", text)) // a client that is gone needs no reply
	_ = e.rc.SetWriteDeadline(time.Time{})     // the next request on the connection has none
}

// eventWriter writes the events of one stream: one write and one flush each.
type eventWriter struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	proto   int // major version of HTTP
	begun   bool
	ended   string    // the name of the terminal event, once written
	written time.Time // of the last event
	limit   time.Time // the write deadline
}

// greeting is the first event of each stream.
var greeting = []byte("event: data\ndata: {\"status\":\"connected\"}\n\n")

// begin writes the headers and the greeting.
func (e *eventWriter) begin(id, node string) error {
	h := e.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	if e.proto == 1 {
		h.Set("Connection", "keep-alive")
	}
	setRequestID(h, id)
	if node != "" {
		h.Set("X-Forrst-Node", node)
	}
	e.begun = true
	e.w.WriteHeader(http.StatusOK)
	return e.write(greeting)
}

// writeFrame writes an event and notes the terminal one.
func (e *eventWriter) writeFrame(f frame) error {
	if f.final {
		e.ended = "done"
		if len(f.errors) > 0 {
			e.ended = "error"
		}
	}
	return e.write(f.bytes)
}

// write writes and flushes bytes. A client has between half of the timeout and all of it to take them.
func (e *eventWriter) write(event []byte) error {
	e.written = time.Now()
	if e.limit.Sub(e.written) < e.timeout/2 { // setting it for each event would be slow
		e.limit = e.written.Add(e.timeout)
		_ = e.rc.SetWriteDeadline(e.limit) // not every writer has one
	}
	if _, err := e.w.Write(event); err != nil {
		return err
	}
	return e.rc.Flush()
}
