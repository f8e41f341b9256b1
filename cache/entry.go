package cache

import (
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// Scope is what an answer depends on besides the question and the documents. Scopes are compared exactly.
type Scope struct {
	Collection string     `json:"collection"`
	Tenant     string     `json:"tenant,omitempty"`
	Session    string     `json:"session,omitempty"`
	Mode       event.Mode `json:"mode"`
	TopK       int        `json:"top_k"`
	Setup      string     `json:"setup,omitempty"` // identifies models, prompts and the version of the pipeline
}

// Piece is one streamed part of an answer: text, or a citation, which has a number.
type Piece struct {
	Text  string         `json:"t,omitempty"`
	N     int            `json:"n,omitempty"`
	Chunk corpus.ChunkID `json:"c,omitempty"`
}

// Dependency is a document that an answer depends on, with the hash of its content when the answer was made.
type Dependency struct {
	Document corpus.DocumentID `json:"id"`
	Hash     string            `json:"hash"`
}

// Search is a query for which the documents were searched, with the best chunks, at most [Remembered].
type Search struct {
	Question string           `json:"q"`
	Chunks   []corpus.ChunkID `json:"chunks"`
}

// Entry is an answer with its dependencies.
type Entry struct {
	Run           event.RunID         `json:"run,omitempty"` // the run that made the answer
	Question      string              `json:"question"`
	Scope         Scope               `json:"scope"`
	Analysis      event.QueryAnalyzed `json:"analysis"`
	Pieces        []Piece             `json:"pieces"`
	Sources       []event.Source      `json:"sources"`                 // may lack texts, which the index has
	By            string              `json:"by"`                      // the method that weighted the sources
	Confidence    float64             `json:"probability"`             // estimated probability that the answer is right
	ClaimSupport  float64             `json:"confidence"`              // of the verification
	Answerability float64             `json:"answerability,omitempty"` // 0: not known
	Abstained     bool                `json:"abstained,omitempty"`     // the documents hold no answer
	Created       time.Time           `json:"created"`
	// [Cache.Put] sets Dependencies and searches for the chunks of Searches that have none.
	Dependencies []Dependency `json:"dependencies"`
	Searches     []Search     `json:"searches"`
}
