package cache

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
)

// Scope is what an answer depends on beside the question's meaning and the documents. It is compared exactly.
type Scope struct {
	Collection string     `json:"collection"`
	Tenant     string     `json:"tenant,omitempty"`
	Session    string     `json:"session,omitempty"`
	Mode       event.Mode `json:"mode"`
	TopK       int        `json:"top_k"`
	Setup      string     `json:"setup,omitempty"` // names whatever answers: models, prompts, the pipeline's version
}

// Piece is what an answer is streamed as: a piece of its text, or a citation, which has a number.
type Piece struct {
	Text  string         `json:"t,omitempty"`
	N     int            `json:"n,omitempty"`
	Chunk corpus.ChunkID `json:"c,omitempty"`
}

// Rest is a document that an answer rests on, as it was.
type Rest struct {
	Document corpus.DocumentID `json:"id"`
	Hash     string            `json:"hash"`
}

// Search is a question that the documents were searched for, with the chunks that were the best for it.
type Search struct {
	Question string           `json:"q"`
	Chunks   []corpus.ChunkID `json:"chunks"`
}

// Entry is an answer with what it rests on.
type Entry struct {
	Run        event.RunID         `json:"run,omitempty"` // the run that made the answer
	Question   string              `json:"question"`
	Scope      Scope               `json:"scope"`
	Analysis   event.QueryAnalyzed `json:"analysis"`
	Pieces     []Piece             `json:"pieces"`
	Sources    []event.Source      `json:"sources"` // their texts may be left out: the index has them
	By         string              `json:"by"`      // what found out the sources' weights
	Confidence float64             `json:"confidence"`
	Abstained  bool                `json:"abstained,omitempty"` // it says that the documents hold no answer
	Created    time.Time           `json:"created"`
	// What follows is filled in by [Cache.Keep]; Searches are completed: their questions are given.
	Rests    []Rest   `json:"rests"`
	Searches []Search `json:"searches"`
}

// key is the hash of an entry's scope and of its question's meaning.
type key [16]byte

func keyOf(s Scope, meaning string) key {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(s) // a hash takes everything, and a scope has a form
	_, _ = h.Write([]byte(meaning))
	return key(h.Sum(nil)[:16])
}
