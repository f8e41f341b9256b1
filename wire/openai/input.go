package openai

import (
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/event"
)

const partInput = "input_text"

// InputItem is a message that a response was given: the question, or one of the messages before it.
type InputItem struct {
	ID      string      `json:"id"`
	Type    string      `json:"type" enum:"message"`
	Status  string      `json:"status" enum:"completed"`
	Role    string      `json:"role" enum:"user,assistant"`
	Content []InputPart `json:"content"`
}

// InputPart is the text of an [InputItem].
type InputPart struct {
	Type        string          `json:"type" enum:"input_text,output_text"`
	Text        string          `json:"text"`
	Annotations *[]FileCitation `json:"annotations,omitempty" description:"Of an answer; always empty."`
}

// InputItems returns the messages that a run was given, the oldest first: its history, with earlier questions and answers of its conversation, and the
// question. Instructions are no messages.
func InputItems(start event.RunStarted) []InputItem {
	var items []InputItem
	for i, m := range append(start.History[:len(start.History):len(start.History)], event.Message{Role: event.RoleUser, Text: start.Query}) {
		part := InputPart{Type: partInput, Text: m.Text}
		if m.Role == event.RoleAssistant {
			part.Type, part.Annotations = partText, &[]FileCitation{}
		}
		items = append(items, InputItem{ID: fmt.Sprintf("msg_in_%s_%d", strings.TrimPrefix(string(start.Run), "run_"), i), Type: itemMessage, Status: statusCompleted, Role: m.Role,
			Content: []InputPart{part}})
	}
	return items
}
