package forrst

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
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

// stream runs the function, which writes its events, in a goroutine of its own, so that the end of the context is noticed
// while it works.
func (s *Server) stream(ctx context.Context, call *Call) Outcome {
	if err := call.reply.begin(s, call.ID); err != nil {
		return Outcome{Abandoned: true, Streamed: true}
	}
	events := &eventWriter{reply: call.reply}
	ended := make(chan struct{})
	call.ended = ended
	s.running.Go(func() {
		defer close(ended)
		s.produce(ctx, call, events)
	})
	var idle <-chan time.Time // never, if there is no heartbeat
	var timer *time.Timer
	if s.options.Heartbeat > 0 {
		timer = time.NewTimer(s.options.Heartbeat)
		defer timer.Stop()
		idle = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return events.end(ctx)
		case <-ended:
			return events.end(ctx)
		case <-idle:
			next := events.heartbeat(s.options.Heartbeat)
			if next == 0 {
				return events.end(ctx)
			}
			timer.Reset(next)
		}
	}
}

// eventWriter writes the events of a function and the comments between them. The function does this itself, because a goroutine that
// writes for it would cost a switch for most events.
type eventWriter struct {
	mu      sync.Mutex
	reply   *replyState
	outcome *Outcome // once a terminal event is written or a write has failed
}

// write writes an event, and reports whether more may follow.
func (w *eventWriter) write(ctx context.Context, f frame) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outcome != nil || ctx.Err() != nil {
		return false
	}
	err := w.reply.writeFrame(f)
	switch {
	case err != nil:
		w.outcome = &Outcome{Streamed: true, Abandoned: true}
	case f.final:
		w.outcome = &Outcome{Streamed: true, Result: f.result, Errors: f.errors}
	}
	return w.outcome == nil
}

// heartbeat writes a comment if no event was written for a time. It returns when to call it again, and 0 if a write has failed.
func (w *eventWriter) heartbeat(after time.Duration) time.Duration {
	if !w.mu.TryLock() { // an event is being written
		return after
	}
	defer w.mu.Unlock()
	if left := after - time.Since(w.reply.written); left > 0 {
		return left
	}
	if w.outcome == nil && w.reply.write([]byte(": keep-alive\n\n"), false) != nil {
		w.outcome = &Outcome{Streamed: true, Abandoned: true}
		return 0
	}
	return after
}

// end returns the outcome of the stream. The function writes nothing more, because it has returned, its context has ended or a
// write has failed.
func (w *eventWriter) end(ctx context.Context) Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out Outcome
	switch {
	case w.outcome != nil:
		out = *w.outcome
	case ctx.Err() != nil:
		out = interrupted(ctx)
	}
	out.Streamed = true
	return out
}

// produce iterates over the function and writes its events. It returns when the function has ended and cleaned up. If the
// context ends, the function is stopped at its next chunk.
func (s *Server) produce(ctx context.Context, call *Call, events *eventWriter) {
	var encoder eventEncoder
	ended := false
	defer func() {
		if recover() != nil {
			s.logPanic(call)
		}
		if !ended { // a panic, or the end of the goroutine
			f, _ := encoder.encodeErrors("", Errors{internal()}) // of our own types
			events.write(ctx, f)
		}
	}()
	for chunk, err := range call.function.Stream(ctx, call) {
		if !events.write(ctx, s.encode(ctx, call, &encoder, chunk, err)) {
			break
		}
	}
	ended = true
}

// encode returns the event of a chunk, or of the error that took its place.
func (s *Server) encode(ctx context.Context, call *Call, e *eventEncoder, chunk Chunk, err error) (f frame) {
	if err == nil {
		f, err = chunk.encode(e)
	}
	if err == nil && int64(len(f.bytes)) > s.options.MaxResponse {
		err = Errorf(InternalError, "an event is larger than %d bytes", s.options.MaxResponse)
	}
	if err != nil {
		errs := s.public(ctx, call, err)
		if f, err = e.encodeErrors(chunk.id, errs); err != nil { // the details cannot be encoded
			f, _ = e.encodeErrors("", Errors{internal()})
		}
	}
	return f
}

// complete writes the end of a stream: the terminal event if there was none, and the response document. An extension may
// have answered without the function; its result is sent as a done event. After a done event, the call has succeeded.
func (s *Server) complete(call *Call, out Outcome) {
	r := call.reply
	if !r.begun && r.begin(s, call.ID) != nil {
		return
	}
	failed := len(out.Errors) > 0
	var events eventEncoder
	var f frame
	switch {
	case failed && r.ended == "":
		var err error
		if f, err = events.encodeErrors("", out.Errors); err != nil {
			out.Errors = Errors{internal()}
			f, _ = events.encodeErrors("", out.Errors) // of our own types
		}
	case failed && r.ended == "done":
		s.log().Error("an extension failed after the end of the stream", "function", call.Function, "error", out.Errors)
		out.Errors, failed = nil, false
	case !failed && !out.Streamed:
		f = frame{bytes: events.event("done", "", []byte(cmp.Or(string(out.Result), "null"))), final: true}
	}
	if f.bytes != nil && r.writeFrame(f) != nil {
		return
	}
	out.Extensions = slices.Insert(out.Extensions, 0, ExtensionData{call.streaming, map[string]bool{"completed": !failed}})
	out.Result = json.RawMessage(`{"streamed":true}`)
	text, _ := s.document(&call.ID, call, out)
	_ = r.write(events.event("complete", "", text), true) // fails only if the client has disconnected
}

// replyState is how far the reply to a call is.
type replyState struct {
	w       Writer
	begun   bool      // the greeting is sent
	ended   string    // the name of the terminal event, once written
	written time.Time // of the last event
}

// greeting is the first event of each stream.
var greeting = []byte("event: data\ndata: {\"status\":\"connected\"}\n\n")

// begin writes the headers and the greeting.
func (r *replyState) begin(s *Server, id string) error {
	s.setHeader(r.w.Header(), id)
	r.begun = true
	if err := r.w.Begin(); err != nil {
		return err
	}
	return r.write(greeting, false)
}

// writeFrame writes an event and notes the terminal one.
func (r *replyState) writeFrame(f frame) error {
	if f.final {
		r.ended = "done"
		if len(f.errors) > 0 {
			r.ended = "error"
		}
	}
	return r.write(f.bytes, false)
}

func (r *replyState) write(event []byte, last bool) error {
	r.written = time.Now()
	return r.w.Event(event, last)
}
