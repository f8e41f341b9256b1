package index

import "context"

// SearchVector is the vector of a text to search a collection with. A nil Vector means that the search is lexical only.
type SearchVector struct {
	Space   string
	Vector  []float32
	Weights Weights // weights that suit the space; zero: the defaults of the index
}

// Space describes one vector space of a collection. The counts include passages, and other chunks that need vectors; see [PassageVectors].
type Space struct {
	Name     string
	Dim      int  // dimension; 0: the space has no vector yet
	Vectors  int  // chunks with a vector, and chunks that are known to have none
	Complete bool // searches may use the space, even while chunks that were added later have no vector yet
}

// VectorStats counts the vectors of a collection.
type VectorStats struct {
	Chunks int     // of the whole collection that need vectors; see [PassageVectors]
	Spaces []Space // by name
}

// UnembeddedChunk is a chunk without a vector in some space. Ref identifies the chunk with this text, not with a later one.
type UnembeddedChunk struct {
	Ref  string // opaque
	Text string // the text to embed: [corpus.Chunk.SearchText]
}

// PassageVectors tells which chunks of an index need vectors.
type PassageVectors interface {
	// OnlyPassages reports whether the index finds sections and sentences through their passages, so that they need no vectors.
	OnlyPassages() bool
}

// Spaces is the part of an index that manages vector spaces. A collection can hold vectors of several spaces at once, for
// example while it is re-embedded for a new model. The first space of an empty collection is complete from the start; others
// become complete with [Spaces.MarkComplete]. An unknown collection counts as empty. Changes are durable when the call
// returns. All methods may be called concurrently, also with those of [Reader] and [Writer].
type Spaces interface {
	// Collections lists, in order, the names of all collections that hold or once held documents or set members.
	Collections(ctx context.Context) ([]string, error)
	// VectorStats counts a collection's chunks and vectors. Its cost does not depend on the size of the collection.
	VectorStats(ctx context.Context, collection string) (VectorStats, error)
	// MissingVectors lists chunks that need a vector and have none of the space, at most limit (0: 100), in a stable order. after is empty
	// for the first page and the next of the previous page otherwise. An empty next marks the last page. A page can be empty
	// before that, because one call scans only a part of a large collection.
	MissingVectors(ctx context.Context, collection, space, after string, limit int) (chunks []UnembeddedChunk, next string, err error)
	// SetVectors stores vectors for chunks. A nil vector records that the chunk has none. Chunks that were deleted, have
	// another text by now, or already have a vector of the space are skipped.
	SetVectors(ctx context.Context, collection, space string, refs []string, vectors [][]float32) error
	// MarkComplete marks a space as usable for searches.
	MarkComplete(ctx context.Context, collection, space string) error
	// DropSpace deletes a space with all its vectors.
	DropSpace(ctx context.Context, collection, space string) error
}
