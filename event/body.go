package event

import (
	"encoding/json"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
)

// Mode is how a question is answered.
type Mode string

// The modes.
const (
	Agentic Mode = "agentic" // tools are chosen until the evidence suffices
	Direct  Mode = "direct"  // one hybrid search, repeated only when nothing fits
)

// Complexity is how complex a question is, by the analysis.
type Complexity string

// The complexities.
const (
	Simple   Complexity = "simple"
	Moderate Complexity = "moderate"
	Complex  Complexity = "complex"
)

// The tools that a run may use, by the names that protocols show.
const (
	ToolHybridSearch      = "hybrid_search"
	ToolSemanticSearch    = "semantic_search"
	ToolPropositionSearch = "proposition_search"
	ToolHydeSearch        = "hyde_search"
	ToolGraphTraverse     = "graph_traverse"
	ToolDecomposeQuery    = "decompose_query"
	ToolRerank            = "rerank_colbert"
	ToolGenerate          = "generate_answer"
	ToolReadPages         = "page_reader"    // pages of one document
	ToolListDocuments     = "list_documents" // what documents there are
	ToolSelfQuery         = "self_query"     // the documents that meet the conditions of the question
)

// Millis is a duration in whole milliseconds.
type Millis int64

// MillisOf rounds a duration down to milliseconds; a negative one is 0.
func MillisOf(d time.Duration) Millis { return Millis(max(d.Milliseconds(), 0)) }

// RunStarted is the first event.
type RunStarted struct {
	Run      RunID  `json:"run"`
	Protocol string `json:"protocol"` // the protocol of the request; the run can be read in any other
	// Account is the account that asks and pays. Empty: nobody pays.
	Account string    `json:"account,omitempty"`
	Writer  ModelInfo `json:"writer,omitzero"`     // the model that is to write the answer; zero in logs of earlier versions
	Waited  Millis    `json:"waited_ms,omitempty"` // from the request to the start of the run
	Question
}

// ModelInfo describes the model of a run.
type ModelInfo struct {
	Provider string `json:"provider"`          // openai, anthropic or local
	Model    string `json:"model"`             // name
	OwnKey   bool   `json:"own_key,omitempty"` // the caller's key pays the provider ("bring your own key"); such a run cannot be resumed after a restart
}

// QueryAnalyzed is the result of the analysis of the question.
type QueryAnalyzed struct {
	Complexity Complexity `json:"complexity"`
	Decomposed bool       `json:"decomposed"`
	Mode       Mode       `json:"mode"` // of the run
	By         string     `json:"by"`   // "rules", or the name of a model
	// Standalone is the question rewritten so that it does not depend on earlier messages; empty if it does not.
	Standalone string `json:"standalone,omitempty"`
	// Parts are the questions that it was split into; Chained and Several are how they relate. Resumed runs use them.
	Parts   []string `json:"parts,omitempty"`
	Chained bool     `json:"chained,omitempty"` // a part depends on the answer to another
	Several bool     `json:"several,omitempty"` // each part needs its own answer
}

// HistorySummarized is a summary of the older messages of a long conversation. The steps that follow read it instead of these messages.
type HistorySummarized struct {
	Turns   int    `json:"turns"`   // number of messages at the start of [Question.History] that it replaces, together with [Question.Summary]
	Summary string `json:"summary"` // at most [MaxSummary] bytes
	Tokens  int    `json:"tokens"`  // tokens of the summary and the remaining messages, estimated
	By      string `json:"by"`      // "rules", or the name of a model
}

// CacheChecked is the result of the lookup in the answer cache.
type CacheChecked struct {
	Hit        bool      `json:"hit"`
	Similarity float64   `json:"similarity,omitempty"`     // 0..1, on a hit
	Query      string    `json:"original_query,omitempty"` // the question that was answered
	CachedAt   time.Time `json:"cached_at,omitzero"`
	Confidence float64   `json:"confidence,omitempty"` // that of the verification of the cached answer: see [Verified]
	// Answerability is that of the cached answer, as in [GenerationFinished].
	Answerability float64 `json:"answerability,omitempty"`
}

// CallID numbers the calls of a run, from 1, so that a result finds its start.
type CallID int

// ToolCalled is the start of a tool that does not retrieve passages.
type ToolCalled struct {
	Call      CallID          `json:"call"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"` // an object
	Iteration int             `json:"iteration"`
	Reason    string          `json:"reason,omitempty"` // why it was chosen, in a sentence
	Plan      json.RawMessage `json:"plan,omitempty"`   // see [RetrievalStarted]
}

// ToolReturned is the result of a [ToolCalled].
type ToolReturned struct {
	Call     CallID          `json:"call"`
	Tool     string          `json:"tool"`
	Result   json.RawMessage `json:"result"` // an object
	Duration Millis          `json:"duration_ms"`
	Passages []Passage       `json:"passages,omitempty"` // added to the candidates for the answer
}

// Passage is a chunk that a tool adds to the candidates for the answer. Resumed runs use it; protocols do not show it.
type Passage struct {
	Chunk corpus.ChunkID `json:"chunk_id"`
	Score float64        `json:"score,omitempty"` // of the tool, 0..1
	Grade float64        `json:"grade"`           // 0..1
	Place float64        `json:"place"`           // its rank in its search, 0..1
	Kept  bool           `json:"kept,omitempty"`  // it was requested by name and is read whatever its grade
	Path  []string       `json:"path,omitempty"`  // see [Source]
	Start int            `json:"start,omitempty"` // the part of the chunk that is read, as in [Source]
	End   int            `json:"end,omitempty"`
	Pages []int          `json:"pages,omitempty"` // as in [Source]
}

// RetrievalStarted is the start of a search.
type RetrievalStarted struct {
	Call      CallID `json:"call"`
	Tool      string `json:"tool"`
	Query     string `json:"query"`
	Iteration int    `json:"iteration"`
	Reason    string `json:"reason,omitempty"` // why it was chosen, in a sentence
	// Plan holds all actions that the planner chose for the iteration; the first call of each iteration has it. Resumed runs
	// use it; protocols do not show it.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// Found is a chunk in the result of a search.
type Found struct {
	Chunk corpus.ChunkID `json:"chunk_id"`
	Level corpus.Level   `json:"level"`
	Score float64        `json:"score"` // of a search: relevance to the question by rules, 0..1, comparable between searches
	// Document and Name are set by searches. Name is the name of the file, or else the title.
	Document corpus.DocumentID `json:"document_id,omitempty"`
	Name     string            `json:"name,omitempty"`
	// Also are documents with about the same passage. It is set by reranking.
	Also []corpus.DocumentID `json:"also,omitempty"`
	// The scores of the index, as in index.Hit. Resumed runs use them.
	Fused   float64 `json:"fused,omitempty"`
	Lexical float64 `json:"lexical,omitempty"`
	Cosine  float64 `json:"cosine,omitempty"`
}

// RetrievalFinished is the result of a [RetrievalStarted]. Error is the public message if the search failed.
type RetrievalFinished struct {
	Call     CallID  `json:"call"`
	Tool     string  `json:"tool"`
	Found    []Found `json:"found"` // best first
	Duration Millis  `json:"duration_ms"`
	Error    string  `json:"error,omitempty"`
	Space    string  `json:"space,omitempty"` // the vector space of the cosines
	// Corrected holds the words of the query that the index does not have, each with the terms that were searched for in its place.
	Corrected map[string][]string `json:"corrected,omitempty"`
	// Attributes are those of [Source], for the documents of Found that have any.
	Attributes map[corpus.DocumentID]map[string]any `json:"attributes,omitempty"`
}

// Class is the class of a chunk in CRAG (Yan et al. 2024, arXiv:2401.15884).
type Class string

// The classes: scores of at least 0.7, of at least 0.4, and lower ones.
const (
	Correct   Class = "CORRECT"
	Ambiguous Class = "AMBIGUOUS"
	Incorrect Class = "INCORRECT"
)

// Action is what follows a round of grading.
type Action string

// The actions.
const (
	Proceed    Action = "proceed"     // at least one chunk is correct
	Expand     Action = "expand"      // at least one is ambiguous: continue with the grades of the parents
	ReRetrieve Action = "re-retrieve" // none is useful: search again with another question
)

// Grade is the grade of one chunk.
type Grade struct {
	Chunk    corpus.ChunkID `json:"chunk_id"`
	Score    float64        `json:"score"` // 0..1
	Class    Class          `json:"classification"`
	Expanded bool           `json:"expanded,omitempty"`  // the parent was read instead
	NewScore float64        `json:"new_score,omitempty"` // the parent's, if expanded
	Parent   corpus.ChunkID `json:"parent,omitempty"`    // the chunk that replaced it: its parent, if the score rose or the chunk is a sentence
	Call     CallID         `json:"call,omitempty"`      // the search for whose question it was graded
	Place    float64        `json:"place,omitempty"`     // its rank in its search, 0..1
}

// Graded is the result of grading a round of retrieval.
type Graded struct {
	Iteration int     `json:"iteration"`
	Correct   int     `json:"correct"` // by Class, before expansion
	Ambiguous int     `json:"ambiguous"`
	Incorrect int     `json:"incorrect"`
	Expanded  int     `json:"expanded"`
	Action    Action  `json:"action"`
	Grades    []Grade `json:"details"`
	By        string  `json:"by"`
}

// Reranked is the order in which passages go to the generator.
type Reranked struct {
	Method   string  `json:"method"`
	Inputs   int     `json:"input_count"`
	Outputs  []Found `json:"outputs"`   // best first; Score is that of the method
	TopScore float64 `json:"top_score"` // 0 without outputs
	Duration Millis  `json:"duration_ms"`
}

// GenerationStarted precedes the first token of an answer.
type GenerationStarted struct {
	Chunks int    `json:"context_chunks"`
	Tokens int    `json:"context_tokens"` // of the passages, counted or estimated
	Model  string `json:"model"`
	// Passages are the chunks that the generator reads, in its order.
	Passages []corpus.ChunkID `json:"passages,omitempty"`
}

// Reasoned is the next piece of a model's reasoning, before or during the answer. It is not part of the answer. Its text has
// the form of a [Token]'s.
type Reasoned struct {
	Text string `json:"text"`
}

// Token is the next piece of the answer's text, as the model produced it. It is valid UTF-8 without control characters
// other than tab and newline.
type Token struct {
	Text string `json:"text"`
}

// Cited is a citation: a source supports the answer's text since the previous citation. Several may follow each other.
type Cited struct {
	N     int            `json:"n"` // the source's number, from 1, in the order of [Attributed]
	Chunk corpus.ChunkID `json:"chunk_id"`
	// Source is the source with the quote and the pages of this citation, without a weight. It is set in the first citation of a
	// source, and in one of other pages than the previous citation of that source, or whose quote is no longer known.
	Source *Source `json:"source,omitempty"`
	// Quote and QuoteEnd replace those of the source in a citation without Source that has another quote than the previous citation of that
	// source. Logs of earlier versions do not have them.
	Quote    int `json:"quote,omitempty"`
	QuoteEnd int `json:"quote_end,omitempty"`
}

// GenerationFinished follows the last token.
type GenerationFinished struct {
	Reason string `json:"reason"` // stop, length, filtered, incomplete, timeout, cancelled or error
	// Answerability is the writer's estimate that the passages hold the answer, 0..1; 0: it has none.
	Answerability float64 `json:"answerability,omitempty"`
}

// StopEnd is the reason of a [GenerationFinished] after a complete answer.
const StopEnd = "stop"

// The reasons of [GenerationFinished] after which an answer may be incomplete: the model reached a limit of tokens, the
// provider's filter stopped it, or it failed during the answer and no other model continued.
const (
	StopLength     = "length"
	StopFiltered   = "filtered"
	StopIncomplete = "incomplete"
)

// Verdict is how well the sources support a claim.
type Verdict string

// The verdicts.
const (
	Supported          Verdict = "SUPPORTED"
	PartiallySupported Verdict = "PARTIALLY_SUPPORTED"
	Unsupported        Verdict = "UNSUPPORTED"
)

// Claim is a statement of the answer with its verdict.
type Claim struct {
	Text    string           `json:"claim"`
	Verdict Verdict          `json:"verdict"`
	Chunks  []corpus.ChunkID `json:"chunks,omitempty"` // the cited chunks that support it
}

// Verified is the result of checking the answer against its sources.
type Verified struct {
	Claims     []Claim `json:"claims"`
	Confidence float64 `json:"confidence"` // claim support: (supported + partially supported / 2) / claims; 0 without claims
	By         string  `json:"by"`
	// Flagged means that the sources do not support the answer, which readers should be told.
	Flagged bool `json:"flagged,omitempty"`
}

// Count returns the number of claims with the verdict.
func (v Verified) Count(verdict Verdict) int {
	n := 0
	for _, c := range v.Claims {
		if c.Verdict == verdict {
			n++
		}
	}
	return n
}

// Source is a passage that the answer is based on.
type Source struct {
	N        int               `json:"n"`
	Chunk    corpus.ChunkID    `json:"chunk_id"`
	Document corpus.DocumentID `json:"document_id"`
	Title    string            `json:"title"`
	Name     string            `json:"name,omitempty"`    // of the document's file, without folders
	Ordinal  int               `json:"ordinal,omitempty"` // of the chunk, among those of its document and level, from 0
	Heading  string            `json:"heading"`
	Level    corpus.Level      `json:"level"`
	File     string            `json:"file,omitempty"`  // path of the document's file, from the indexed folder's name
	Pages    []int             `json:"pages,omitempty"` // of the cited text, or of the passage if it is not cited
	Start    int               `json:"start"`           // byte offsets into the document's extracted text
	End      int               `json:"end"`
	Text     string            `json:"text"`
	// Text[Quote:QuoteEnd] is the sentence that supports the first citation. QuoteEnd is 0 if it is not known.
	Quote    int      `json:"quote,omitempty"`
	QuoteEnd int      `json:"quote_end,omitempty"`
	Score    float64  `json:"score"`  // the grade, 0..1
	Weight   float64  `json:"weight"` // share of the answer that it supports; the weights sum to 1, or all are 0
	Cited    bool     `json:"cited"`
	Path     []string `json:"path,omitempty"` // through the graph to it: names of entities and titles of documents in turn
	// URI, Meta, Attributes and Contributor are those of the document. Meta is nil if the document has no metadata. Attributes are texts, numbers and truth values.
	URI         string             `json:"uri,omitempty"` // URL, or else the path below the indexed folder or the name
	Meta        *corpus.DublinCore `json:"meta,omitempty"`
	Attributes  map[string]any     `json:"attributes,omitempty"`  // that the place that it is from sets on its documents
	Contributor string             `json:"contributor,omitempty"` // the account that contributed the document
	AlsoIn      []string           `json:"also_in,omitempty"`     // URIs of documents with about the same passage, of the same or an older version
}

// CitedText returns Text[Quote:QuoteEnd], or an empty string if the cited sentence is not known.
func (s *Source) CitedText() string {
	if s.Quote < 0 || s.QuoteEnd > len(s.Text) || s.Quote >= s.QuoteEnd {
		return ""
	}
	return s.Text[s.Quote:s.QuoteEnd]
}

// Attributed lists the sources by number: the cited ones in the order of their first citation, then the others.
type Attributed struct {
	Sources []Source `json:"sources"`
	By      string   `json:"by"`
	// Confidence is the estimated probability that the answer is right, 0..1; 0: there is no estimate, as for an abstention.
	Confidence float64 `json:"confidence,omitempty"`
}

// ByTitles is the method of a [Verified] that checked a list of documents against the index.
const ByTitles = "titles"

// StepGenerate is the step of a [ModelUsed] whose model wrote the answer.
const StepGenerate = "generate"

// ModelUsed is what a step's requests to a model cost, in tokens.
type ModelUsed struct {
	Step      string `json:"step"`
	Model     string `json:"model"`
	Calls     int    `json:"calls"`
	Input     int    `json:"input_tokens"`
	Output    int    `json:"output_tokens"`
	Reasoning int    `json:"reasoning_tokens,omitempty"` // part of Output
	Cached    int    `json:"cached_tokens,omitempty"`    // part of Input
	Estimated bool   `json:"estimated,omitempty"`        // the provider did not report at least one request
}

// Warned reports a failure that did not end the run.
type Warned struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"` // safe to show to clients
	Step    string     `json:"step"`    // where in the pipeline
}

// Credits is an amount of money in micro-credits: 1,000,000 are one credit.
type Credits int64

// PortionUnit is the sum of the portions of a settlement that has shares.
const PortionUnit = 1_000_000

// Settled is what a finished run cost, and who earned what. The ledger has the same numbers under the run's id.
type Settled struct {
	Transaction string  `json:"transaction"` // id of the transfer in the ledger
	Type        string  `json:"type"`        // what was charged for, such as query_usage
	Fee         Credits `json:"fee"`         // paid by the account of the run
	Distributed Credits `json:"distributed"` // sum of what the shares earned
	Before      Credits `json:"before"`      // balance of the account before the fee
	After       Credits `json:"after"`       // Before - Fee
	Duration    Millis  `json:"duration_ms"` // in which the run was worked on
	Shares      []Share `json:"shares"`      // one for each document whose text is in the answer, the largest portion first
}

// Share is the share of one document in a settlement.
type Share struct {
	Document    corpus.DocumentID `json:"document_id"`
	Contributor string            `json:"contributor"`      // account
	Name        string            `json:"name,omitempty"`   // of the contributor, for people
	Portion     int               `json:"portion"`          // of the answer, in units of 1/[PortionUnit]
	Earned      *Credits          `json:"earned,omitempty"` // nil: the contributor asked the question
	Chunks      int               `json:"chunks"`           // number of passages of the document that were used
}

// RunFinished ends a run with a complete answer.
type RunFinished struct{}

// RunFailed ends any other run; earlier events remain valid. The code of a cancelled run is [fault.Cancelled].
type RunFailed struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"` // safe to show to clients
}
