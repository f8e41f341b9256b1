package openai

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// unsupported is a set of parameters that a server has rejected.
type unsupported uint32

const (
	noTemperature unsupported = 1 << iota
	otherMax                  // the usual one of max_tokens and max_completion_tokens
	noMax
	noSchema // json_schema; json_object is used instead
	noFormat
	noStreamOptions
	noParallel
)

// chatRequest is the body of a request. See https://platform.openai.com/docs/api-reference/chat/create.
type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	Tools               []tool         `json:"tools,omitempty"`
	ParallelToolCalls   bool           `json:"parallel_tool_calls,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	ResponseFormat      map[string]any `json:"response_format,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       map[string]any `json:"stream_options,omitempty"`
}

type chatMessage struct {
	Role       model.Role `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCalls  []tool     `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// tool is a tool of a request, or a call of one.
type tool struct {
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Arguments   string          `json:"arguments,omitempty"`
}

// newRequest returns the body of a request without what the server does not support.
func newRequest(name string, r model.Request, q unsupported, official bool) *chatRequest {
	p := &chatRequest{Model: name, Messages: []chatMessage{}, Stream: true}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, newMessage(m))
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, tool{Type: "function", Function: function{Name: t.Name, Description: t.Description, Parameters: t.Parameters}})
	}
	p.ParallelToolCalls = len(r.Tools) > 0 && q&noParallel == 0 && official
	if q&noTemperature == 0 {
		p.Temperature = r.Temperature
	}
	switch {
	case r.MaxTokens <= 0 || q&noMax != 0:
	case official != (q&otherMax != 0): // OpenAI's newer models only take the newer name, most other servers the older one
		p.MaxCompletionTokens = r.MaxTokens
	default:
		p.MaxTokens = r.MaxTokens
	}
	switch {
	case r.Schema == nil || q&noFormat != 0:
	case q&noSchema == 0: // strict mode supports a subset of JSON Schema and rejects the rest
		p.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": r.Schema.Name, "schema": r.Schema.JSON, "strict": false,
		}}
	default:
		p.ResponseFormat = map[string]any{"type": "json_object"}
	}
	if q&noStreamOptions == 0 {
		p.StreamOptions = map[string]any{"include_usage": true}
	}
	return p
}

func newMessage(m model.Message) chatMessage {
	text := strings.ToValidUTF8(m.Text, "\uFFFD")
	c := chatMessage{Role: m.Role, ToolCallID: m.ToolCallID}
	if text != "" || len(m.ToolCalls) == 0 {
		c.Content = &text
	}
	for _, call := range m.ToolCalls {
		input := string(call.Input)
		if input == "" {
			input = "{}"
		}
		c.ToolCalls = append(c.ToolCalls, tool{ID: call.ID, Type: "function", Function: function{Name: call.Name, Arguments: input}})
	}
	return c
}

// unsupportedBy returns the parameter of a request that an error names as unsupported, or 0.
func unsupportedBy(r *transport.StatusError, sent *chatRequest, known unsupported) unsupported {
	if r.Status != 400 && r.Status != 422 {
		return 0
	}
	v := gjson.ParseBytes(r.Body)
	words := strings.ToLower(errorText(v, string(r.Body)) + " " + v.Get("error.param").String() + " " + v.Get("detail").String())
	if tooLong(words) {
		return 0
	}
	// other errors name the limit, too: it may be too large
	unknown := containsAny(words, "unsupported", "not support", "unknown", "unrecognized", "unexpected", "not permitted",
		"extra inputs", "extra_forbidden", "not allowed", "deprecated", "invalid parameter", "unavailable")
	limited := sent.MaxTokens > 0 || sent.MaxCompletionTokens > 0
	switch {
	case limited && unknown && containsAny(words, "max_tokens", "max_completion_tokens"):
		if known&otherMax != 0 {
			return noMax
		}
		return otherMax
	case sent.Temperature != nil && strings.Contains(words, "temperature"):
		return noTemperature
	case containsAny(words, "response_format", "json_schema", "json schema", "json_object", "grammar"):
		switch {
		case sent.ResponseFormat["type"] == "json_schema":
			return noSchema
		case sent.ResponseFormat["type"] == "json_object":
			return noFormat
		}
	case sent.StreamOptions != nil && containsAny(words, "stream_options", "include_usage"):
		return noStreamOptions
	case sent.ParallelToolCalls && strings.Contains(words, "parallel_tool_calls"):
		return noParallel
	}
	return 0
}

// withSchemaPrompt adds the schema as an instruction for servers without structured output.
func withSchemaPrompt(r model.Request, q unsupported) model.Request {
	if r.Schema == nil || q&noSchema == 0 {
		return r
	}
	form, err := json.Marshal(r.Schema.JSON)
	if err != nil {
		return r
	}
	instruction := model.Message{Role: model.System, Text: "Answer with JSON of this schema and nothing else: " + string(form)}
	at := 0
	for at < len(r.Messages) && r.Messages[at].Role == model.System {
		at++
	}
	if at > 0 { // many chat templates only support one system message at the beginning
		at--
		instruction.Text = r.Messages[at].Text + "\n\n" + instruction.Text
		r.Messages = append(append(append([]model.Message{}, r.Messages[:at]...), instruction), r.Messages[at+1:]...)
		return r
	}
	r.Messages = append([]model.Message{instruction}, r.Messages...)
	return r
}
