package knowledge

import (
	"encoding/json"

	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// Statuses of a response and of its output items. The type of an item determines which of them it can have.
const (
	StatusInProgress = "in_progress"
	StatusSearching  = "searching"
	StatusCompleted  = "completed"
	StatusIncomplete = "incomplete"
	StatusFailed     = "failed"
)

// Types of output items.
const (
	ItemMessage       = "message"
	ItemReasoning     = "reasoning"
	ItemFileSearch    = "file_search_call"
	ItemWebSearch     = "web_search_call"
	ItemListDocuments = "list_documents_call"
	ItemPageReader    = "page_reader_call"
)

// Response is a response so far. It is the data of each snapshot of a stream, and the reply to a request without a stream.
// While text is appended, nothing before the text changes, so that a fast compressor can match a snapshot with the one
// before.
type Response struct {
	ID        string `json:"id" description:"Id of the run."`
	Object    string `json:"object" enum:"response"`
	CreatedAt int64  `json:"created_at" description:"Unix seconds."`
	Model     string `json:"model" description:"The requested model."`
	Echo
	Conversation *Conversation `json:"conversation,omitempty" description:"Session of the question."`
	RunID        string        `json:"run_id"`
	Cached       bool          `json:"cached,omitempty" description:"The answer comes from the cache."`
	// StandaloneQuery is the question as it is searched for, if it was rewritten with the help of the conversation.
	StandaloneQuery string `json:"standalone_query,omitempty" description:"The question as it is searched for, if it was rewritten with the help of the conversation."`
	SummarizedTurns int    `json:"summarized_turns,omitempty" description:"Number of earlier messages that a summary replaces."`
	// AnsweredBy is the model that wrote the answer. It may differ from Model.
	AnsweredBy string `json:"answered_by,omitempty" description:"The model that wrote the answer. It may differ from the requested model."`
	// Abstained is set if the answer says that the documents hold no answer.
	Abstained bool `json:"abstained,omitempty" description:"The documents do not hold an answer."`

	Usage *Usage `json:"usage,omitempty" description:"Tokens of the steps that have ended."`

	Output []Item `json:"output"`

	Status       string             `json:"status" enum:"in_progress,completed,failed,incomplete"`
	Error        *ResponseError     `json:"error,omitempty"`
	Incomplete   *IncompleteDetails `json:"incomplete_details,omitempty"`
	Warnings     []Warning          `json:"warnings,omitempty" description:"At most 8."`
	Confidence   *float64           `json:"confidence,omitempty" minimum:"0" maximum:"1" description:"Estimated probability that the answer is right; 0 for an abstention. Set at the end."`
	ClaimSupport *float64           `json:"claim_support,omitempty" minimum:"0" maximum:"1" description:"Share of the claims in the answer that the sources support. Set after the verification."`
	Verification *Verification      `json:"verification,omitempty"`
	DurationMS   event.Millis       `json:"duration_ms,omitempty"`
}

// Conversation is a session.
type Conversation struct {
	ID string `json:"id"`
}

// Echo holds the fields of the request that the response repeats.
type Echo struct {
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	ToolChoice         json.RawMessage   `json:"tool_choice" description:"none, auto, required, or an object with a type."`
	Tools              []Tool            `json:"tools" description:"Tools of supported types."`
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
	// Filters is only part of requests.
	Filters *filter.Filter `json:"filters,omitempty" description:"Limits the documents that are read to those whose attributes match. All tools of a request must have the same one."`
}

// Reasoning sets how much the model reasons.
type Reasoning struct {
	Effort  string `json:"effort,omitempty" enum:"low,medium,high"`
	Summary string `json:"summary,omitempty" enum:"auto,concise,detailed"`
}

// TextFormat is the format of the text of the answer, which is always plain text.
type TextFormat struct {
	Format struct {
		Type string `json:"type" enum:"text"`
	} `json:"format"`
}

// Item is an output item. The fields depend on the type; the others are left out.
//
//   - message: role, content
//   - reasoning: summary
//   - file_search_call: queries, results, result_count
//   - web_search_call: queries; always failed, because there is no web search
//   - list_documents_call: queries, count
//   - page_reader_call: document_id, document_title, start_page, end_page
//
// Calls also have progress, tool and iteration, duration_ms once they have ended, and execution_trace at the effort dev.
type Item struct {
	Type           string       `json:"type" enum:"message,reasoning,file_search_call,web_search_call,list_documents_call,page_reader_call"`
	ID             string       `json:"id"`
	Role           string       `json:"role,omitempty" enum:"assistant"`
	Queries        []string     `json:"queries,omitzero"`
	Count          int          `json:"count,omitempty" description:"Maximum number of documents."`
	DocumentID     string       `json:"document_id,omitempty"`
	DocumentTitle  *string      `json:"document_title,omitempty"` // always present in a page_reader_call: some clients recognize the type by it
	StartPage      int          `json:"start_page,omitempty"`
	EndPage        int          `json:"end_page,omitempty"`
	Progress       *float64     `json:"progress,omitempty" minimum:"0" maximum:"1"`
	Results        []Result     `json:"results,omitzero" description:"The best ten passages; fewer if there are many calls. result_count is the number of passages found."`
	ResultCount    *int         `json:"result_count,omitempty"`
	Tool           string       `json:"tool,omitempty" description:"Name of the tool in the events of the run."`
	Iteration      int          `json:"iteration,omitempty"`
	DurationMS     event.Millis `json:"duration_ms,omitempty"`
	ExecutionTrace string       `json:"execution_trace,omitempty" description:"Lines of text."`
	Summary        []Summary    `json:"summary,omitzero"`
	Content        []Part       `json:"content,omitzero"`
	Status         string       `json:"status" enum:"in_progress,searching,completed,incomplete,failed"`
}

// Result is a passage that a file_search_call found. It has no text; the annotations have the texts of the cited passages.
type Result struct {
	FileID     string         `json:"file_id"`
	Filename   string         `json:"filename"`
	Score      float64        `json:"score" minimum:"0" maximum:"1" description:"Relevance of the passage. Scores of different questions are comparable."`
	Attributes map[string]any `json:"attributes" description:"chunk_id and level of the passage, and the attributes that the source of the document sets: at most 16 texts, numbers and truth values, and fewer if they are long."`
}

// Warning is a failure that did not end the run, such as that of a model that another one replaced.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Summary is the text of a reasoning item.
type Summary struct {
	Type string `json:"type" enum:"summary_text"`
	Text string `json:"text" description:"At most 8 KiB."`
}

// Part is the text of a message. A marker ⟦⟦n⟧⟧ in the text follows what annotation n supports; n counts from 1.
type Part struct {
	Type string `json:"type" enum:"output_text"`
	Text string `json:"text"`
	// Truncated is set if a snapshot shows only the beginning of the text, to fit into a line of 120 KB. The reply to a
	// request without a stream has the whole text.
	Truncated   bool         `json:"truncated,omitempty"`
	Annotations []Annotation `json:"annotations"`
}

// Annotation is a passage that the text cites. A passage that is cited for several pages has one annotation for each of
// them.
type Annotation struct {
	Type     string `json:"type" enum:"file_citation"`
	FileID   string `json:"file_id"`
	Index    int    `json:"index" description:"Index of the segment in the file, from 0."`
	Filename string `json:"filename"`
	Snippet  string `json:"snippet,omitempty" description:"At most 400 characters; fewer if many passages are cited."`
	// Truncated is set if the snippet is not the whole passage.
	Truncated  bool             `json:"truncated,omitempty"`
	Quote      string           `json:"quote,omitempty" description:"The cited sentence, at most 400 characters; fewer if many passages are cited."`
	URL        string           `json:"url,omitempty" description:"URL of the document, if it is from the web."`
	Path       string           `json:"path,omitempty" description:"Path of the file below the indexed folder, with the name of the folder."`
	Page       int              `json:"page,omitempty" description:"The first page of the cited text."`
	Pages      []int            `json:"pages,omitempty" description:"All pages of the cited text if there are several; at most 20."`
	Heading    string           `json:"heading,omitempty"`
	Score      float64          `json:"score,omitempty"`
	DublinCore *wire.DublinCore `json:"dublin_core,omitempty" description:"Metadata of the document, each element shortened."`
	Attributes map[string]any   `json:"attributes,omitempty" description:"Attributes of the document that its source sets: texts, numbers and truth values."`
	ChunkID    string           `json:"chunk_id,omitempty" description:"Set while nothing else is known about the passage."`
}

// ResponseError is the reason why a response failed. Code is a code of the protocol, Reason one of package fault.
type ResponseError struct {
	Code    string `json:"code" enum:"server_error,rate_limit_exceeded,invalid_prompt"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
}

// IncompleteDetails is the reason why the end of an answer is missing.
type IncompleteDetails struct {
	Reason string `json:"reason" enum:"max_output_tokens,content_filter"`
}

// Usage is the number of tokens of a run; all 0 if no model was called.
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

// Verification counts the claims of the answer by verdict.
type Verification struct {
	Claims      int  `json:"claims"`
	Supported   int  `json:"supported"`
	Partial     int  `json:"partially_supported"`
	Unsupported int  `json:"unsupported"`
	Flagged     bool `json:"flagged,omitempty" description:"The sources do not support the answer."`
}

// TextDelta is the data of response.output_text.delta in delta mode: text to append.
type TextDelta struct {
	ItemID       string `json:"item_id"`
	OutputIndex  int    `json:"output_index"`
	ContentIndex int    `json:"content_index"`
	Delta        string `json:"delta"`
}

// ReasoningDelta is the data of response.reasoning_summary_text.delta in delta mode.
type ReasoningDelta struct {
	ItemID       string `json:"item_id"`
	OutputIndex  int    `json:"output_index"`
	SummaryIndex int    `json:"summary_index"`
	Delta        string `json:"delta"`
}

// AnnotationAdded is the data of response.output_text.annotation.added in delta mode. It precedes the first marker of the
// annotation.
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

// Fault is the reply to a request that failed before anything else was sent.
type Fault struct {
	Code    string      `json:"code" enum:"LLM_ERROR,VECTOR_DB_ERROR,TIMEOUT,NO_DOCUMENTS,CANCELLED,INTERNAL,INVALID_REQUEST,NOT_FOUND,CONFLICT,TOO_LARGE,OVERLOADED,UNAVAILABLE,INSUFFICIENT_STORAGE,UNAUTHENTICATED,FORBIDDEN,QUOTA_EXCEEDED"`
	Message string      `json:"message"`
	Detail  FaultDetail `json:"detail"`
}

// FaultDetail names the field of the request that caused the error, if there is one.
type FaultDetail struct {
	Field string `json:"field,omitempty" description:"Path of the field, such as input[2].content[0].type."`
}
