package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"sync"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// Stream is the stream of a run. [Stream.Events] reads it; [Stream.Snapshot] returns the state after the events that were
// read so far. Nothing is read in the background. Events must not be called concurrently; all other methods may.
type Stream struct {
	connect func(run, after string) (*http.Response, error) // asks the question if there is no run; otherwise resumes after a cursor
	retry   func(failures int, err error) error             // waits before the next connection; an error ends the stream
	whole   func(run string) (string, error)                // returns the full text of a response that was truncated in snapshots
	cancel  func(ctx context.Context, run string) error
	source  iter.Seq2[Event, error] // used instead of a server
	name    string                  // of the protocol

	reading sync.Mutex

	mu     sync.Mutex
	fold   Fold
	run    string
	after  string
	cursor wire.Cursor
	over   bool
	ending bool // Cancel was called
}

// NewStream returns a stream of events that do not come from a server, for example those of an engine in the same process.
func NewStream(question string, events iter.Seq2[Event, error]) *Stream {
	s := &Stream{source: events, cancel: func(context.Context, string) error { return errors.New("cancel run: the stream has no server") }}
	s.fold.s.Question = question
	return s
}

// stream returns the stream of a run, or of a question that ask sends.
func (c *Client) stream(ctx context.Context, protocol, view, question string, ask func(context.Context) (*http.Response, error)) *Stream {
	s := &Stream{name: protocol, cancel: c.Cancel}
	s.fold.s.Question = fitting(question, maxField)
	s.connect = func(run, after string) (*http.Response, error) {
		if run == "" {
			return ask(ctx)
		}
		r := get("/runs/" + url.PathEscape(run) + "/stream?protocol=" + url.QueryEscape(protocol) + view)
		r.stream = true
		if after != "" {
			r.header = http.Header{"Last-Event-Id": {after}}
		}
		return c.once(ctx, r)
	}
	s.retry = c.reconnecting(ctx)
	s.whole = func(run string) (string, error) {
		r, err := c.Response(ctx, run)
		if err != nil {
			return "", err
		}
		return textOf(r), nil
	}
	return s
}

// Run returns the id of the run. It is empty until the server has sent it.
func (s *Stream) Run() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// Snapshot returns the state after the events that were read so far. It is cheap: texts are not copied.
func (s *Stream) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fold.Snapshot()
}

// Cancel cancels the run. The stream then ends with the events that the server sends for it. To stop reading without
// cancelling the run, end the context or leave the loop over Events.
func (s *Stream) Cancel(ctx context.Context) error {
	run := s.Run()
	if run == "" {
		return errors.New("cancel run: the server has not sent its id yet")
	}
	mark := func(ending bool) (before bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		before, s.ending = s.ending, ending
		return before
	}
	if mark(true) { // the end of the run may arrive before the reply to the cancellation
		return nil // a second request would cancel another question of this client
	}
	err := s.cancel(ctx, run)
	if err != nil {
		mark(false)
	}
	return err
}

// Wait reads the rest of the stream and returns the final snapshot. If the run failed or was cancelled, the error is a
// [fault.Error], and the snapshot has the answer so far.
func (s *Stream) Wait() (Snapshot, error) {
	for _, err := range s.Events() {
		if err != nil {
			return s.Snapshot(), err
		}
	}
	last := s.Snapshot()
	if f := last.Failure; f != nil && (last.Status == Failed || last.Status == Cancelled) {
		return last, fmt.Errorf("run %s: %w", last.Run, &fault.Error{Code: f.Code, Message: f.Message})
	}
	return last, nil
}

// Events returns an iterator over the events, each once and in order. A broken connection is replaced by a new one that
// continues after the last event. After leaving the loop, a new call of Events continues where the last one stopped. If the
// stream fails or the context ends, the error is the last value; the run then goes on for the server's grace period.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !s.reading.TryLock() {
			yield(Event{}, errors.New("read stream: it is being read already"))
			return
		}
		defer s.reading.Unlock()
		if s.over {
			return
		}
		if s.source != nil {
			s.relay(yield)
			return
		}
		s.follow(yield)
	}
}

// relay yields the events of a source that is not a server.
func (s *Stream) relay(yield func(Event, error) bool) {
	for ev, err := range s.source {
		if err == nil {
			_, err = s.take(&ev)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		if !yield(ev, nil) || s.over {
			return
		}
	}
}

// follow yields the events of a run, over as many connections as needed.
func (s *Stream) follow(yield func(Event, error) bool) {
	for failures := 0; ; {
		begun, before := s.run != "", s.after
		res, err := s.connect(s.run, s.after)
		if err == nil {
			err = s.answered(res, begun)
		}
		if err == nil {
			var stop bool
			if stop, err = s.read(res, yield); stop {
				return
			}
		} else if wrong, ok := errors.AsType[*answerError](err); ok {
			yield(Event{}, wrong)
			return
		} else if !begun {
			yield(Event{}, fmt.Errorf("ask: %w", err))
			return
		}
		if s.after != before {
			failures = 0
		}
		failures++
		if s.run == "" {
			err = fmt.Errorf("ask: the stream ended before the server sent the id of the run: %w", err)
		} else if err = s.retry(failures, err); err != nil && s.after == "" {
			err = fmt.Errorf("stream run %s: %w", s.run, err)
		} else if err != nil {
			err = fmt.Errorf("stream run %s after event %q: %w", s.run, s.after, err)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
	}
}

// answerError reports a reply that is not the expected stream. Retrying would not help.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

// answered checks the header of a reply and sets the run. It closes the body if the reply is not the expected stream.
func (s *Stream) answered(res *http.Response, begun bool) error {
	id, wrong := res.Header.Get("Sluice-Run-Id"), ""
	kind := res.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(kind)
	switch ended := res.StatusCode == http.StatusNoContent; {
	case ended && !begun, !ended && media != sse.ContentType:
		wrong = fmt.Sprintf("ask: the server replied with %d and %q instead of an event stream", res.StatusCode, clip(kind, 60))
	case ended && s.fold.open():
		wrong = fmt.Sprintf("stream run %s: the server reports the end of the run without its last events", s.run)
	case begun && id != "" && id != s.run:
		wrong = fmt.Sprintf("stream run %s: the server replied with another run, %s", s.run, clip(id, 60))
	}
	if wrong != "" {
		_ = res.Body.Close()
		return &answerError{wrong}
	}
	if s.run == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.run = id
	}
	return nil
}

// read yields the events of a connection. It returns stop=true after the last event and if the caller has left the loop.
func (s *Stream) read(res *http.Response, yield func(Event, error) bool) (stop bool, err error) {
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		s.over = true // the run has ended, and there are no events after the cursor
		return true, nil
	}
	for raw, err := range sse.NewReader(res.Body, 0).All() {
		if err != nil {
			return false, err
		}
		ev := Event{Run: s.run, Protocol: s.name, ID: raw.ID, Name: raw.Name, Data: []byte(raw.Data)}
		fresh, err := s.take(&ev)
		if err != nil {
			yield(Event{}, fmt.Errorf("stream run %s: %w", s.run, err)) // retrying would not help
			return true, nil
		}
		if s.over {
			s.complete()
		}
		if fresh && !yield(ev, nil) || s.over {
			return true, nil
		}
	}
	return false, io.ErrUnexpectedEOF
}

// complete replaces a text that was truncated in snapshots by the whole text. If that fails, the truncated text stays.
func (s *Stream) complete() {
	if !s.fold.knowledge.truncated {
		return
	}
	if text, err := s.whole(s.run); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		replace(&s.fold.text, fitting(text, maxText), false)
	}
}

// take applies an event. It returns fresh=false for an event that was received before.
func (s *Stream) take(ev *Event) (fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, err := wire.ParseCursor(ev.ID); err == nil && ev.ID != "" {
		if c.Compare(s.cursor) <= 0 {
			return false, nil
		}
		s.cursor = c
	}
	s.after = ev.ID
	if err := s.fold.Add(*ev); err != nil {
		return false, err
	}
	if s.run == "" { // a proxy has removed the header
		s.run = s.fold.s.Run
	}
	if ev.Last() {
		s.over = true
		if s.ending && s.fold.s.Status == Incomplete { // the knowledge protocol has no status for cancelled runs
			s.fold.ended(Cancelled)
			s.fold.s.Failure = &Failure{Code: fault.Cancelled, Message: "the run was cancelled by request"}
		}
	}
	return true, nil
}
