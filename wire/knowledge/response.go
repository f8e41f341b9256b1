package knowledge

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/event"
)

// The statuses of a response and of its output items. An item has the ones that its type allows.
const (
	StatusInProgress = "in_progress"
	StatusSearching  = "searching"
	StatusCompleted  = "completed"
	StatusIncomplete = "incomplete"
	StatusFailed     = "failed"
)

// The types of output items.
const (
	ItemMessage       = "message"
	ItemReasoning     = "reasoning"
	ItemFileSearch    = "file_search_call"
	ItemWebSearch     = "web_search_call"
	ItemListDocuments = "list_documents_call"
	ItemPageReader    = "page_reader_call"
)

// Response is the state of an answer: each snapshot of a stream, and the object that a request without a stream is answered
// with. Once a text grows, nothing before it changes: a compressor that is quick finds what it has seen by its beginning.
type Response struct {
	ID        string `json:"id" description:"The run's."`
	Object    string `json:"object" enum:"response"`
	CreatedAt int64  `json:"created_at" description:"Unix seconds."`
	Model     string `json:"model" description:"As asked for."`
	Echo
	RunID  string `json:"run_id"`
	Cached bool   `json:"cached,omitempty" description:"An earlier answer is given again."`
	// AnsweredBy is the model that wrote the answer, which may be another than the one that was asked for.
	AnsweredBy string `json:"answered_by,omitempty" description:"The model that wrote the answer; the model asked for is in model."`
	// Abstained tells that the answer says that the documents hold none.
	Abstained bool `json:"abstained,omitempty" description:"The documents hold no answer."`

	Usage *Usage `json:"usage,omitempty" description:"What is known so far: of a step, once it has ended."`

	Output []Item `json:"output"`

	Status       string             `json:"status" enum:"in_progress,completed,failed,incomplete"`
	Error        *ResponseError     `json:"error,omitempty"`
	Incomplete   *IncompleteDetails `json:"incomplete_details,omitempty"`
	Warnings     []Warning          `json:"warnings,omitempty" description:"At most 8."`
	Confidence   *float64           `json:"confidence,omitempty" minimum:"0" maximum:"1" description:"How far the sources carry the answer, once that was checked."`
	Verification *Verification      `json:"verification,omitempty"`
	DurationMS   event.Millis       `json:"duration_ms,omitempty"`
}

// Echo is what a response repeats of its request.
type Echo struct {
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	ToolChoice         json.RawMessage   `json:"tool_choice" description:"none, auto, required, or an object with a type."`
	Tools              []Tool            `json:"tools" description:"Those of a type that there is."`
	Temperature        *float64          `json:"temperature,omitempty"`
	TopP               *float64          `json:"top_p,omitempty"`
	MaxOutputTokens    int               `json:"max_output_tokens,omitempty"`
	PreviousResponseID string            `json:"previous_response_id,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
	Reasoning          *Reasoning        `json:"reasoning,omitempty"`
	Text               *TextFormat       `json:"text,omitempty"`
	Truncation         string            `json:"truncation,omitempty" enum:"auto,disabled"`
	ServiceTier        string            `json:"service_tier,omitempty" enum:"auto,default,flex"`
	User               string            `json:"user,omitempty"`
	Effort             string            `json:"effort,omitempty" enum:"low,medium,high,dev"`
	Store              *bool             `json:"store,omitempty"`
}

// Tool is a tool that the run may use.
type Tool struct {
	Type           string   `json:"type" enum:"file_search,list_documents,page_reader,file_reader,web_search"`
	VectorStoreIDs []string `json:"vector_store_ids,omitzero"`
	MaxNumResults  int      `json:"max_num_results,omitempty"`
}

// Reasoning says how much a model shall think.
type Reasoning struct {
	Effort  string `json:"effort,omitempty" enum:"low,medium,high"`
	Summary string `json:"summary,omitempty" enum:"auto,concise,detailed"`
}

// TextFormat says what the answer's text is: always plain text.
type TextFormat struct {
	Format struct {
		Type string `json:"type" enum:"text"`
	} `json:"format"`
}

// Item is an output item. Each type has the fields that its line in the list names; the others are left out.
//
//   - message: role, content
//   - reasoning: summary
//   - file_search_call: queries, results, result_count
//   - web_search_call: queries; always failed, since there is no web search
//   - list_documents_call: queries, count
//   - page_reader_call: document_id, document_title, start_page, end_page
//
// The calls also have progress, tool, iteration and, once they ended, duration_ms, and execution_trace at the effort dev.
type Item struct {
	Type           string       `json:"type" enum:"message,reasoning,file_search_call,web_search_call,list_documents_call,page_reader_call"`
	ID             string       `json:"id"`
	Role           string       `json:"role,omitempty" enum:"assistant"`
	Queries        []string     `json:"queries,omitzero"`
	Count          int          `json:"count,omitempty" description:"How many documents are listed, at most."`
	DocumentID     string       `json:"document_id,omitempty"`
	DocumentTitle  *string      `json:"document_title,omitempty"` // of a page_reader_call, which always has it: some clients ask for nothing else
	StartPage      int          `json:"start_page,omitempty"`
	EndPage        int          `json:"end_page,omitempty"`
	Progress       *float64     `json:"progress,omitempty" minimum:"0" maximum:"1"`
	Results        []Result     `json:"results,omitzero" description:"The best ten; fewer where there are many calls. result_count is how many were found."`
	ResultCount    *int         `json:"result_count,omitempty"`
	Tool           string       `json:"tool,omitempty" description:"The tool behind the call, by its name in the run's events."`
	Iteration      int          `json:"iteration,omitempty"`
	DurationMS     event.Millis `json:"duration_ms,omitempty"`
	ExecutionTrace string       `json:"execution_trace,omitempty" description:"Lines of text."`
	Summary        []Summary    `json:"summary,omitzero"`
	Content        []Part       `json:"content,omitzero"`
	Status         string       `json:"status" enum:"in_progress,searching,completed,incomplete,failed"`
}

// Result is a passage that a file_search_call found, best first, without its text: the annotations have the texts of what is
// cited.
type Result struct {
	FileID     string           `json:"file_id"`
	Filename   string           `json:"filename"`
	Score      float64          `json:"score" minimum:"0" maximum:"1" description:"How relevant the passage is; comparable between questions."`
	Attributes ResultAttributes `json:"attributes"`
}

// ResultAttributes is part of [Result].
type ResultAttributes struct {
	ChunkID string `json:"chunk_id"`
	Level   string `json:"level,omitempty" enum:"L1,L2,L3"`
}

// Warning is something that went wrong and was survived, such as a model that failed while another one took over.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Summary is a text of a reasoning item.
type Summary struct {
	Type string `json:"type" enum:"summary_text"`
	Text string `json:"text" description:"At most 8 KiB; what follows is left out."`
}

// Part is a part of a message: its text. The marker ⟦⟦n⟧⟧ in it stands behind what annotation n carries, counted from 1.
type Part struct {
	Type string `json:"type" enum:"output_text"`
	Text string `json:"text"`
	// Truncated tells that a snapshot shows the text's beginning only, so that it fits into a line of 120 KB. The response as one
	// JSON object has the whole text.
	Truncated   bool         `json:"truncated,omitempty"`
	Annotations []Annotation `json:"annotations"`
}

// Annotation is a passage that a text cites. A passage that is cited for several pages has an annotation for each.
type Annotation struct {
	Type     string `json:"type" enum:"file_citation"`
	FileID   string `json:"file_id"`
	Index    int    `json:"index" description:"Of the passage among the segments of its file, from 0."`
	Filename string `json:"filename"`
	Snippet  string `json:"snippet,omitempty" description:"At most 400 characters; fewer where many passages are cited."`
	// Truncated tells that the snippet is not the whole passage.
	Truncated bool    `json:"truncated,omitempty"`
	Quote     string  `json:"quote,omitempty" description:"The sentence that is cited, at most 400 characters; fewer where many passages are cited."`
	Path      string  `json:"path,omitempty" description:"Of the file below the indexed folder, with the folder's name."`
	Page      int     `json:"page,omitempty" description:"The first page that what is cited is on."`
	Pages     []int   `json:"pages,omitempty" description:"All pages that what is cited is on, if these are several: at most 20."`
	Heading   string  `json:"heading,omitempty"`
	Score     float64 `json:"score,omitempty"`
	ChunkID   string  `json:"chunk_id,omitempty" description:"There where nothing else is known of the passage yet."`
}

// ResponseError says why a response failed, in the protocol's words; Reason is a code of ours.
type ResponseError struct {
	Code    string `json:"code" enum:"server_error,rate_limit_exceeded,invalid_prompt"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
}

// IncompleteDetails says why an answer lacks its end.
type IncompleteDetails struct {
	Reason string `json:"reason" enum:"max_output_tokens,content_filter"`
}

// Usage is what a run spent on models, in tokens; all 0 where none was asked.
type Usage struct {
	InputTokens        int           `json:"input_tokens"`
	InputTokensDetails InputDetails  `json:"input_tokens_details"`
	OutputTokens       int           `json:"output_tokens"`
	OutputTokenDetails OutputDetails `json:"output_tokens_details"`
	TotalTokens        int           `json:"total_tokens"`
}

// InputDetails is part of [Usage].
type InputDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// OutputDetails is part of [Usage].
type OutputDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// Verification counts the answer's claims by what the sources say of them.
type Verification struct {
	Claims      int  `json:"claims"`
	Supported   int  `json:"supported"`
	Partial     int  `json:"partially_supported"`
	Unsupported int  `json:"unsupported"`
	Flagged     bool `json:"flagged,omitempty" description:"The sources do not carry the answer."`
}

// TextDelta is the data of response.output_text.delta in the delta mode: text to append.
type TextDelta struct {
	ItemID       string `json:"item_id"`
	OutputIndex  int    `json:"output_index"`
	ContentIndex int    `json:"content_index"`
	Delta        string `json:"delta"`
}

// ReasoningDelta is the data of response.reasoning_summary_text.delta in the delta mode.
type ReasoningDelta struct {
	ItemID       string `json:"item_id"`
	OutputIndex  int    `json:"output_index"`
	SummaryIndex int    `json:"summary_index"`
	Delta        string `json:"delta"`
}

// AnnotationAdded is the data of response.output_text.annotation.added in the delta mode. It precedes the first marker of its
// passage.
type AnnotationAdded struct {
	ItemID          string     `json:"item_id"`
	OutputIndex     int        `json:"output_index"`
	ContentIndex    int        `json:"content_index"`
	AnnotationIndex int        `json:"annotation_index"`
	Annotation      Annotation `json:"annotation"`
}

// Done is the data of the last event: an empty object.
type Done struct {
	_ struct{} `additionalProperties:"false"`
}

// Fault answers a request that failed before anything else was sent, with the HTTP status that belongs to its code.
type Fault struct {
	Code    string      `json:"code" enum:"LLM_ERROR,VECTOR_DB_ERROR,TIMEOUT,NO_DOCUMENTS,CANCELLED,INTERNAL,INVALID_REQUEST,NOT_FOUND,CONFLICT,TOO_LARGE,OVERLOADED,UNAVAILABLE,INSUFFICIENT_STORAGE"`
	Message string      `json:"message"`
	Detail  FaultDetail `json:"detail"`
}

// FaultDetail names the part of the request that is at fault, if one is.
type FaultDetail struct {
	Field string `json:"field,omitempty" description:"Such as input[2].content[0].type."`
}
