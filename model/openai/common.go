package openai

import (
	"bytes"

	"github.com/tidwall/gjson"

	"github.com/sluice-rag/sluice/model/transport"
)

// decodeCommon decodes the shape of almost all events: an object of plain values and one choice with a delta of texts. It reads
// the bytes once and only copies the texts, which takes a third of the time of [decodeAny]. If ok is false, decodeAny must
// decode the event.
func decodeCommon(data []byte) (c chunk, ok bool) {
	s := scanner{data: data}
	if !s.object(inEvent, &c) || s.at != len(data) {
		return chunk{}, false
	}
	return c, true
}

// scanner is a position in an event. Its methods skip one element, or return false if it is not there. The scanner is unusable
// then.
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
		s.char(' ') // Python's encoder writes one after each colon and comma
		if !s.member(which, name[1:len(name)-1], c) {
			return false
		}
		if !s.char(',') {
			return s.char('}')
		}
		s.char(' ')
	}
}

// member skips a value and stores what is needed. It handles the same fields as decodeAny, and rejects those that need
// decodeAny unless they are null.
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

// text appends a string, or null, to a text.
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

// plain skips a string, an integer or a literal.
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

// quoted returns a string with its quotes, undecoded.
func (s *scanner) quoted() (raw []byte, escapes, ok bool) {
	if !s.char('"') {
		return nil, false, false
	}
	for i := s.at; i < len(s.data); i++ {
		switch b := s.data[i]; {
		case b > '\\' || b > '"' && b < '\\': // the usual case
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
