// Package index defines the interfaces of a search index over chunks. Back ends live in sub-packages and pass the suite of indextest.
package index

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Entry is a chunk to be indexed, with its vector. A chunk with a nil Vector is only found by lexical search. Space is the name
// that the embedder gives to its vector space; vectors of different spaces are never compared. Mentions and Relations
// become the graph of the collection.
type Entry struct {
	corpus.Chunk
	Space     string
	Vector    []float32
	Mentions  []corpus.Mention
	Relations []corpus.Relation
}

// Query describes one search.
type Query struct {
	Collection string
	Text       string              // for lexical search with BM25; empty: no lexical search
	Space      string              // the space of Vector
	Vector     []float32           // for search by cosine similarity in its space; nil: no vector search
	Levels     []corpus.Level      // levels to search; empty: passages
	Documents  []corpus.DocumentID // only chunks of these; nil: of all documents
	Limit      int                 // default 10
	Weights    Weights             // for the fusion of both scores; zero: the defaults of the index
	// Terms are the statistics of the words of Text in several collections together, so that the lexical scores of searches in each of them can be
	// compared. Nil: those of the collection.
	Terms *TermStats
}

// Weights are the weights of the lexical and the vector score in their sum; see [Fuse].
type Weights struct{ Lexical, Vector float64 }

// Hit is a search result. Hits are ordered by falling Score, then by chunk id.
type Hit struct {
	Chunk   corpus.Chunk
	Score   float64 // fused, 0..1
	Lexical float64 // BM25 as the back end computes it; 0: not found by lexical search
	Cosine  float64 // -1..1; 0 without a vector
	Space   string  // the space of Cosine; empty: not known
	// Corrected are the words of the query that the index does not have, with the terms that lexical search used in their place. They are the same
	// for all hits of a search in one collection.
	Corrected map[string][]string
}

// TermStats holds the statistics of a collection that term weights are computed from.
type TermStats struct {
	Chunks int            // passages in the collection
	DF     map[string]int // document frequency: number of passages that contain the term, by the term as given
}

// Reader is the part of an index that answering questions needs. All methods may be called concurrently, also while a [Writer]
// writes: each call sees one consistent state. Results belong to the caller.
type Reader interface {
	// Search returns the best chunks. An empty or unknown collection has no hits and is no error.
	Search(ctx context.Context, q Query) ([]Hit, error)
	// Chunks returns the chunks of ids that exist, in the order of ids.
	Chunks(ctx context.Context, collection string, ids []corpus.ChunkID) ([]corpus.Chunk, error)
	// Terms returns the document frequencies of words. Each word is analysed like indexed text.
	Terms(ctx context.Context, collection string, words []string) (TermStats, error)
	// Documents lists a collection's documents in the order of their ids, those after the given id, at most limit (0: all).
	Documents(ctx context.Context, collection string, after corpus.DocumentID, limit int) ([]corpus.Document, error)
}

// Writer changes an index. The index serialises calls. When a call returns, its effect is durable and visible to all searches
// that start afterwards. After a crash, each document is indexed as a whole or not at all.
type Writer interface {
	// Put adds documents, and replaces those with the same id in the same collection. entries[i] belongs to docs[i].
	Put(ctx context.Context, docs []corpus.Document, entries [][]Entry) error
	// Delete deletes documents with all their chunks. Unknown ids are ignored.
	Delete(ctx context.Context, collection string, ids []corpus.DocumentID) error
}

// Index combines [Reader] and [Writer].
type Index interface {
	Reader
	Writer
}
