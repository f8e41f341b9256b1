package agui

import (
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// The events of a stream, with the names and the fields of the schemas of @ag-ui/core 1.0.0. Timestamps are Unix times in milliseconds.
type (
	// RunStarted begins the stream (RunStartedEventSchema).
	RunStarted struct {
		Type            string      `json:"type" enum:"RUN_STARTED"`
		Timestamp       int64       `json:"timestamp"`
		ThreadID        string      `json:"threadId" description:"The session of the question; the id of the run if it has none."`
		RunID           event.RunID `json:"runId" description:"Id that the server gave the run. The run can be read in any protocol by it."`
		ProtocolVersion string      `json:"protocolVersion" enum:"1.0"`
	}
	// RunFinished ends the stream of a run that has finished (RunFinishedEventSchema).
	RunFinished struct {
		Type      string       `json:"type" enum:"RUN_FINISHED"`
		Timestamp int64        `json:"timestamp"`
		ThreadID  string       `json:"threadId"`
		RunID     event.RunID  `json:"runId"`
		Result    Result       `json:"result"`
		Outcome   Outcome      `json:"outcome"`
		Usage     []TokenUsage `json:"usage,omitempty" description:"Of each model that was called."`
	}
	// Result is the result of a run.
	Result struct {
		MessageID    string `json:"messageId" description:"Id of the answer, also in its session."`
		FinishReason string `json:"finishReason" enum:"stop,length,content-filter,other" description:"Why the text ended."`
	}
	// Outcome tells how a run ended (RunFinishedOutcomeSchema).
	Outcome struct {
		Type string `json:"type" enum:"success"`
	}
	// TokenUsage is what calls of a model used (TokenUsageSchema).
	TokenUsage struct {
		Model        string `json:"model"`
		InputTokens  int    `json:"inputTokens"`
		OutputTokens int    `json:"outputTokens"`
		TotalTokens  int    `json:"totalTokens"`
	}
	// RunError ends the stream of a run that failed or was cancelled (RunErrorEventSchema).
	RunError struct {
		Type      string       `json:"type" enum:"RUN_ERROR"`
		Timestamp int64        `json:"timestamp"`
		Message   string       `json:"message"`
		Code      fault.Code   `json:"code"`
		Usage     []TokenUsage `json:"usage,omitempty"`
	}
	// Step begins or ends a stage of the run (StepStartedEventSchema, StepFinishedEventSchema).
	Step struct {
		Type     string `json:"type" enum:"STEP_STARTED,STEP_FINISHED"`
		StepName string `json:"stepName" enum:"analyze,retrieve,generate,verify"`
	}
	// TextStart begins the text of the answer (TextMessageStartEventSchema).
	TextStart struct {
		Type      string `json:"type" enum:"TEXT_MESSAGE_START"`
		MessageID string `json:"messageId" description:"Id of the answer, also in its session."`
		Role      string `json:"role" enum:"assistant"`
	}
	// TextContent is a piece of the text (TextMessageContentEventSchema).
	TextContent struct {
		Type      string `json:"type" enum:"TEXT_MESSAGE_CONTENT"`
		MessageID string `json:"messageId"`
		Delta     string `json:"delta"`
	}
	// TextEnd ends the text (TextMessageEndEventSchema).
	TextEnd struct {
		Type      string `json:"type" enum:"TEXT_MESSAGE_END"`
		MessageID string `json:"messageId"`
	}
	// ReasoningStart begins a message with the reasoning of a model (ReasoningMessageStartEventSchema).
	ReasoningStart struct {
		Type      string `json:"type" enum:"REASONING_MESSAGE_START"`
		MessageID string `json:"messageId"`
		Role      string `json:"role" enum:"reasoning"`
	}
	// ReasoningContent continues it (ReasoningMessageContentEventSchema).
	ReasoningContent struct {
		Type      string `json:"type" enum:"REASONING_MESSAGE_CONTENT"`
		MessageID string `json:"messageId"`
		Delta     string `json:"delta"`
	}
	// Reasoning begins or ends the reasoning around the message, or ends the message (ReasoningStartEventSchema, ReasoningMessageEndEventSchema,
	// ReasoningEndEventSchema).
	Reasoning struct {
		Type      string `json:"type" enum:"REASONING_START,REASONING_MESSAGE_END,REASONING_END"`
		MessageID string `json:"messageId"`
	}
	// ToolCallStart says that a search or another tool of the server has begun (ToolCallStartEventSchema). The server runs its tools itself, so each call
	// has its result in the stream.
	ToolCallStart struct {
		Type            string `json:"type" enum:"TOOL_CALL_START"`
		ToolCallID      string `json:"toolCallId"`
		ToolCallName    string `json:"toolCallName"`
		ParentMessageID string `json:"parentMessageId" description:"The message with all tool calls of the run."`
	}
	// ToolCallArgs has the input of a tool (ToolCallArgsEventSchema).
	ToolCallArgs struct {
		Type       string `json:"type" enum:"TOOL_CALL_ARGS"`
		ToolCallID string `json:"toolCallId"`
		Delta      string `json:"delta" description:"The whole input, as the JSON text of an object."`
	}
	// ToolCallEnd says that its input is complete (ToolCallEndEventSchema).
	ToolCallEnd struct {
		Type       string `json:"type" enum:"TOOL_CALL_END"`
		ToolCallID string `json:"toolCallId"`
	}
	// ToolCallResult has the output of a tool (ToolCallResultEventSchema).
	ToolCallResult struct {
		Type       string `json:"type" enum:"TOOL_CALL_RESULT"`
		MessageID  string `json:"messageId"`
		ToolCallID string `json:"toolCallId"`
		Content    string `json:"content" description:"The JSON text of an object: the passages of a search, the result of another tool, or an error."`
		Role       string `json:"role" enum:"tool"`
	}
	// StateSnapshot is the state at the start of the run (StateSnapshotEventSchema).
	StateSnapshot struct {
		Type     string `json:"type" enum:"STATE_SNAPSHOT"`
		Snapshot State  `json:"snapshot"`
	}
	// StateDelta changes the state (StateDeltaEventSchema).
	StateDelta struct {
		Type  string      `json:"type" enum:"STATE_DELTA"`
		Delta []Operation `json:"delta"`
	}
	// Operation is an operation of a JSON Patch (RFC 6902).
	Operation struct {
		Op    string `json:"op" enum:"add,replace"`
		Path  string `json:"path" description:"A JSON Pointer (RFC 6901)."`
		Value any    `json:"value"`
	}
	// ActivitySnapshot shows a step that is no tool call (ActivitySnapshotEventSchema).
	ActivitySnapshot struct {
		Type         string `json:"type" enum:"ACTIVITY_SNAPSHOT"`
		MessageID    string `json:"messageId"`
		ActivityType string `json:"activityType" enum:"grading,reranking,verification"`
		Content      any    `json:"content" description:"Grading, Reranking or Verification, by the type."`
	}
	// ActivityDelta changes it (ActivityDeltaEventSchema).
	ActivityDelta struct {
		Type         string      `json:"type" enum:"ACTIVITY_DELTA"`
		MessageID    string      `json:"messageId"`
		ActivityType string      `json:"activityType" enum:"grading"`
		Patch        []Operation `json:"patch"`
	}
)

// The state of an agent.
type (
	// State is the state of a run. Events add the fields that are left out at its start.
	State struct {
		RunID      event.RunID      `json:"runId"`
		Stage      string           `json:"stage" enum:"analyze,retrieve,generate,verify,finished,failed,cancelled"`
		Sources    []Source         `json:"sources" description:"The cited sources, in the order of their first citations."`
		Citations  []Citation       `json:"citations" description:"In the order of the text."`
		Confidence *wire.Confidence `json:"confidence,omitempty"`
		Cost       *wire.Cost       `json:"cost,omitempty" description:"Left out if no model was called and nothing was charged."`
	}
	// Source is a source of the answer.
	Source struct {
		N          int     `json:"n" description:"Number of the source, from 1."`
		Title      string  `json:"title"`
		URL        string  `json:"url,omitempty" description:"Where a browser can open the document."`
		Name       string  `json:"name,omitempty" description:"Name of the file."`
		ChunkID    string  `json:"chunkId"`
		DocumentID string  `json:"documentId"`
		Heading    string  `json:"heading,omitempty"`
		Pages      []int   `json:"pages,omitempty"`
		Score      float64 `json:"score" description:"Relevance to the question, 0 to 1."`
		Quote      string  `json:"quote,omitempty" description:"The sentence that supports the first citation, or the beginning of the passage."`
	}
	// Citation refers to the source that supports a part of the text.
	Citation struct {
		N     int `json:"n" description:"Number of the source."`
		Start int `json:"start" description:"Start of the part in the text, in UTF-16 code units: an index of a string of JavaScript."`
		End   int `json:"end" description:"End of the part."`
	}
)

// The contents of activities.
type (
	// Grading has the grades of the passages of each round of searches.
	Grading struct {
		Rounds []Round `json:"rounds"`
	}
	// Round is a part of [Grading].
	Round struct {
		Iteration int          `json:"iteration"`
		Correct   int          `json:"correct"`
		Ambiguous int          `json:"ambiguous"`
		Incorrect int          `json:"incorrect"`
		Action    event.Action `json:"action" enum:"proceed,re-retrieve,expand"`
	}
	// Reranking tells how the passages were ordered again.
	Reranking struct {
		Method     string       `json:"method"`
		Passages   int          `json:"passages" description:"Number of passages before."`
		Kept       int          `json:"kept" description:"Number of passages after."`
		DurationMS event.Millis `json:"durationMs"`
	}
	// Verification tells how the claims of the answer were checked.
	Verification struct {
		Claims             int  `json:"claims"`
		Supported          int  `json:"supported"`
		PartiallySupported int  `json:"partiallySupported"`
		Flagged            bool `json:"flagged" description:"The sources do not support the answer."`
	}
)

// Fault is the reply to a request that failed without a run: the fields of [RunError], and the field of the request.
type Fault struct {
	Type    string     `json:"type" enum:"RUN_ERROR"`
	Message string     `json:"message"`
	Code    fault.Code `json:"code"`
	Field   string     `json:"field,omitempty"`
}

// FaultOf converts an error.
func FaultOf(f *fault.Error) Fault {
	return Fault{"RUN_ERROR", wire.Clip(f.Message, maxError), f.Code, wire.Clip(f.Field, maxError)}
}
