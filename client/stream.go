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

// Stream is a run as it is told. [Stream.Events] reads it; meanwhile, and afterwards, [Stream.Snapshot] tells what it adds up to so far. Only
// reading makes progress. Events is for one goroutine at a time, everything else may be called at once.
type Stream struct {
	connect func(run, after string) (*http.Response, error) // asks where there is no run, and goes on behind a cursor where there is one
	retry   func(failures int, err error) error             // waits; an error ends the stream
	whole   func(run string) (string, error)                // reads the text of a response whose snapshots show a part of it
	cancel  func(ctx context.Context, run string) error
	source  iter.Seq2[Event, error] // in place of a server
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

// NewStream is a stream of events that come from elsewhere than a server, such as an engine in the same process.
func NewStream(question string, events iter.Seq2[Event, error]) *Stream {
	s := &Stream{source: events, cancel: func(context.Context, string) error { return errors.New("cancel run: it has no server") }}
	s.fold.s.Question = question
	return s
}

// stream makes one of a run of the server, or of a question that ask sends.
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
	waits := c.waits()
	s.retry = func(failures int, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case failures > c.o.Retries || !passing(err):
			return err
		case failures == 1:
			waits.Reset()
		}
		return c.pause(ctx, waits, err)
	}
	s.whole = func(run string) (string, error) {
		r, err := c.Response(ctx, run)
		if err != nil {
			return "", err
		}
		return textOf(r), nil
	}
	return s
}

// Run is the run's id; empty as long as the server has not told it.
func (s *Stream) Run() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// Snapshot tells what the events so far add up to. It costs little: texts are shared and not copied.
func (s *Stream) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fold.Snapshot()
}

// Cancel stops the run. The stream then ends by itself, with what the server tells of it. To leave a stream and let the run be, end its
// context or break off reading.
func (s *Stream) Cancel(ctx context.Context) error {
	run := s.Run()
	if run == "" {
		return errors.New("cancel run: the server has not told its id yet")
	}
	mark := func(ending bool) (before bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		before, s.ending = s.ending, ending
		return before
	}
	if mark(true) { // the run's end may be read before the answer to this
		return nil // a second cancel would take back another question of this client
	}
	err := s.cancel(ctx, run)
	if err != nil {
		mark(false)
	}
	return err
}

// Wait reads what is left of the stream and gives the last snapshot. A run that failed is no error: see [Snapshot.Failure].
func (s *Stream) Wait() (Snapshot, error) {
	for _, err := range s.Events() {
		if err != nil {
			return s.Snapshot(), err
		}
	}
	return s.Snapshot(), nil
}

// Events gives the events, each once and in order. A connection that breaks is made anew, behind the last event. Who breaks off may call
// Events again, which goes on behind the last event given. An error that the client cannot get over is the last thing yielded; the end of
// the context is one. It leaves the run to the server's grace period.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !s.reading.TryLock() {
			yield(Event{}, errors.New("read stream: somebody reads it already"))
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

// relay gives the events of a source that is no server.
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

// follow reads a run to its end, over as many connections as that takes.
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
			err = fmt.Errorf("ask: the stream broke off and the server told no run to go on with: %w", err)
		} else if err = s.retry(failures, err); err != nil {
			err = fmt.Errorf("stream run %s behind event %q: %w", s.run, s.after, err)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
	}
}

// answerError is an answer that is none to what was asked. Asking again would give the same.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

// answered looks at what stands before a connection's events: whether they are any, and of which run. Of an answer that is none, the body is closed.
func (s *Stream) answered(res *http.Response, begun bool) error {
	id, wrong := res.Header.Get("Sluice-Run-Id"), ""
	kind := res.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(kind)
	switch ended := res.StatusCode == http.StatusNoContent; {
	case ended && !begun, !ended && media != sse.ContentType:
		wrong = fmt.Sprintf("ask: the server answered %d with %q, which is no stream of events", res.StatusCode, clip(kind, 60))
	case ended && s.fold.open():
		wrong = fmt.Sprintf("stream run %s: the server says that it has ended, and not how", s.run)
	case begun && id != "" && id != s.run:
		wrong = fmt.Sprintf("stream run %s: the server answered with another, %s", s.run, clip(id, 60))
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

// read yields a connection's events. Stop: the last event was yielded, or nobody wants more.
func (s *Stream) read(res *http.Response, yield func(Event, error) bool) (stop bool, err error) {
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		s.over = true // the run has ended, and nothing is behind the cursor
		return true, nil
	}
	for raw, err := range sse.NewReader(res.Body, 0).All() {
		if err != nil {
			return false, err
		}
		ev := Event{Run: s.run, Protocol: s.name, ID: raw.ID, Name: raw.Name, Data: []byte(raw.Data)}
		fresh, err := s.take(&ev)
		if err != nil {
			yield(Event{}, fmt.Errorf("stream run %s: %w", s.run, err)) // asking again would give the same
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

// complete reads the rest of a text that the snapshots showed the beginning of. Where it is not to be had, the beginning stays.
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

// take folds an event. Not fresh: it was there already.
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
	if s.run == "" { // what is between left the header out
		s.run = s.fold.s.Run
	}
	if ev.Last() {
		s.over = true
		if s.ending && s.fold.s.Status == Incomplete { // the knowledge protocol has no word for it
			s.fold.ended(Cancelled)
			s.fold.s.Failure = &Failure{Code: fault.Cancelled, Message: "the run was cancelled by request"}
		}
	}
	return true, nil
}
