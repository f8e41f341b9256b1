package uistream

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// The chunks of a stream. Those of tools have providerExecuted, so that the client does not run the tool, and dynamic, so that it needs no
// description of the tool.
type (
	// Start begins the message.
	Start struct {
		Type      string   `json:"type" enum:"start"`
		MessageID string   `json:"messageId" description:"Id of the answer, also in its session."`
		Metadata  Metadata `json:"messageMetadata"`
	}
	// Metadata is the metadata of the message.
	Metadata struct {
		RunID event.RunID `json:"runId" description:"Id of the run. It can be read in any protocol."`
	}
	// Step begins or ends the only step of the message.
	Step struct {
		Type string `json:"type" enum:"start-step,finish-step"`
	}
	// TextStart begins the text of the answer.
	TextStart struct {
		Type string `json:"type" enum:"text-start"`
		ID   string `json:"id"`
	}
	// TextDelta is a piece of the text.
	TextDelta struct {
		Type  string `json:"type" enum:"text-delta"`
		ID    string `json:"id"`
		Delta string `json:"delta"`
	}
	// TextEnd ends the text.
	TextEnd struct {
		Type      string     `json:"type" enum:"text-end"`
		ID        string     `json:"id"`
		Citations []Citation `json:"citations,omitempty" description:"In the order of the text. Version 7 of the client keeps them."`
	}
	// Citation refers to the source that supports a part of the text.
	Citation struct {
		Source     CitedSource `json:"source"`
		StartIndex int         `json:"startIndex" description:"Start of the part in the text, in UTF-16 code units: an index of a string of JavaScript."`
		EndIndex   int         `json:"endIndex" description:"End of the part."`
		CitedText  string      `json:"citedText,omitempty" description:"The sentence of the source that supports the part."`
	}
	// CitedSource repeats a source in a citation.
	CitedSource struct {
		Type       string `json:"type" enum:"source"`
		SourceType string `json:"sourceType" enum:"url,document"`
		ID         string `json:"id" description:"The sourceId of the source."`
		URL        string `json:"url,omitempty"`
		MediaType  string `json:"mediaType,omitempty"`
		Title      string `json:"title"`
		Filename   string `json:"filename,omitempty"`
	}
	// Reasoning begins or ends a piece of the reasoning of a model.
	Reasoning struct {
		Type string `json:"type" enum:"reasoning-start,reasoning-end"`
		ID   string `json:"id"`
	}
	// ReasoningDelta continues it.
	ReasoningDelta struct {
		Type  string `json:"type" enum:"reasoning-delta"`
		ID    string `json:"id"`
		Delta string `json:"delta"`
	}
	// ToolInput says that a search or another step has begun.
	ToolInput struct {
		Type             string          `json:"type" enum:"tool-input-available"`
		ToolCallID       string          `json:"toolCallId"`
		ToolName         string          `json:"toolName" description:"A search or another tool, grade_passages, or rerank_colbert."`
		Input            json.RawMessage `json:"input"`
		ProviderExecuted bool            `json:"providerExecuted"`
		Dynamic          bool            `json:"dynamic"`
	}
	// ToolOutput says that it has ended.
	ToolOutput struct {
		Type             string `json:"type" enum:"tool-output-available"`
		ToolCallID       string `json:"toolCallId"`
		Output           any    `json:"output" description:"Found, Result, Grades or Ranking, by the kind of the tool."`
		ProviderExecuted bool   `json:"providerExecuted"`
		Dynamic          bool   `json:"dynamic"`
	}
	// ToolError says that it has failed.
	ToolError struct {
		Type             string `json:"type" enum:"tool-output-error"`
		ToolCallID       string `json:"toolCallId"`
		ErrorText        string `json:"errorText"`
		ProviderExecuted bool   `json:"providerExecuted"`
		Dynamic          bool   `json:"dynamic"`
	}
	// SourceURL is a cited source that a browser can open.
	SourceURL struct {
		Type             string         `json:"type" enum:"source-url"`
		SourceID         string         `json:"sourceId"`
		URL              string         `json:"url"`
		Title            string         `json:"title"`
		ProviderMetadata SourceMetadata `json:"providerMetadata"`
	}
	// SourceDocument is another cited source.
	SourceDocument struct {
		Type             string         `json:"type" enum:"source-document"`
		SourceID         string         `json:"sourceId"`
		MediaType        string         `json:"mediaType"`
		Title            string         `json:"title"`
		Filename         string         `json:"filename,omitempty"`
		ProviderMetadata SourceMetadata `json:"providerMetadata"`
	}
	// SourceMetadata has what the client has no field for.
	SourceMetadata struct {
		Sluice Passage `json:"sluice"`
	}
	// Passage is the passage of a source.
	Passage struct {
		N          int     `json:"n" description:"Number of the source, from 1."`
		ChunkID    string  `json:"chunkId"`
		DocumentID string  `json:"documentId"`
		Heading    string  `json:"heading,omitempty"`
		Pages      []int   `json:"pages,omitempty"`
		Score      float64 `json:"score" description:"Relevance to the question, 0 to 1."`
		Quote      string  `json:"quote,omitempty" description:"The sentence that supports the first citation, or the beginning of the passage."`
	}
	// ConfidencePart tells how far the answer can be trusted.
	ConfidencePart struct {
		Type string          `json:"type" enum:"data-confidence"`
		ID   string          `json:"id"`
		Data wire.Confidence `json:"data"`
	}
	// CostPart tells what the run cost. It is left out if no model was called and nothing was charged.
	CostPart struct {
		Type string    `json:"type" enum:"data-cost"`
		ID   string    `json:"id"`
		Data wire.Cost `json:"data"`
	}
	// Finish ends a message.
	Finish struct {
		Type         string `json:"type" enum:"finish"`
		FinishReason string `json:"finishReason" enum:"stop,length,content-filter,other"`
	}
	// Error ends the message of a run that failed.
	Error struct {
		Type      string `json:"type" enum:"error"`
		ErrorText string `json:"errorText"`
	}
	// Abort ends the message of a run that was cancelled.
	Abort struct {
		Type   string `json:"type" enum:"abort"`
		Reason string `json:"reason"`
	}
)

// The outputs of tools.
type (
	// Grades is the output of grade_passages.
	Grades struct {
		Correct   int          `json:"correct"`
		Ambiguous int          `json:"ambiguous"`
		Incorrect int          `json:"incorrect"`
		Action    event.Action `json:"action" enum:"proceed,re-retrieve,expand"`
	}
	// Ranking is the output of the reranker.
	Ranking struct {
		Passages   int          `json:"passages" description:"Number of passages that were kept."`
		DurationMS event.Millis `json:"durationMs"`
	}
)
