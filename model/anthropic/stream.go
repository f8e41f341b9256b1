package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// stream decodes an answer: server-sent events whose data is an object with a type. It is not safe for concurrent use. See
// https://docs.anthropic.com/en/docs/build-with-claude/streaming.
type stream struct {
	events *transport.Events
	// onFinish is called when the answer is complete and only usage may follow; may be nil.
	onFinish func()
	formTool string // the tool whose input is the answer
	size     int    // of text, reasoning and tool calls

	blocks  map[int]*block // open blocks
	count   int            // of blocks
	calls   int            // yielded
	badCall bool           // the input of a tool call is not JSON
	finish  string         // stop reason of the API
	done    bool           // the end was received
	started bool           // an event was received
	usage   usage
	// The yielded text and reasoning, for an estimate of the usage.
	said, thought strings.Builder
}

// block is a content block: text, tool call or reasoning.
type block struct {
	kind, id, name string
	text           transport.Joiner
	input          strings.Builder
}

// usage is the reported usage. It is reported at the beginning, and again at the end with more or fewer fields.
type usage struct {
	Input    *int `json:"input_tokens"`
	Output   *int `json:"output_tokens"`
	Created  *int `json:"cache_creation_input_tokens"`
	Read     *int `json:"cache_read_input_tokens"`
	Thinking struct {
		Tokens *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	final bool // Output is complete
}

// event holds the relevant fields of an event. Texts that may end within a code point are not decoded yet.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Text  json.RawMessage `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta delta  `json:"delta"`
	Usage *usage `json:"usage"`
}

// delta holds the relevant fields of the delta of a block or of the message.
type delta struct {
	Type       string          `json:"type"`
	Text       json.RawMessage `json:"text"`
	Thinking   json.RawMessage `json:"thinking"`
	Input      json.RawMessage `json:"partial_json"`
	StopReason string          `json:"stop_reason"`
}

func newStream(body io.Reader, form string) *stream {
	return &stream{events: transport.NewEvents(body), formTool: form, blocks: map[int]*block{}}
}

// read yields each piece and returns the stop reason. It stops without an error if yield returns false. An answer with a stop
// reason is complete; later errors do not matter.
func (s *stream) read(yield func(model.Piece) bool) (model.StopReason, error) {
	for !s.done {
		data, err := s.next()
		if err != nil && s.finish != "" {
			break
		}
		if err != nil {
			return "", err
		}
		wanted, err := s.handle(data, yield)
		if err != nil || !wanted {
			return "", err
		}
	}
	return s.stopReason()
}

// next returns the data of the next event.
func (s *stream) next() ([]byte, error) {
	data, err := s.events.Next()
	switch {
	case !errors.Is(err, io.EOF):
		return data, err
	case !s.started:
		return nil, transport.ErrUnreadable // a page, or nothing at all
	}
	return nil, transport.ErrTruncated
}

// handle handles an event.
func (s *stream) handle(data []byte, yield func(model.Piece) bool) (wanted bool, err error) {
	if index, d, ok := decodeDelta(data); ok {
		s.started = true
		return s.addDelta(index, &d, yield)
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil && s.events.Ended {
		return true, transport.ErrTruncated
	} else if err != nil {
		return true, transport.ErrUnreadable
	}
	s.started = true
	switch e.Type {
	case "message_start":
		s.usage.merge(e.Message.Usage)
	case "content_block_start":
		return s.openBlock(&e, yield)
	case "content_block_delta":
		return s.addDelta(e.Index, &e.Delta, yield)
	case "content_block_stop":
		return s.closeBlock(e.Index, yield)
	case "message_delta":
		if e.Delta.StopReason != "" {
			s.finish = e.Delta.StopReason
			if s.onFinish != nil {
				s.onFinish()
			}
		}
		if e.Usage != nil {
			s.usage.merge(*e.Usage)
			s.usage.final = s.usage.final || e.Usage.Output != nil
		}
	case "message_stop":
		s.done = true
	case "error":
		return true, &transport.StreamError{Problem: problem(0, data)}
	}
	return true, nil // a ping or an unknown event
}

func (s *stream) openBlock(e *event, yield func(model.Piece) bool) (bool, error) {
	if s.count++; s.count > maxBlocks {
		return true, transport.ErrTooLarge
	}
	b := &block{kind: e.Block.Type, id: transport.Repair(e.Block.ID), name: transport.Repair(e.Block.Name)}
	s.blocks[e.Index] = b
	if b.kind == "tool_use" && isObject(e.Block.Input) && len(e.Block.Input) > len("{}") { // complete, as some gateways send it
		b.input.Write(e.Block.Input)
		s.size += len(e.Block.Input)
	}
	if len(e.Block.Text) > 0 && b.kind == "text" {
		return s.emitText(b, e.Block.Text, yield)
	}
	return true, nil
}

func (s *stream) addDelta(index int, d *delta, yield func(model.Piece) bool) (bool, error) {
	b := s.blocks[index]
	if b == nil {
		b = &block{}
		if s.blocks[index] = b; len(s.blocks) > maxBlocks {
			return true, transport.ErrTooLarge
		}
	}
	switch d.Type {
	case "text_delta":
		return s.emitText(b, d.Text, yield)
	case "thinking_delta":
		text, err := s.join(b, d.Thinking)
		if err != nil || text == "" {
			return true, err
		}
		s.thought.WriteString(text)
		return yield(model.Piece{Reasoning: text}), nil
	case "input_json_delta":
		if b.kind == "tool_use" && b.name == s.formTool {
			return s.emitText(b, d.Input, yield)
		}
		text, err := s.join(b, d.Input)
		b.input.WriteString(text)
		return true, err
	}
	return true, nil
}

// emitText yields text of the answer.
func (s *stream) emitText(b *block, raw json.RawMessage, yield func(model.Piece) bool) (bool, error) {
	text, err := s.join(b, raw)
	if err != nil || text == "" || s.formTool != "" && b.name != s.formTool { // text beside the tool call is not the answer
		return true, err
	}
	s.said.WriteString(text)
	return yield(model.Piece{Text: text}), nil
}

// join decodes a JSON string that continues the block's text.
func (s *stream) join(b *block, raw json.RawMessage) (string, error) {
	if s.size += len(raw); s.size > transport.MaxAnswer {
		return "", transport.ErrTooLarge
	}
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] != '"' {
		return "", transport.ErrUnreadable
	}
	return b.text.Push(transport.Unquote(string(raw))), nil
}

// closeBlock ends a block.
func (s *stream) closeBlock(index int, yield func(model.Piece) bool) (bool, error) {
	b := s.blocks[index]
	if b == nil {
		return true, nil
	}
	delete(s.blocks, index)
	if b.kind != "tool_use" {
		return true, nil
	}
	if s.formTool != "" && b.name == s.formTool { // its text was yielded, unless it was sent at once
		if s.said.Len() > 0 || b.input.Len() == 0 {
			return true, nil
		}
		s.said.WriteString(b.input.String())
		return yield(model.Piece{Text: b.input.String()}), nil
	}
	input := strings.TrimSpace(b.input.String())
	if input == "" {
		input = "{}"
	}
	if b.name == "" || !json.Valid([]byte(input)) {
		s.badCall = true
		return true, nil
	}
	s.calls++
	if b.id == "" {
		b.id = fmt.Sprintf("call_%d", s.calls)
	}
	return yield(model.Piece{Call: &model.ToolCall{ID: b.id, Name: b.name, Input: json.RawMessage(input)}}), nil
}

// stopReason maps the reason of the API.
func (s *stream) stopReason() (model.StopReason, error) {
	stop := model.StopEnd
	switch s.finish {
	case "":
		return "", transport.ErrTruncated // no stop reason
	case "max_tokens", "model_context_window_exceeded":
		stop = model.StopLength
	case "tool_use":
		if s.formTool == "" {
			stop = model.StopTools
		}
	case "pause_turn": // of server tools, which are not requested
		stop = model.StopLength
	case "refusal":
		return model.StopFiltered, nil
	}
	if s.badCall && stop != model.StopLength {
		return "", transport.ErrUnreadable
	}
	if strings.TrimSpace(s.said.String()) == "" && s.calls == 0 {
		return "", transport.ErrEmpty
	}
	return stop, nil
}

// merge takes the fields that v has.
func (u *usage) merge(v usage) {
	for _, f := range []struct{ to, from **int }{
		{&u.Input, &v.Input}, {&u.Output, &v.Output}, {&u.Created, &v.Created}, {&u.Read, &v.Read},
		{&u.Thinking.Tokens, &v.Thinking.Tokens},
	} {
		if *f.from != nil && **f.from >= 0 && **f.from < 1<<40 {
			*f.to = *f.from
		}
	}
}

// cost returns the reported usage, or an estimate if the stream was cut off.
func (s *stream) cost(r model.Request) model.Usage {
	value := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	in := s.usage
	u := model.Usage{
		Input: value(in.Input) + value(in.Created) + value(in.Read), Cached: value(in.Read),
		Output: value(in.Output), Reasoning: value(in.Thinking.Tokens),
	}
	if in.Input == nil {
		u.Estimated = true
		u.Input = estimateRequest(r)
	}
	if !in.final {
		u.Estimated = true
		u.Reasoning = estimate(s.thought.String())
		u.Output = u.Reasoning + estimate(s.said.String())
		for _, b := range s.blocks {
			u.Output += estimate(b.input.String())
		}
		u.Output = max(u.Output, value(in.Output))
	}
	return u
}
