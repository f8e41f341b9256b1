package ingest

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
)

// File is a file on disk. The caller chooses the ID of its document.
type File struct {
	Collection string
	ID         corpus.DocumentID
	Path       string // where its bytes are
	Name       string // its extension selects the format
	URI        string // where it came from; empty: Name
	Title      string // if set, replaces the title in the bytes
	// Given and Contributor are what users state about the document; see [corpus.Document]. Without a Contributor, it is the one that the
	// document names.
	Given       corpus.DublinCore
	Contributor string
}

// Stage is a step of ingesting a file.
type Stage int

// The stages in their order.
const (
	Reading   Stage = iota // the bytes
	Parsing                // and splitting into chunks
	Embedding              // its chunks
	Indexing               // writing to the index
)

// FileResult is the result of [Ingester.IngestFile].
type FileResult struct {
	Document     corpus.Document
	Chunks       int
	Unembedded   int    // as in [Report]
	EmbedFailure string // as in [Report]
}

// IngestFile indexes one file and replaces the document with its ID, if any. It reads nothing else of the collection. The file is parsed
// even if it is in Options.Failures. Progress may be nil; it receives each stage with the completed share of it, from one goroutine at a
// time. Errors caused by the file are fit for [fault.Public]. A failing embedder is handled as by [Ingester.Ingest]. Nothing is indexed
// after ctx has ended.
func (g *Ingester) IngestFile(ctx context.Context, f File, progress func(Stage, float64)) (FileResult, error) {
	r := g.newRun(f.Collection, nil)
	if progress != nil {
		r.onStage = progress
	}
	r.onStage(Reading, 0)
	data, err := (file{path: f.Path}).read(g.opts.MaxFileBytes)
	if err != nil {
		if _, coded := errors.AsType[*fault.Error](err); !coded {
			err = fault.Wrap(fault.InvalidRequest, err, "%s", reasonOf(err))
		}
		return FileResult{}, err
	}
	r.onStage(Parsing, 0)
	j := job{uri: cmp.Or(f.URI, f.Name), name: f.Name, title: f.Title, given: f.Given, contributor: f.Contributor, upload: true}
	d := r.build(ctx, j, f.ID, g.hash(j, data), data)
	if d.release != nil {
		defer d.release()
	}
	if d.err != nil {
		return FileResult{}, d.err
	}
	doc := d.doc
	r.batch = []prepared{d} // flush releases the chunks
	if err := r.flush(ctx); err != nil {
		return FileResult{}, err
	}
	r.onStage(Indexing, 1)
	return FileResult{Document: doc, Chunks: r.report.Chunks, Unembedded: r.report.Unembedded, EmbedFailure: r.report.EmbedFailure}, nil
}
