// Package index is what retrieval asks of an index of chunks. Back ends stand in folders of their own and pass indextest.
package index

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Entry is a chunk with its vector. A nil Vector makes it findable by words alone. Space names the vector's space, which
// the embedder gives; vectors of different spaces are never compared.
// Mentions and Relations are what the graph of the collection is made of.
type Entry struct {
	corpus.Chunk
	Space     string
	Vector    []float32
	Mentions  []corpus.Mention
	Relations []corpus.Relation
}

// Query is one search. The zero values of Levels and Limit mean passages and 10.
type Query struct {
	Collection string
	Text       string         // searched by words with BM25; empty: not
	Space      string         // of Vector
	Vector     []float32      // searched by cosine similarity among the vectors of its space; nil: not
	Levels     []corpus.Level // the levels wanted
	Limit      int
	Weights    Weights // how the two are fused; zero: the defaults of the index
}

// Weights are the shares of the two scores in a weighted sum of scores normalised to 0..1 over the candidates.
type Weights struct{ Lexical, Vector float64 }

// Hit is a chunk found. Hits are ordered by Score, best first, ties by chunk id.
type Hit struct {
	Chunk   corpus.Chunk
	Score   float64 // fused, 0..1
	Lexical float64 // BM25 as the engine gives it; 0: not found by words
	Cosine  float64 // -1..1; 0 where there was no vector
	Space   string  // of Cosine; empty where whoever hands the hit on does not say
}

// TermStats are the figures of a collection that weigh its terms.
type TermStats struct {
	Chunks int            // passages in the collection
	DF     map[string]int // by term as given: how many passages hold it
}

// Reader is the part of an index that answering needs. All methods may be called at once, also while a [Writer] writes:
// each sees one consistent state. What is returned belongs to the caller.
type Reader interface {
	// Search finds chunks. An empty or unknown collection gives no hits and no error.
	Search(ctx context.Context, q Query) ([]Hit, error)
	// Chunks gives the chunks of the ids that exist, in the order of ids.
	Chunks(ctx context.Context, collection string, ids []corpus.ChunkID) ([]corpus.Chunk, error)
	// Terms gives document frequencies of words; each word is analysed as the index analyses text.
	Terms(ctx context.Context, collection string, words []string) (TermStats, error)
	// Documents lists a collection's documents by id, after the given one, at most limit (0: all).
	Documents(ctx context.Context, collection string, after corpus.DocumentID, limit int) ([]corpus.Document, error)
}

// Writer changes an index. Calls are serialised by the index. When a call returns, its effect is durable and seen by
// every search that starts afterwards; after a crash in the middle, either all of a document is there or nothing.
type Writer interface {
	// Put adds documents or replaces those of the same id in the same collection. entries[i] belongs to docs[i].
	Put(ctx context.Context, docs []corpus.Document, entries [][]Entry) error
	// Delete removes documents and all their chunks; unknown ids are ignored.
	Delete(ctx context.Context, collection string, ids []corpus.DocumentID) error
}

// Index is a whole one.
type Index interface {
	Reader
	Writer
}
