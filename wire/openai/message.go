package openai

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// readContent reads the content of a message of any form of the API.
func readContent(path string, content any) wire.ChatMessage {
	return wire.ReadContent(path, content, "\n", "text", partInput, partText)
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
