package openai

import (
	"bytes"

	"github.com/tidwall/gjson"

	"github.com/sluice-rag/sluice/model/transport"
)

// usual reads an event of the shape that nearly all of a stream have: an object of plain values and one choice, whose delta is
// texts. It goes over the bytes once and copies nothing but the texts, which takes a third of what [decodeAny] takes to check
// and then parse. Where ok is false the event is another one, or no JSON, and is decodeAny's to read.
func decodeCommon(data []byte) (c chunk, ok bool) {
	s := scanner{data: data}
	if !s.object(inEvent, &c) || s.at != len(data) {
		return chunk{}, false
	}
	return c, true
}

// scan is a place in an event. Its methods step over one thing, or say that it is not there: the scan is of no more use then.
type scanner struct {
	data []byte
	at   int
}

// The objects of an event.
const (
	inEvent = iota
	inChoice
	inDelta
)

func (s *scanner) object(which int, c *chunk) bool {
	if !s.char('{') {
		return false
	}
	if s.char('}') {
		return true
	}
	for {
		name, escapes, ok := s.quoted()
		if !ok || escapes || !s.char(':') {
			return false
		}
		s.char(' ') // Python's encoder puts one behind each colon and comma
		if !s.member(which, name[1:len(name)-1], c) {
			return false
		}
		if !s.char(',') {
			return s.char('}')
		}
		s.char(' ')
	}
}

// member steps over a value and takes what is wanted of it. What it takes, and what it refuses unless it is null, is what
// decodeAny looks at.
func (s *scanner) member(of int, name []byte, c *chunk) bool {
	switch of {
	case inEvent:
		switch string(name) {
		case "choices":
			return s.char('[') && s.object(inChoice, c) && s.char(']')
		case "object":
			kind, escapes, ok := s.quoted()
			return ok && !escapes && string(kind) != `"error"`
		case "usage", "timings", "error":
			return s.word("null")
		}
	case inChoice:
		switch string(name) {
		case "delta":
			return s.object(inDelta, c)
		case "message", "finish_reason", "error":
			return s.word("null")
		}
	case inDelta:
		switch string(name) {
		case "content":
			return s.text(&c.text)
		case "reasoning_content", "reasoning":
			if c.reasoning == "" {
				return s.text(&c.reasoning)
			}
		case "refusal", "tool_calls":
			return s.word("null")
		}
	}
	return s.plain()
}

// text adds a string, or null, to a text.
func (s *scanner) text(to *string) bool {
	if s.word("null") {
		return true
	}
	raw, _, ok := s.quoted()
	if ok {
		*to += transport.Unquote(string(raw))
	}
	return ok
}

// plain steps over a string, a whole number or a word.
func (s *scanner) plain() bool {
	from := s.at
	for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
		s.at++
	}
	if s.at > from {
		return s.data[from] != '0' || s.at == from+1
	}
	if s.word("null") || s.word("false") || s.word("true") {
		return true
	}
	_, _, ok := s.quoted()
	return ok
}

// quoted gives a string as it stands there, its quotes and all.
func (s *scanner) quoted() (raw []byte, escapes, ok bool) {
	if !s.char('"') {
		return nil, false, false
	}
	for i := s.at; i < len(s.data); i++ {
		switch b := s.data[i]; {
		case b > '\\' || b > '"' && b < '\\': // nearly all
		case b == '"':
			raw = s.data[s.at-1 : i+1]
			s.at = i + 1
			return raw, escapes, !escapes || gjson.ValidBytes(raw)
		case b == '\\':
			escapes = true
			i++
		case b < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

func (s *scanner) char(b byte) bool {
	if s.at < len(s.data) && s.data[s.at] == b {
		s.at++
		return true
	}
	return false
}

func (s *scanner) word(w string) bool {
	if bytes.HasPrefix(s.data[s.at:], []byte(w)) {
		s.at += len(w)
		return true
	}
	return false
}
