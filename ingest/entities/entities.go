// Package entities finds what passages name, and what they say of two names: the nodes and edges of a collection's graph.
// [Rules] needs no model.
package entities

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Extraction is what a chunk names. Relations are between names of Mentions.
type Extraction struct {
	Mentions  []corpus.Mention
	Relations []corpus.Relation
}

// Extractor finds entities. Extract may be called at once.
type Extractor interface {
	// Name tells the form and its version: where it changes, documents are put again.
	Name() string
	// Extract gives for each chunk of one document what it names; passages alone name something. Links are those of each
	// chunk, in order; nil if there are none in any. An error is the context's, or that of a model that was asked.
	Extract(ctx context.Context, chunks []corpus.Chunk, links [][]Link) ([]Extraction, error)
}

// None is the [Extractor] that finds nothing: there is no graph then.
type None struct{}

// Name implements [Extractor].
func (None) Name() string { return "none" }

// Extract implements [Extractor]. There is no error.
func (None) Extract(_ context.Context, chunks []corpus.Chunk, _ [][]Link) ([]Extraction, error) {
	return make([]Extraction, len(chunks)), nil
}
