package model

import (
	"context"
	"encoding/json"
	"iter"
)

// Role is who speaks in a [Message].
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolReply Role = "tool" // the result of a tool that the assistant called
)

// Message is one turn of what a model is given.
type Message struct {
	Role  Role
	Text  string
	Calls []ToolCall // of an assistant's message: the tools that it called
	Call  string     // of a tool's reply: the id of the call that it answers
}

// Tool is what a model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // the JSON Schema of an object
}

// ToolCall is a model's wish to call a tool. Input is what the model wrote: valid JSON, and nothing more is known of it.
type ToolCall struct {
	ID    string
	Name  string
	Input json.RawMessage
}

// Schema is the form that an answer in JSON is to have.
type Schema struct {
	Name string          // letters, digits, dashes and underscores
	JSON json.RawMessage // the JSON Schema of an object
}

// Request is what a model is asked.
type Request struct {
	Messages    []Message
	Tools       []Tool
	Schema      *Schema  // the answer is wanted as JSON of this form; models that cannot be held to it are only told so
	MaxTokens   int      // of the answer; 0: what the model gives
	Temperature *float64 // 0..1; nil: the model's own. Models that take none are asked without
	// Said is the beginning of the answer, which was given before: the answer is what follows. Only models that are
	// [Continuing] honour it.
	Said string
}

// Continuing is also implemented by models that honour [Request.Said].
type Continuing interface{ Continues() bool }

// Stop is why a model ended its answer.
type Stop string

// The reasons. The first four are a model's own.
const (
	StopEnd        Stop = "stop"       // it has said all that it had to say
	StopLength     Stop = "length"     // the limit of tokens was reached
	StopTools      Stop = "tools"      // it waits for the results of the tools that it called
	StopFiltered   Stop = "filtered"   // the provider's filter cut it off
	StopIncomplete Stop = "incomplete" // it failed in the middle, and no other could go on
)

// Usage is what a call cost in tokens.
type Usage struct {
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
	Reasoning int `json:"reasoning_tokens,omitempty"` // part of Output
	Cached    int `json:"cached_tokens,omitempty"`    // part of Input
	// Estimated says that the provider told nothing, and that the figures are counted from the texts.
	Estimated bool `json:"estimated,omitempty"`
}

// Piece is what a model gives next. Exactly one of its fields is set.
type Piece struct {
	Text      string    // valid UTF-8: code points that a provider cuts are joined again
	Reasoning string    // of what the model thinks and does not say
	Call      *ToolCall // whole
	Stop      Stop      // the last piece of an answer that ended by itself
	// Resumed says that a model broke off here and another goes on. Of a citation that was begun, nothing counts.
	Resumed bool
}

// Limits are how much a model takes, in tokens; 0 where that is not known.
type Limits struct {
	Context int // of the request and the answer together
	Output  int // of the answer
}

// Chat is a language model. Its methods may be called at once.
type Chat interface {
	// Name is the model's name as shown to people.
	Name() string
	// Limits gives what is known of the model's limits, asking the server where it tells and was not asked before.
	Limits(ctx context.Context) Limits
	// Count gives the tokens of a text: by the model's tokenizer where that is known, and otherwise not fewer than are likely.
	Count(ctx context.Context, text string) int
	// Complete streams the answer. The sequence ends after the piece with Stop or the first error, which is an [*Error]
	// unless it is ctx's. Breaking out of it or ending ctx ends the request at the provider. What it cost is told to the
	// [Trace] of ctx before the sequence ends.
	Complete(ctx context.Context, r Request) iter.Seq2[Piece, error]
}
