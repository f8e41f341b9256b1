package ragevents

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// MaxNameLength limits the fields collection, session_id and model, in bytes.
const MaxNameLength = 128

// Request is a question.
type Request struct {
	Question   string         `json:"question" required:"true" minLength:"1" description:"The question, in any language."`
	Collection string         `json:"collection,omitempty" maxLength:"128" description:"Collection to search. Default: that of the server, and all uploaded files."`
	Method     string         `json:"method,omitempty" enum:"SimilaritySearch,SelfQuery,HybridSearch" default:"SimilaritySearch" description:"How passages are found."`
	Filter     *filter.Filter `json:"filter,omitempty" description:"Limits the documents that are read to those whose attributes match: a comparison, or filters joined by and or or."`
	History    []Message      `json:"history,omitempty" maxItems:"200" description:"Earlier messages of the conversation, oldest first."`
	TopK       int            `json:"top_k,omitempty" minimum:"0" maximum:"50" description:"Number of passages for the generator. 0 or left out: 5."`
	SessionID  string         `json:"session_id,omitempty" maxLength:"128" description:"Conversation of the question."`
	Model      string         `json:"model,omitempty" maxLength:"128" description:"Model that answers, in requests with a key in x-openai-key or x-anthropic-key. Otherwise ignored: the model of the server answers."`
	Stream     *bool          `json:"stream,omitempty" default:"true" description:"false: the reply is one JSON object."`
	NoCache    bool           `json:"no_cache,omitempty" description:"Do not use the cache, and do not share the run."`
}

// API returns the description of the protocol for a server.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{},
		Decode: func(body []byte, maxQuery int) (wire.Request, error) {
			r, err := DecodeRequest(body, maxQuery)
			if err != nil {
				return wire.Request{}, err
			}
			return wire.Request{Question: r.question(), OwnModel: r.Model, NoStream: r.Stream != nil && !*r.Stream}, nil
		},
		Reply: func(log []event.Event) any { return AnswerOf(log) },
		Fault: func(f *fault.Error) any {
			return Error{Type: "error", Message: f.Message, Code: string(f.Code), Field: f.Field}
		},
		Types: wire.Types{Request: Request{}, Reply: Answer{}, Fault: Error{}, Events: []any{
			Progress{}, ModelInfo{}, Chain{}, Results{}, Encoded{}, Heartbeat{}, Error{}}},
	}
}

// DecodeRequest decodes and validates the body of a request. The question may have maxQuery bytes. Unknown and repeated
// fields are errors. Errors have the code [fault.InvalidRequest] and name the field.
func DecodeRequest(body []byte, maxQuery int) (Request, error) {
	var r Request
	if err := wire.Decode(body, &r); err != nil {
		return r, err
	}
	return r, r.check(maxQuery)
}

// roles are the roles of messages, with those of LangChain.
var roles = map[string]string{"user": event.RoleUser, "human": event.RoleUser, "assistant": event.RoleAssistant, "ai": event.RoleAssistant}

func (r *Request) check(maxQuery int) error {
	switch {
	case strings.TrimSpace(r.Question) == "":
		return fault.Invalid("question", "required, and not only white space")
	case r.Method != "" && r.method() == "":
		return fault.Invalid("method", "want SimilaritySearch, SelfQuery or HybridSearch")
	case r.TopK < 0 || r.TopK > event.MaxTopK:
		return fault.Invalid("top_k", "want 1 to %d, or 0 for the default", event.MaxTopK)
	case len(r.History) > event.MaxMessages:
		return fault.Invalid("history", "%d messages; the limit is %d", len(r.History), event.MaxMessages)
	}
	size := 0
	for i, m := range r.History {
		if roles[m.Role] == "" {
			return fault.Invalid(fmt.Sprintf("history[%d].role", i), "want user or assistant")
		}
		if strings.TrimSpace(m.Content) == "" {
			return fault.Invalid(fmt.Sprintf("history[%d].content", i), "required")
		}
		if size += len(m.Content); size > event.MaxHistory {
			return fault.Invalid("history", "over %d bytes", event.MaxHistory)
		}
	}
	return cmp.Or(wire.CheckText("question", r.Question, maxQuery), wire.CheckText("collection", r.Collection, MaxNameLength),
		wire.CheckText("session_id", r.SessionID, MaxNameLength), wire.CheckText("model", r.Model, MaxNameLength))
}

// method returns the method of the request; empty if it is unknown.
func (r *Request) method() event.Method {
	for m, name := range methods {
		if name == cmp.Or(r.Method, "SimilaritySearch") {
			return m
		}
	}
	return ""
}

// question converts a valid request. The protocol shows one retrieval, so the run searches once instead of letting an agent choose
// tools.
func (r *Request) question() event.Question {
	q := event.Question{Query: r.Question, Mode: event.Direct, Method: r.method(), Collection: r.Collection, Filter: r.Filter, TopK: r.TopK, Session: r.SessionID, NoCache: r.NoCache}
	for _, m := range r.History {
		q.History = append(q.History, event.Message{Role: roles[m.Role], Text: m.Content})
	}
	return q
}

// Answer is the reply to a request without a stream. It holds the same information as the stream.
type Answer struct {
	RunID       string            `json:"run_id"`
	Question    string            `json:"question"`
	Answer      string            `json:"answer"` // [n] follows text that passage n supports
	Model       ModelName         `json:"model"`
	Cached      bool              `json:"cached"`
	DurationMS  event.Millis      `json:"duration_ms"`
	Confidence  *AnswerConfidence `json:"confidence,omitempty"` // left out if the answer is incomplete
	Sources     []Source          `json:"sources"`
	Message     string            `json:"message,omitempty"` // why the answer does not rest on its sources
	Transaction Transaction       `json:"transaction"`
	Error       *Error            `json:"error,omitempty"` // why the answer is incomplete
}

// ModelName names the model that was to write the answer.
type ModelName struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Mode     string `json:"mode" enum:"platform,byok"`
}

// AnswerOf folds the events of a run to an answer.
func AnswerOf(log []event.Event) Answer {
	s := event.Fold(log)
	docs, model := documentsOf(&s), modelInfo(s.Writer, "")
	a := Answer{RunID: string(s.Run), Question: s.Query, Answer: answerOf(&s), Model: ModelName{model.Provider, model.Model, model.Mode}, Cached: s.Cached(),
		DurationMS: s.Waited + event.MillisOf(s.Elapsed()), Sources: sourcesData(docs, maxSource).Sources,
		Transaction: transaction(&s, docs, maxSource)}
	if assessed(&s) {
		checked := assess(&s)
		a.Confidence, a.Message = &checked.AnswerConfidence, messages[checked.Reason]
	}
	if f := s.Failure; f != nil {
		a.Error = &Error{Type: "error", Message: f.Message, Code: string(f.Code)}
	}
	return a
}
