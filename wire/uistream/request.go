package uistream

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// MaxNameLength limits the collection and the model in a request, in bytes.
const MaxNameLength = 256

// The triggers of a request.
const (
	triggerSubmit     = "submit-message"
	triggerRegenerate = "regenerate-message"
)

// Request is the body of a request, as DefaultChatTransport of the client sends it. Fields that are not listed are ignored. The fields from Collection on come from
// the option body of the transport.
type Request struct {
	ID         string     `json:"id,omitempty" maxLength:"128" description:"Id of the chat. It is the session of the question, and resumes the stream."`
	Messages   []Message  `json:"messages" required:"true" description:"The last message with the role user is the question, and earlier ones are the history. Messages with the role system are instructions."`
	Trigger    string     `json:"trigger,omitempty" enum:"submit-message,regenerate-message" description:"regenerate-message: the question is answered again, without the cache."`
	MessageID  *string    `json:"messageId,omitempty" description:"Id of the message that was edited or is answered again. It is not used: messages has what precedes it."`
	Collection string     `json:"collection,omitempty" maxLength:"256" description:"Collection to search, or another scope."`
	Mode       event.Mode `json:"mode,omitempty" enum:"agentic,direct" default:"agentic" description:"Method of answering."`
	Model      string     `json:"model,omitempty" maxLength:"256" description:"Model that writes the answer. An unknown name selects the default model."`
}

// Message is a message of the chat.
type Message struct {
	Role  string `json:"role" enum:"system,user,assistant"`
	Parts []Part `json:"parts"`
}

// Part is a part of a message. Parts other than texts are left out of the history.
type Part struct {
	Type string `json:"type" description:"text, or another type. The question only has texts and data."`
	Text any    `json:"text,omitempty" description:"A string, if the type is text."`

	strange bool // no object with a type
}

// UnmarshalJSON implements [json.Unmarshaler]. It accepts any value, because one old message does not lose a chat.
func (p *Part) UnmarshalJSON(data []byte) error {
	type fields Part
	if err := json.Unmarshal(data, (*fields)(p)); err != nil {
		*p = Part{strange: true}
	}
	return nil
}

// Decode decodes and validates the body of a request for a server. Errors have the code [fault.InvalidRequest] and name the field.
func Decode(body []byte, maxQuery int) (wire.Request, error) {
	var r Request
	if err := wire.DecodeKnown(body, &r); err != nil {
		return wire.Request{}, err
	}
	q := event.Question{Session: r.ID, Collection: r.Collection, Mode: r.Mode, Model: r.Model, NoCache: r.Trigger == triggerRegenerate}
	switch {
	case r.Trigger != "" && r.Trigger != triggerSubmit && r.Trigger != triggerRegenerate:
		return wire.Request{}, fault.Invalid("trigger", "want %s or %s", triggerSubmit, triggerRegenerate)
	case r.Mode != "" && r.Mode != event.Agentic && r.Mode != event.Direct:
		return wire.Request{}, fault.Invalid("mode", "want agentic or direct")
	}
	if r.ID == "." || r.ID == ".." || strings.ContainsFunc(r.ID, unicode.IsControl) {
		return wire.Request{}, fault.Invalid("id", "want an id without control characters that is not . or ..")
	}
	err := cmp.Or(wire.CheckText("id", r.ID, event.MaxSession), wire.CheckText("collection", r.Collection, MaxNameLength), wire.CheckText("model", r.Model, MaxNameLength), setMessages(&q, r.Messages, maxQuery))
	// An earlier answer of the chat may still be in progress, because the user stopped to read it.
	return wire.Request{Question: q, Turn: wire.Turn{Wait: true, Alone: true}}, err
}

// setMessages sets the question, the history and the instructions.
func setMessages(q *event.Question, messages []Message, maxQuery int) error {
	var all []wire.ChatMessage
	for i, m := range messages {
		if m.Role != event.RoleUser && m.Role != event.RoleAssistant && m.Role != wire.RoleSystem {
			return fault.Invalid(fmt.Sprintf("messages[%d].role", i), "want system, user or assistant")
		}
		read := wire.ChatMessage{Role: m.Role, Path: fmt.Sprintf("messages[%d].parts", i)}
		var texts []string
		for j, part := range m.Parts {
			at := fmt.Sprintf("%s[%d]", read.Path, j)
			switch text, ok := part.Text.(string); {
			case part.strange:
				read.Err = cmp.Or(read.Err, fault.Invalid(at, "want an object with a type"))
			case part.Type == "file":
				read.Other = cmp.Or(read.Other, at)
			case part.Type == "text" && !ok:
				read.Err = cmp.Or(read.Err, fault.Invalid(at+".text", "want a string"))
			case part.Type == "text":
				texts = append(texts, text)
			}
		}
		read.Text = strings.Join(texts, "\n")
		all = append(all, read)
	}
	return wire.SetMessages(q, "messages", all, maxQuery)
}
