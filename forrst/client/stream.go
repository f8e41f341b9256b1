package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	KindData     Kind = "data"
	KindProgress Kind = "progress"
	KindDone     Kind = "done"
)

// Event is one event of a stream.
type Event struct {
	Kind Kind
	// ID is the id of the server-sent event, if it has one.
	ID string
	// Data is the JSON value of the event: a part of the result, or the whole result in the event done.
	Data json.RawMessage
	// Progress is set in events of the kind progress.
	Progress *Progress
	// Response is the response document at the end of the stream. It is set in the event done.
	Response *Response
}

// Progress is how much of the work is done, in units of the function's choice.
type Progress struct {
	Current int64   `json:"current"`
	Total   int64   `json:"total"`
	Percent float64 `json:"percent"`
	Message string  `json:"message"`
}

// Decode decodes the data.
func (e Event) Decode(out any) error {
	if err := json.Unmarshal(e.Data, out); err != nil {
		return fmt.Errorf("decode an event: %w", err)
	}
	return nil
}

// Stream calls a streamable function and yields its events. Each iteration is a new call. A stream that succeeds ends with
// exactly one event of the kind done, whose data is null if the function has no result. An error is the last thing that
// is yielded. Ending the iteration early ends the call. A call is repeated only before its first event.
func (c *Client) Stream(ctx context.Context, function string, in any, options ...CallOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		p, err := c.prepare(function, in, options, extension(streamURN, map[string]bool{"accept": true}))
		if err != nil {
			yield(Event{}, err)
			return
		}
		for n := 1; ; n++ {
			s := &streamState{}
			err := c.stream(ctx, p, s, yield)
			if err == nil || s.stopped {
				return
			}
			if s.yielded || !c.wait(ctx, p, n, err) {
				yield(Event{}, p.wrap(err))
				return
			}
		}
	}
}

// streamState is how far a stream is.
type streamState struct {
	seen    bool      // an event
	over    bool      // after done or error
	done    *Event    // the event done, which is yielded when the stream is complete
	failed  *Error    // the event error
	final   *Response // of the event complete
	yielded bool
	stopped bool // by who iterates
}

// stream makes one attempt.
func (c *Client) stream(ctx context.Context, p *prepared, s *streamState, yield func(Event, error) bool) error {
	id := NewID()
	for m, err := range c.attempt(ctx, p, id) {
		if err == nil {
			var e *Event
			e, err = s.take(m, id)
			if e != nil {
				s.yielded = true
				if s.stopped = !yield(*e, nil); s.stopped {
					return nil
				}
			}
		}
		switch {
		case err != nil && s.failed != nil && !errors.As(err, new(*Error)):
			return s.failed // it is the last word, even if the stream is broken
		case err != nil:
			return err
		case s.final != nil:
			s.done.Response = s.final
			s.yielded = true
			yield(*s.done, nil)
			return nil
		}
	}
	if s.failed != nil {
		return s.failed
	}
	return ErrBroken
}

// take reads a message. It returns the event that it is, if it is one to be yielded now.
func (s *streamState) take(m Message, id string) (*Event, error) {
	if isDocument(m.Body) { // the server has refused the call, or does not stream
		r, err := decodeResponse(m, m.Body, id)
		if err != nil {
			return nil, err
		}
		s.done, s.final = &Event{Kind: KindDone, Data: r.Result}, r
		return nil, nil
	}
	e := parseEvent(m.Body)
	if !e.hasData {
		return nil, nil // a comment
	}
	if !json.Valid(e.data) {
		return nil, fmt.Errorf("%w: the data of an event is not JSON", ErrResponse)
	}
	first := !s.seen
	s.seen = true
	if e.name == "complete" {
		return nil, s.complete(m, e.data, id)
	}
	if s.over {
		return nil, nil // nothing follows the result
	}
	s.over = e.name == "done" || e.name == "error"
	out := &Event{Kind: Kind(e.name), ID: e.id, Data: bytes.Clone(e.data)}
	switch e.name {
	case "data":
		if first && isGreeting(e.data) {
			return nil, nil
		}
		return out, nil
	case "progress":
		if json.Unmarshal(e.data, &out.Progress) != nil || out.Progress == nil {
			return nil, fmt.Errorf("%w: a progress event", ErrResponse)
		}
		return out, nil
	case "done":
		s.done = out
	case "error":
		var w wireError
		if json.Unmarshal(e.data, &w) != nil || w.Code == "" {
			return nil, fmt.Errorf("%w: an error event", ErrResponse)
		}
		s.failed = joinErrors(0, []wireError{w})
	}
	return nil, nil // events of other kinds are for newer clients
}

// complete reads the last event. An error event is final, even if the document contains no errors.
func (s *streamState) complete(m Message, data []byte, id string) error {
	m.Status = 0 // that of the stream
	r, err := decodeResponse(m, data, id)
	var e *Error
	switch {
	case s.failed != nil && errors.As(err, &e) && e.Code == s.failed.Code:
		return e // with its source, and with further errors
	case s.failed != nil:
		return s.failed
	case err != nil:
		return err
	}
	if s.done == nil {
		s.done = &Event{Kind: KindDone, Data: json.RawMessage("null")}
	}
	s.final = r
	return nil
}

// isGreeting reports whether data is that of the first event of a stream.
func isGreeting(data []byte) bool {
	var members map[string]string
	return json.Unmarshal(data, &members) == nil && len(members) == 1 && members["status"] == "connected"
}

// isDocument reports whether a message is a response document.
func isDocument(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && body[0] == '{'
}
