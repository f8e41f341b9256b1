package forrst

import (
	"cmp"
	"strings"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Question is the arguments of the function that asks a question.
type Question struct {
	Query      string         `json:"query" required:"true" minLength:"1" description:"The question, in any language."`
	Mode       event.Mode     `json:"mode,omitempty" enum:"agentic,direct" default:"agentic" description:"Method of answering."`
	Collection string         `json:"collection,omitempty" maxLength:"1024" description:"Collection to search. Default: that of the server, and all uploaded files."`
	TopK       int            `json:"top_k,omitempty" minimum:"0" maximum:"50" description:"Number of passages for the generator. 0 or left out: 5."`
	SessionID  string         `json:"session_id,omitempty" maxLength:"128" description:"Conversation of the question. It is created if it does not exist."`
	Previous   event.RunID    `json:"previous,omitempty" maxLength:"128" description:"Run whose answer this question follows."`
	Method     event.Method   `json:"method,omitempty" enum:"similarity,self_query,hybrid" default:"hybrid" description:"What is searched: vectors alone; words and vectors, among the documents that meet the conditions of the question; or words and vectors."`
	Filter     *filter.Filter `json:"filter,omitempty" description:"Limits the documents that are read to those whose attributes match: a comparison, or filters joined by and or or."`
	NoCache    bool           `json:"no_cache,omitempty" description:"Do not use the cache, and do not share the run."`

	_ struct{} `additionalProperties:"false"` // for the schema
}

// maxCollection limits the name of a collection, in bytes.
const maxCollection = 1024

// Decode decodes the arguments of the function that asks a question. The question may have maxQuery bytes. Unknown and repeated fields are errors.
// Errors have the code [fault.InvalidRequest] and name the field.
func Decode(arguments []byte, maxQuery int) (wire.Request, error) {
	var q Question
	if err := wire.Decode(arguments, &q); err != nil {
		return wire.Request{}, err
	}
	if err := q.check(maxQuery); err != nil {
		return wire.Request{}, err
	}
	return wire.Request{Question: event.Question{Query: q.Query, Mode: cmp.Or(q.Mode, event.Agentic), Collection: q.Collection, TopK: q.TopK, Session: q.SessionID,
		Previous: q.Previous, Method: q.Method, Filter: q.Filter, NoCache: q.NoCache}}, nil
}

func (q *Question) check(maxQuery int) error {
	switch {
	case strings.TrimSpace(q.Query) == "":
		return fault.Invalid("query", "required, and not only white space")
	case q.Mode != "" && q.Mode != event.Agentic && q.Mode != event.Direct:
		return fault.Invalid("mode", "want agentic or direct")
	case q.Method != "" && q.Method != event.SimilaritySearch && q.Method != event.SelfQuery && q.Method != event.HybridSearch:
		return fault.Invalid("method", "want %s, %s or %s", event.SimilaritySearch, event.SelfQuery, event.HybridSearch)
	case q.TopK < 0 || q.TopK > event.MaxTopK:
		return fault.Invalid("top_k", "want 1 to %d, or 0 for the default", event.MaxTopK)
	case q.Previous != "" && !q.Previous.Valid():
		return fault.Invalid("previous", "not a run's id")
	case q.Previous != "" && q.SessionID != "":
		return fault.Invalid("previous", "not together with session_id")
	}
	if err := wire.CheckText("query", q.Query, maxQuery); err != nil {
		return err
	}
	if err := wire.CheckText("collection", q.Collection, maxCollection); err != nil {
		return err
	}
	return wire.CheckText("session_id", q.SessionID, event.MaxSession)
}
