package forge

import (
	"encoding/json"
	"math"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// Payloads of the protocol's events. Each begins with its own name as type.
type (
	// QueryAnalysis opens every stream.
	QueryAnalysis struct {
		Type          string           `json:"type" enum:"query_analysis"`
		Query         string           `json:"query"`
		Complexity    event.Complexity `json:"complexity" enum:"simple,moderate,complex"`
		Decomposed    bool             `json:"decomposed"`
		EstimatedMode event.Mode       `json:"estimated_mode" enum:"agentic,direct"`
	}
	// CacheHit says that an earlier answer follows.
	CacheHit struct {
		Type          string  `json:"type" enum:"cache_hit"`
		Similarity    float64 `json:"similarity"`
		OriginalQuery string  `json:"original_query"`
		CachedAt      string  `json:"cached_at" format:"date-time"`
	}
	// CacheMiss says that none fits.
	CacheMiss struct {
		Type string `json:"type" enum:"cache_miss"`
	}
	// RetrievalStart begins a search. Call_id and reason are beyond the protocol's own fields.
	RetrievalStart struct {
		Type      string       `json:"type" enum:"retrieval_start"`
		CallID    event.CallID `json:"call_id"` // the same in the result; numbers the calls of a run from 1
		Tool      string       `json:"tool"`
		Query     string       `json:"query"`
		Iteration int          `json:"iteration"`
		Reason    string       `json:"reason,omitempty"` // why the agent chose it
	}
	// RetrievalResult ends it. Call_id, query, iteration and chunks are beyond the protocol's own fields.
	RetrievalResult struct {
		Type        string         `json:"type" enum:"retrieval_result"`
		CallID      event.CallID   `json:"call_id"`
		Tool        string         `json:"tool"`
		Query       string         `json:"query"`
		Iteration   int            `json:"iteration"`
		ChunksFound int            `json:"chunks_found"`
		TopScore    float64        `json:"top_score"`
		Levels      map[string]int `json:"levels"` // L1, L2, L3: how many of each
		DurationMS  event.Millis   `json:"duration_ms"`
		Chunks      []ChunkScore   `json:"chunks"`
	}
	// ChunkScore is a chunk that was found.
	ChunkScore struct {
		ChunkID string  `json:"chunk_id"`
		Level   string  `json:"level" enum:"L1,L2,L3"`
		Score   float64 `json:"score"`
	}
	// ToolCall begins a tool that does not retrieve. Call_id, query and reason are beyond the protocol's own fields.
	ToolCall struct {
		Type      string          `json:"type" enum:"tool_call"`
		CallID    event.CallID    `json:"call_id"` // the same in the result; numbers the calls of a run from 1
		Tool      string          `json:"tool"`
		Query     string          `json:"query"` // of the input, or else the question
		Input     json.RawMessage `json:"input"`
		Iteration int             `json:"iteration"`
		Reason    string          `json:"reason,omitempty"` // why the agent chose it
	}
	// ToolResult ends it. Call_id, query and iteration are beyond the protocol's own fields.
	ToolResult struct {
		Type       string          `json:"type" enum:"tool_result"`
		CallID     event.CallID    `json:"call_id"`
		Tool       string          `json:"tool"`
		Query      string          `json:"query"`
		Iteration  int             `json:"iteration"`
		Result     json.RawMessage `json:"result"`
		DurationMS event.Millis    `json:"duration_ms"`
	}
	// CRAGEvaluation is the judgement of a round of retrieval.
	CRAGEvaluation struct {
		Type      string       `json:"type" enum:"crag_evaluation"`
		Correct   int          `json:"correct"`
		Ambiguous int          `json:"ambiguous"`
		Incorrect int          `json:"incorrect"`
		Action    event.Action `json:"action" enum:"proceed,re-retrieve,expand"`
		Expanded  int          `json:"expanded"`
		Details   []CRAGDetail `json:"details"`
	}
	// CRAGDetail is that of one chunk.
	CRAGDetail struct {
		ChunkID        string      `json:"chunk_id"`
		Score          float64     `json:"score"`
		Classification event.Class `json:"classification" enum:"CORRECT,AMBIGUOUS,INCORRECT"`
		Expanded       bool        `json:"expanded,omitempty"`
		NewScore       *float64    `json:"new_score,omitempty"`
	}
	// RerankResult is the order in which passages go to the generator.
	RerankResult struct {
		Type        string       `json:"type" enum:"rerank_result"`
		Method      string       `json:"method"`
		InputCount  int          `json:"input_count"`
		OutputCount int          `json:"output_count"`
		TopScore    float64      `json:"top_score"`
		DurationMS  event.Millis `json:"duration_ms"`
	}
	// GenerationStart precedes the answer's tokens.
	GenerationStart struct {
		Type               string `json:"type" enum:"generation_start"`
		ContextChunks      int    `json:"context_chunks"`
		TotalContextTokens int    `json:"total_context_tokens"`
		Model              string `json:"model"`
	}
	// Token is a piece of the answer, to be appended to what is shown. A citation is one too: " [2]". Citation is beyond the protocol's own fields.
	Token struct {
		Type     string `json:"type" enum:"token"`
		Content  string `json:"content"`
		Citation int    `json:"citation,omitempty"` // the source's number; left out of text, also of text that looks the same
	}
	// Verification is the check of the answer against its sources. Flagged is beyond the protocol's own fields.
	Verification struct {
		Type              string        `json:"type" enum:"verification"`
		ClaimsChecked     int           `json:"claims_checked"`
		ClaimsSupported   int           `json:"claims_supported"`
		ClaimsPartial     int           `json:"claims_partially_supported"`
		ClaimsUnsupported int           `json:"claims_unsupported"`
		Confidence        float64       `json:"confidence"`
		Details           []ClaimDetail `json:"details"`
		Flagged           bool          `json:"flagged,omitempty"` // the sources do not carry the answer
	}
	// ClaimDetail is that of one claim.
	ClaimDetail struct {
		Claim   string        `json:"claim"`
		Verdict event.Verdict `json:"verdict" enum:"SUPPORTED,PARTIALLY_SUPPORTED,UNSUPPORTED"`
	}
	// Sources lists what the answer was made from. The first is [1] in the answer's text. An answer that cites nothing has none.
	Sources struct {
		Type    string   `json:"type" enum:"sources"`
		Sources []Source `json:"sources"`
	}
	// Source is one of them. Truncated and the fields from title on are beyond the protocol's own.
	Source struct {
		ChunkID     string   `json:"chunk_id"`
		DocumentID  string   `json:"document_id"`
		Text        string   `json:"text"`                // at most 1,500 bytes
		Truncated   bool     `json:"truncated,omitempty"` // the passage is longer than the text
		Level       string   `json:"level" enum:"L1,L2,L3"`
		Score       float64  `json:"score"`
		PageNumbers []int    `json:"page_numbers"` // that hold what is cited, or the passage if it is not cited
		Heading     string   `json:"heading"`
		Title       string   `json:"title"`
		File        string   `json:"file,omitempty"`  // path of the document's file below the indexed folder, or its name
		Quote       string   `json:"quote,omitempty"` // the sentence that the first citation rests on
		Weight      float64  `json:"weight"`          // share of the answer, 0..1
		Cited       bool     `json:"cited"`
		Path        []string `json:"path,omitempty"` // how the graph led to it: entities and titles in turn
	}
	// Done ends a stream that was answered. Incomplete, usage and abstained are beyond the protocol's own fields.
	Done struct {
		Type            string       `json:"type" enum:"done"`
		TotalTimeMS     event.Millis `json:"total_time_ms"`
		TokensGenerated int          `json:"tokens_generated"`
		Iterations      int          `json:"iterations"`
		ToolsUsed       []string     `json:"tools_used"`
		SourcesCount    int          `json:"sources_count"`
		Confidence      float64      `json:"confidence"`
		Mode            event.Mode   `json:"mode" enum:"agentic,direct"`
		Cached          bool         `json:"cached"`
		Incomplete      bool         `json:"incomplete,omitempty"` // the answer lacks its end
		Usage           *Usage       `json:"usage,omitempty"`      // left out where no model was asked
		Abstained       bool         `json:"abstained,omitempty"`  // the documents hold no answer
	}
	// Usage is what a run spent on models.
	Usage struct {
		InputTokens  int      `json:"input_tokens"`
		OutputTokens int      `json:"output_tokens"`
		Calls        int      `json:"calls"`
		Models       []string `json:"models"`              // in the order of first use
		Estimated    bool     `json:"estimated,omitempty"` // of some calls the provider told nothing
	}
	// Error reports a failure. One that is not recoverable ends the stream.
	Error struct {
		Type        string `json:"type" enum:"error"`
		Message     string `json:"message"`
		Code        string `json:"code" enum:"LLM_ERROR,VECTOR_DB_ERROR,TIMEOUT,NO_DOCUMENTS,CANCELLED,INTERNAL,INVALID_REQUEST,NOT_FOUND,CONFLICT,TOO_LARGE,OVERLOADED,UNAVAILABLE,INSUFFICIENT_STORAGE"`
		Recoverable bool   `json:"recoverable"`
		Field       string `json:"field,omitempty"` // of the request, before a stream
	}
)

// round keeps four decimals.
func round(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return math.Round(f*1e4) / 1e4
}

// timestamp is RFC 3339 in UTC with milliseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
