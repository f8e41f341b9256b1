package index

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Entity is a named thing that chunks of a collection mention.
type Entity struct {
	Name   string // in its most frequent spelling
	Chunks int    // number of passages that mention it
	About  int    // number of passages that are about it
}

// WalkQuery asks for the passages nearest to a start in the graph of entities and passages.
type WalkQuery struct {
	Collection string
	Entities   []string         // start entities, by name
	Chunks     []corpus.ChunkID // start passages, best first, with falling weight; the entities that they mention are one step away
	Question   string           // steps to passages that share its words are preferred; empty: no preference
	Limit      int              // passages; default 10
}

// WalkHit is a passage that a walk reached.
type WalkHit struct {
	Chunk corpus.Chunk
	Score float64 // 0..1; the best passage has 1
	// Path lists the steps from the start to the passage: names of entities alternate with titles of documents.
	Path []string
}

// Graph is the part of an index that knows which entities its passages mention. An entity exists as long as a chunk mentions
// it. An unknown or empty collection has no entities. All methods may be called concurrently, also with those of [Reader] and
// [Writer].
type Graph interface {
	// Entities returns the entities that a text mentions, in the order of the text, each once. The longest name at each place wins.
	Entities(ctx context.Context, collection, text string) ([]Entity, error)
	// EntitiesOf returns, for each chunk of ids, the entities that it mentions. Entities that passages are about come first.
	EntitiesOf(ctx context.Context, collection string, ids []corpus.ChunkID) ([][]Entity, error)
	// Walk returns the passages nearest to the start, best first, without those of Chunks.
	Walk(ctx context.Context, w WalkQuery) ([]WalkHit, error)
}
