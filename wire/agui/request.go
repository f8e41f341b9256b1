package agui

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// MaxNameLength limits the collection and the model in a request, in bytes.
const MaxNameLength = 256

// Request is the body of a request: RunAgentInputSchema of @ag-ui/core 1.0.0, as HttpAgent of @ag-ui/client sends it. Fields that are not listed are
// ignored.
type Request struct {
	ThreadID       string    `json:"threadId,omitempty" maxLength:"128" description:"Id of the thread. It is the session of the question, and resumes the stream."`
	RunID          any       `json:"runId,omitempty" description:"Ignored: the server gives the run an id of its own, which is in RUN_STARTED."`
	State          any       `json:"state,omitempty" description:"Ignored: each run begins with a state of its own."`
	Messages       []Message `json:"messages" required:"true" description:"The last message with the role user is the question, and earlier ones are the history. Messages with the roles system and developer are instructions."`
	Tools          any       `json:"tools,omitempty" description:"Ignored: the server calls no tools of the client."`
	Context        []Context `json:"context,omitempty" description:"Instructions, after those of the messages."`
	ForwardedProps *Props    `json:"forwardedProps,omitempty"`
	Resume         []any     `json:"resume,omitempty" description:"Must be empty: runs are not interrupted."`
}

// Message is a message of the thread. Those with other roles than system, developer, user and assistant are left out of the history.
type Message struct {
	Role    string `json:"role" enum:"developer,system,assistant,user,tool,activity,reasoning"`
	Content any    `json:"content,omitempty" description:"A string, or a list of parts for the role user. The question only has parts with the type text."`
}

// Context is what an application tells about itself.
type Context struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// Props are the parameters of the question.
type Props struct {
	Collection string     `json:"collection,omitempty" maxLength:"256" description:"Collection to search, or another scope."`
	Mode       event.Mode `json:"mode,omitempty" enum:"agentic,direct" default:"agentic" description:"Method of answering."`
	Model      string     `json:"model,omitempty" maxLength:"256" description:"Model that writes the answer. An unknown name selects the default model."`
	NoCache    bool       `json:"noCache,omitempty" description:"The answer does not come from the cache."`
}

// Decode decodes and validates the body of a request for a server. Errors have the code [fault.InvalidRequest] and name the field.
func Decode(body []byte, maxQuery int) (wire.Request, error) {
	var r Request
	if err := wire.DecodeKnown(body, &r); err != nil {
		return wire.Request{}, err
	}
	q := event.Question{Session: r.ThreadID}
	if p := r.ForwardedProps; p != nil {
		q.Collection, q.Mode, q.Model, q.NoCache = p.Collection, p.Mode, p.Model, p.NoCache
	}
	switch {
	case q.Mode != "" && q.Mode != event.Agentic && q.Mode != event.Direct:
		return wire.Request{}, fault.Invalid("forwardedProps.mode", "want agentic or direct")
	case len(r.Resume) > 0:
		return wire.Request{}, fault.Invalid("resume", "want no entries: runs are not interrupted")
	case r.ThreadID == "." || r.ThreadID == ".." || strings.ContainsFunc(r.ThreadID, unicode.IsControl):
		return wire.Request{}, fault.Invalid("threadId", "want an id without control characters that is not . or ..")
	}
	err := cmp.Or(wire.CheckText("threadId", r.ThreadID, event.MaxSession), wire.CheckText("forwardedProps.collection", q.Collection, MaxNameLength),
		wire.CheckText("forwardedProps.model", q.Model, MaxNameLength), setMessages(&q, r, maxQuery))
	// An earlier answer of the thread may still be in progress, because the client has disconnected from it.
	return wire.Request{Question: q, Turn: wire.Turn{Wait: true, Alone: true}}, err
}

// setMessages sets the question, the history and the instructions.
func setMessages(q *event.Question, r Request, maxQuery int) error {
	var all []wire.ChatMessage
	for i, m := range r.Messages {
		switch m.Role {
		case event.RoleUser, event.RoleAssistant, wire.RoleSystem, wire.RoleDeveloper:
		case "tool", "activity", "reasoning":
			continue
		default:
			return fault.Invalid(fmt.Sprintf("messages[%d].role", i), "want developer, system, assistant, user, tool, activity or reasoning")
		}
		read := wire.ReadContent(fmt.Sprintf("messages[%d].content", i), m.Content, "\n", "text")
		read.Role = m.Role
		all = append(all, read)
	}
	for _, c := range r.Context {
		all = append(all, wire.ChatMessage{Role: wire.RoleSystem, Text: c.Description + ": " + c.Value, Path: "context"})
	}
	return wire.SetMessages(q, "messages", all, maxQuery)
}
