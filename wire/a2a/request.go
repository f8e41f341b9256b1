package a2a

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of requests, in bytes.
const (
	MaxNameLength = 256 // of the collection and the model
	maxID         = 256 // of the JSON text of the id of a request
)

// SendParams are the parameters of SendMessage and SendStreamingMessage. Fields that are not listed are ignored.
type SendParams struct {
	Message       Sent           `json:"message" required:"true"`
	Configuration *Configuration `json:"configuration,omitempty"`
	Metadata      *SendMetadata  `json:"metadata,omitempty"`
}

// Sent is the message of a user.
type Sent struct {
	ID        string     `json:"messageId" required:"true"`
	ContextID string     `json:"contextId,omitempty" maxLength:"128" description:"Session of the question. Without it, the server chooses one."`
	TaskID    string     `json:"taskId,omitempty" description:"Must be empty: a task takes one message."`
	Role      string     `json:"role" enum:"ROLE_USER"`
	Parts     []SentPart `json:"parts" required:"true" description:"Texts. Together, they are the question."`
}

// SentPart is a part of a message of a user. Only texts are supported.
type SentPart struct {
	Text *string         `json:"text,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
	URL  json.RawMessage `json:"url,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Configuration is how the request wants its reply.
type Configuration struct {
	ReturnImmediately bool            `json:"returnImmediately,omitempty" description:"Reply without waiting for the answer. GetTask shows it."`
	Push              json.RawMessage `json:"taskPushNotificationConfig,omitempty" description:"Not supported."`
}

// SendMetadata is the metadata of a request.
type SendMetadata struct {
	Sluice Settings `json:"sluice,omitzero"`
}

// Settings are what a request may choose.
type Settings struct {
	Collection string     `json:"collection,omitempty" maxLength:"256" description:"Collection to search, or another scope."`
	Mode       event.Mode `json:"mode,omitempty" enum:"agentic,direct" default:"agentic" description:"Method of answering."`
	Model      string     `json:"model,omitempty" maxLength:"256" description:"Model that writes the answer. An unknown name selects the default model."`
	NoCache    bool       `json:"noCache,omitempty" description:"Do not use cached answers."`
}

// Send is a decoded message.
type Send struct {
	wire.Request
	Task        string // the task that the message is for; empty: a new one
	Immediately bool   // reply without waiting for the answer
}

// TaskParams are the parameters of the methods for a task.
type TaskParams struct {
	ID string `json:"id" required:"true" description:"Id of the task."`
}

// DecodeCall decodes a request of JSON-RPC. The call has the id also if there is an error, as far as it could be read.
func DecodeCall(body []byte) (Call, *ErrorObject) {
	var c Call
	if !json.Valid(body) {
		return c, Errorf(CodeParse, "body: not valid JSON")
	}
	err := wire.DecodeKnown(body, &c)
	id := bytes.TrimSpace(c.ID)
	valid := len(id) > 0 && len(id) <= maxID && (id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9')
	if f := fault.Public(err); err != nil {
		if !valid || f.Field == "id" { // given twice
			c.ID = nil
		}
		return c, ErrorOf(CodeRequest, f)
	}
	if !valid {
		c.ID = nil
		return c, ErrorOf(CodeRequest, fault.Invalid("id", "want a string or a number of at most %d bytes", maxID))
	}
	// Line breaks cannot be in a string or a number, but compact JSON is what the frames repeat.
	if c.JSONRPC != version {
		return c, ErrorOf(CodeRequest, fault.Invalid("jsonrpc", "want %q", version))
	}
	return c, nil
}

// invalidParams converts an error of decoding parameters.
func invalidParams(err error) *ErrorObject {
	if e, ok := errors.AsType[*ErrorObject](err); ok {
		return e
	}
	f := fault.Public(err)
	if f.Field == "body" { // the parameters are decoded like the body of a request
		f = fault.Invalid("params", "want an object")
	}
	return ErrorOf(CodeParams, f)
}

// DecodeTask decodes the parameters of a method for a task.
func DecodeTask(params []byte) (event.RunID, *ErrorObject) {
	var p TaskParams
	if err := wire.DecodeKnown(params, &p); err != nil {
		return "", invalidParams(err)
	}
	if p.ID == "" {
		return "", ErrorOf(CodeParams, fault.Invalid("id", "required"))
	}
	return event.RunID(p.ID), nil
}

// DecodeSend decodes and validates the parameters of a message. A question of more than maxQuery bytes is an error. Errors of fields name them.
func DecodeSend(params []byte, maxQuery int) (Send, *ErrorObject) {
	var p SendParams
	if err := wire.DecodeKnown(params, &p); err != nil {
		return Send{}, invalidParams(err)
	}
	// Messages have no history, so that of the session counts. An earlier answer of the context may still be in progress, and the next waits for it.
	out := Send{Request: wire.Request{Question: event.Question{Session: p.Message.ContextID}, Turn: wire.Turn{Wait: true}}, Task: p.Message.TaskID}
	if c := p.Configuration; c != nil {
		if len(c.Push) > 0 && string(c.Push) != "null" {
			return Send{}, Errorf(CodePushNotSupported, "configuration.taskPushNotificationConfig: push notifications are not supported")
		}
		out.Immediately = c.ReturnImmediately
	}
	if p.Metadata != nil {
		set := p.Metadata.Sluice
		out.Collection, out.Mode, out.Model, out.NoCache = set.Collection, set.Mode, set.Model, set.NoCache
	}
	if err := cmp.Or(setQuestion(&out.Question, p.Message, maxQuery), checkSettings(out.Question)); err != nil {
		return Send{}, invalidParams(err)
	}
	return out, nil
}

func checkSettings(q event.Question) error {
	if q.Mode != "" && q.Mode != event.Agentic && q.Mode != event.Direct {
		return fault.Invalid("metadata.sluice.mode", "want agentic or direct")
	}
	return cmp.Or(wire.CheckText("metadata.sluice.collection", q.Collection, MaxNameLength), wire.CheckText("metadata.sluice.model", q.Model, MaxNameLength))
}

// setQuestion sets the text of the question.
func setQuestion(q *event.Question, m Sent, maxQuery int) error {
	switch {
	case m.ID == "":
		return fault.Invalid("message.messageId", "required")
	case m.Role != RoleUser:
		return fault.Invalid("message.role", "want %s", RoleUser)
	case m.ContextID == "." || m.ContextID == ".." || strings.ContainsFunc(m.ContextID, unicode.IsControl):
		return fault.Invalid("message.contextId", "want an id without control characters that is not . or ..")
	}
	if err := wire.CheckText("message.contextId", m.ContextID, event.MaxSession); err != nil {
		return err
	}
	var texts []string
	for i, part := range m.Parts {
		if part.Text == nil {
			if len(part.Raw)+len(part.URL)+len(part.Data) == 0 {
				return fault.Invalid(fmt.Sprintf("message.parts[%d]", i), "want a text")
			}
			return Errorf(CodeContentType, fmt.Sprintf("message.parts[%d]: only texts are supported", i))
		}
		texts = append(texts, *part.Text)
	}
	if q.Query = strings.Join(texts, "\n"); strings.TrimSpace(q.Query) == "" {
		return fault.Invalid("message.parts", "want a text that is not only white space")
	}
	return wire.CheckText("message.parts", q.Query, maxQuery)
}
