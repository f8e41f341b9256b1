package index

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Entity is something that chunks of a collection name.
type Entity struct {
	Name   string // in the form that most chunks write it in
	Chunks int    // how many passages name it
	About  int    // how many are about it
}

// Walk asks which passages are near some entities in the graph of entities and passages.
type Walk struct {
	Collection string
	Entities   []string         // where it starts, by name
	Chunks     []corpus.ChunkID // passages where it starts too, best first, as the first weigh most: what they name is one step away
	Question   string           // steps whose passages share its words are preferred; empty: none is
	Limit      int              // passages; default 10
}

// Reached is a passage that a walk came to.
type Reached struct {
	Chunk corpus.Chunk
	Score float64 // 0..1, the best being 1
	// Path is how it was reached: names of entities and titles of documents in turn, from the start to the passage.
	Path []string
}

// Graph is the part of an index that knows which entities its passages name. Entities are found and kept by what chunks
// mention, and go with the last chunk that does. All methods may be called at once, also beside those of [Reader] and
// [Writer]. An unknown or empty collection knows no entities.
type Graph interface {
	// Entities gives the entities that a text names, in the order of the text, the longest name at each place, each once.
	Entities(ctx context.Context, collection, text string) ([]Entity, error)
	// Mentioned gives the entities that chunks name, those that passages are about first, by chunk in the order of ids.
	Mentioned(ctx context.Context, collection string, ids []corpus.ChunkID) ([][]Entity, error)
	// Walk gives the passages nearest to where it starts, best first. Those of Chunks are not among them.
	Walk(ctx context.Context, w Walk) ([]Reached, error)
}
