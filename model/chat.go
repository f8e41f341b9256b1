package model

import (
	"context"
	"encoding/json"
	"iter"
)

// Role is the author of a [Message].
type Role string

// The roles.
const (
	System     Role = "system"
	User       Role = "user"
	Assistant  Role = "assistant"
	ToolResult Role = "tool" // the result of a tool call
)

// Message is one message of a conversation with a model.
type Message struct {
	Role       Role
	Text       string
	ToolCalls  []ToolCall // for Assistant: the tool calls that it made
	ToolCallID string     // for ToolResult: the id of the call that it answers
}

// Tool describes a tool that a model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
}

// ToolCall is a model's request to call a tool. Input is valid JSON; it is not checked against the tool's schema.
type ToolCall struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// Schema is the JSON Schema of a structured answer.
type Schema struct {
	Name string          // letters, digits, dashes and underscores
	JSON json.RawMessage // JSON Schema of an object
}

// Request is a request to a chat model.
type Request struct {
	Messages    []Message
	Tools       []Tool
	Schema      *Schema  // requests a JSON answer of this schema; models without structured output only get it as an instruction
	MaxTokens   int      // limit of the answer; 0: the model's default
	Temperature *float64 // 0..1; nil: the model's default. It is omitted for models that do not support it
	// Prefix is the beginning of the answer, which was generated before. The model continues it and does not repeat it. Only
	// models that implement [Continuer] support it.
	Prefix string
}

// Continuer is implemented by chat models that may support [Request.Prefix].
type Continuer interface{ CanContinue() bool }

// StopReason is why a model ended its answer.
type StopReason string

// The reasons. The first four come from the model.
const (
	StopEnd        StopReason = "stop"       // the answer is complete
	StopLength     StopReason = "length"     // the token limit was reached
	StopTools      StopReason = "tools"      // the model waits for the results of its tool calls
	StopFiltered   StopReason = "filtered"   // the provider's content filter cut the answer off
	StopIncomplete StopReason = "incomplete" // the model failed in the middle, and no other could continue
)

// Usage is the number of tokens that a request used.
type Usage struct {
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
	Reasoning int `json:"reasoning_tokens,omitempty"` // part of Output
	Cached    int `json:"cached_tokens,omitempty"`    // part of Input
	// Estimated reports that the provider sent no usage and the numbers are estimated from the texts.
	Estimated bool `json:"estimated,omitempty"`
}

// Piece is one item of a model's stream. Exactly one field is set.
type Piece struct {
	Text      string     // valid UTF-8; code points that a provider splits are joined
	Reasoning string     // reasoning, which is not part of the answer
	Call      *ToolCall  // a complete tool call
	Stop      StopReason // the last piece of an answer that did not fail
	// Resumed reports that a model failed here and that another one continues the answer. A citation marker that was begun
	// is void.
	Resumed bool
}

// Limits are a model's limits in tokens; 0 if unknown.
type Limits struct {
	Context int // request and answer together
	Output  int // the answer
}

// Chat is a chat model. Its methods may be called concurrently.
type Chat interface {
	// Name returns the model's display name.
	Name() string
	// Limits returns the known limits. It may ask the server if that was not done before.
	Limits(ctx context.Context) Limits
	// Count returns the number of tokens of a text: exact if the tokenizer is known, otherwise an upper estimate.
	Count(ctx context.Context, text string) int
	// Complete streams the answer. The sequence ends after the piece with Stop or the first error, which is an [*Error] or
	// the error of ctx. Breaking out of the loop or cancelling ctx ends the request at the provider. The usage is reported to
	// the [Trace] of ctx before the sequence ends.
	Complete(ctx context.Context, r Request) iter.Seq2[Piece, error]
}
