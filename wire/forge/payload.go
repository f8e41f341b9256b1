package forge

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// Payloads of the events of the protocol. Each repeats the name of its event as type.
type (
	// QueryAnalysis is the first event of a stream. The fields standalone_query and summarized_turns are an extension of the protocol.
	QueryAnalysis struct {
		Type          string           `json:"type" enum:"query_analysis"`
		Query         string           `json:"query"`
		Complexity    event.Complexity `json:"complexity" enum:"simple,moderate,complex"`
		Decomposed    bool             `json:"decomposed"`
		EstimatedMode event.Mode       `json:"estimated_mode" enum:"agentic,direct"`

		StandaloneQuery string `json:"standalone_query,omitempty"` // the question as it is searched for, if it was rewritten
		SummarizedTurns int    `json:"summarized_turns,omitempty"` // messages of the history that a summary replaces
	}
	// CacheHit reports that a cached answer follows.
	CacheHit struct {
		Type          string  `json:"type" enum:"cache_hit"`
		Similarity    float64 `json:"similarity"`
		OriginalQuery string  `json:"original_query"`
		CachedAt      string  `json:"cached_at" format:"date-time"`
	}
	// CacheMiss reports that the cache has no answer.
	CacheMiss struct {
		Type string `json:"type" enum:"cache_miss"`
	}
	// RetrievalStart reports the start of a search. The fields call_id and reason are an extension of the protocol.
	RetrievalStart struct {
		Type      string       `json:"type" enum:"retrieval_start"`
		CallID    event.CallID `json:"call_id"` // the same in the result; the calls of a run are numbered from 1
		Tool      string       `json:"tool"`
		Query     string       `json:"query"`
		Iteration int          `json:"iteration"`
		Reason    string       `json:"reason,omitempty"` // why the agent chose the tool
	}
	// RetrievalResult reports the end of a search. The fields call_id, query, iteration and chunks are an extension of the
	// protocol.
	RetrievalResult struct {
		Type        string         `json:"type" enum:"retrieval_result"`
		CallID      event.CallID   `json:"call_id"`
		Tool        string         `json:"tool"`
		Query       string         `json:"query"`
		Iteration   int            `json:"iteration"`
		ChunksFound int            `json:"chunks_found"`
		TopScore    float64        `json:"top_score"`
		Levels      map[string]int `json:"levels"` // number of passages by level: L1, L2, L3
		DurationMS  event.Millis   `json:"duration_ms"`
		Chunks      []ChunkScore   `json:"chunks"`
		// Corrected holds words that the index does not have, each with the terms that were searched for in its place.
		Corrected map[string][]string `json:"corrected,omitempty"`
	}
	// ChunkScore is a passage that was found.
	ChunkScore struct {
		ChunkID string  `json:"chunk_id"`
		Level   string  `json:"level" enum:"L1,L2,L3"`
		Score   float64 `json:"score"`
	}
	// ToolCall reports the start of a tool other than a search. The fields call_id, query and reason are an extension of
	// the protocol.
	ToolCall struct {
		Type      string          `json:"type" enum:"tool_call"`
		CallID    event.CallID    `json:"call_id"` // the same in the result; the calls of a run are numbered from 1
		Tool      string          `json:"tool"`
		Query     string          `json:"query"` // of the input; the question if the input has none
		Input     json.RawMessage `json:"input"`
		Iteration int             `json:"iteration"`
		Reason    string          `json:"reason,omitempty"` // why the agent chose the tool
	}
	// ToolResult reports the end of a tool call. The fields call_id, query and iteration are an extension of the protocol.
	ToolResult struct {
		Type       string          `json:"type" enum:"tool_result"`
		CallID     event.CallID    `json:"call_id"`
		Tool       string          `json:"tool"`
		Query      string          `json:"query"`
		Iteration  int             `json:"iteration"`
		Result     json.RawMessage `json:"result"`
		DurationMS event.Millis    `json:"duration_ms"`
	}
	// CRAGEvaluation grades the passages that the searches of an iteration found.
	CRAGEvaluation struct {
		Type      string       `json:"type" enum:"crag_evaluation"`
		Correct   int          `json:"correct"`
		Ambiguous int          `json:"ambiguous"`
		Incorrect int          `json:"incorrect"`
		Action    event.Action `json:"action" enum:"proceed,re-retrieve,expand"`
		Expanded  int          `json:"expanded"`
		Details   []CRAGDetail `json:"details"`
	}
	// CRAGDetail is the grade of one passage.
	CRAGDetail struct {
		ChunkID        string      `json:"chunk_id"`
		Score          float64     `json:"score"`
		Classification event.Class `json:"classification" enum:"CORRECT,AMBIGUOUS,INCORRECT"`
		Expanded       bool        `json:"expanded,omitempty"`
		NewScore       *float64    `json:"new_score,omitempty"`
	}
	// RerankResult reports the reranking of the passages for the generator.
	RerankResult struct {
		Type        string       `json:"type" enum:"rerank_result"`
		Method      string       `json:"method"`
		InputCount  int          `json:"input_count"`
		OutputCount int          `json:"output_count"`
		TopScore    float64      `json:"top_score"`
		DurationMS  event.Millis `json:"duration_ms"`
	}
	// GenerationStart precedes the tokens of the answer.
	GenerationStart struct {
		Type               string `json:"type" enum:"generation_start"`
		ContextChunks      int    `json:"context_chunks"`
		TotalContextTokens int    `json:"total_context_tokens"`
		Model              string `json:"model"`
	}
	// Token is a piece of the answer, to be appended to the text so far. A citation such as " [2]" is a token too. The
	// field citation is an extension of the protocol.
	Token struct {
		Type     string `json:"type" enum:"token"`
		Content  string `json:"content"`
		Citation int    `json:"citation,omitempty"` // number of the cited source; 0 for text, including text that looks like a citation
	}
	// Verification is the check of the answer against its sources. The field flagged is an extension of the protocol.
	Verification struct {
		Type              string        `json:"type" enum:"verification"`
		ClaimsChecked     int           `json:"claims_checked"`
		ClaimsSupported   int           `json:"claims_supported"`
		ClaimsPartial     int           `json:"claims_partially_supported"`
		ClaimsUnsupported int           `json:"claims_unsupported"`
		Confidence        float64       `json:"confidence"` // claim support: (supported + partially supported / 2) / checked, 0..1
		Details           []ClaimDetail `json:"details"`
		Flagged           bool          `json:"flagged,omitempty"` // the sources do not support the answer
	}
	// ClaimDetail is the verdict on one claim.
	ClaimDetail struct {
		Claim   string        `json:"claim"`
		Verdict event.Verdict `json:"verdict" enum:"SUPPORTED,PARTIALLY_SUPPORTED,UNSUPPORTED"`
	}
	// Sources lists the passages that the answer is based on. The first one is [1] in the text of the answer. An answer
	// without citations has no sources.
	Sources struct {
		Type    string   `json:"type" enum:"sources"`
		Sources []Source `json:"sources"`
	}
	// Source is a passage. The fields truncated and those from title on are an extension of the protocol.
	Source struct {
		ChunkID     string           `json:"chunk_id"`
		DocumentID  string           `json:"document_id"`
		Text        string           `json:"text"`                // at most 1,500 bytes
		Truncated   bool             `json:"truncated,omitempty"` // the passage is longer than the text
		Level       string           `json:"level" enum:"L1,L2,L3"`
		Score       float64          `json:"score"`
		PageNumbers []int            `json:"page_numbers"` // pages of the cited sentences; of the whole passage if it is not cited
		Heading     string           `json:"heading"`
		Title       string           `json:"title"`
		File        string           `json:"file,omitempty"`  // path of the file below the indexed folder, or its name
		URL         string           `json:"url,omitempty"`   // of the document, if it is from the web
		Quote       string           `json:"quote,omitempty"` // the sentence that the first citation refers to
		Weight      float64          `json:"weight"`          // share of the answer that cites it, 0..1
		Cited       bool             `json:"cited"`
		Path        []string         `json:"path,omitempty"`        // path in the graph that led to the passage: entities and titles alternate
		AlsoIn      []string         `json:"also_in,omitempty"`     // documents with about the same passage, of the same or an older version
		DublinCore  *wire.DublinCore `json:"dublin_core,omitempty"` // metadata of the document, each element shortened
		Attributes  map[string]any   `json:"attributes,omitempty"`  // that the source of the document sets
	}
	// Done ends the stream of a run that has an answer. The fields incomplete, usage and abstained are an extension of the
	// protocol.
	Done struct {
		Type            string       `json:"type" enum:"done"`
		TotalTimeMS     event.Millis `json:"total_time_ms"`
		TokensGenerated int          `json:"tokens_generated"`
		Iterations      int          `json:"iterations"`
		ToolsUsed       []string     `json:"tools_used"`
		SourcesCount    int          `json:"sources_count"`
		Confidence      float64      `json:"confidence"` // estimated probability that the answer is right, 0..1; 0 for an abstention
		Mode            event.Mode   `json:"mode" enum:"agentic,direct"`
		Cached          bool         `json:"cached"`
		Incomplete      bool         `json:"incomplete,omitempty"` // the end of the answer is missing
		Usage           *wire.Usage  `json:"usage,omitempty"`      // left out if no model was called
		Abstained       bool         `json:"abstained,omitempty"`  // the documents do not hold an answer
	}
	// Error reports a failure. It ends the stream unless it is recoverable.
	Error struct {
		Type        string `json:"type" enum:"error"`
		Message     string `json:"message"`
		Code        string `json:"code" enum:"LLM_ERROR,VECTOR_DB_ERROR,TIMEOUT,NO_DOCUMENTS,CANCELLED,INTERNAL,INVALID_REQUEST,NOT_FOUND,CONFLICT,TOO_LARGE,OVERLOADED,UNAVAILABLE,INSUFFICIENT_STORAGE,UNAUTHENTICATED,FORBIDDEN,QUOTA_EXCEEDED"`
		Recoverable bool   `json:"recoverable"`
		Field       string `json:"field,omitempty"` // field of the request, for an error that precedes a stream
	}
)
