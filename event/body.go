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

// Complexity is what the analysis makes of a question.
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
)

// Millis is a duration in whole milliseconds.
type Millis int64

// MillisOf rounds a duration down to milliseconds; a negative one is 0.
func MillisOf(d time.Duration) Millis { return Millis(max(d.Milliseconds(), 0)) }

// RunStarted is the first event.
type RunStarted struct {
	Run      RunID  `json:"run"`
	Protocol string `json:"protocol"` // the protocol of the request; the run can be read in any other
	Question
}

// QueryAnalyzed says what the analysis made of the question.
type QueryAnalyzed struct {
	Complexity Complexity `json:"complexity"`
	Decomposed bool       `json:"decomposed"`
	Mode       Mode       `json:"mode"` // the mode that the run will take
	By         string     `json:"by"`   // the form used: rules, or a model's name
	// Standalone is the question with what it leaves to the turns before it put in; empty where it says all itself.
	Standalone string `json:"standalone,omitempty"`
	// Parts are the questions that it was split into, Chained and Several say how they relate. A restarted server resumes with them.
	Parts   []string `json:"parts,omitempty"`
	Chained bool     `json:"chained,omitempty"` // a part asks about the answer to another
	Several bool     `json:"several,omitempty"` // each part wants its own answer
}

// CacheChecked says whether an earlier answer is used.
type CacheChecked struct {
	Hit        bool      `json:"hit"`
	Similarity float64   `json:"similarity,omitempty"`     // 0..1, on a hit
	Query      string    `json:"original_query,omitempty"` // the question that the answer was given to
	CachedAt   time.Time `json:"cached_at,omitzero"`
	Confidence float64   `json:"confidence,omitempty"` // of the earlier answer's verification
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

// ToolReturned is its end.
type ToolReturned struct {
	Call     CallID          `json:"call"`
	Tool     string          `json:"tool"`
	Result   json.RawMessage `json:"result"` // an object
	Duration Millis          `json:"duration_ms"`
	Passages []Passage       `json:"passages,omitempty"` // what it adds to the candidates for the answer
}

// Passage is a chunk that a tool adds to the candidates for the answer. A restarted server resumes with it; protocols do not show it.
type Passage struct {
	Chunk corpus.ChunkID `json:"chunk_id"`
	Score float64        `json:"score,omitempty"` // of the tool, 0..1
	Grade float64        `json:"grade"`           // 0..1
	Place float64        `json:"place"`           // the rank that its search gave it, 0..1
	Kept  bool           `json:"kept,omitempty"`  // it was asked for by name and is read whatever its grade
	Path  []string       `json:"path,omitempty"`  // see [Source]
	Start int            `json:"start,omitempty"` // the part of the chunk that is read, as in [Source]
	End   int            `json:"end,omitempty"`
	Pages []int          `json:"pages,omitempty"` // the same
}

// RetrievalStarted is the start of a search.
type RetrievalStarted struct {
	Call      CallID `json:"call"`
	Tool      string `json:"tool"`
	Query     string `json:"query"`
	Iteration int    `json:"iteration"`
	Reason    string `json:"reason,omitempty"` // why it was chosen, in a sentence
	// Plan holds all actions that the planner chose for the iteration; the first call of each iteration has it. A restarted
	// server resumes with it; protocols do not show it.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// Found is a chunk that a search found.
type Found struct {
	Chunk corpus.ChunkID `json:"chunk_id"`
	Level corpus.Level   `json:"level"`
	Score float64        `json:"score"` // of a search: how relevant it is to the question by rules, 0..1, comparable between searches
	// Document and Name, the name of its file or else its title, are those of a search.
	Document corpus.DocumentID `json:"document_id,omitempty"`
	Name     string            `json:"name,omitempty"`
	// The index's own scores, as in index.Hit. A restarted server resumes with them.
	Fused   float64 `json:"fused,omitempty"`
	Lexical float64 `json:"lexical,omitempty"`
	Cosine  float64 `json:"cosine,omitempty"`
}

// RetrievalFinished is its end. Error holds the public message of a search that failed, which found nothing.
type RetrievalFinished struct {
	Call     CallID  `json:"call"`
	Tool     string  `json:"tool"`
	Found    []Found `json:"found"` // best first
	Duration Millis  `json:"duration_ms"`
	Error    string  `json:"error,omitempty"`
	Space    string  `json:"space,omitempty"` // the vector space of the cosines
}

// Class is CRAG's judgement of a chunk (Yan et al. 2024, arXiv:2401.15884).
type Class string

// The classes, by score: 0.7 and over, 0.4 and over, less.
const (
	Correct   Class = "CORRECT"
	Ambiguous Class = "AMBIGUOUS"
	Incorrect Class = "INCORRECT"
)

// Action is what a round of grading leads to.
type Action string

// The actions.
const (
	Proceed    Action = "proceed"     // something is correct
	Expand     Action = "expand"      // something is ambiguous: go on with what its parents gave
	ReRetrieve Action = "re-retrieve" // nothing is of use: search again with another question
)

// Grade is the judgement of one chunk.
type Grade struct {
	Chunk    corpus.ChunkID `json:"chunk_id"`
	Score    float64        `json:"score"` // 0..1
	Class    Class          `json:"classification"`
	Expanded bool           `json:"expanded,omitempty"`  // the parent was read in its place
	NewScore float64        `json:"new_score,omitempty"` // the parent's, if expanded
	Parent   corpus.ChunkID `json:"parent,omitempty"`    // the chunk that took its place: its parent, if the score rose or it is a sentence
	Call     CallID         `json:"call,omitempty"`      // the search whose question it was graded by
	Place    float64        `json:"place,omitempty"`     // the rank that its search gave it, 0..1
}

// Graded is the judgement of a round of retrieval.
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
	Outputs  []Found `json:"outputs"`   // best first; Score is the method's own
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

// Reasoned is the next piece of what a model thinks before it answers, or while it does. It is no part of the answer. Its
// text is of the form of a [Token]'s.
type Reasoned struct {
	Text string `json:"text"`
}

// Token is the next piece of the answer's text, as the model gave it. It is valid UTF-8 and has no control characters
// but tab and newline.
type Token struct {
	Text string `json:"text"`
}

// Cited says that the answer's text since the last citation rests on a source. Several may stand in a row.
type Cited struct {
	N     int            `json:"n"` // the source's number, from 1, in the order of [Attributed]
	Chunk corpus.ChunkID `json:"chunk_id"`
	// Source is the source as this citation cites it, with the quote and the pages that the citation rests on, without a weight. It is
	// set in the first citation of a source and in one that rests on other pages than the citation of the source before it.
	Source *Source `json:"source,omitempty"`
}

// GenerationFinished follows the last token.
type GenerationFinished struct {
	Reason string `json:"reason"` // stop, length, filtered, incomplete, timeout, cancelled or error
}

// StopEnd is the reason of a [GenerationFinished] behind an answer that is whole.
const StopEnd = "stop"

// The reasons of [GenerationFinished] for which an answer that is there may lack its end: the model reached a limit of
// tokens, a provider's filter cut it off, or it failed in the middle and no other went on.
const (
	StopLength     = "length"
	StopFiltered   = "filtered"
	StopIncomplete = "incomplete"
)

// Verdict is how far the sources carry a claim.
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
	Chunks  []corpus.ChunkID `json:"chunks,omitempty"` // what it was held against
}

// Verified is the check of the answer against its sources.
type Verified struct {
	Claims     []Claim `json:"claims"`
	Confidence float64 `json:"confidence"` // (supported + partially supported / 2) / claims; 0 without claims
	By         string  `json:"by"`
	// Flagged says that the sources do not carry the answer: whoever shows it says so.
	Flagged bool `json:"flagged,omitempty"`
}

// Count gives how many claims have the verdict.
func (v Verified) Count(verdict Verdict) int {
	n := 0
	for _, c := range v.Claims {
		if c.Verdict == verdict {
			n++
		}
	}
	return n
}

// Source is a passage that the answer was made from.
type Source struct {
	N        int               `json:"n"`
	Chunk    corpus.ChunkID    `json:"chunk_id"`
	Document corpus.DocumentID `json:"document_id"`
	Title    string            `json:"title"`
	Name     string            `json:"name,omitempty"`    // of the document's file, without folders
	Ordinal  int               `json:"ordinal,omitempty"` // the chunk's, among those of its document and level, from 0
	Heading  string            `json:"heading"`
	Level    corpus.Level      `json:"level"`
	File     string            `json:"file,omitempty"`  // path of the document's file below the indexed folder, with the folder's name
	Pages    []int             `json:"pages,omitempty"` // that hold what is cited, or the passage if it is not cited
	Start    int               `json:"start"`           // byte offsets into the document's extracted text
	End      int               `json:"end"`
	Text     string            `json:"text"`
	// Text[Quote:QuoteEnd] is the sentence that the first citation rests on. QuoteEnd is 0 if it is not known.
	Quote    int      `json:"quote,omitempty"`
	QuoteEnd int      `json:"quote_end,omitempty"`
	Score    float64  `json:"score"`  // the grade, 0..1
	Weight   float64  `json:"weight"` // share of the answer that it carries; the weights sum to 1, or all are 0
	Cited    bool     `json:"cited"`
	Path     []string `json:"path,omitempty"` // how the graph led to it: names of entities and titles of documents in turn
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
}

// ModelUsed says what a step's requests to a model cost, in tokens.
type ModelUsed struct {
	Step      string `json:"step"`
	Model     string `json:"model"`
	Calls     int    `json:"calls"`
	Input     int    `json:"input_tokens"`
	Output    int    `json:"output_tokens"`
	Reasoning int    `json:"reasoning_tokens,omitempty"` // part of Output
	Cached    int    `json:"cached_tokens,omitempty"`    // part of Input
	Estimated bool   `json:"estimated,omitempty"`        // the provider told nothing of at least one request
}

// Warned reports something that went wrong and was survived.
type Warned struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"` // fit to leave the process
	Step    string     `json:"step"`    // where in the pipeline
}

// RunFinished ends a run that was answered.
type RunFinished struct{}

// RunFailed ends a run that was not, or not wholly; what came before it stands. The code of a run that was stopped is
// [fault.Cancelled].
type RunFailed struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"` // fit to leave the process
}
