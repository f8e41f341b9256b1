package ingest

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
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
	Indexing               // it into the index
)

// FileResult is what a file came to.
type FileResult struct {
	Document     corpus.Document
	Chunks       int
	Unembedded   int    // as in [Report]
	EmbedFailure string // as in [Report]
}

// IngestFile puts one file, in the place of a document of its id if there is one. Nothing else of the collection is read. The file is
// parsed even if [FailureStore] remembers its bytes.
// Progress, which may be nil, gets each stage with the share of it that is done, from one goroutine at a time. An error that is
// due to the file is fit for [fault.Public]; what [Ingester.Ingest] says of embedders that fail holds here too. Nothing is put
// once ctx has ended.
func (g *Ingester) IngestFile(ctx context.Context, f File, progress func(Stage, float64)) (FileResult, error) {
	r := g.newRun(f.Collection, nil)
	if progress != nil {
		r.stage = progress
	}
	r.stage(Reading, 0)
	data, err := (file{path: f.Path}).read(g.opts.MaxFileBytes)
	if err != nil {
		if _, coded := errors.AsType[*fault.Error](err); !coded {
			err = fault.Wrap(fault.InvalidRequest, err, "%s", reasonOf(err))
		}
		return FileResult{}, err
	}
	r.stage(Parsing, 0)
	j := job{uri: cmp.Or(f.URI, f.Name), name: f.Name, title: f.Title, upload: true}
	d := r.digest(ctx, j, f.ID, g.hash(j, data), data)
	if d.release != nil {
		defer d.release()
	}
	if d.err != nil {
		return FileResult{}, d.err
	}
	doc := d.doc
	r.batch = []ready{d} // from here on the chunks are the batch's, which lets them go
	if err := r.flush(ctx); err != nil {
		return FileResult{}, err
	}
	r.stage(Indexing, 1)
	return FileResult{Document: doc, Chunks: r.report.Chunks, Unembedded: r.report.Unembedded, EmbedFailure: r.report.EmbedFailure}, nil
}
