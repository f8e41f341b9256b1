package anthropic

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// messagesRequest is the body of a request. See https://docs.anthropic.com/en/api/messages.
type messagesRequest struct {
	Model        string         `json:"model"`
	MaxTokens    int            `json:"max_tokens"`
	Stream       bool           `json:"stream"`
	Temperature  *float64       `json:"temperature,omitempty"`
	System       []content      `json:"system,omitempty"`
	Messages     []message      `json:"messages"`
	Tools        []tool         `json:"tools,omitempty"`
	ToolChoice   *toolChoice    `json:"tool_choice,omitempty"`
	OutputConfig map[string]any `json:"output_config,omitempty"`
}

type message struct {
	Role    string    `json:"role"`
	Content []content `json:"content"`
}

// content is a text, a tool call or a tool result.
type content struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []content       `json:"content,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

func text(s string) content { return content{Type: "text", Text: s} }

// schemaPrompt is the instruction for models without structured output.
//
//go:embed json.txt
var schemaPrompt string

// unsupported is a set of parameters that a model has rejected.
type unsupported uint32

const (
	noTemperature unsupported = 1 << iota // reasoning models
	noFormat                              // output_config: older models and some gateways
	noToolChoice                          // a forced tool call
)

// openingText is inserted before a conversation that begins with the assistant, which the API rejects.
const openingText = "Go on."

// newRequest returns the body of a request, and the name of the tool whose input is the answer, if the schema needs one.
func newRequest(name string, r model.Request, known unsupported) (*messagesRequest, string, error) {
	p := &messagesRequest{Model: name, MaxTokens: r.MaxTokens, Stream: true, Messages: messages(r.Messages)}
	if p.MaxTokens <= 0 {
		p.MaxTokens = defaultOutput(name)
	}
	if known&noTemperature == 0 {
		p.Temperature = r.Temperature
	}
	for _, m := range r.Messages {
		if m.Role == model.System && strings.TrimSpace(m.Text) != "" {
			p.System = append(p.System, text(m.Text))
		}
	}
	for _, t := range r.Tools {
		if err := p.addTool(t.Name, t.Description, t.Parameters); err != nil {
			return nil, "", err
		}
	}
	form, err := p.addSchema(r.Schema, known)
	return p, form, err
}

// addSchema requests an answer of a schema in the best way that the model supports.
func (p *messagesRequest) addSchema(s *model.Schema, known unsupported) (form string, err error) {
	switch {
	case s == nil:
	case known&noFormat == 0:
		var schema map[string]any
		if json.Unmarshal(s.JSON, &schema) != nil || schema == nil {
			return "", errRequest
		}
		restrict(schema)
		p.OutputConfig = map[string]any{"format": map[string]any{"type": "json_schema", "schema": schema}}
	case known&noToolChoice == 0:
		form = s.Name
		if form == "" {
			form = "answer"
		}
		if err := p.addTool(form, "Gives the answer.", s.JSON); err != nil {
			return "", err
		}
		p.ToolChoice = &toolChoice{Type: "tool", Name: form}
	default:
		p.System = append(p.System, text(strings.TrimSpace(schemaPrompt)+"\n"+string(s.JSON)))
	}
	return form, nil
}

// schemaKeys are the keywords of JSON Schema that structured output supports, of those that are not handled by [restrict].
var schemaKeys = []string{"$ref", "type", "description", "title", "enum", "const", "required", "pattern"}

// restrict rewrites a schema for structured output: objects have no other properties, and unsupported keywords become a part
// of the description, as in Anthropic's own libraries. See
// https://docs.claude.com/en/docs/build-with-claude/structured-outputs.
func restrict(schema map[string]any) {
	var hints []string
	for key, value := range schema {
		switch v := value.(type) {
		case map[string]any:
			switch key {
			case "properties", "$defs":
				for _, s := range v {
					if s, ok := s.(map[string]any); ok {
						restrict(s)
					}
				}
				continue
			case "items", "additionalProperties":
				restrict(v)
				continue
			}
		case []any:
			if key == "anyOf" || key == "allOf" {
				for _, s := range v {
					if s, ok := s.(map[string]any); ok {
						restrict(s)
					}
				}
				continue
			}
		}
		if slices.Contains(schemaKeys, key) || key == "additionalProperties" || key == "minItems" && (value == 0.0 || value == 1.0) {
			continue
		}
		delete(schema, key)
		hints = append(hints, fmt.Sprintf("%s: %v", key, value))
	}
	if _, ok := schema["additionalProperties"].(map[string]any); schema["type"] == "object" && (!ok || schema["properties"] != nil) {
		schema["additionalProperties"] = false
		if schema["properties"] == nil {
			schema["properties"] = map[string]any{}
		}
	}
	if len(hints) > 0 {
		slices.Sort(hints)
		description, _ := schema["description"].(string)
		schema["description"] = strings.TrimSpace(description + "\n\n{" + strings.Join(hints, ", ") + "}")
	}
}

func (p *messagesRequest) addTool(name, description string, schema json.RawMessage) error {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if !isObject(schema) {
		return errRequest
	}
	p.Tools = append(p.Tools, tool{Name: name, Description: description, InputSchema: schema})
	return nil
}

func isObject(text json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Valid(text)
}

// messages returns the turns in the API's format: they alternate and begin with the user's. Neighbours of one role are merged,
// and blank texts, which the API rejects, are omitted.
func messages(all []model.Message) []message {
	turns := []message{}
	add := func(role string, blocks ...content) {
		if len(blocks) == 0 {
			return
		}
		if len(turns) == 0 && role != "user" {
			turns = append(turns, message{Role: "user", Content: []content{text(openingText)}})
		}
		if n := len(turns); n > 0 && turns[n-1].Role == role {
			turns[n-1].Content = append(turns[n-1].Content, blocks...)
			return
		}
		turns = append(turns, message{Role: role, Content: blocks})
	}
	for _, m := range all {
		var blocks []content
		if strings.TrimSpace(m.Text) != "" {
			blocks = append(blocks, text(m.Text))
		}
		switch m.Role {
		case model.User:
			add("user", blocks...)
		case model.ToolResult:
			add("user", content{Type: "tool_result", ToolUseID: m.ToolCallID, Content: blocks})
		case model.Assistant:
			for i := range blocks {
				blocks[i].Text = strings.TrimRight(m.Text, " \t\r\n")
			}
			for _, c := range m.ToolCalls {
				input := c.Input
				if !isObject(input) {
					input = json.RawMessage(`{}`)
				}
				blocks = append(blocks, content{Type: "tool_use", ID: c.ID, Name: c.Name, Input: input})
			}
			add("assistant", blocks...)
		}
	}
	return turns
}

// unsupportedBy returns the parameters of a request that the API's error names as unsupported.
func unsupportedBy(r *transport.StatusError, p *messagesRequest) (found unsupported) {
	if r.Status != 400 {
		return 0
	}
	text := strings.ToLower(problem(r.Status, r.Body).Message)
	names := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	if p.Temperature != nil && names("temperature") {
		found |= noTemperature
	}
	if p.OutputConfig != nil && names("output_config", "output_format", "output format", "structured output", "schema") {
		found |= noFormat
	}
	if p.ToolChoice != nil && names("tool_choice", "tool choice", "forces tool use") {
		found |= noToolChoice
	}
	return found
}
