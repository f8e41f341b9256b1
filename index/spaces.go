package index

import "context"

// Placed is a text's vector in the space that serves a collection, with the weights that suit the space. A nil Vector
// means that words must do.
type Placed struct {
	Space   string
	Vector  []float32
	Weights Weights // zero: the defaults of the index
}

// Space is a vector space of a collection. Figures count passages, sentences and sections together.
type Space struct {
	Name     string
	Dim      int  // 0: no vector yet
	Vectors  int  // chunks that have one, or of which it is known that they have none
	Complete bool // it was once filled: fit to serve, even where chunks came later whose vectors are still missing
}

// Census is what vectors a collection has.
type Census struct {
	Chunks int     // in all
	Spaces []Space // by name
}

// Bare is a chunk without a vector of some space. Ref stands for this text of it and no later one.
type Bare struct {
	Ref  string // opaque
	Text string // to be embedded: [corpus.Chunk.Statement]
}

// Spaces is the part of an index that keeping vectors up to date needs. A collection may hold vectors of several spaces at
// once, as it does while another embedder takes over. The first space of an empty collection is complete from the start;
// others are once [Spaces.Complete] says so. All methods may be called at once, also beside those of [Reader] and
// [Writer]; a collection that there is not is an empty one. What changes is durable when the call returns.
type Spaces interface {
	// Collections lists the names of the collections that hold documents or members of sets, or once did, in order.
	Collections(ctx context.Context) ([]string, error)
	// Spaces counts a collection's chunks and vectors. It is quick, whatever the collection's size.
	Spaces(ctx context.Context, collection string) (Census, error)
	// Missing lists chunks without a vector of the space, at most limit (0: 100), in an order that stays the same: from the
	// beginning where after is empty, else on from where an earlier call gave it as next. An empty next is the end, no chunks
	// are not: a call looks at part of a large collection.
	Missing(ctx context.Context, collection, space, after string, limit int) (chunks []Bare, next string, err error)
	// SetVectors gives chunks their vectors; a nil one is remembered as none to be had. Chunks that are gone or have another
	// text by now, and those that have a vector of the space, stay as they are.
	SetVectors(ctx context.Context, collection, space string, refs []string, vectors [][]float32) error
	// Complete marks a space as fit to serve.
	Complete(ctx context.Context, collection, space string) error
	// Drop takes a space with all its vectors away.
	Drop(ctx context.Context, collection, space string) error
}
