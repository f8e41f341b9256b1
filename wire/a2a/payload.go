package a2a

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/event"
)

// version is the version of JSON-RPC.
const version = "2.0"

// State is the state of a task.
type State string

// The states that tasks have here.
const (
	Working   State = "TASK_STATE_WORKING"
	Completed State = "TASK_STATE_COMPLETED"
	Failed    State = "TASK_STATE_FAILED"
	Canceled  State = "TASK_STATE_CANCELED"
)

// The roles of messages.
const (
	RoleUser  = "ROLE_USER"
	RoleAgent = "ROLE_AGENT"
)

// The messages of JSON-RPC.
type (
	// Call is a request.
	Call struct {
		JSONRPC string          `json:"jsonrpc" required:"true" enum:"2.0"`
		ID      json.RawMessage `json:"id,omitempty" description:"A string or a number."`
		Method  string          `json:"method" required:"true" enum:"SendMessage,SendStreamingMessage,GetTask,CancelTask,SubscribeToTask"`
		Params  json.RawMessage `json:"params,omitempty" description:"An object: the message of the protocol whose name is that of the method with Request."`
	}
	// Response is the reply to a request without a stream: it has a result or an error.
	Response struct {
		JSONRPC string          `json:"jsonrpc" enum:"2.0"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty" description:"The task, for SendMessage in an object as its member task."`
		Error   *ErrorObject    `json:"error,omitempty"`
	}
	// Frame is an event of a stream.
	Frame struct {
		JSONRPC string          `json:"jsonrpc" enum:"2.0"`
		ID      json.RawMessage `json:"id" description:"That of the request, or null if the stream has none of this protocol."`
		Result  StreamResponse  `json:"result"`
	}
	// StreamResponse has one member. The first one of a stream is the task.
	StreamResponse struct {
		Task           *Task           `json:"task,omitempty"`
		StatusUpdate   *StatusUpdate   `json:"statusUpdate,omitempty"`
		ArtifactUpdate *ArtifactUpdate `json:"artifactUpdate,omitempty"`
	}
	// SendResponse is the result of SendMessage.
	SendResponse struct {
		Task Task `json:"task"`
	}
)

// The messages of the protocol.
type (
	// Task is a run.
	Task struct {
		ID        event.RunID `json:"id" description:"Id of the run. It can be read in any protocol."`
		ContextID string      `json:"contextId" description:"Id of the session; that of the run if it has no session."`
		Status    Status      `json:"status"`
		Artifacts []Artifact  `json:"artifacts,omitempty" description:"The answer, once it has begun."`
		Metadata  *Metadata   `json:"metadata,omitempty"`
	}
	// Status is the status of a task.
	Status struct {
		State     State    `json:"state" enum:"TASK_STATE_WORKING,TASK_STATE_COMPLETED,TASK_STATE_FAILED,TASK_STATE_CANCELED"`
		Message   *Message `json:"message,omitempty" description:"The step that begins or has ended, or why the task failed."`
		Timestamp string   `json:"timestamp"`
	}
	// StatusUpdate says that a step begins or has ended, or that the task has ended.
	StatusUpdate struct {
		TaskID    event.RunID `json:"taskId"`
		ContextID string      `json:"contextId"`
		Status    Status      `json:"status"`
		Metadata  *Metadata   `json:"metadata,omitempty"`
	}
	// ArtifactUpdate is a chunk of the answer. The last one has the sources.
	ArtifactUpdate struct {
		TaskID    event.RunID `json:"taskId"`
		ContextID string      `json:"contextId"`
		Artifact  Artifact    `json:"artifact"`
		Append    bool        `json:"append,omitempty"`
		LastChunk bool        `json:"lastChunk,omitempty"`
	}
	// Artifact is the answer, or a chunk of it.
	Artifact struct {
		ID    string `json:"artifactId" enum:"answer"`
		Name  string `json:"name,omitempty"`
		Parts []Part `json:"parts"`
	}
	// Part is a text, or an [Answer] or a [Step].
	Part struct {
		Text      string `json:"text,omitempty"`
		Data      any    `json:"data,omitempty" description:"What supports the answer, or what a step has found."`
		MediaType string `json:"mediaType,omitempty"`
	}
	// Message is a message of a status.
	Message struct {
		ID        string      `json:"messageId"`
		ContextID string      `json:"contextId"`
		TaskID    event.RunID `json:"taskId"`
		Role      string      `json:"role" enum:"ROLE_AGENT"`
		Parts     []Part      `json:"parts"`
	}
	// Metadata has what the protocol has no field for.
	Metadata struct {
		Sluice Outcome `json:"sluice"`
	}
)

// What Sluice says of an answer.
type (
	// Outcome tells how a run ended and what it cost.
	Outcome struct {
		Stop         string         `json:"stop,omitempty" description:"Why the text of the answer ended: stop, length, filtered or incomplete."`
		Code         string         `json:"code,omitempty" description:"Code of the error."`
		InputTokens  int            `json:"inputTokens,omitempty"`
		OutputTokens int            `json:"outputTokens,omitempty"`
		Calls        int            `json:"calls,omitempty" description:"Requests to models."`
		Models       []string       `json:"models,omitempty"`
		Estimated    bool           `json:"estimated,omitempty" description:"A provider did not report the tokens of some calls."`
		Fee          *event.Credits `json:"feeMicroCredits,omitempty" description:"What the account was charged, in millionths of a credit."`
		Balance      *event.Credits `json:"balanceMicroCredits,omitempty" description:"Balance of the account after it."`
	}
	// Answer is the data in the last chunk of the artifact.
	Answer struct {
		Sources      []Source   `json:"sources"`
		Citations    []Citation `json:"citations" description:"In the order of the text."`
		Confidence   float64    `json:"confidence" description:"Estimated probability that the answer is right, 0 to 1; 0 for an abstention."`
		ClaimSupport float64    `json:"claimSupport" description:"Share of the claims in the answer that the sources support, 0 to 1."`
		Abstained    bool       `json:"abstained" description:"The documents do not hold an answer."`
		Flagged      bool       `json:"flagged" description:"The sources do not support the answer."`
		Cached       bool       `json:"cached"`
	}
	// Source is a passage that the answer uses.
	Source struct {
		N          int     `json:"n" description:"Number of the source, from 1."`
		ChunkID    string  `json:"chunkId"`
		DocumentID string  `json:"documentId"`
		Title      string  `json:"title"`
		URL        string  `json:"url,omitempty"`
		Filename   string  `json:"filename,omitempty"`
		Heading    string  `json:"heading,omitempty"`
		Pages      []int   `json:"pages,omitempty"`
		Score      float64 `json:"score" description:"Relevance to the question, 0 to 1."`
		Quote      string  `json:"quote,omitempty" description:"The sentence that supports the first citation, or the beginning of the passage. Left out for sources that are not cited."`
	}
	// Citation refers to the source that supports a part of the text.
	Citation struct {
		Source int `json:"source" description:"Number of the source."`
		Start  int `json:"start" description:"Start of the part in the text, in Unicode characters."`
		End    int `json:"end" description:"End of the part."`
	}
	// Step is the data of a message about a step.
	Step struct {
		Step       string          `json:"step" description:"A search or another tool, grade_passages, rerank_colbert or warning."`
		Call       event.CallID    `json:"call,omitempty" description:"Number of the call. The messages of its start and its end have the same."`
		Query      string          `json:"query,omitempty"`
		Input      json.RawMessage `json:"input,omitempty" description:"An object. It is left out if it is longer than 2 KiB."`
		Done       bool            `json:"done,omitempty"`
		Passages   []Found         `json:"passages,omitempty" description:"The best ones, at most 10."`
		Total      int             `json:"total,omitempty" description:"Number of passages."`
		DurationMS event.Millis    `json:"durationMs,omitempty"`
		Grades     *Grades         `json:"grades,omitempty"`
		Error      string          `json:"error,omitempty"`
	}
	// Found is a passage that a search found.
	Found struct {
		ChunkID    string  `json:"chunkId"`
		DocumentID string  `json:"documentId,omitempty"`
		Name       string  `json:"name,omitempty"`
		Score      float64 `json:"score"`
	}
	// Grades are the numbers of passages by their relevance.
	Grades struct {
		Correct   int          `json:"correct"`
		Ambiguous int          `json:"ambiguous"`
		Incorrect int          `json:"incorrect"`
		Action    event.Action `json:"action" enum:"proceed,re-retrieve,expand"`
	}
)
