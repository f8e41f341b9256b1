package anthropic

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/model/transport"
)

// decodeDelta decodes the event of almost all tokens: a content_block_delta with its fields in the published order and one
// text. It reads the bytes once and copies nothing: the text of d is a part of data. If ok is false, the JSON library must
// decode the event. The API appends a random number of spaces to the delta.
func decodeDelta(data []byte) (index int, d delta, ok bool) {
	s := scanner{transport.Scanner{Data: data}}
	if !s.words("{", `"type"`, ":", `"content_block_delta"`, ",", `"index"`, ":") {
		return 0, delta{}, false
	}
	if index, ok = s.Int(); !ok || !s.words(",", `"delta"`, ":", "{", `"type"`, ":") {
		return 0, delta{}, false
	}
	switch {
	case s.words(`"text_delta"`):
		d.Type, ok = "text_delta", s.text(`"text"`, &d.Text)
	case s.words(`"thinking_delta"`):
		d.Type, ok = "thinking_delta", s.text(`"thinking"`, &d.Thinking)
	case s.words(`"input_json_delta"`):
		d.Type, ok = "input_json_delta", s.text(`"partial_json"`, &d.Input)
	default:
		ok = false
	}
	if !ok || !s.words("}", "}") || !s.End() {
		return 0, delta{}, false
	}
	return index, d, true
}

type scanner struct{ transport.Scanner }

// words skips all words and the spaces after each of them.
func (s *scanner) words(words ...string) bool {
	for _, w := range words {
		if !s.Word(w) {
			return false
		}
		s.Spaces()
	}
	return true
}

// text reads the last field of an object, with this quoted name and a string as value, undecoded.
func (s *scanner) text(name string, to *json.RawMessage) bool {
	if !s.words(",", name, ":") {
		return false
	}
	raw, _, ok := s.Quoted()
	*to = raw
	s.Spaces()
	return ok
}
