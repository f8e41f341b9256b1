// Package entities finds what passages name, and what they say of two names: the nodes and edges of a collection's graph.
// [Rules] needs no model.
package entities

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Found is what a chunk names. Relations are between names of Mentions.
type Found struct {
	Mentions  []corpus.Mention
	Relations []corpus.Relation
}

// Extractor finds entities. Extract may be called at once.
type Extractor interface {
	// Extract gives for each chunk of one document what it names; passages alone name something. An error is the context's,
	// or that of a model that was asked.
	Extract(ctx context.Context, chunks []corpus.Chunk) ([]Found, error)
}
