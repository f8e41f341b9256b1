package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// MaxNameLength limits the names of models and collections in requests, in bytes. The collection may follow the model, after a slash.
const MaxNameLength = 256

// maxTokens is the greatest limit of tokens that a request may have.
const maxTokens = 1_000_000

// Request is the body of a request for a message. Fields that are not listed are ignored, and a null field counts as left out.
type Request struct {
	Model        string         `json:"model,omitempty" maxLength:"256" description:"sluice, sluice-agentic or sluice-direct, with a collection after a slash if wanted, such as sluice-direct/manuals; or the name of a model that writes the answer. An unknown name selects the default model."`
	Messages     []InputMessage `json:"messages" required:"true" description:"The last message is the question and has the role user. The messages before it are the history. Messages with the role system are instructions."`
	System       any            `json:"system,omitempty" description:"Instructions: text, or a list of text blocks."`
	MaxTokens    int            `json:"max_tokens,omitempty" minimum:"1" description:"Limit of the answer; default: that of the model. Rules, which answer without a model, ignore it."`
	Stream       bool           `json:"stream,omitempty" description:"Whether the reply is a stream."`
	Temperature  *float64       `json:"temperature,omitempty" minimum:"0" maximum:"1"`
	Thinking     *Thinking      `json:"thinking,omitempty"`
	ToolChoice   *ToolChoice    `json:"tool_choice,omitempty"`
	OutputConfig *OutputConfig  `json:"output_config,omitempty"`
	Collection   string         `json:"collection,omitempty" maxLength:"256" description:"Collection to search, or another scope. Not a field of Anthropic."`
}

// InputMessage is a message of the conversation.
type InputMessage struct {
	Role    string `json:"role" enum:"user,assistant,system"`
	Content any    `json:"content" description:"Text, or a list of content blocks with type. The question only has blocks with text; other blocks are left out of the history."`
}

// Thinking selects whether the message has the reasoning of models, in thinking blocks.
type Thinking struct {
	Type    string `json:"type" description:"enabled and adaptive: it has; other types: it has not."`
	Display string `json:"display,omitempty" description:"omitted: it has not."`
}

// ToolChoice says whether a tool must be called. Tools of the client are not called.
type ToolChoice struct {
	Type string `json:"type" enum:"auto,none"`
}

// OutputConfig is the form of the answer.
type OutputConfig struct {
	Format *struct{} `json:"format,omitempty" description:"Not supported: the answer is text."`
}

// Decode decodes and validates the body of a request. Errors have the code [fault.InvalidRequest] and name the field, in Anthropic's form:
// messages.1.content.0.type.
func Decode(body []byte, maxQuery int) (wire.Request, error) {
	q, err := decode(body, maxQuery)
	if f, ok := errors.AsType[*fault.Error](err); ok && strings.Contains(f.Field, "[") {
		field := strings.NewReplacer("[", ".", "]", "").Replace(f.Field)
		err = fault.Invalid(field, "%s", strings.TrimPrefix(f.Message, f.Field+": "))
	}
	return q, err
}

func decode(body []byte, maxQuery int) (wire.Request, error) {
	var r Request
	if err := wire.DecodeKnown(body, &r); err != nil {
		return wire.Request{}, err
	}
	q := wire.Request{NoStream: !r.Stream}
	if err := setMessages(&q.Question, r, maxQuery); err != nil {
		return q, err
	}
	var invalid error
	switch {
	case r.MaxTokens < 0 || r.MaxTokens > maxTokens:
		invalid = fault.Invalid("max_tokens", "want 1 to %d", maxTokens)
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		invalid = fault.Invalid("temperature", "want 0 to 1")
	case r.ToolChoice != nil && r.ToolChoice.Type != "auto" && r.ToolChoice.Type != "none":
		invalid = fault.Invalid("tool_choice.type", "want auto or none: tools of the client are not called")
	case r.OutputConfig != nil && r.OutputConfig.Format != nil:
		invalid = fault.Invalid("output_config.format", "not supported: the answer is text")
	}
	if err := cmp.Or(wire.CheckText("model", r.Model, MaxNameLength), wire.CheckText("collection", r.Collection, MaxNameLength), invalid); err != nil {
		return q, err
	}
	wire.SetModel(&q.Question, r.Model, r.Collection)
	q.Temperature, q.MaxTokens = r.Temperature, r.MaxTokens
	if t := r.Thinking; t != nil && (t.Type == "enabled" || t.Type == "adaptive") && t.Display != "omitted" {
		q.Variant = Protocol{Thinking: true}
	}
	var err error
	q.Request, err = json.Marshal(echo{Model: r.Model})
	return q, err
}

// setMessages sets the question, the history and the instructions.
func setMessages(q *event.Question, r Request, maxQuery int) error {
	system := readContent("system", r.System, "\n\n", wire.RoleSystem)
	if system.Other != "" {
		return fault.Invalid(system.Other, "want text")
	}
	all := []wire.ChatMessage{system}
	last := -1 // the last question or answer
	for i, m := range r.Messages {
		between := "\n"
		switch m.Role {
		case event.RoleUser:
			last = i
		case event.RoleAssistant:
			last, between = i, "" // the blocks of an answer are its text, divided at citations
		case wire.RoleSystem:
		default:
			return fault.Invalid(fmt.Sprintf("messages[%d].role", i), "want user, assistant or system")
		}
		all = append(all, readContent(fmt.Sprintf("messages[%d].content", i), m.Content, between, m.Role))
	}
	if last >= 0 && r.Messages[last].Role != event.RoleUser {
		return fault.Invalid(fmt.Sprintf("messages[%d].role", last), "the last message must have the role user: answers are not continued")
	}
	return wire.SetMessages(q, "messages", all, maxQuery)
}

// readContent reads the content blocks of a message. The path of a block that is not text is that of its type.
func readContent(path string, content any, between, role string) wire.ChatMessage {
	m := wire.ReadContent(path, content, between, blockText)
	if m.Role = role; m.Other != "" {
		m.Other += ".type"
	}
	return m
}
