package forge

import (
	"cmp"
	"strings"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of the fields of a request.
const (
	MaxTopK       = event.MaxTopK
	MaxNameLength = 128 // of collection, session_id and model, in bytes
)

// Request is a question.
type Request struct {
	Query      string         `json:"query" required:"true" minLength:"1" description:"The question, in any language."`
	Mode       event.Mode     `json:"mode,omitempty" enum:"agentic,direct" default:"agentic" description:"Method of answering."`
	Collection string         `json:"collection,omitempty" maxLength:"128" description:"Collection to search. Default: that of the server, and all uploaded files."`
	TopK       int            `json:"top_k,omitempty" minimum:"0" maximum:"50" description:"Number of passages for the generator. 0 or left out: 5."`
	SessionID  string         `json:"session_id,omitempty" maxLength:"128" description:"Conversation of the question."`
	Method     event.Method   `json:"method,omitempty" enum:"similarity,self_query,hybrid" default:"hybrid" description:"What is searched: vectors alone; words and vectors, among the documents that meet the conditions of the question; or words and vectors."`
	Filter     *filter.Filter `json:"filter,omitempty" description:"Limits the documents that are read to those whose attributes match: a comparison, or filters joined by and or or."`
	Model      string         `json:"model,omitempty" maxLength:"128" description:"Model that writes the answer: a name of GET /v1/models. An unknown name selects the default model."`
	NoCache    bool           `json:"no_cache,omitempty" description:"Do not use the cache, and do not share the run."`
}

// API returns the description of the protocol for a server.
func API() wire.API {
	return wire.API{
		Protocol: Protocol{},
		Decode: func(body []byte, maxQuery int) (wire.Request, error) {
			r, err := DecodeRequest(body, maxQuery)
			return wire.Request{Question: event.Question{Query: r.Query, Mode: r.Mode, Collection: r.Collection, TopK: r.TopK, Method: r.Method, Filter: r.Filter, Session: r.SessionID, Model: r.Model, NoCache: r.NoCache}}, err
		},
		Reply: func(log []event.Event) any { return AnswerOf(log) },
		Fault: func(f *fault.Error) any { return ErrorOf(f) },
		Types: wire.Types{Request: Request{}, Reply: Answer{}, Fault: Error{}, Events: []any{
			QueryAnalysis{}, CacheHit{}, CacheMiss{}, RetrievalStart{}, RetrievalResult{}, ToolCall{}, ToolResult{},
			CRAGEvaluation{}, RerankResult{}, GenerationStart{}, Token{}, Verification{}, Sources{}, Done{}, Error{}}},
	}
}

// DecodeRequest decodes and validates the body of a request. The question may have maxQuery bytes. Unknown and repeated
// fields are errors. Errors have the code [fault.InvalidRequest] and name the field.
func DecodeRequest(body []byte, maxQuery int) (Request, error) {
	r := Request{Mode: event.Agentic}
	if err := wire.Decode(body, &r); err != nil {
		return r, err
	}
	return r, r.check(maxQuery)
}

func (r *Request) check(maxQuery int) error {
	switch {
	case strings.TrimSpace(r.Query) == "":
		return fault.Invalid("query", "required, and not only white space")
	case r.Mode != event.Agentic && r.Mode != event.Direct:
		return fault.Invalid("mode", "want agentic or direct")
	case r.Method != "" && r.Method != event.SimilaritySearch && r.Method != event.SelfQuery && r.Method != event.HybridSearch:
		return fault.Invalid("method", "want %s, %s or %s", event.SimilaritySearch, event.SelfQuery, event.HybridSearch)
	case r.TopK < 0 || r.TopK > MaxTopK:
		return fault.Invalid("top_k", "want 1 to %d, or 0 for the default", MaxTopK)
	}
	return cmp.Or(wire.CheckText("query", r.Query, maxQuery), wire.CheckText("collection", r.Collection, MaxNameLength),
		wire.CheckText("session_id", r.SessionID, MaxNameLength), wire.CheckText("model", r.Model, MaxNameLength))
}

// Answer is the reply to a request without a stream. It holds the same information as the stream.
type Answer struct {
	RunID           string        `json:"run_id"`
	Query           string        `json:"query"`
	Answer          string        `json:"answer"` // [n] follows text that source n supports
	Mode            event.Mode    `json:"mode" enum:"agentic,direct"`
	Cached          bool          `json:"cached"`
	Confidence      float64       `json:"confidence"`
	Sources         []Source      `json:"sources"`
	Verification    *Verification `json:"verification,omitempty"`
	ToolsUsed       []string      `json:"tools_used"`
	Iterations      int           `json:"iterations"`
	TokensGenerated int           `json:"tokens_generated"`
	TotalTimeMS     event.Millis  `json:"total_time_ms"`
	Incomplete      bool          `json:"incomplete,omitempty"`
	Usage           *wire.Usage   `json:"usage,omitempty"`
	Error           *Error        `json:"error,omitempty"` // why the answer is incomplete
}

// AnswerOf folds the events of a run to an answer.
func AnswerOf(log []event.Event) Answer {
	s := event.Fold(log)
	done := doneOf(&s)
	a := Answer{RunID: string(s.Run), Query: s.Query, Mode: done.Mode, Cached: done.Cached, Confidence: done.Confidence,
		Sources: sources(s.Sources, maxSourceText), ToolsUsed: done.ToolsUsed, Iterations: done.Iterations, TokensGenerated: done.TokensGenerated,
		TotalTimeMS: done.TotalTimeMS, Incomplete: done.Incomplete, Usage: done.Usage}
	if s.Check != nil {
		v := verification(*s.Check, maxSourceText)
		a.Verification = &v
	}
	if s.Failure != nil {
		e := ErrorOf(&fault.Error{Code: s.Failure.Code, Message: s.Failure.Message})
		a.Error = &e
	}
	text, from := []byte(nil), 0
	for _, c := range s.Citations {
		text = append(text, s.Text[from:c.At]...)
		text = appendCitation(text, c.N)
		from = c.At
	}
	a.Answer = string(append(text, s.Text[from:]...))
	return a
}
