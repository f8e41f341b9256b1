package openai

// ChatRequest is the body of a request for a chat completion. Fields that are not listed are ignored, and a null field counts as left out.
type ChatRequest struct {
	Model               string            `json:"model,omitempty" maxLength:"256" description:"sluice, sluice-agentic or sluice-direct, with a collection after a slash if wanted, such as sluice-direct/manuals; or the name of a model that writes the answer. An unknown name selects the default model."`
	Messages            []ChatRequestItem `json:"messages" required:"true" description:"The last message with the role user is the question, and earlier ones are the history. Messages with the roles system and developer are instructions."`
	Stream              bool              `json:"stream,omitempty" description:"Whether the reply is a stream."`
	StreamOptions       *ChatOptions      `json:"stream_options,omitempty"`
	Collection          string            `json:"collection,omitempty" maxLength:"256" description:"Collection to search, or another scope. Not a field of OpenAI."`
	Temperature         *float64          `json:"temperature,omitempty" minimum:"0" maximum:"2"`
	MaxTokens           int               `json:"max_tokens,omitempty" minimum:"1" description:"Limit of the answer. The same as max_completion_tokens."`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty" minimum:"1"`
	N                   int               `json:"n,omitempty" enum:"1"`
	ResponseFormat      *Format           `json:"response_format,omitempty" description:"Only text is supported."`
	ToolChoice          any               `json:"tool_choice,omitempty" description:"auto or none. Tools of the client are not called."`
	Store               *bool             `json:"store,omitempty" default:"true" description:"If false, the run is deleted after it was read."`
}

// ChatRequestItem is a message of the conversation.
type ChatRequestItem struct {
	Role    string `json:"role" enum:"system,developer,user,assistant,tool,function"`
	Content any    `json:"content" description:"Text, or a list of parts with type and text. The question only has parts with text."`
}

// ChatOptions selects the form of a stream.
type ChatOptions struct {
	IncludeUsage bool `json:"include_usage,omitempty" description:"Whether a chunk with the usage precedes the end of the stream."`
}

// Format is the form of an answer.
type Format struct {
	Type string `json:"type" enum:"text"`
}

// Completion is the reply to a request without a stream.
type Completion struct {
	ID      string    `json:"id" description:"Id of the run."`
	Object  string    `json:"object" enum:"chat.completion"`
	Created int64     `json:"created" description:"Unix time in seconds."`
	Model   string    `json:"model" description:"As requested."`
	Choices []Choice  `json:"choices"`
	Usage   ChatUsage `json:"usage"`
}

// Choice is the answer.
type Choice struct {
	Index        int         `json:"index"`
	Message      ChatMessage `json:"message"`
	Logprobs     *struct{}   `json:"logprobs"`
	FinishReason *string     `json:"finish_reason" enum:"stop,length,content_filter"`
}

// ChatMessage is the text of the answer.
type ChatMessage struct {
	Role        string          `json:"role" enum:"assistant"`
	Content     string          `json:"content" description:"A marker such as [2] follows text that a source with a URL supports."`
	Refusal     *string         `json:"refusal"`
	Annotations []URLAnnotation `json:"annotations" description:"The citations of sources with URLs."`
}

// URLAnnotation is a citation of a source with a URL.
type URLAnnotation struct {
	Type     string      `json:"type" enum:"url_citation"`
	Citation URLCitation `json:"url_citation"`
}

// URLCitation locates the marker of a citation.
type URLCitation struct {
	StartIndex int    `json:"start_index" description:"Position of the marker in the content, in Unicode code points from 0."`
	EndIndex   int    `json:"end_index" description:"End of the marker."`
	Title      string `json:"title"`
	URL        string `json:"url"`
}

// ChatUsage is the number of tokens of a run; all 0 if no model was called.
type ChatUsage struct {
	PromptTokens      int               `json:"prompt_tokens"`
	CompletionTokens  int               `json:"completion_tokens"`
	TotalTokens       int               `json:"total_tokens"`
	PromptDetails     PromptDetails     `json:"prompt_tokens_details"`
	CompletionDetails CompletionDetails `json:"completion_tokens_details"`
}

// PromptDetails is part of [ChatUsage].
type PromptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// CompletionDetails is part of [ChatUsage].
type CompletionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// Chunk is a part of a stream. The data of the last frame of a stream that did not fail is [DONE] instead.
type Chunk struct {
	ID      string        `json:"id" description:"Id of the run."`
	Object  string        `json:"object" enum:"chat.completion.chunk"`
	Created int64         `json:"created" description:"Unix time in seconds of the start of the run."`
	Model   string        `json:"model" description:"As requested."`
	Choices []ChunkChoice `json:"choices" description:"One; none in the chunk with the usage."`
	Usage   *ChatUsage    `json:"usage,omitempty" null:"true" description:"Only if the usage was requested: null except in the last chunk."`
}

// ChunkChoice is part of [Chunk].
type ChunkChoice struct {
	Index        int     `json:"index"`
	Delta        Delta   `json:"delta"`
	FinishReason *string `json:"finish_reason" description:"stop, length or content_filter in the last chunk with a choice, and null before."`
}

// Delta is what a chunk adds to the message.
type Delta struct {
	Role        string          `json:"role,omitempty" enum:"assistant"`
	Content     *string         `json:"content,omitempty"`
	Annotations []URLAnnotation `json:"annotations,omitempty" description:"All citations of sources with URLs, in the chunk before the one with the reason."`
}
