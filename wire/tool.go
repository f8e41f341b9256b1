package wire

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/event"
)

// Limits of the inputs and the outputs of tools, in bytes unless noted. Clients send those of earlier answers back with each question.
const (
	maxToolQuery = 500
	maxToolError = 300
	maxToolName  = 300
	maxTool      = 2 << 10 // of an input or a result
	maxFound     = 10      // passages
)

// The outputs of tools, for protocols that have no type of their own for them.
type (
	// Found is the output of a search.
	Found struct {
		Passages   []FoundPassage `json:"passages" description:"The best ones, at most 10."`
		Total      int            `json:"total"`
		DurationMS event.Millis   `json:"durationMs"`
	}
	// FoundPassage is a passage that a search found.
	FoundPassage struct {
		ChunkID    string  `json:"chunkId"`
		DocumentID string  `json:"documentId,omitempty"`
		Name       string  `json:"name,omitempty"`
		Score      float64 `json:"score"`
	}
	// ToolResult is the output of another tool.
	ToolResult struct {
		Result     json.RawMessage `json:"result,omitempty" description:"An object. It is left out if it is longer than 2 KiB: clients send it back with each question."`
		Passages   int             `json:"passages" description:"Number of passages that it added."`
		DurationMS event.Millis    `json:"durationMs"`
	}
)

// SearchInput returns the input of a search as a tool.
func SearchInput(b event.RetrievalStarted) json.RawMessage {
	return ToolObject("query", Clip(b.Query, maxToolQuery))
}

// ToolInput returns the input of a tool: {} if it is too long.
func ToolInput(input json.RawMessage) json.RawMessage {
	if len(input) > maxTool || !json.Valid(input) {
		return json.RawMessage(`{}`)
	}
	return input
}

// ToolObject returns a JSON object with one field. The value is a string or a number.
func ToolObject(name string, value any) json.RawMessage {
	text, _ := json.Marshal(map[string]any{name: value}) // strings and numbers always have a JSON text
	return text
}

// FoundBy returns the output of a search, or the message of its error.
func FoundBy(b event.RetrievalFinished) (out Found, failed string) {
	if b.Error != "" {
		return out, Clip(b.Error, maxToolError)
	}
	out = Found{Passages: []FoundPassage{}, Total: len(b.Found), DurationMS: b.Duration}
	for _, f := range b.Found[:min(len(b.Found), maxFound)] {
		out.Passages = append(out.Passages, FoundPassage{string(f.Chunk), string(f.Document), Clip(f.Name, maxToolName), Round(f.Score)})
	}
	return out, ""
}

// ReturnedBy returns the output of another tool, or the message of its error.
func ReturnedBy(b event.ToolReturned) (out ToolResult, failed string) {
	var reported struct {
		Error any `json:"error"`
	}
	if err := json.Unmarshal(b.Result, &reported); err == nil {
		if message, ok := reported.Error.(string); ok && message != "" {
			return out, Clip(message, maxToolError)
		}
	}
	out = ToolResult{Passages: len(b.Passages), DurationMS: b.Duration}
	if len(b.Result) <= maxTool && json.Valid(b.Result) {
		out.Result = b.Result
	}
	return out, ""
}
