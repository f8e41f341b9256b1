package event

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/fault"
)

// Question is what a run answers. Zero fields stand for the defaults, which [Question.SetDefaults] fills in.
type Question struct {
	Query      string `json:"query"`
	Mode       Mode   `json:"mode"`             // default [Agentic]
	Collection string `json:"collection"`       // scope that is searched; default [corpus.DefaultCollection], or what the engine says
	TopK       int    `json:"top_k"`            // passages given to the generator; default [DefaultTopK], at most [MaxTopK]
	Method     Method `json:"method,omitempty"` // how documents are searched; default [HybridSearch]
	// Filter limits the documents that are read; see [filter.Filter.ValidateDocuments].
	Filter  *filter.Filter `json:"filter,omitempty"`
	Session string         `json:"session,omitempty"`  // the conversation to which the question belongs: see package session
	NoCache bool           `json:"no_cache,omitempty"` // the answer is neither read from nor written to the cache, and the run is not shared

	Summary      string    `json:"summary,omitempty"`      // of the conversation before History
	History      []Message `json:"history,omitempty"`      // earlier messages of the conversation, oldest first
	Previous     RunID     `json:"previous,omitempty"`     // the run whose answer this question follows
	Instructions string    `json:"instructions,omitempty"` // how to answer; models follow them, rules ignore them
	Model        string    `json:"model,omitempty"`        // the requested model; an unknown name selects the default model
	Temperature  *float64  `json:"temperature,omitempty"`
	MaxTokens    int       `json:"max_tokens,omitempty"` // of the answer; 0: the model's own limit
	Tools        []string  `json:"tools,omitempty"`      // allowed in addition to searches: [ToolReadPages], [ToolListDocuments]; nil: only if the question asks for pages or a list
	Iterations   int       `json:"iterations,omitempty"` // most iterations of tool calls; 0: the pipeline's own limit
	Ephemeral    bool      `json:"unstored,omitempty"`   // the run is ephemeral: it is deleted after it was read

	// Request holds what the run's protocol needs in its projections, such as fields that a response repeats. Nobody else reads it.
	Request json.RawMessage `json:"request,omitempty"`
}

// Method is how passages are found.
type Method string

// The methods. The zero value is HybridSearch.
const (
	SimilaritySearch Method = "similarity" // by vectors alone
	SelfQuery        Method = "self_query" // hybrid, among the documents that match the conditions found in the question (dates, authors, titles, types)
	HybridSearch     Method = "hybrid"     // by words and vectors
)

// Message is a message of the conversation before the question.
type Message struct {
	Role string `json:"role"` // [RoleUser] or [RoleAssistant]
	Text string `json:"text"`
}

// The roles of a [Message].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// DefaultTopK is the number of passages given to the generator if the question does not set it.
const DefaultTopK = 5

// Limits of a question's fields, in bytes unless noted.
const (
	MaxTopK         = 50  // passages
	MaxSession      = 128 // the name of the session
	MaxMessages     = 200 // messages of the history
	MaxHistory      = 256 << 10
	MaxSummary      = 16 << 10
	MaxInstructions = 32 << 10
	MaxRequest      = 64 << 10
	MaxFilter       = 64 << 10 // its JSON
)

// SetDefaults replaces zero fields that have a default.
func (q *Question) SetDefaults() {
	if q.Mode == "" {
		q.Mode = Agentic
	}
	if q.Collection == "" {
		q.Collection = corpus.DefaultCollection
	}
	if q.TopK <= 0 {
		q.TopK = DefaultTopK
	}
	if q.Filter.Empty() {
		q.Filter = nil
	}
}

// Validate returns an error of code [fault.InvalidRequest] or [fault.TooLarge] that names the first invalid field.
func (q *Question) Validate() error {
	size := 0
	for _, t := range q.History {
		if t.Role != RoleUser && t.Role != RoleAssistant {
			return fault.Invalid("history", "want the roles %s and %s", RoleUser, RoleAssistant)
		}
		if !utf8.ValidString(t.Text) {
			return fault.Invalid("history", "not valid UTF-8")
		}
		size += len(t.Text)
	}
	switch {
	case strings.TrimSpace(q.Query) == "":
		return fault.Invalid("query", "required")
	case q.Method != "" && q.Method != SimilaritySearch && q.Method != SelfQuery && q.Method != HybridSearch:
		return fault.Invalid("method", "want %s, %s or %s", SimilaritySearch, SelfQuery, HybridSearch)
	case q.TopK > MaxTopK:
		return fault.Invalid("top_k", "want at most %d", MaxTopK)
	case !utf8.ValidString(q.Query + q.Collection + q.Session + q.Model):
		return fault.Invalid("query", "not valid UTF-8")
	case strings.ContainsFunc(q.Collection, unicode.IsControl):
		return fault.Invalid("collection", "no control characters")
	case len(q.History) > MaxMessages || size > MaxHistory:
		return fault.Invalid("history", "want at most %d messages and %d bytes", MaxMessages, MaxHistory)
	case len(q.Summary) > MaxSummary || !utf8.ValidString(q.Summary):
		return fault.Invalid("summary", "want at most %d bytes of UTF-8", MaxSummary)
	case len(q.Session) > MaxSession || strings.ContainsFunc(q.Session, unicode.IsControl):
		return fault.Invalid("session", "want at most %d bytes without control characters", MaxSession)
	case len(q.Instructions) > MaxInstructions || !utf8.ValidString(q.Instructions):
		return fault.Invalid("instructions", "want at most %d bytes of UTF-8", MaxInstructions)
	case len(q.Request) > MaxRequest:
		return fault.New(fault.TooLarge, "the request's own fields have over %d bytes", MaxRequest)
	case q.Previous != "" && !q.Previous.Valid():
		return fault.Invalid("previous", "not a run's id")
	}
	return q.validateFilter()
}

func (q *Question) validateFilter() error {
	if q.Filter.Empty() {
		return nil
	}
	if err := q.Filter.ValidateDocuments("filter"); err != nil {
		return err
	}
	if text, err := json.Marshal(q.Filter); err != nil || len(text) > MaxFilter {
		return fault.Invalid("filter", "want at most %d bytes of JSON", MaxFilter)
	}
	return nil
}
