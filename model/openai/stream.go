package openai

import (
	"errors"
	"io"
	"strings"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// stream decodes an answer. It is not safe for concurrent use.
type stream struct {
	events *transport.Events
	size   int // of text and reasoning
	text   transport.Joiner
	reason transport.Joiner
	think  thinkSplitter
	calls  calls
	finish string
	done   bool // the end marker was received
	usage  *model.Usage
	// onFinish is called when the answer is complete and only usage may follow; may be nil.
	onFinish func()
	// The yielded text and reasoning, for an estimate of the usage.
	said, thought strings.Builder
}

func newStream(body io.Reader) *stream {
	return &stream{events: transport.NewEvents(body)}
}

// read decodes the answer and yields its pieces, then the tool calls and the stop reason. It stops without an error if yield
// returns false.
func (s *stream) read(yield func(model.Piece) bool) (wanted bool, err error) {
	whole, err := s.isSingleObject()
	if err != nil {
		return true, err
	}
	for over := false; !over; {
		var data []byte
		if whole {
			data, err = readAll(s.events, transport.MaxAnswer)
			over = true
		} else {
			data, err = s.events.Next()
		}
		switch {
		case err == nil:
		case s.finish != "": // the answer is complete; later errors do not matter
			over = true
			continue
		case errors.Is(err, io.EOF):
			return true, transport.ErrTruncated
		default:
			return true, err
		}
		if !whole && string(data) == "[DONE]" {
			if s.done = true; s.finish == "" {
				s.finish = "stop"
			}
			break
		}
		c, err := decode(data)
		switch {
		case err != nil && s.events.Ended && !whole: // cut off within an event
			return true, transport.ErrTruncated
		case err != nil:
			return true, err
		}
		if wanted, err := s.handle(c, yield); !wanted || err != nil {
			return wanted, err
		}
		if c.failed != nil {
			return true, c.failed
		}
		if s.finish == "error" {
			return true, &transport.StreamError{Problem: transport.Problem{Failure: model.ServerError}}
		}
		if whole && s.finish == "" {
			s.finish = "stop"
		}
	}
	return s.flush(yield)
}

// isSingleObject reports whether the body is one JSON object: some servers do not stream.
func (s *stream) isSingleObject() (bool, error) {
	for {
		b, err := s.events.Peek(1)
		if errors.Is(err, io.EOF) {
			return false, transport.ErrEmpty
		}
		if err != nil {
			return false, err
		}
		switch b[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = s.events.Discard(1)
		case '{':
			return true, nil
		default:
			return false, nil
		}
	}
}

// handle yields the content of a chunk.
func (s *stream) handle(c chunk, yield func(model.Piece) bool) (wanted bool, err error) {
	if s.size += len(c.text) + len(c.reasoning); s.size > transport.MaxAnswer {
		return true, transport.ErrTooLarge
	}
	if c.usage != nil && c.usage.Input+c.usage.Output > 0 {
		s.usage = c.usage
	}
	if c.finish != "" {
		if s.finish = c.finish; s.onFinish != nil {
			s.onFinish()
		}
	}
	if c.reasoning != "" && !s.emit(s.reason.Push(c.reasoning), "", yield) {
		return false, nil
	}
	if c.text != "" {
		thought, said := s.think.push(s.text.Push(c.text))
		if !s.emit(thought, said, yield) {
			return false, nil
		}
	}
	for _, p := range c.calls {
		if err := s.calls.add(p); err != nil {
			return true, err
		}
	}
	return true, nil
}

// emit yields reasoning and then text.
func (s *stream) emit(thought, said string, yield func(model.Piece) bool) bool {
	if thought != "" {
		s.thought.WriteString(thought)
		if !yield(model.Piece{Reasoning: thought}) {
			return false
		}
	}
	if said != "" {
		s.said.WriteString(said)
		return yield(model.Piece{Text: said})
	}
	return true
}

// flush yields the rest at the end: an incomplete code point, the tool calls and the stop reason.
func (s *stream) flush(yield func(model.Piece) bool) (wanted bool, err error) {
	thought, said := s.think.push(s.text.Rest())
	if !s.emit(s.reason.Rest()+thought, said, yield) {
		return false, nil
	}
	if thought, said = s.think.flush(); !s.emit(thought, said, yield) {
		return false, nil
	}
	if s.finish == "" {
		return true, transport.ErrTruncated
	}
	all, err := s.calls.complete()
	if err != nil {
		return true, err
	}
	for i := range all {
		if !yield(model.Piece{Call: &all[i]}) {
			return false, nil
		}
	}
	stop := stopReason(s.finish, len(all) > 0)
	if stop != model.StopFiltered && len(all) == 0 && strings.TrimSpace(s.said.String()) == "" {
		return true, transport.ErrEmpty
	}
	return yield(model.Piece{Stop: stop}), nil
}

// stopReason maps a finish reason. Some servers send "stop" for tool calls.
func stopReason(finish string, calls bool) model.StopReason {
	switch finish {
	case "length", "max_tokens":
		return model.StopLength
	case "content_filter":
		return model.StopFiltered
	}
	if calls {
		return model.StopTools
	}
	return model.StopEnd
}
