package wire

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Roles of messages with instructions.
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer"
)

// maxParts limits the parts of a message.
const maxParts = 1000

// ChatMessage is a message of a request that has the whole conversation. Messages of other roles than those of questions, answers and instructions
// are left out of it.
type ChatMessage struct {
	Role  string
	Text  string
	Path  string       // of its content
	Other string       // path of the first part that is not text; empty: there is none
	Err   *fault.Error // the first fault of the content. Only the question and instructions must have none: one old message does not lose a thread.
}

// ReadContent reads the content of a message: a text, or a list of parts, of which those of the given types have a text. between separates the texts.
// Parts with a fault are left out of the text.
func ReadContent(path string, content any, between string, types ...string) ChatMessage {
	m := ChatMessage{Path: path}
	switch c := content.(type) {
	case nil:
	case string:
		m.Text = c
	case []any:
		if len(c) > maxParts {
			m.Err = fault.Invalid(path, "%d parts; the limit is %d", len(c), maxParts)
			return m
		}
		var texts []string
		for i, p := range c {
			at := fmt.Sprintf("%s[%d]", path, i)
			part, ok := p.(map[string]any)
			if !ok {
				m.Err = cmp.Or(m.Err, fault.Invalid(at, "want an object with type and text"))
				continue
			}
			if kind, _ := part["type"].(string); !slices.Contains(types, kind) {
				m.Other = cmp.Or(m.Other, at)
				continue
			}
			text, ok := part["text"].(string)
			if !ok {
				m.Err = cmp.Or(m.Err, fault.Invalid(at+".text", "want a string"))
				continue
			}
			texts = append(texts, text)
		}
		m.Text = strings.Join(texts, between)
	default:
		m.Err = fault.Invalid(path, "want a string or a list of parts")
	}
	return m
}

// SetMessages sets the question, the history and the instructions of a request. The last message of the user is the question, and earlier ones are
// the history. Messages of the roles system and developer are instructions. If the history is too long, its oldest messages are dropped. path is that
// of the messages.
func SetMessages(q *event.Question, path string, all []ChatMessage, maxQuery int) error {
	var instructions []string
	size, last := 0, -1
	earlier := make([]event.Message, len(all))
	for i, m := range all {
		earlier[i] = event.Message{Role: m.Role, Text: m.Text}
		switch {
		case m.Role == event.RoleUser:
			last = i
		case m.Role != RoleSystem && m.Role != RoleDeveloper:
		case m.Err != nil:
			return m.Err
		case strings.TrimSpace(m.Text) != "":
			instructions = append(instructions, m.Text)
			if size += len(m.Text); size+2*(len(instructions)-1) > event.MaxInstructions {
				return fault.Invalid(m.Path, "more than %d bytes of instructions", event.MaxInstructions)
			}
		}
	}
	if last < 0 {
		return fault.Invalid(path, "no message of the role user")
	}
	asked := all[last]
	switch {
	case asked.Err != nil:
		return asked.Err
	case asked.Other != "":
		return fault.Invalid(asked.Other, "only text is supported in the question")
	case strings.TrimSpace(asked.Text) == "":
		return fault.Invalid(asked.Path, "want a text that is not only white space")
	}
	q.Query, q.History, q.Instructions = asked.Text, History(earlier[:last]), strings.Join(instructions, "\n\n")
	return CheckText(asked.Path, asked.Text, maxQuery)
}
