package ragevents

import "github.com/sluice-rag/sluice/event"

// Payloads of the events of the protocol.
type (
	// Progress is the start of a phase of the run.
	Progress struct {
		Type      string         `json:"type" enum:"progress"`
		Phase     string         `json:"phase" enum:"first_event,stream_initializing,vectorstore_initializing,vectorstore_ready,starting_rag_chain,rag_chain_started,completed"`
		Detail    ProgressDetail `json:"detail"`
		Timestamp string         `json:"timestamp" format:"date-time"`
	}
	// ProgressDetail is empty for the phases that have no fields.
	ProgressDetail struct {
		TTF      *event.Millis `json:"ttf_ms,omitempty"`      // first_event: time from the request
		Method   string        `json:"method,omitempty"`      // vectorstore_initializing and vectorstore_ready
		Duration *event.Millis `json:"duration_ms,omitempty"` // completed: time from the request
	}
	// ModelInfo names the model that is to write the answer.
	ModelInfo struct {
		Type      string `json:"type" enum:"model_info"`
		Provider  string `json:"provider"` // openai, anthropic, local; unknown in runs of earlier versions
		Model     string `json:"model"`
		Mode      string `json:"mode" enum:"platform,byok"`
		Timestamp string `json:"timestamp" format:"date-time"`
	}
	// Chain is an event of the LangChain streaming API.
	Chain struct {
		Type      string    `json:"type" enum:"event"`
		Event     string    `json:"event" enum:"on_chain_start,on_chain_stream,on_chain_end"`
		Data      ChainData `json:"data"`
		Timestamp string    `json:"timestamp" format:"date-time"`
	}
	// ChainData has the field of its event.
	ChainData struct {
		Input  *ChainInput  `json:"input,omitempty"`  // on_chain_start
		Chunk  *ChainChunk  `json:"chunk,omitempty"`  // on_chain_stream
		Output *ChainOutput `json:"output,omitempty"` // on_chain_end
	}
	// ChainInput is the question.
	ChainInput struct {
		Input string `json:"input"`
	}
	// ChainChunk has one of answer, sourceRelevance, and context with _pairs and chatHistory.
	ChainChunk struct {
		Answer          string        `json:"answer,omitempty"` // a piece of the answer
		ChatHistory     []Message     `json:"chatHistory,omitempty"`
		Context         []Document    `json:"context,omitzero"` // passages that the generator reads
		SourceRelevance *Relevance    `json:"sourceRelevance,omitempty"`
		Pairs           []ScoredChunk `json:"_pairs,omitzero"` // the passages with their scores
	}
	// ChainOutput is the whole result.
	ChainOutput struct {
		Input           string     `json:"input"`
		ChatHistory     []Message  `json:"chatHistory,omitempty"`
		Answer          string     `json:"answer"`
		Context         []Document `json:"context"`
		SourceRelevance Relevance  `json:"sourceRelevance"`
	}
	// Message is a message of the conversation.
	Message struct {
		Role    string `json:"role" required:"true" enum:"user,assistant,human,ai" description:"Who speaks. human and ai stand for user and assistant."`
		Content string `json:"content" required:"true"`
	}
	// Document is a passage in the form of LangChain.
	Document struct {
		PageContent string           `json:"pageContent"` // empty in on_chain_stream: texts follow in on_chain_end
		Metadata    DocumentMetadata `json:"metadata"`
	}
	// DocumentMetadata describes a passage.
	DocumentMetadata struct {
		ChunkID    string  `json:"chunk_id"`
		DocumentID string  `json:"document_id,omitempty"`
		Source     string  `json:"source,omitempty"` // URL of the document, or its name
		Title      string  `json:"title,omitempty"`
		Pages      []int   `json:"pages,omitempty"`
		Score      float64 `json:"score"` // relevance to the question, 0..1
	}
	// ScoredChunk is a passage with its relevance to the question.
	ScoredChunk struct {
		ChunkID string  `json:"chunk_id"`
		Score   float64 `json:"score"` // 0..1
	}
	// Relevance is whether the answer rests on its sources: whether passages that it cites support it.
	Relevance struct {
		SourcesContributed bool   `json:"sourcesContributed"`
		Confidence         int    `json:"confidence" minimum:"10" maximum:"95"`
		Reasoning          string `json:"reasoning"`
	}
	// Results is a piece of the answer's text. A citation has the number of its source, which is an extension of the protocol.
	Results struct {
		Type      string `json:"type" enum:"results"`
		Chunk     string `json:"chunk"`
		Citation  int    `json:"citation,omitempty"`
		Timestamp string `json:"timestamp" format:"date-time"`
	}
	// Encoded is an event whose chunk is the JSON text of one of the types below.
	Encoded struct {
		Type      string `json:"type" enum:"events-sources-attention,events-sources-data,events-sources-no-contribution,events-sources-message,events-metadata-summary,events-answer-confidence,transaction-summary"`
		Chunk     string `json:"chunk" description:"A JSON text."`
		Timestamp string `json:"timestamp" format:"date-time"`
	}
	// Heartbeat is sent when there was no other event for some time.
	Heartbeat struct {
		Type      string `json:"type" enum:"heartbeat"`
		Timestamp string `json:"timestamp" format:"date-time"`
	}
	// Error ends a stream, or precedes it: then it has no time. The fields code and field are an extension of the protocol.
	Error struct {
		Type      string `json:"type" enum:"error"`
		Message   string `json:"message"`
		Code      string `json:"code"`
		Field     string `json:"field,omitempty"` // of the request, for an error that precedes a stream
		Timestamp string `json:"timestamp,omitempty" format:"date-time"`
	}
)

// Contents of the events of type [Encoded].
type (
	// Attention is the share of the answer that each document supports, by the URL of the document.
	Attention struct {
		BySource  map[string]Decimal `json:"bySource"`  // sums to 1, or is empty
		AsPercent map[string]Decimal `json:"asPercent"` // sums to 100, or is empty
	}
	// SourcesData lists the documents that were read for the answer, the largest portion first, at most 25.
	SourcesData struct {
		Sources       []Source `json:"sources"`
		UsedAttention bool     `json:"usedAttention"` // the portions are measured; false: the answer is incomplete, and they are 0
		TotalSources  int      `json:"totalSources"`
	}
	// Source is a document that was read for the answer.
	Source struct {
		SourceURL   string         `json:"source_url"`
		SourceTitle *string        `json:"source_title"`
		DocumentID  string         `json:"document_id"`
		Portion     Decimal        `json:"portion"` // share of the answer that it supports
		ChunksUsed  int            `json:"chunks_used"`
		Cited       bool           `json:"cited"`
		DublinCore  *DublinCore    `json:"dublin_core"`
		Attributes  map[string]any `json:"attributes,omitempty"` // that the source of the document sets
		Passages    []CitedPassage `json:"passages"`
	}
	// CitedPassage is a passage of a source. The number is that of its citations in the answer.
	CitedPassage struct {
		N       int     `json:"n"`
		ChunkID string  `json:"chunk_id"`
		Pages   []int   `json:"pages,omitempty"`
		Score   float64 `json:"score"` // relevance to the question, 0..1
		Cited   bool    `json:"cited"`
		Quote   string  `json:"quote,omitempty"` // the sentence that supports the first citation
	}
	// NoContribution says that the answer does not rest on the sources.
	NoContribution struct {
		SourcesContributed bool   `json:"sourcesContributed"`
		DocumentsRetrieved int    `json:"documentsRetrieved"`
		Confidence         int    `json:"confidence"`
		Reasoning          string `json:"reasoning"`
		Message            string `json:"message"`
	}
	// SourcesMessage follows a NoContribution and explains it.
	SourcesMessage struct {
		Message    string `json:"message"`
		Reason     Reason `json:"reason"`
		Confidence int    `json:"confidence"`
		Details    string `json:"details"`
	}
	// MetadataSummary describes the documents that were read, by URL.
	MetadataSummary map[string]DocumentSummary
	// DocumentSummary is the title of a document, and the number of its passages that were read.
	DocumentSummary struct {
		Title string `json:"title"`
		Count int    `json:"count"`
	}
	// AnswerConfidence is the confidence in the answer.
	AnswerConfidence struct {
		Confidence              int     `json:"confidence"` // percent, 10 to 95, in the ranges of the protocol
		Reasoning               string  `json:"reasoning"`
		SourcesFound            int     `json:"sourcesFound"` // number of passages retrieved
		SourcesContributed      bool    `json:"sourcesContributed"`
		LLMAssessmentConfidence int     `json:"llmAssessmentConfidence"` // claim support: percent of the answer's claims that the verification found supported
		Probability             float64 `json:"probability"`             // that the answer is right, 0 to 1: the confidence of the other protocols
	}
	// Transaction is what the run cost, and who earned what.
	Transaction struct {
		PlatformFee           Decimal      `json:"platform_fee"` // the whole fee, in credits; contributors earn a part of it
		RoCCreditsDistributed Decimal      `json:"roc_credits_distributed"`
		UsageDurationSeconds  Decimal      `json:"usage_duration_seconds"`
		TransactionType       string       `json:"transaction_type"`
		TransactionID         *string      `json:"transaction_id"` // null: nothing was charged
		BalanceBefore         *Decimal     `json:"balance_before"`
		BalanceAfter          *Decimal     `json:"balance_after"`
		Sources               []PaidSource `json:"sources"`
	}
	// PaidSource is the share of a document.
	PaidSource struct {
		SourceURL       string      `json:"source_url"`
		SourceTitle     *string     `json:"source_title"`
		ContributorID   string      `json:"contributor_id"`
		ContributorName *string     `json:"contributor_name"`
		Portion         Decimal     `json:"portion"`
		RoCEarned       *Decimal    `json:"roc_earned"` // null: the contributor asked the question, or nothing was charged
		ChunksUsed      int         `json:"chunks_used"`
		DublinCore      *DublinCore `json:"dublin_core"`
	}
	// DublinCore is the metadata of a document (ISO 15836). Unknown fields are left out.
	DublinCore struct {
		Title       string `json:"dc_title,omitempty"`
		Creator     string `json:"dc_creator,omitempty"`
		Publisher   string `json:"dc_publisher,omitempty"`
		Date        string `json:"dc_date,omitempty"`
		Rights      string `json:"dc_rights,omitempty"`
		Description string `json:"dc_description,omitempty"`
		Source      string `json:"dc_source,omitempty"`
		Identifier  string `json:"dc_identifier,omitempty"`
	}
)
