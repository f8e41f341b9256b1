package anthropic

// The types of content blocks.
const (
	blockText     = "text"
	blockThinking = "thinking"
)

// Message is the reply to a request without a stream. In [MessageStart], it has no content yet.
type Message struct {
	ID           string    `json:"id" description:"Id of the run."`
	Type         string    `json:"type" enum:"message"`
	Role         string    `json:"role" enum:"assistant"`
	Model        string    `json:"model" description:"As requested."`
	Content      []any     `json:"content" description:"TextBlock, and ThinkingBlock if the request enables thinking. The texts joined without a separator are the answer."`
	StopReason   *string   `json:"stop_reason" description:"end_turn, max_tokens or refusal; null at the beginning of a stream."`
	StopSequence *string   `json:"stop_sequence" description:"Always null, as container, diagnostics and stop_details."`
	StopDetails  *struct{} `json:"stop_details"`
	Container    *struct{} `json:"container"`
	Diagnostics  *struct{} `json:"diagnostics"`
	Usage        Usage     `json:"usage"`
}

// Counts are the numbers of tokens of a run; all 0 if no model was called.
type Counts struct {
	InputTokens   int            `json:"input_tokens" description:"Without those that were read from the cache of a provider."`
	CacheCreation *int           `json:"cache_creation_input_tokens" description:"Always null."`
	CacheRead     *int           `json:"cache_read_input_tokens"`
	OutputTokens  int            `json:"output_tokens"`
	OutputDetails *OutputDetails `json:"output_tokens_details"`
	ServerToolUse *struct{}      `json:"server_tool_use" description:"Always null."`
}

// OutputDetails is part of [Counts].
type OutputDetails struct {
	ThinkingTokens int `json:"thinking_tokens"`
}

// Usage is the usage of a message. Its other fields than those of [Counts] are null.
type Usage struct {
	Counts
	CacheCreationDetails *struct{} `json:"cache_creation"`
	InferenceGeo         *string   `json:"inference_geo"`
	ServiceTier          *string   `json:"service_tier"`
	Speed                *string   `json:"speed"`
}

// TextBlock is a part of the answer. Its citations support all of its text.
type TextBlock struct {
	Type      string     `json:"type" enum:"text"`
	Text      string     `json:"text"`
	Citations []Citation `json:"citations"`
}

// ThinkingBlock is a part of the reasoning of models.
type ThinkingBlock struct {
	Type      string `json:"type" enum:"thinking"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature" description:"Always empty."`
}

// Citation refers to a sentence of a source. The search results are the sources of the answer, and their blocks are the sentences that the answer cites.
type Citation struct {
	Type              string `json:"type" enum:"search_result_location"`
	SearchResultIndex int    `json:"search_result_index" description:"Number of the source, from 0."`
	StartBlockIndex   int    `json:"start_block_index" description:"Number of the sentence among those of the source that the answer cites, from 0, in the order of their first citations."`
	EndBlockIndex     int    `json:"end_block_index" description:"start_block_index + 1"`
	Source            string `json:"source" description:"URL of the document, or else the path of its file, or its id."`
	Title             string `json:"title"`
	CitedText         string `json:"cited_text" description:"The sentence, or the passage if the sentence is not known."`
}

// The events of a stream.
type (
	// MessageStart begins the message.
	MessageStart struct {
		Type    string  `json:"type" enum:"message_start"`
		Message Message `json:"message"`
	}
	// TextStart begins a part of the answer.
	TextStart struct {
		Type         string    `json:"type" enum:"content_block_start"`
		Index        int       `json:"index"`
		ContentBlock TextBlock `json:"content_block"`
	}
	// ThinkingStart begins a part of the reasoning of models.
	ThinkingStart struct {
		Type         string        `json:"type" enum:"content_block_start"`
		Index        int           `json:"index"`
		ContentBlock ThinkingBlock `json:"content_block"`
	}
	// TextDelta continues the text of a block.
	TextDelta struct {
		Type  string `json:"type" enum:"content_block_delta"`
		Index int    `json:"index"`
		Delta struct {
			Type string `json:"type" enum:"text_delta"`
			Text string `json:"text"`
		} `json:"delta"`
	}
	// ThinkingDelta continues the reasoning of a block.
	ThinkingDelta struct {
		Type  string `json:"type" enum:"content_block_delta"`
		Index int    `json:"index"`
		Delta struct {
			Type     string `json:"type" enum:"thinking_delta"`
			Thinking string `json:"thinking"`
		} `json:"delta"`
	}
	// CitationsDelta adds a citation to a block, after its text. The end of the sentence may follow.
	CitationsDelta struct {
		Type  string `json:"type" enum:"content_block_delta"`
		Index int    `json:"index"`
		Delta struct {
			Type     string   `json:"type" enum:"citations_delta"`
			Citation Citation `json:"citation"`
		} `json:"delta"`
	}
	// BlockStop ends a block.
	BlockStop struct {
		Type  string `json:"type" enum:"content_block_stop"`
		Index int    `json:"index"`
	}
	// MessageDelta says why the message ended, and what the run cost.
	MessageDelta struct {
		Type  string `json:"type" enum:"message_delta"`
		Delta Stop   `json:"delta"`
		Usage Counts `json:"usage"`
	}
	// Stop is the delta of a [MessageDelta].
	Stop struct {
		StopReason   string    `json:"stop_reason" enum:"end_turn,max_tokens,refusal"`
		StopSequence *string   `json:"stop_sequence" description:"Always null, as stop_details and container."`
		StopDetails  *struct{} `json:"stop_details"`
		Container    *struct{} `json:"container"`
	}
	// MessageStop ends the message.
	MessageStop struct {
		Type string `json:"type" enum:"message_stop"`
	}
	// Ping is the heartbeat of a stream.
	Ping struct {
		Type string `json:"type" enum:"ping"`
	}
)

// Error is the reply to a request that failed, and the last event of a stream that failed.
type Error struct {
	Type      string    `json:"type" enum:"error"`
	Error     ErrorBody `json:"error"`
	RequestID *string   `json:"request_id" description:"Id of the run; null if none was started."`
}

// ErrorBody describes an error.
type ErrorBody struct {
	Type    string `json:"type" enum:"invalid_request_error,authentication_error,billing_error,permission_error,not_found_error,rate_limit_error,timeout_error,overloaded_error,api_error"`
	Message string `json:"message" description:"Begins with the path of the invalid field, such as messages.1.content.0.type."`
}
