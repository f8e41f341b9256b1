package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// job is a document to be read.
type job struct {
	uri, name, title string
	path             string // see [corpus.Document]
	upload           bool   // parsed even if it is known to take too much
	read             func() ([]byte, error)
}

// ready is a job that was read: a document with its chunks, one that is unchanged, or an error.
type ready struct {
	doc    corpus.Document
	chunks []corpus.Chunk
	found  []entities.Extraction // by chunk
	same   bool
	uri    string
	bytes  int
	err    error

	// release is not nil for a large document, and is called once nothing of it is in memory any more. It may be called twice.
	release func()
}

// What makes a document large. The chunks of a large one take up to a gigabyte, so there is one at a time, however many workers there are.
const (
	batchChunks = 20_000 // put at once, about
	largeText   = 4 << 20
	largeBlocks = 20_000
)

func large(p parse.Parsed) bool {
	text := 0
	for _, b := range p.Blocks {
		text += len(b.Text)
	}
	return text > largeText || len(p.Blocks) > largeBlocks
}

// run is one ingestion. Workers read and parse; the goroutine that called Ingest embeds and puts, and alone touches the
// report.
type run struct {
	*Ingester
	collection string
	known      map[corpus.DocumentID]corpus.Document
	tell       func(Progress)
	progress   Progress
	report     Report
	batch      []ready
	size       int  // bytes of text in the batch
	chunks     int  // in the batch
	mute       bool // the embedder is not asked any more
	stage      func(Stage, float64)
}

// load reads which documents the collection has.
func (r *run) load(ctx context.Context) error {
	docs, err := r.index.Documents(ctx, r.collection, "", 0)
	if err != nil {
		return fmt.Errorf("list documents: %w", err)
	}
	r.known = make(map[corpus.DocumentID]corpus.Document, len(docs))
	for _, d := range docs {
		r.known[d.ID] = d
	}
	return nil
}

func (r *run) fail(uri string, err error) {
	reason := reasonOf(err)
	if e, ok := errors.AsType[*fault.Error](err); ok {
		reason = strings.TrimPrefix(e.Message, parse.PrintableName(uri)+": ")
	}
	r.report.Failed = append(r.report.Failed, Failure{Path: parse.PrintableName(uri), Reason: reason})
	r.opts.Logger.Debug("ingest document", "path", parse.PrintableName(uri), "error", err)
}

func (r *run) done(started time.Time) Report {
	r.report.Duration = r.opts.Now().Sub(started)
	return r.report
}

// all works the jobs off.
func (r *run) all(ctx context.Context, jobs []job) error {
	r.progress.Total = len(jobs)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := make(chan job)
	out := make(chan ready)
	var workers errgroup.Group
	workers.Go(func() error {
		defer close(todo)
		for _, j := range jobs {
			select {
			case todo <- j:
			case <-ctx.Done():
				return nil
			}
		}
		return nil
	})
	for range min(r.opts.Workers, max(len(jobs), 1)) {
		workers.Go(func() error {
			for j := range todo {
				out <- r.prepare(ctx, j) // it is read until it is closed
			}
			return nil
		})
	}
	go func() {
		_ = workers.Wait() // they tell their errors through out
		close(out)
	}()
	var err error
	for d := range out {
		if err == nil {
			if err = r.take(ctx, d); err != nil {
				cancel()
			}
		}
		if d.release != nil {
			d.release()
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = r.flush(ctx)
	}
	return err
}

// prepare reads, parses and cuts a document, unless it is the same as the one that is known.
func (r *run) prepare(ctx context.Context, j job) ready {
	out := ready{uri: j.uri}
	data, err := j.read()
	if err != nil {
		out.err = err
		return out
	}
	out.bytes = len(data)
	id := DocumentID(r.collection, j.uri)
	hash := r.hash(j, data)
	if r.known[id].Hash == hash {
		out.same = true
		return out
	}
	return r.digest(ctx, j, id, hash, data)
}

// digest parses and cuts a document.
func (r *run) digest(ctx context.Context, j job, id corpus.DocumentID, hash string, data []byte) ready {
	out := ready{uri: j.uri, bytes: len(data)}
	p, err := r.parse(ctx, j, data)
	if err != nil {
		out.err = err
		return out
	}
	if large(p) {
		if err := r.enterLarge(ctx); err != nil {
			out.err = err
			return out
		}
		out.release = sync.OnceFunc(func() { <-r.large })
	}
	if j.title != "" {
		p.Title = j.title
	}
	cutting := cut(id, p, maxChunks)
	if cutting.count() > maxChunks {
		out.err = fault.New(fault.TooLarge, "holds more than %d sections, passages and sentences", maxChunks)
		return out
	}
	out.chunks = cutting.chunks()
	if prose(p) {
		if err := r.opts.Propositions.Generate(ctx, out.chunks); err != nil {
			out.err = err
			return out
		}
	}
	if out.found, out.err = r.opts.Entities.Extract(ctx, out.chunks, cutting.links()); out.err != nil {
		return out
	}
	out.doc = corpus.Document{
		ID: id, Collection: r.collection, Title: p.Title, URI: parse.PrintableName(j.uri), Path: parse.PrintableName(j.path), MediaType: p.MediaType, Hash: hash,
		Bytes: int64(out.bytes), Pages: p.Pages, Meta: p.Meta, IndexedAt: r.opts.Now().UTC(),
	}
	return out
}

// parse parses a document. One that is known to take too much is only parsed if it is an upload. The error does not name the file, as those
// who show it do.
func (r *run) parse(ctx context.Context, j job, data []byte) (parse.Parsed, error) {
	name := j.name
	if j.upload {
		if err := r.opts.Failures.remove(name, data); err != nil {
			r.opts.Logger.Error("forget the failure of an upload", "error", err)
		}
	} else if err := r.opts.Failures.find(name, data); err != nil {
		return parse.Parsed{}, err
	}
	p, err := r.opts.Parse(ctx, name, data, r.opts.Limits)
	if e, ok := errors.AsType[*fault.Error](err); ok {
		err = fault.Wrap(e.Code, err, "%s", strings.TrimPrefix(e.Message, parse.PrintableName(name)+": "))
		if werr := r.opts.Failures.add(name, data, err); werr != nil {
			r.opts.Logger.Error("remember a document that failed", "error", werr)
		}
	}
	return p, err
}

// enterLarge waits until no other large document is in memory.
func (r *run) enterLarge(ctx context.Context) error {
	select {
	case r.large <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prose says whether a document holds anything but a source file's code, which no sentence is.
func prose(p parse.Parsed) bool {
	return slices.ContainsFunc(p.Blocks, func(b parse.Block) bool { return b.Kind != parse.Heading && (b.Kind != parse.Code || b.Fenced) })
}

// take settles a document: it is counted, or waits in the batch.
func (r *run) take(ctx context.Context, d ready) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case d.err != nil:
		r.fail(d.uri, d.err)
	case d.same:
		r.report.Unchanged++
	default:
		r.batch = append(r.batch, d)
		r.chunks += len(d.chunks)
		for _, c := range d.chunks {
			if c.Level == corpus.Passage {
				r.size += len(c.Text)
			}
		}
	}
	if len(r.batch) >= r.opts.BatchDocs || r.size >= r.opts.BatchBytes || r.chunks >= batchChunks || d.release != nil {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.progress.Done++
	r.progress.Bytes += int64(d.bytes)
	r.progress.Current = parse.PrintableName(d.uri)
	r.tell(r.progress)
	return nil
}

// flush embeds and puts the batch.
func (r *run) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	docs := make([]corpus.Document, len(r.batch))
	entries := make([][]index.Entry, len(r.batch))
	chunks := 0
	for i, d := range r.batch {
		r.batch[i] = ready{} // what the entries hold is enough of it
		docs[i] = d.doc
		entries[i] = make([]index.Entry, len(d.chunks))
		for j, c := range d.chunks {
			entries[i][j].Chunk = c
			entries[i][j].Mentions, entries[i][j].Relations = d.found[j].Mentions, d.found[j].Relations
		}
		chunks += len(d.chunks)
	}
	if err := r.vectors(ctx, entries, chunks); err != nil {
		return err
	}
	r.stage(Indexing, 0)
	if err := ctx.Err(); err != nil { // who gave up on a document may have deleted it since
		return err
	}
	err := r.index.Put(ctx, docs, entries)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == fault.InvalidRequest && e.Field == "vector" {
		r.strip(entries, err)
		err = r.index.Put(ctx, docs, entries)
	}
	if err != nil {
		return fmt.Errorf("put documents: %w", err)
	}
	for _, d := range docs {
		if r.known[d.ID].ID == "" {
			r.report.Added++
		} else {
			r.report.Updated++
		}
	}
	r.report.Chunks += chunks
	r.batch, r.size, r.chunks = nil, 0, 0
	return nil
}

// remove deletes documents.
func (r *run) remove(ctx context.Context, ids []corpus.DocumentID) error {
	if len(ids) == 0 {
		return nil
	}
	if err := r.index.Delete(ctx, r.collection, ids); err != nil {
		return fmt.Errorf("delete documents: %w", err)
	}
	r.report.Deleted += len(ids)
	return nil
}
