package anthropic

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// inJSON is what a model is told that cannot be held to a schema.
//
//go:embed json.txt
var inJSON string

// quirk is what a model does not take.
type quirk uint32

const (
	noTemperature quirk = 1 << iota // as models that think by themselves
	noFormat                        // output_config: older models and some gateways
	noForcing                       // a tool that it has to call
)

// opening stands before a conversation that begins with the assistant, which the API does not take.
const opening = "Go on."

// params gives the request in the API's form, and the name of the tool by whose call the answer is given, if it is.
func params(name string, r model.Request, known quirk) (sdk.MessageNewParams, string, error) {
	p := sdk.MessageNewParams{Model: name, MaxTokens: int64(r.MaxTokens), Messages: messages(r.Messages)}
	if p.MaxTokens <= 0 {
		p.MaxTokens = int64(defaultOutput(name))
	}
	if r.Temperature != nil && known&noTemperature == 0 {
		p.Temperature = sdk.Float(*r.Temperature)
	}
	for _, m := range r.Messages {
		if m.Role == model.System && strings.TrimSpace(m.Text) != "" {
			p.System = append(p.System, sdk.TextBlockParam{Text: m.Text})
		}
	}
	for _, t := range r.Tools {
		if err := addTool(&p, t.Name, t.Description, t.Parameters); err != nil {
			return p, "", err
		}
	}
	form, err := addSchema(&p, r.Schema, known)
	return p, form, err
}

// addSchema holds the answer to a schema as well as the model can be.
func addSchema(p *sdk.MessageNewParams, s *model.Schema, known quirk) (form string, err error) {
	switch {
	case s == nil:
	case known&noFormat == 0:
		var schema map[string]any
		if json.Unmarshal(s.JSON, &schema) != nil || schema == nil {
			return "", errRequest
		}
		// The SDK fits a schema to what the API takes, but has that for its beta types alone.
		fitted, ok := sdk.BetaJSONSchemaOutputFormat(schema).Schema.(map[string]any)
		if !ok {
			return "", errRequest
		}
		p.OutputConfig.Format.Schema = fitted
	case known&noForcing == 0:
		form = s.Name
		if form == "" {
			form = "answer"
		}
		if err := addTool(p, form, "Gives the answer.", s.JSON); err != nil {
			return "", err
		}
		p.ToolChoice = sdk.ToolChoiceParamOfTool(form)
	default:
		p.System = append(p.System, sdk.TextBlockParam{Text: strings.TrimSpace(inJSON) + "\n" + string(s.JSON)})
	}
	return form, nil
}

func addTool(p *sdk.MessageNewParams, name, description string, schema json.RawMessage) error {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if !isObject(schema) {
		return errRequest
	}
	t := &sdk.ToolParam{Name: name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if description != "" {
		t.Description = sdk.String(description)
	}
	p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: t})
	return nil
}

func isObject(text json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Valid(text)
}

// messages gives the turns, which have to alternate and to begin with the user's: neighbours of one role become one, and
// texts of white space alone, which the API does not take, are left out.
func messages(all []model.Message) (turns []sdk.MessageParam) {
	add := func(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
		if len(blocks) == 0 {
			return
		}
		if len(turns) == 0 && role != sdk.MessageParamRoleUser {
			turns = append(turns, sdk.NewUserMessage(sdk.NewTextBlock(opening)))
		}
		if n := len(turns); n > 0 && turns[n-1].Role == role {
			turns[n-1].Content = append(turns[n-1].Content, blocks...)
			return
		}
		turns = append(turns, sdk.MessageParam{Role: role, Content: blocks})
	}
	for _, m := range all {
		var blocks []sdk.ContentBlockParamUnion
		blank := strings.TrimSpace(m.Text) == ""
		switch m.Role {
		case model.User:
			if !blank {
				blocks = append(blocks, sdk.NewTextBlock(m.Text))
			}
			add(sdk.MessageParamRoleUser, blocks...)
		case model.ToolResult:
			result := sdk.NewToolResultBlock(m.ToolCallID, m.Text, false)
			if blank {
				result.OfToolResult.Content = nil
			}
			add(sdk.MessageParamRoleUser, result)
		case model.Assistant:
			if !blank {
				blocks = append(blocks, sdk.NewTextBlock(strings.TrimRight(m.Text, " \t\r\n")))
			}
			for _, c := range m.ToolCalls {
				input := c.Input
				if !isObject(input) {
					input = json.RawMessage(`{}`)
				}
				blocks = append(blocks, sdk.NewToolUseBlock(c.ID, input, c.Name))
			}
			add(sdk.MessageParamRoleAssistant, blocks...)
		}
	}
	return turns
}

// learn says what of a request the API did not take: it names the parameter.
func learn(r *transport.StatusError, p sdk.MessageNewParams) (found quirk) {
	if r.Status != 400 {
		return 0
	}
	message := strings.ToLower(problem(r.Status, r.Body).Message)
	names := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(message, w) {
				return true
			}
		}
		return false
	}
	if p.Temperature.Valid() && names("temperature") {
		found |= noTemperature
	}
	if p.OutputConfig.Format.Schema != nil && names("output_config", "output_format", "output format", "structured output", "schema") {
		found |= noFormat
	}
	if p.ToolChoice.OfTool != nil && names("tool_choice", "tool choice", "forces tool use") {
		found |= noForcing
	}
	return found
}
