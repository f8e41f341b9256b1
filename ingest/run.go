package ingest

import (
	"cmp"
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

// job is a document to ingest.
type job struct {
	uri, name, title string
	path             string // see [corpus.Document]
	given            corpus.DublinCore
	contributor      string
	upload           bool   // parsed even if Options.Failures lists it
	known            string // hash of the document if the bytes have not changed
	again            bool   // built although the bytes have not changed
	read             func() ([]byte, error)
}

// prepared is the result of a job: a document with its chunks, unchanged, or an error.
type prepared struct {
	doc       corpus.Document
	chunks    []corpus.Chunk
	found     []entities.Extraction // by chunk
	unchanged bool
	annotate  *job // what users state has changed, and the bytes have not
	uri       string
	bytes     int
	err       error

	// release is set for a large document. It must be called when the document is no longer in memory, and may be called twice.
	release func()
}

// Documents over these sizes are large. Their chunks take up to a gigabyte, so only one of them is in memory at a time.
const (
	batchChunks = 20_000  // in one write to the index, about
	batchBytes  = 4 << 20 // of text in one write to the index, about
	largeText   = 4 << 20
	largeBlocks = 20_000
)

func isLarge(p parse.Parsed) bool {
	text := 0
	for _, b := range p.Blocks {
		text += len(b.Text)
	}
	return text > largeText || len(p.Blocks) > largeBlocks
}

// run is one ingestion. Workers read and parse. The caller's goroutine embeds and writes to the index, and only it accesses the report.
type run struct {
	*Ingester
	collection string
	known      map[corpus.DocumentID]corpus.Document
	onProgress func(Progress)
	progress   Progress
	report     Report
	batch      []prepared
	size       int  // bytes of text in the batch
	chunks     int  // in the batch
	noEmbedder bool // the embedder failed and is not called any more
	onStage    func(Stage, float64)
	onIndexed  func(Indexed)
	annotates  bool // unchanged documents get what users state
}

// load reads the list of the collection's documents.
func (r *run) load(ctx context.Context) error {
	docs, err := r.index.Documents(ctx, r.collection, "", 0)
	if err != nil {
		return fmt.Errorf("list documents: %w", err)
	}
	r.setKnown(docs)
	return nil
}

func (r *run) setKnown(docs []corpus.Document) {
	r.known = make(map[corpus.DocumentID]corpus.Document, len(docs))
	for _, d := range docs {
		r.known[d.ID] = d
	}
}

func (r *run) fail(uri string, err error) {
	reason := reasonOf(err)
	if e, ok := errors.AsType[*fault.Error](err); ok {
		reason = strings.TrimPrefix(e.Message, parse.PrintableName(uri)+": ")
	}
	r.report.Failed = append(r.report.Failed, Failure{Path: parse.PrintableName(uri), Reason: reason})
	r.opts.Logger.Debug("ingest document", "path", parse.PrintableName(uri), "error", err)
}

func (r *run) finish(started time.Time) Report {
	r.report.Duration = r.opts.Now().Sub(started)
	return r.report
}

// process runs the jobs.
func (r *run) process(ctx context.Context, jobs []job) error {
	r.progress.Total = len(jobs)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := make(chan job)
	out := make(chan prepared)
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
				out <- r.prepare(ctx, j) // never blocks for long: the loop below reads until out is closed
			}
			return nil
		})
	}
	go func() {
		_ = workers.Wait() // workers send their errors to out
		close(out)
	}()
	var err error
	for d := range out {
		if err == nil {
			if err = r.add(ctx, d); err != nil {
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

// prepare reads a document and, if it has changed, parses and splits it.
func (r *run) prepare(ctx context.Context, j job) prepared {
	out := prepared{uri: j.uri}
	id := DocumentID(r.collection, j.uri)
	if j.known != "" && r.known[id].Hash == j.known && !j.again {
		return r.unchanged(out, j, id, j.known)
	}
	data, err := j.read()
	if err != nil {
		out.err = err
		return out
	}
	out.bytes = len(data)
	hash := r.hash(j, data)
	if r.known[id].Hash == hash && !j.again {
		return r.unchanged(out, j, id, hash)
	}
	return r.build(ctx, j, id, hash, data)
}

// unchanged completes out for a document whose bytes have not changed.
func (r *run) unchanged(out prepared, j job, id corpus.DocumentID, hash string) prepared {
	out.unchanged, out.doc = true, corpus.Document{ID: id, Hash: hash}
	if d := r.known[id]; r.annotates && (d.Given != j.given || j.contributor != "" && d.Contributor != j.contributor) {
		out.annotate = &j
	}
	return out
}

// build parses a document and splits it into chunks.
func (r *run) build(ctx context.Context, j job, id corpus.DocumentID, hash string, data []byte) prepared {
	out := prepared{uri: j.uri, bytes: len(data)}
	p, err := r.parse(ctx, j, data)
	if err != nil {
		out.err = err
		return out
	}
	if isLarge(p) {
		if err := r.acquireLarge(ctx); err != nil {
			out.err = err
			return out
		}
		out.release = sync.OnceFunc(func() { <-r.large })
	}
	if j.title != "" {
		p.Title = j.title
	}
	pieces := cut(id, p, MaxChunks)
	if pieces.count() > MaxChunks {
		out.err = fault.New(fault.TooLarge, "holds more than %d sections, passages and sentences: split it", MaxChunks)
		return out
	}
	out.chunks = pieces.chunks()
	if prose(p) {
		if err := r.opts.Propositions.Generate(ctx, out.chunks); err != nil {
			out.err = err
			return out
		}
	}
	if out.found, out.err = r.opts.Entities.Extract(ctx, out.chunks, pieces.links()); out.err != nil {
		return out
	}
	out.doc = corpus.Document{
		ID: id, Collection: r.collection, Title: p.Title, URI: parse.PrintableName(j.uri), Path: parse.PrintableName(j.path), MediaType: p.MediaType, Hash: hash,
		Bytes: int64(out.bytes), Pages: p.Pages, Meta: p.Meta, Given: j.given,
		Contributor: cmp.Or(j.contributor, p.Contributor), IndexedAt: r.opts.Now().UTC(),
	}
	return out
}

// parse parses a document. If the document exhausted a limit before, parse returns that error, except for uploads. Errors do not name the
// file, because callers do.
func (r *run) parse(ctx context.Context, j job, data []byte) (parse.Parsed, error) {
	name := j.name
	if j.upload {
		if err := r.opts.Failures.remove(name, data); err != nil {
			r.opts.Logger.Error("forget failed document", "error", err)
		}
	} else if err := r.opts.Failures.find(name, data); err != nil {
		return parse.Parsed{}, err
	}
	p, err := r.opts.Parse(ctx, name, data, parse.Limits{Bytes: int(r.opts.MaxFileBytes), Text: maxText, Blocks: MaxChunks})
	if e, ok := errors.AsType[*fault.Error](err); ok {
		err = fault.Wrap(e.Code, err, "%s", strings.TrimPrefix(e.Message, parse.PrintableName(name)+": "))
		if werr := r.opts.Failures.add(name, data, err); werr != nil {
			r.opts.Logger.Error("remember failed document", "error", werr)
		}
	}
	return p, err
}

// acquireLarge waits until no other large document is in memory.
func (r *run) acquireLarge(ctx context.Context) error {
	select {
	case r.large <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prose reports whether a document contains anything but the code of a source file.
func prose(p parse.Parsed) bool {
	return slices.ContainsFunc(p.Blocks, func(b parse.Block) bool { return b.Kind != parse.Heading && (b.Kind != parse.Code || b.Fenced) })
}

// add counts a document or adds it to the batch, which it flushes when it is full.
func (r *run) add(ctx context.Context, d prepared) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.progress.Failure = nil
	switch {
	case d.err != nil:
		r.fail(d.uri, d.err)
		r.progress.Failure = &r.report.Failed[len(r.report.Failed)-1]
	case d.unchanged:
		if err := r.annotate(ctx, d); err != nil {
			return err
		}
		r.report.Unchanged++
		r.onIndexed(Indexed{d.uri, d.doc.ID, d.doc.Hash})
	default:
		r.batch = append(r.batch, d)
		r.chunks += len(d.chunks)
		for _, c := range d.chunks {
			if c.Level == corpus.Passage {
				r.size += len(c.Text)
			}
		}
	}
	if len(r.batch) >= r.opts.BatchDocs || r.size >= batchBytes || r.chunks >= batchChunks || d.release != nil {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.progress.Done++
	r.progress.Bytes += int64(d.bytes)
	r.progress.Current = parse.PrintableName(d.uri)
	r.onProgress(r.progress)
	return nil
}

// annotate gives an unchanged document what users state about it.
func (r *run) annotate(ctx context.Context, d prepared) error {
	x, ok := r.index.(index.Annotator)
	if d.annotate == nil || !ok {
		return nil
	}
	if err := x.Annotate(ctx, r.collection, d.doc.ID, d.annotate.given, d.annotate.contributor); err != nil {
		return fmt.Errorf("annotate document: %w", err)
	}
	return nil
}

// flush embeds the batch and writes it to the index.
func (r *run) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	docs, uris := make([]corpus.Document, len(r.batch)), make([]string, len(r.batch))
	entries := make([][]index.Entry, len(r.batch))
	chunks := 0
	for i, d := range r.batch {
		r.batch[i] = prepared{} // release what the entries do not need
		docs[i], uris[i] = d.doc, d.uri
		entries[i] = make([]index.Entry, len(d.chunks))
		for j, c := range d.chunks {
			entries[i][j].Chunk = c
			entries[i][j].Mentions, entries[i][j].Relations = d.found[j].Mentions, d.found[j].Relations
		}
		chunks += len(d.chunks)
	}
	if err := r.embedEntries(ctx, entries, chunks); err != nil {
		return err
	}
	r.onStage(Indexing, 0)
	if err := ctx.Err(); err != nil { // the caller may have cancelled the ingestion and deleted the document
		return err
	}
	err := r.index.Put(ctx, docs, entries)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == fault.InvalidRequest && e.Field == "vector" {
		r.dropVectors(entries, err)
		err = r.index.Put(ctx, docs, entries)
	}
	if err != nil {
		return fmt.Errorf("index documents: %w", err)
	}
	for i, d := range docs {
		if r.known[d.ID].ID == "" {
			r.report.Added++
		} else {
			r.report.Updated++
		}
		r.onIndexed(Indexed{uris[i], d.ID, d.Hash})
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
