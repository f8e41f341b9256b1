package openai

import "encoding/json"

// The statuses of responses and items.
const (
	statusInProgress = "in_progress"
	statusSearching  = "searching"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// The types of items and parts.
const (
	itemSearch     = "file_search_call"
	itemReasoning  = "reasoning"
	itemMessage    = "message"
	toolFileSearch = "file_search"
	partText       = "output_text"
	partSummary    = "summary_text"
)

// ResponseRequest is the body of a request for a response. Fields that are not listed are ignored, and a null field counts as left out.
type ResponseRequest struct {
	Input              any               `json:"input" required:"true" description:"The question, or a list of messages with role and content: the last message of the user is the question, and earlier ones are the history."`
	Model              string            `json:"model,omitempty" maxLength:"256" description:"As in chat completions."`
	Instructions       string            `json:"instructions,omitempty" description:"Instructions to the model."`
	Stream             bool              `json:"stream,omitempty" description:"Whether the reply is a stream."`
	Tools              []Tool            `json:"tools,omitempty" description:"Tools of the type file_search select what is searched. Others are ignored."`
	ToolChoice         any               `json:"tool_choice,omitempty" description:"auto, none or file_search; required if all tools have the type file_search."`
	Include            []string          `json:"include,omitempty" description:"With file_search_call.results, searches have what they found."`
	PreviousResponseID string            `json:"previous_response_id,omitempty" description:"The previous response of the conversation. Its question and answer precede the input."`
	Conversation       any               `json:"conversation,omitempty" description:"Session of the question: its id, or an object with the id. It is created if it does not exist."`
	Collection         string            `json:"collection,omitempty" maxLength:"256" description:"Collection to search, or another scope, if no tool names vector stores. Not a field of OpenAI."`
	Temperature        *float64          `json:"temperature,omitempty" minimum:"0" maximum:"2"`
	MaxOutputTokens    int               `json:"max_output_tokens,omitempty" minimum:"1" description:"Limit of the answer."`
	Metadata           map[string]string `json:"metadata,omitempty" description:"At most 16 pairs. Repeated in the response."`
	Text               *TextConfig       `json:"text,omitempty" description:"Only text is supported."`
	Store              *bool             `json:"store,omitempty" default:"true" description:"If false, the response is deleted after it was read."`
	Background         bool              `json:"background,omitempty" enum:"false"`
	Prompt             any               `json:"prompt,omitempty" description:"Not supported."`
}

// Tool is a tool of a request or response.
type Tool struct {
	Type           string          `json:"type" enum:"file_search"`
	VectorStoreIDs []string        `json:"vector_store_ids"`
	MaxNumResults  *int            `json:"max_num_results,omitempty" description:"Number of passages for the generator, 1 to 50."`
	Filters        json.RawMessage `json:"filters,omitempty" description:"Limits the documents that are read. Not repeated in responses."`
}

// TextConfig is the form of the text.
type TextConfig struct {
	Format *Format `json:"format,omitempty"`
}

// Response is an answer with the steps that led to it.
type Response struct {
	ID                 string             `json:"id" description:"Id of the run."`
	Object             string             `json:"object" enum:"response"`
	CreatedAt          int64              `json:"created_at" description:"Unix time in seconds."`
	CompletedAt        *int64             `json:"completed_at" description:"Unix time in seconds; null unless the status is completed."`
	Status             string             `json:"status" enum:"in_progress,completed,incomplete,failed,cancelled"`
	Background         bool               `json:"background"`
	Error              *ResponseError     `json:"error"`
	IncompleteDetails  *IncompleteDetails `json:"incomplete_details"`
	Instructions       *string            `json:"instructions" description:"Always null."`
	MaxOutputTokens    *int               `json:"max_output_tokens"`
	Model              string             `json:"model" description:"As requested."`
	Output             []Item             `json:"output"`
	ParallelToolCalls  bool               `json:"parallel_tool_calls"`
	PreviousResponseID *string            `json:"previous_response_id"`
	Conversation       *Conversation      `json:"conversation"`
	Temperature        *float64           `json:"temperature"`
	TopP               *float64           `json:"top_p"`
	Text               TextConfig         `json:"text"`
	ToolChoice         string             `json:"tool_choice" enum:"auto"`
	Tools              []Tool             `json:"tools" description:"Those of the type file_search."`
	Truncation         string             `json:"truncation" enum:"disabled"`
	Usage              *ResponseUsage     `json:"usage,omitempty" description:"Set when the run has ended."`
	Metadata           map[string]string  `json:"metadata"`
}

// ResponseError is the reason why a response failed.
type ResponseError struct {
	Code    string `json:"code" enum:"server_error,rate_limit_exceeded,invalid_prompt"`
	Message string `json:"message"`
}

// IncompleteDetails is the reason why the end of an answer is missing.
type IncompleteDetails struct {
	Reason string `json:"reason,omitempty" enum:"max_output_tokens,content_filter"`
}

// Conversation is the session of a response.
type Conversation struct {
	ID string `json:"id"`
}

// ResponseUsage is the number of tokens of a run; all 0 if no model was called.
type ResponseUsage struct {
	InputTokens   int           `json:"input_tokens"`
	InputDetails  InputDetails  `json:"input_tokens_details"`
	OutputTokens  int           `json:"output_tokens"`
	OutputDetails OutputDetails `json:"output_tokens_details"`
	TotalTokens   int           `json:"total_tokens"`
}

// InputDetails is part of [ResponseUsage].
type InputDetails struct {
	CachedTokens     int `json:"cached_tokens"`
	CacheWriteTokens int `json:"cache_write_tokens" description:"Always 0."`
}

// OutputDetails is part of [ResponseUsage].
type OutputDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// Item is a step of a response: a search (file_search_call), the model's reasoning or the answer (message).
type Item struct {
	ID      string     `json:"id"`
	Type    string     `json:"type" enum:"file_search_call,reasoning,message"`
	Status  string     `json:"status" enum:"in_progress,searching,completed,incomplete,failed"`
	Queries []string   `json:"queries,omitempty" description:"Of a search."`
	Results *[]Result  `json:"results,omitempty" description:"Of a search, if include has file_search_call.results; best first."`
	Summary *[]Summary `json:"summary,omitempty" description:"Of reasoning."`
	Role    string     `json:"role,omitempty" enum:"assistant" description:"Of a message."`
	Content *[]Part    `json:"content,omitempty" description:"Of a message."`
}

// Result is a passage that a search found. Its text is not in the log of the run, so it is left out.
type Result struct {
	FileID     string         `json:"file_id"`
	Filename   string         `json:"filename"`
	Score      float64        `json:"score" description:"0 to 1"`
	Attributes map[string]any `json:"attributes" description:"chunk_id and level of the passage, and the attributes that the source of the document sets: at most 16 texts, numbers and truth values."`
}

// Summary is the text of reasoning.
type Summary struct {
	Type string `json:"type" enum:"summary_text"`
	Text string `json:"text"`
}

// Part is the text of a message.
type Part struct {
	Type        string         `json:"type" enum:"output_text"`
	Text        string         `json:"text"`
	Annotations []FileCitation `json:"annotations"`
	Logprobs    []struct{}     `json:"logprobs" description:"Always empty."`
}

// FileCitation is a citation: a document supports the text before it.
type FileCitation struct {
	Type     string `json:"type" enum:"file_citation"`
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
	Index    int    `json:"index" description:"Position in the text, in Unicode code points, after the text that the document supports."`
}

// Numbered has the number of an event of a stream.
type Numbered struct {
	N int `json:"sequence_number" description:"Number of the event in the stream, from 0."`
}

// ResponseEvent begins and ends a stream: response.created, in_progress, completed, incomplete and failed.
type ResponseEvent struct {
	Type string `json:"type" enum:"response.created,response.in_progress,response.completed,response.incomplete,response.failed"`
	Numbered
	Response Response `json:"response"`
}

// ItemEvent begins or ends an item: response.output_item.added and done.
type ItemEvent struct {
	Type string `json:"type" enum:"response.output_item.added,response.output_item.done"`
	Numbered
	OutputIndex int  `json:"output_index"`
	Item        Item `json:"item"`
}

// CallEvent is the state of a search: response.file_search_call.in_progress, searching and completed.
type CallEvent struct {
	Type string `json:"type" enum:"response.file_search_call.in_progress,response.file_search_call.searching,response.file_search_call.completed"`
	Numbered
	OutputIndex int    `json:"output_index"`
	ItemID      string `json:"item_id"`
}

// place is where an event belongs.
type place struct {
	ItemID      string `json:"item_id"`
	OutputIndex int    `json:"output_index"`
}

// PartEvent begins or ends the text of a message: response.content_part.added and done.
type PartEvent struct {
	Type string `json:"type" enum:"response.content_part.added,response.content_part.done"`
	Numbered
	place
	ContentIndex int  `json:"content_index"`
	Part         Part `json:"part"`
}

// TextDelta is a piece of the text: response.output_text.delta.
type TextDelta struct {
	Type string `json:"type" enum:"response.output_text.delta"`
	Numbered
	place
	ContentIndex int        `json:"content_index"`
	Delta        string     `json:"delta"`
	Logprobs     []struct{} `json:"logprobs" description:"Always empty."`
}

// TextDone has the whole text: response.output_text.done.
type TextDone struct {
	Type string `json:"type" enum:"response.output_text.done"`
	Numbered
	place
	ContentIndex int        `json:"content_index"`
	Text         string     `json:"text"`
	Logprobs     []struct{} `json:"logprobs" description:"Always empty."`
}

// AnnotationAdded adds a citation: response.output_text.annotation.added.
type AnnotationAdded struct {
	Type string `json:"type" enum:"response.output_text.annotation.added"`
	Numbered
	place
	ContentIndex    int          `json:"content_index"`
	AnnotationIndex int          `json:"annotation_index"`
	Annotation      FileCitation `json:"annotation"`
}

// SummaryPart begins or ends the text of reasoning: response.reasoning_summary_part.added and done.
type SummaryPart struct {
	Type string `json:"type" enum:"response.reasoning_summary_part.added,response.reasoning_summary_part.done"`
	Numbered
	place
	SummaryIndex int     `json:"summary_index"`
	Part         Summary `json:"part"`
}

// SummaryDelta is a piece of the text of reasoning: response.reasoning_summary_text.delta.
type SummaryDelta struct {
	Type string `json:"type" enum:"response.reasoning_summary_text.delta"`
	Numbered
	place
	SummaryIndex int    `json:"summary_index"`
	Delta        string `json:"delta"`
}

// SummaryDone has the whole text of reasoning: response.reasoning_summary_text.done.
type SummaryDone struct {
	Type string `json:"type" enum:"response.reasoning_summary_text.done"`
	Numbered
	place
	SummaryIndex int    `json:"summary_index"`
	Text         string `json:"text"`
}
