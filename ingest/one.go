package ingest

import (
	"context"

	"github.com/sluice-rag/sluice/corpus"
)

// File is one file on disk that is to be a document of an id that the caller chose.
type File struct {
	Collection string
	ID         corpus.DocumentID
	Path       string // where its bytes are
	Name       string // tells its format by its extension
	URI        string // where it came from; empty: Name
	Title      string // in the place of the one that the bytes hold
}

// Stage is a part of reading a file.
type Stage int

// The stages in their order.
const (
	Reading   Stage = iota // the bytes
	Parsing                // until its text is cut
	Embedding              // its chunks
	Putting                // it into the index
)

// Taken is what a file came to.
type Taken struct {
	Document     corpus.Document
	Chunks       int
	Unembedded   int    // as in [Report]
	EmbedFailure string // as in [Report]
}

// IngestFile puts one file, in the place of a document of its id if there is one. Nothing else of the collection is read.
// Progress, which may be nil, gets each stage with the share of it that is done, from one goroutine at a time. The error is
// fit for [fault.Public] where it is due to the file.
func (g *Ingester) IngestFile(ctx context.Context, f File, progress func(Stage, float64)) (Taken, error) {
	return Taken{}, nil
}
