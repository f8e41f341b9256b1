package turns

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of the texts in JSON, in bytes unless noted.
const (
	maxQuery     = 500
	maxError     = 300 // of messages too
	maxTitle     = 300
	maxSnippet   = 400
	maxPages     = 20   // numbers
	maxCitations = 1000 // of an answer
)

// The lines of the first phase.
type (
	// Search reports that a search or another tool started, completed or failed.
	Search struct {
		Type      string `json:"type" enum:"search"`
		Status    Status `json:"status" enum:"started,completed,failed"`
		Tool      string `json:"tool"`
		Query     string `json:"query"` // of the tool; the question if the tool has none
		Iteration int    `json:"iteration"`
		// The result; nil at the start.
		Results    *int          `json:"results,omitempty"`   // passages found
		TopScore   *float64      `json:"top_score,omitempty"` // 0..1; 0 without results
		DurationMS *event.Millis `json:"duration_ms,omitempty"`
		Error      string        `json:"error,omitempty"` // if it failed
	}
	// Review reports the grades of the passages that the searches of an iteration found.
	Review struct {
		Type      string       `json:"type" enum:"review"`
		Status    Status       `json:"status" enum:"completed"`
		Correct   int          `json:"correct"`
		Ambiguous int          `json:"ambiguous"`
		Incorrect int          `json:"incorrect"`
		Action    event.Action `json:"action" enum:"proceed,re-retrieve,expand"`
		Iteration int          `json:"iteration"`
	}
)

// Status is the status of a search or a review.
type Status string

// The statuses.
const (
	Started   Status = "started"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// ChatFailed is the only tool of a failed run, and the error in the reply to one.
const ChatFailed = "chat_failed"

type (
	// Trailer is the third phase of a stream.
	Trailer struct {
		Outcome
		Error *Failure `json:"error,omitempty"` // why the run failed
	}
	// Outcome is what the trailer and the reply without a stream have in common.
	Outcome struct {
		RunID        event.RunID `json:"run_id"`
		SessionID    string      `json:"session_id"`    // empty if the question belongs to none
		MessageID    string      `json:"message_id"`    // of the answer
		ToolsUsed    []string    `json:"tools_used"`    // chat_failed if the run failed
		Citations    []Citation  `json:"citations"`     // in the order of the text; none if the run failed
		Confidence   float64     `json:"confidence"`    // estimated probability that the answer is right, 0..1; 0 for an abstention
		ClaimSupport float64     `json:"claim_support"` // share of the claims in the answer that the sources support, 0..1
		Cached       bool        `json:"cached"`
		// StandaloneQuestion is the question that was searched for, if it was rewritten.
		StandaloneQuestion string     `json:"standalone_question,omitempty"`
		Incomplete         bool       `json:"incomplete,omitempty"` // the end of the answer is missing
		Abstained          bool       `json:"abstained,omitempty"`  // the documents do not hold an answer
		Usage              wire.Usage `json:"usage"`
	}
	// Citation refers to the source that supports a part of the answer. Start and End are positions in the text of the answer as it is
	// shown, in Unicode code points; End is that of the first character after the part.
	Citation struct {
		Index       int    `json:"index"` // of the source, from 1
		ChunkID     string `json:"chunk_id"`
		DocumentID  string `json:"document_id"`
		Title       string `json:"title"`
		PageNumbers []int  `json:"page_numbers"`
		Snippet     string `json:"snippet"` // the cited sentence, or the beginning of the passage; at most 400 bytes
		Start       int    `json:"start"`
		End         int    `json:"end"`
	}
	// Failure says why a run failed.
	Failure struct {
		Code    string `json:"code"` // a code of the server in lower case
		Message string `json:"message"`
	}
)

// Answer is the reply to a request without a stream. It holds the same information as the stream. The fields error and message are those of
// [Fault], so a client finds them in each reply whose status is not 200.
type Answer struct {
	Outcome
	Content string `json:"content"` // the text of the stream
	Error   string `json:"error,omitempty" enum:"chat_failed"`
	Message string `json:"message,omitempty"` // why the run failed
}

// Fault is the reply to a request that failed without a run.
type Fault struct {
	Error   string `json:"error"` // a code of the server in lower case, or chat_failed
	Message string `json:"message"`
	Field   string `json:"field,omitempty"` // of the request
}

// FaultOf converts an error. Errors of the steps of a run have the code chat_failed.
func FaultOf(f *fault.Error) Fault {
	out := Fault{Error: codeOf(f.Code), Message: clip(f.Message, maxError), Field: clip(f.Field, maxError)}
	switch f.Code {
	case fault.Model, fault.Index, fault.NoDocuments, fault.Timeout, fault.Cancelled, fault.Internal:
		out.Error = ChatFailed
	}
	return out
}

func codeOf(c fault.Code) string { return strings.ToLower(clean(string(c))) }

// The texts for readers of a failed run: before any text was shown, and after.
const (
	textFailed     = "Sorry, this question could not be answered. Please try again."
	textIncomplete = "This answer is incomplete: it was interrupted before its end."
)

// outcomeOf returns the result of a run with the citations that the projection has located.
func outcomeOf(s *event.State, located []located) Outcome {
	o := Outcome{RunID: s.Run, SessionID: clean(s.Session), MessageID: s.Run.AnswerID(), ToolsUsed: []string{}, Citations: []Citation{},
		Confidence: wire.Round(s.Confidence), ClaimSupport: wire.Round(s.ClaimSupport()), Cached: s.Cached(), Incomplete: s.Incomplete() || s.Failure != nil, Abstained: s.Abstained(), Usage: usageOf(s)}
	if s.Analysis != nil {
		o.StandaloneQuestion = clip(s.Analysis.Standalone, maxQuery)
	}
	if s.Failure != nil {
		o.ToolsUsed = append(o.ToolsUsed, ChatFailed)
		return o
	}
	for _, tool := range s.Tools {
		o.ToolsUsed = append(o.ToolsUsed, clean(tool))
	}
	latest := map[int]*event.Source{} // by number
	for i := range s.Sources {
		latest[s.Sources[i].N] = &s.Sources[i]
	}
	for _, c := range located {
		if c.Source != nil {
			latest[c.N] = c.Source
		}
		o.Citations = append(o.Citations, CitationOf(c.N, c.Chunk, latest[c.N], c.start, c.end))
	}
	return o
}

// CitationOf returns the citation of a source by the part of an answer from start to end. The source is nil if it is not known.
func CitationOf(n int, chunk corpus.ChunkID, s *event.Source, start, end int) Citation {
	out := Citation{Index: n, ChunkID: clean(string(chunk)), PageNumbers: []int{}, Start: start, End: end}
	if s == nil {
		return out
	}
	out.DocumentID = clean(string(s.Document))
	out.Title = clip(cmp.Or(s.Title, s.Name), maxTitle)
	out.PageNumbers = append(out.PageNumbers, s.Pages[:min(len(s.Pages), maxPages)]...)
	out.Snippet = clip(cmp.Or(s.CitedText(), s.Text), maxSnippet)
	return out
}

func usageOf(s *event.State) wire.Usage {
	u := wire.Usage{Models: []string{}}
	if of := wire.UsageOf(s); of != nil {
		u = *of
	}
	for i, model := range u.Models {
		u.Models[i] = clean(model)
	}
	return u
}

func failureOf(f *event.RunFailed) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{codeOf(f.Code), clip(f.Message, maxError)}
}

// queryOf returns the query in the input of a tool, or the question if the input has none.
func queryOf(input json.RawMessage, question string) string {
	var in struct {
		Query any `json:"query"`
	}
	if json.Unmarshal(input, &in) == nil {
		if query, ok := in.Query.(string); ok && query != "" {
			return query
		}
	}
	return question
}

// errorOf returns the error in the result of a tool, or an empty text.
func errorOf(result json.RawMessage) string {
	var out struct {
		Error any `json:"error"`
	}
	if json.Unmarshal(result, &out) != nil {
		return ""
	}
	message, _ := out.Error.(string)
	return message
}

// clean returns a text without the marks of the protocol and with valid UTF-8.
func clean(s string) string {
	if strings.ContainsAny(s, "\x1d\x1e") {
		s = strings.Map(func(r rune) rune {
			if r == AnswerMark || r == TrailerMark {
				return -1
			}
			return r
		}, s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// clip cleans a text and shortens it to at most limit bytes.
func clip(s string, limit int) string { return wire.Clip(clean(s), limit) }
