// Package ingest adds files and uploads to an index. It parses each document, splits its text into chunks at three levels, embeds the
// chunks, and writes the document with all its chunks in one step.
package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/proposition"
	"github.com/sluice-rag/sluice/model"
)

// Options configure an [Ingester]. The zero value works.
type Options struct {
	Workers      int                   // concurrent parsers, and concurrent calls to the embedder; default: the number of processors
	MaxFileBytes int64                 // default 64 MiB
	Parse        Parser                // default [parse.Parse]; for untrusted files, use a pool of package sandbox
	Extensions   []string              // of files in folders that are read although such files are commonly no documents, such as ".png"
	Failures     *FailureStore         // documents that are not parsed again; may be nil
	BatchDocs    int                   // most documents in one write to the index; default 256
	EmbedBatch   int                   // texts in one call to the embedder; default 128
	Entities     entities.Extractor    // default [entities.Rules]; if its name changes, documents are ingested again
	Propositions proposition.Generator // default [proposition.Rules]; if its name changes, documents are ingested again
	Now          func() time.Time
	Logger       *slog.Logger
}

// Parser parses a document as [parse.Parse] does.
type Parser func(ctx context.Context, name string, data []byte, limits parse.Limits) (parse.Parsed, error)

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.MaxFileBytes = cmp.Or(max(o.MaxFileBytes, 0), 64<<20)
	o.BatchDocs = cmp.Or(max(o.BatchDocs, 0), 256)
	o.EmbedBatch = cmp.Or(max(o.EmbedBatch, 0), 128)
	if o.Parse == nil {
		o.Parse = parse.Parse
	}
	if o.Entities == nil {
		o.Entities = entities.Rules{}
	}
	if o.Propositions == nil {
		o.Propositions = proposition.Rules{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Ingester adds documents to an index. Its methods may be called concurrently. Concurrent calls for one collection may embed the same
// document twice.
type Ingester struct {
	index index.Index
	embed model.Embedder
	opts  Options
	large chan struct{} // held while a large document is in memory
}

// New returns an ingester. If e is nil, chunks have no vectors and are only found by lexical search.
func New(ix index.Index, e model.Embedder, o Options) *Ingester {
	return &Ingester{index: ix, embed: e, opts: o.withDefaults(), large: make(chan struct{}, 1)}
}

// Request lists files and folders to ingest. An empty Collection means [corpus.DefaultCollection].
type Request struct {
	Collection string
	Paths      []string
	// Only limits the ingestion to the parts of Paths that may have changed: absolute paths with slashes, of files and folders that need not exist. Documents of
	// other parts are kept as they are. Nil: all.
	Only []string
	// AllowRemoval removes all documents whose files do not exist any more, even if a folder is [Incomplete].
	AllowRemoval bool
	// Remove removes all documents of Paths instead, whether their files exist or not. Nothing is read.
	Remove bool
}

// Source is a document in memory. URI identifies it within the collection. The extension of Name, or else of URI, selects the format.
// Title, if set, replaces the title in the bytes.
type Source struct {
	URI   string
	Name  string
	Title string
	Data  []byte
}

// Progress is the progress of an ingestion. Done is the number of finished files, and Bytes is their size.
type Progress struct {
	Done, Total int
	Bytes       int64
	Current     string   // the file that was finished last
	Failure     *Failure // why it was not ingested; nil: it was
}

// Report is the result of an ingestion.
type Report struct {
	Added      int       `json:"added"`
	Updated    int       `json:"updated"`
	Unchanged  int       `json:"unchanged"`
	Deleted    int       `json:"deleted"`
	NotRemoved int       `json:"not_removed,omitempty"` // documents that have vanished and were kept, because their folder is [Incomplete]
	Ignored    int       `json:"ignored"`               // files in folders whose extension is not that of a document, such as pictures
	Other      int       `json:"other,omitempty"`       // documents of the collection that are from other folders, files or sources, and were kept
	Failed     []Failure `json:"failed,omitempty"`
	Chunks     int       `json:"chunks"` // of added and updated documents

	// Unembedded is the number of those chunks without a vector because the embedder failed. EmbedFailure is the reason, fit for
	// users. Until they are embedded, these chunks are only found by lexical search.
	Unembedded   int    `json:"unembedded,omitempty"`
	EmbedFailure string `json:"embed_failure,omitempty"`

	Duration time.Duration `json:"duration_ns"`
}

// Failure is a file that was not ingested. Both texts are fit for users. Unprintable characters of Path are escaped.
type Failure struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Ingest synchronizes a collection with files and folders. It indexes new and changed files and deletes documents whose file in one of
// the folders no longer exists, unless a folder is [Incomplete]; with [Request.Remove] it deletes all documents of the paths. A file that cannot be read is listed in Report.Failed, and its earlier document is kept. If the embedder
// fails, chunks are indexed without vectors (Report.Unembedded). It is not called again in this ingestion, unless the texts caused the
// failure. Progress may be nil; it is called on this goroutine. An error is that of ctx or the index, and the report then covers what was
// done before.
func (g *Ingester) Ingest(ctx context.Context, req Request, progress func(Progress)) (Report, error) {
	started := g.opts.Now()
	var files *listing
	var err error
	if req.Remove {
		files, err = without(req.Paths)
	} else {
		files, err = list(ctx, req.Paths, g.opts.Extensions, req.Only)
	}
	defer files.close()
	r := g.newRun(req.Collection, progress)
	r.report.Failed, r.report.Ignored = files.failed, files.ignored
	if err == nil {
		err = r.load(ctx)
	}
	if err == nil {
		jobs := make([]job, len(files.files))
		for i, f := range files.files {
			jobs[i] = job{uri: f.uri, name: f.uri, path: f.name, read: func() ([]byte, error) { return f.read(g.opts.MaxFileBytes) }}
		}
		err = r.process(ctx, jobs)
	}
	if err == nil {
		var gone []corpus.DocumentID
		gone, r.report.Other = files.missing(r.known, r.collection)
		if !req.AllowRemoval && !req.Remove {
			gone, err = r.withhold(ctx, req, files, gone)
		}
		if err == nil {
			err = r.remove(ctx, gone)
		}
	}
	return r.finish(started), err
}

// IngestDocuments is like [Ingester.Ingest] for documents in memory. It deletes no other documents. Data must not change during the call.
func (g *Ingester) IngestDocuments(ctx context.Context, collection string, sources []Source, progress func(Progress)) (Report, error) {
	started := g.opts.Now()
	r := g.newRun(collection, progress)
	if err := r.load(ctx); err != nil {
		return r.finish(started), err
	}
	jobs := make([]job, 0, len(sources))
	seen := map[string]bool{}
	for i, s := range sources {
		uri := cmp.Or(s.URI, s.Name)
		if uri == "" {
			r.fail(fmt.Sprintf("document %d", i+1), fault.Invalid("uri", "is empty"))
			continue
		}
		if seen[uri] {
			r.fail(uri, fault.Invalid("uri", "is given twice"))
			continue
		}
		seen[uri] = true
		jobs = append(jobs, job{uri: uri, name: cmp.Or(s.Name, uri), title: s.Title, read: func() ([]byte, error) {
			if int64(len(s.Data)) > g.opts.MaxFileBytes {
				return nil, tooLarge(g.opts.MaxFileBytes)
			}
			return s.Data, nil
		}})
	}
	err := r.process(ctx, jobs)
	return r.finish(started), err
}

// Delete deletes the documents with the given URIs, and returns their number.
func (g *Ingester) Delete(ctx context.Context, collection string, uris []string) (int, error) {
	r := g.newRun(collection, nil)
	if err := r.load(ctx); err != nil {
		return 0, err
	}
	var ids []corpus.DocumentID
	for _, uri := range uris {
		if id := DocumentID(r.collection, uri); r.known[id].ID != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	err := r.remove(ctx, ids)
	return r.report.Deleted, err
}

func (g *Ingester) newRun(collection string, progress func(Progress)) *run {
	if progress == nil {
		progress = func(Progress) {}
	}
	return &run{Ingester: g, collection: cmp.Or(collection, corpus.DefaultCollection), onProgress: progress, onStage: func(Stage, float64) {}, onIndexed: func(Indexed) {}}
}

// hash returns the hash of everything that a document's chunks depend on: its bytes, name and title, and the versions of the ingestion
// steps. The embedder is not included, because vectors can be recomputed without the document.
func (g *Ingester) hash(j job, data []byte) string {
	h := g.newHash(j, len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// newHash returns the hash of a document before its bytes are added.
func (g *Ingester) newHash(j job, size int) hash.Hash {
	h := sha256.New()
	fmt.Fprintf(h, "%d\x00%s\x00%s\x00%s\x00%s\x00%s\x00", size, cutVersion, g.opts.Propositions.Name(), g.opts.Entities.Name(), j.name, j.title)
	return h
}
