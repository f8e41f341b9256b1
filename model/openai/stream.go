package openai

import (
	"errors"
	"io"
	"strings"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// stream is an answer as it comes. It is for one goroutine.
type stream struct {
	events *transport.Events
	size   int // of all that came
	text   transport.Joiner
	reason transport.Joiner
	think  thinkSplitter
	calls  calls
	finish string
	done   bool // the server said that nothing follows
	usage  *model.Usage
	// onFinish is called once the answer is complete and what may follow is its cost; may be nil.
	onFinish func()
	// What was given on, for an estimate of its cost.
	said, thought strings.Builder
}

func newStream(body io.Reader) *stream {
	return &stream{events: transport.NewEvents(body)}
}

// pieces reads the answer and gives each piece to yield, the calls and the stop at its end. It ends early, without an error,
// once yield does not want more.
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
		case s.finish != "": // the answer is complete, whatever is wrong with what follows
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
		case err != nil && s.events.Ended && !whole: // within an event
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

// isWhole says whether the body is one JSON object in place of a stream: some servers do not stream.
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

// take gives on what a chunk holds, as long as it is wanted.
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

// give yields what the model thinks and then what it says.
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

// close gives what is left at the end: half a code point, the calls, the stop.
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

// stopOf reads a finish reason. Some servers say "stop" where tools are called.
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
