package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// chunk is the relevant part of an event of a stream, or of a complete reply: the first choice. Its texts may end within a code
// point.
type chunk struct {
	text      string
	reasoning string
	calls     []callPart
	finish    string
	usage     *model.Usage
	failed    *transport.StreamError
}

// callPart is a part of a tool call.
type callPart struct {
	index int // -1: none
	id    string
	name  string
	input string
}

// decode decodes the data of an event. Unknown fields are only checked to be JSON.
func decode(data []byte) (chunk, error) {
	if c, ok := decodeCommon(data); ok {
		return c, nil
	}
	return decodeAny(data)
}

// decodeAny decodes an event of any shape.
func decodeAny(data []byte) (c chunk, err error) {
	if !gjson.ValidBytes(data) {
		return c, transport.ErrUnreadable
	}
	v := gjson.ParseBytes(data)
	if !v.IsObject() {
		return c, transport.ErrUnreadable
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "choices":
			c.choice(value.Get("0"))
		case "usage":
			if value.IsObject() {
				c.usage = usage(value)
			}
		case "timings":
			if c.usage == nil && value.Get("predicted_n").Exists() {
				// llama.cpp: prompt_n excludes cached tokens
				cached := tokens(value.Get("cache_n"))
				c.usage = &model.Usage{
					Input: tokens(value.Get("prompt_n")) + cached, Output: tokens(value.Get("predicted_n")), Cached: cached,
				}
			}
		case "error":
			if value.Type != gjson.Null && value.Type != gjson.False {
				c.failed = reported(v, value.Raw)
			}
		case "object":
			if value.Str == "error" {
				c.failed = reported(v, value.Raw)
			}
		}
		return true
	})
	return c, nil
}

// choice decodes a choice: the delta of a stream or the message of a complete reply.
func (c *chunk) choice(v gjson.Result) {
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "delta", "message":
			c.delta(value)
		case "finish_reason":
			if value.Type == gjson.String {
				c.finish = value.Str
			}
		case "error":
			if value.IsObject() {
				c.failed = reported(v, value.Raw)
			}
		}
		return true
	})
}

func (c *chunk) delta(v gjson.Result) {
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content":
			c.content(value)
		case "reasoning_content", "reasoning": // some send both, with the same text
			if value.Type == gjson.String && c.reasoning == "" {
				c.reasoning = transport.Unquote(value.Raw)
			}
		case "refusal": // shown as the answer
			if value.Type == gjson.String {
				c.text += transport.Unquote(value.Raw)
			}
		case "tool_calls":
			if !value.IsArray() { // may be null
				break
			}
			value.ForEach(func(_, call gjson.Result) bool {
				c.calls = append(c.calls, part(call))
				return len(c.calls) <= maxCalls
			})
		}
		return true
	})
}

// content decodes a text, or the parts of Mistral with texts and reasoning.
func (c *chunk) content(v gjson.Result) {
	if v.Type == gjson.String {
		c.text += transport.Unquote(v.Raw)
		return
	}
	if !v.IsArray() {
		return
	}
	v.ForEach(func(_, part gjson.Result) bool {
		switch text := part.Get("text"); {
		case text.Type == gjson.String:
			c.text += transport.Unquote(text.Raw)
		case part.Get("type").Str == "thinking":
			part.Get("thinking").ForEach(func(_, thought gjson.Result) bool {
				if text := thought.Get("text"); text.Type == gjson.String {
					c.reasoning += transport.Unquote(text.Raw)
				}
				return true
			})
		}
		return true
	})
}

func part(v gjson.Result) callPart {
	p := callPart{index: -1, id: v.Get("id").String(), name: v.Get("function.name").String()}
	if i := v.Get("index"); i.Type == gjson.Number {
		p.index = int(i.Num)
	}
	switch in := v.Get("function.arguments"); {
	case in.Type == gjson.String:
		p.input = transport.Unquote(in.Raw)
	case in.IsObject(): // some send the object itself
		p.input = in.Raw
	}
	return p
}

func usage(v gjson.Result) *model.Usage {
	return &model.Usage{
		Input: tokens(v.Get("prompt_tokens")), Output: tokens(v.Get("completion_tokens")),
		Reasoning: tokens(v.Get("completion_tokens_details.reasoning_tokens")),
		Cached:    tokens(v.Get("prompt_tokens_details.cached_tokens")),
	}
}

// tokens returns a number of tokens; 0 for an invalid one.
func tokens(v gjson.Result) int {
	if v.Type != gjson.Number || !(v.Num > 0) || v.Num > 1<<40 {
		return 0
	}
	return int(v.Num)
}

// calls collects tool calls from their parts.
type calls struct {
	open []*openCall
	size int
}

type openCall struct {
	index    int
	id, name string
	input    strings.Builder
}

// add appends a part of a call.
func (cs *calls) add(p callPart) error {
	c := cs.find(p)
	if c == nil {
		if len(cs.open) == maxCalls {
			return transport.ErrTooLarge
		}
		c = &openCall{index: p.index}
		cs.open = append(cs.open, c)
	}
	if c.id == "" {
		c.id = strings.ToValidUTF8(p.id, "\uFFFD")
	}
	if c.name == "" {
		c.name = strings.ToValidUTF8(p.name, "\uFFFD")
	}
	if cs.size += len(p.id) + len(p.name) + len(p.input); cs.size > transport.MaxAnswer {
		return transport.ErrTooLarge
	}
	c.input.WriteString(p.input)
	return nil
}

// find returns the call of a part; nil for a new call. Parts without an index belong to the last call. A new id starts a new
// call even if a server repeats the index.
func (cs *calls) find(p callPart) *openCall {
	for i := len(cs.open) - 1; i >= 0; i-- {
		c := cs.open[i]
		if p.index >= 0 && c.index != p.index {
			continue
		}
		if p.id != "" && c.id != "" && p.id != c.id {
			return nil
		}
		if p.index < 0 && p.id == "" && p.name != "" {
			return nil
		}
		return c
	}
	return nil
}

// complete returns the calls after the last part.
func (cs *calls) complete() ([]model.ToolCall, error) {
	var all []model.ToolCall
	for i, c := range cs.open {
		input := strings.TrimSpace(transport.Repair(c.input.String()))
		if input == "" {
			input = "{}"
		}
		if c.name == "" || !json.Valid([]byte(input)) {
			return nil, transport.ErrUnreadable
		}
		if c.id == "" {
			c.id = fmt.Sprintf("call_%d", i+1)
		}
		all = append(all, model.ToolCall{ID: c.id, Name: c.name, Input: json.RawMessage(input)})
	}
	return all, nil
}
