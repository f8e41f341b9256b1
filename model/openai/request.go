package openai

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
	"github.com/tidwall/gjson"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// quirk is what a server was seen not to take.
type quirk uint32

const (
	noTemperature quirk = 1 << iota
	otherMax            // the name of the limit that is not its usual one: max_tokens against max_completion_tokens
	noMax
	noSchema // of response_format: json_schema; json_object is asked for instead
	noFormat
	noStreamOptions
	noParallel
)

// params writes a request for the SDK, leaving out what the server does not take.
func params(name string, r model.Request, q quirk, official bool) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: name}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, message(m))
	}
	for _, t := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		if len(t.Parameters) > 0 { // as it stands: a map would lose the order of its properties, which models follow
			f.SetExtraFields(map[string]any{"parameters": t.Parameters})
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	if len(r.Tools) > 0 && q&noParallel == 0 && official {
		p.ParallelToolCalls = param.NewOpt(true)
	}
	if r.Temperature != nil && q&noTemperature == 0 {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	if r.MaxTokens > 0 && q&noMax == 0 {
		if official != (q&otherMax != 0) { // OpenAI's newer models take the newer name only, most other servers the older
			p.MaxCompletionTokens = param.NewOpt(int64(r.MaxTokens))
		} else {
			p.MaxTokens = param.NewOpt(int64(r.MaxTokens))
		}
	}
	if r.Schema != nil && q&noFormat == 0 {
		if q&noSchema == 0 {
			p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
				JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
					// Strict takes a subset of JSON Schema only, and refuses the rest.
					Name: r.Schema.Name, Schema: r.Schema.JSON, Strict: param.NewOpt(false),
				},
			}
		} else {
			p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		}
	}
	if q&noStreamOptions == 0 {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	return p
}

func message(m model.Message) openai.ChatCompletionMessageParamUnion {
	text := strings.ToValidUTF8(m.Text, "\uFFFD")
	switch m.Role {
	case model.System:
		return openai.SystemMessage(text)
	case model.ToolResult:
		return openai.ToolMessage(text, m.ToolCallID)
	case model.Assistant:
		var a openai.ChatCompletionAssistantMessageParam
		if text != "" || len(m.ToolCalls) == 0 {
			a.Content.OfString = param.NewOpt(text)
		}
		for _, c := range m.ToolCalls {
			input := string(c.Input)
			if input == "" {
				input = "{}"
			}
			a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID:       c.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: input},
				},
			})
		}
		return openai.ChatCompletionMessageParamUnion{OfAssistant: &a}
	}
	return openai.UserMessage(text)
}

// learn gives what a refusal says that the server does not take, out of what was sent; 0 where it says nothing of the sort.
func learn(r *transport.StatusError, sent openai.ChatCompletionNewParams, known quirk) quirk {
	if r.Status != 400 && r.Status != 422 {
		return 0
	}
	v := gjson.ParseBytes(r.Body)
	words := strings.ToLower(errorText(v, string(r.Body)) + " " + v.Get("error.param").String() + " " + v.Get("detail").String())
	if tooLong(words) {
		return 0
	}
	// A limit's name alone may stand in any complaint: that it is too large, that it does not fit.
	unknown := containsAny(words, "unsupported", "not support", "unknown", "unrecognized", "unexpected", "not permitted",
		"extra inputs", "extra_forbidden", "not allowed", "deprecated", "invalid parameter", "unavailable")
	limited := sent.MaxTokens.Valid() || sent.MaxCompletionTokens.Valid()
	switch {
	case limited && unknown && containsAny(words, "max_tokens", "max_completion_tokens"):
		if known&otherMax != 0 {
			return noMax
		}
		return otherMax
	case sent.Temperature.Valid() && strings.Contains(words, "temperature"):
		return noTemperature
	case containsAny(words, "response_format", "json_schema", "json schema", "json_object", "grammar"):
		switch {
		case sent.ResponseFormat.OfJSONSchema != nil:
			return noSchema
		case sent.ResponseFormat.OfJSONObject != nil:
			return noFormat
		}
	case sent.StreamOptions.IncludeUsage.Valid() && containsAny(words, "stream_options", "include_usage"):
		return noStreamOptions
	case sent.ParallelToolCalls.Valid() && strings.Contains(words, "parallel_tool_calls"):
		return noParallel
	}
	return 0
}

// instruct tells a model in words of the form that it cannot be held to.
func instruct(r model.Request, q quirk) model.Request {
	if r.Schema == nil || q&noSchema == 0 {
		return r
	}
	form, err := json.Marshal(r.Schema.JSON)
	if err != nil {
		return r
	}
	told := model.Message{Role: model.System, Text: "Answer with JSON of this schema and nothing else: " + string(form)}
	at := 0
	for at < len(r.Messages) && r.Messages[at].Role == model.System {
		at++
	}
	if at > 0 { // many chat templates take one message of the system, and only at the beginning
		at--
		told.Text = r.Messages[at].Text + "\n\n" + told.Text
		r.Messages = append(append(append([]model.Message{}, r.Messages[:at]...), told), r.Messages[at+1:]...)
		return r
	}
	r.Messages = append([]model.Message{told}, r.Messages...)
	return r
}
