// Package entities extracts named entities and relations between them from passages. They are the nodes and edges of a collection's graph.
// [Rules] needs no model.
package entities

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// Extraction is the entities of a chunk, and relations between them.
type Extraction struct {
	Mentions  []corpus.Mention
	Relations []corpus.Relation
}

// Extractor extracts entities. Its methods may be called concurrently.
type Extractor interface {
	// Name returns the name and version of the method. If it changes, documents are ingested again.
	Name() string
	// Extract returns the extraction of each chunk of one document, which is empty for chunks other than passages. Links are the links of
	// each chunk, or nil if no chunk has any. An error is that of ctx or of a model.
	Extract(ctx context.Context, chunks []corpus.Chunk, links [][]Link) ([]Extraction, error)
}

// None is an [Extractor] that finds nothing, so that there is no graph.
type None struct{}

// Name implements [Extractor].
func (None) Name() string { return "none" }

// Extract implements [Extractor]. It never fails.
func (None) Extract(_ context.Context, chunks []corpus.Chunk, _ [][]Link) ([]Extraction, error) {
	return make([]Extraction, len(chunks)), nil
}
