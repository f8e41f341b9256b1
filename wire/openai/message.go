package openai

import (
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Roles of messages that are not part of the history.
const (
	roleSystem    = "system"
	roleDeveloper = "developer"
)

// maxParts limits the parts of a message.
const maxParts = 1000

// message is a message of a request.
type message struct {
	role  string
	text  string
	path  string // of its content
	other string // path of the first part that is not text; empty: there is none
}

// readContent reads the content of a message: a text, or a list of parts.
func readContent(path string, content any) (message, error) {
	m := message{path: path}
	switch c := content.(type) {
	case nil:
	case string:
		m.text = c
	case []any:
		if len(c) > maxParts {
			return m, fault.Invalid(path, "%d parts; the limit is %d", len(c), maxParts)
		}
		var texts []string
		for i, p := range c {
			at := fmt.Sprintf("%s[%d]", path, i)
			part, ok := p.(map[string]any)
			if !ok {
				return m, fault.Invalid(at, "want an object with type and text")
			}
			kind, _ := part["type"].(string)
			text, ok := part["text"].(string)
			switch kind {
			case "text", "input_text", "output_text":
				if !ok {
					return m, fault.Invalid(at+".text", "want a string")
				}
				texts = append(texts, text)
			default:
				if m.other == "" {
					m.other = at
				}
			}
		}
		m.text = strings.Join(texts, "\n")
	default:
		return m, fault.Invalid(path, "want a string or a list of parts")
	}
	return m, nil
}

// setMessages sets the question, the history and the instructions of a request. The last message of the user is the question, and earlier ones are
// the history; messages of tools are left out. If the history is too long, its oldest messages are dropped. path is that of the messages.
func setMessages(q *event.Question, path string, all []message, instructions string, maxQuery int) error {
	last := len(all) - 1
	for last >= 0 && all[last].role != event.RoleUser {
		last--
	}
	if last < 0 {
		return fault.Invalid(path, "no message of the role user")
	}
	asked := all[last]
	switch {
	case asked.other != "":
		return fault.Invalid(asked.other, "only text is supported in the question")
	case strings.TrimSpace(asked.text) == "":
		return fault.Invalid(asked.path, "required, and not only white space")
	}
	if err := wire.CheckText(asked.path, asked.text, maxQuery); err != nil {
		return err
	}
	q.Query = asked.text
	var before []string
	for _, m := range append([]message{{role: roleSystem, text: instructions}}, all...) {
		if (m.role == roleSystem || m.role == roleDeveloper) && strings.TrimSpace(m.text) != "" {
			before = append(before, m.text)
		}
	}
	if q.Instructions = strings.Join(before, "\n\n"); len(q.Instructions) > event.MaxInstructions {
		return fault.Invalid(path, "%d bytes of instructions and messages of the roles system and developer; the limit is %d", len(q.Instructions), event.MaxInstructions)
	}
	earlier := make([]event.Message, last)
	for i, m := range all[:last] {
		earlier[i] = event.Message{Role: m.role, Text: m.text}
	}
	q.History = wire.History(earlier)
	return nil
}

// checkSettings returns an error for a temperature or a limit of tokens that is out of range. limits has the fields with a limit, by name.
func checkSettings(q *event.Question, temperature *float64, limits map[string]int) error {
	if t := temperature; t != nil && (*t < 0 || *t > 2) {
		return fault.Invalid("temperature", "want 0 to 2")
	}
	q.Temperature = temperature
	for name, n := range limits {
		if n < 0 || n > maxTokens {
			return fault.Invalid(name, "want 1 to %d", maxTokens)
		}
		q.MaxTokens = max(q.MaxTokens, n)
	}
	return nil
}

// maxTokens is the greatest limit of tokens that a request may have.
const maxTokens = 1_000_000

// checkFormat returns an error unless the form of an answer is text.
func checkFormat(field, kind string) error {
	if kind != "" && kind != "text" {
		return fault.Invalid(field, "only text is supported")
	}
	return nil
}

// checkChoice returns an error if a request demands the call of another tool than file_search: the model calls none of the client. onlySearch reports
// that the request has no other tools.
func checkChoice(choice any, onlySearch bool) error {
	mode, _ := choice.(string)
	switch c := choice.(type) {
	case nil, string:
	case map[string]any:
		mode = "required"
		if c["type"] == "allowed_tools" {
			allowed, ok := c["allowed_tools"].(map[string]any) // of Chat Completions
			if !ok {
				allowed = c
			}
			mode, _ = allowed["mode"].(string)
		} else if c["type"] == toolFileSearch {
			return nil
		}
	default:
		return fault.Invalid("tool_choice", "want a string or an object")
	}
	if mode == "required" && !onlySearch {
		return fault.Invalid("tool_choice", "want auto, none or file_search: tools of the client are not called")
	}
	return nil
}
