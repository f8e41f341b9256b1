// Package ingest turns files and uploads into documents of an index: bytes become text with pages and headings, the text
// is cut at three levels, the chunks get vectors, and all of a document is put at once.
package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/proposition"
	"github.com/sluice-rag/sluice/model"
)

// Options are an [Ingester]'s. The zero value works.
type Options struct {
	Workers      int // files read and parsed at once, and calls to the embedder at once; the number of processors
	MaxFileBytes int64
	Limits       parse.Limits          // of parsing; Bytes is MaxFileBytes, 64 MiB; Text 32 MiB and Blocks 200,000 unless they are given
	Parse        Parser                // [parse.Parse]; programs that read untrusted files use that of package sandbox
	Failures     *FailureStore         // documents that are not parsed again; nil: none are remembered
	BatchDocs    int                   // documents put at once at most; 64
	BatchBytes   int                   // text put at once, about; 4 MiB
	EmbedBatch   int                   // texts in one call to the embedder; 128
	Entities     entities.Extractor    // finds what passages name; [entities.Rules]. Where its name changes, documents are put again
	Propositions proposition.Generator // makes sentences stand alone; [proposition.Rules]. Where its name changes, documents are put again
	Now          func() time.Time
	Logger       *slog.Logger
}

// Parser parses a document as [parse.Parse] does.
type Parser func(ctx context.Context, name string, data []byte, limits parse.Limits) (parse.Parsed, error)

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.MaxFileBytes = cmp.Or(max(o.MaxFileBytes, 0), 64<<20)
	o.Limits.Bytes = int(o.MaxFileBytes)
	o.Limits.Text = cmp.Or(max(o.Limits.Text, 0), maxText)
	o.Limits.Blocks = cmp.Or(max(o.Limits.Blocks, 0), maxChunks)
	o.BatchDocs = cmp.Or(max(o.BatchDocs, 0), 64)
	o.BatchBytes = cmp.Or(max(o.BatchBytes, 0), 4<<20)
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

// Ingester puts documents into an index. Its methods may be called at once; two calls for one collection should not
// overlap, or each may embed what the other does.
type Ingester struct {
	index index.Index
	embed model.Embedder
	opts  Options
	large chan struct{} // held while a large document is cut, embedded and put
}

// New returns an ingester. Without an embedder, chunks have no vectors and are found by words alone.
func New(ix index.Index, e model.Embedder, o Options) *Ingester {
	return &Ingester{index: ix, embed: e, opts: o.withDefaults(), large: make(chan struct{}, 1)}
}

// Request asks for files to be ingested. An empty Collection is [corpus.DefaultCollection]. A path is a file or a folder.
type Request struct {
	Collection string
	Paths      []string
}

// Source is a document whose bytes are in memory. URI identifies it within the collection; Name, or else URI, tells its
// format by its extension; Title replaces the one that the bytes hold.
type Source struct {
	URI   string
	Name  string
	Title string
	Data  []byte
}

// Progress is how far an ingestion is. Done counts files that are read and settled, Bytes those of them.
type Progress struct {
	Done, Total int
	Bytes       int64
	Current     string // the file settled last
}

// Report is what an ingestion came to.
type Report struct {
	Added     int       `json:"added"`
	Updated   int       `json:"updated"`
	Unchanged int       `json:"unchanged"`
	Deleted   int       `json:"deleted"`
	Ignored   int       `json:"ignored"` // files in folders that are no documents by their names, such as pictures
	Failed    []Failure `json:"failed,omitempty"`
	Chunks    int       `json:"chunks"` // of what was added and updated

	// Unembedded counts the chunks among them that have no vector, as the embedder failed, and EmbedFailure says how it did,
	// in words fit to be shown. They are found by words until something makes their vectors.
	Unembedded   int    `json:"unembedded,omitempty"`
	EmbedFailure string `json:"embed_failure,omitempty"`

	Duration time.Duration `json:"duration_ns"`
}

// Failure is a file that was not taken. Both texts are fit to be shown; Path has what does not print escaped.
type Failure struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Ingest brings a collection up to date with files and folders: what is new or changed is put, what is the same is left
// alone, and documents whose file under one of the folders is gone are deleted. A file that cannot be read is told in
// Report.Failed and stops nothing; a document that it was before stays. An embedder that fails stops nothing either: the
// chunks are put without vectors, which Report.Unembedded counts, and unless the failure lies in the texts, it is not asked
// again in this ingestion. Progress, which may be nil, is called from this goroutine. The error is that of ctx or of the
// index; the report then says what was done before.
func (g *Ingester) Ingest(ctx context.Context, req Request, progress func(Progress)) (Report, error) {
	started := g.opts.Now()
	files, err := list(ctx, req.Paths)
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
		err = r.all(ctx, jobs)
	}
	if err == nil {
		err = r.remove(ctx, files.vanished(r.known, r.collection))
	}
	return r.done(started), err
}

// IngestDocuments is [Ingester.Ingest] for documents in memory. Documents of the collection that are not among the
// sources stay. Data must not change meanwhile.
func (g *Ingester) IngestDocuments(ctx context.Context, collection string, sources []Source, progress func(Progress)) (Report, error) {
	started := g.opts.Now()
	r := g.newRun(collection, progress)
	if err := r.load(ctx); err != nil {
		return r.done(started), err
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
	err := r.all(ctx, jobs)
	return r.done(started), err
}

// Delete removes documents by where they came from, and says how many there were.
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
	return &run{Ingester: g, collection: cmp.Or(collection, corpus.DefaultCollection), tell: progress, stage: func(Stage, float64) {}}
}

// hash tells whether a document must be put again: by its bytes, by what its name and title make of them, and by the way of
// cutting and of making propositions. The embedder has no part in it: vectors are made anew without the document.
func (g *Ingester) hash(j job, data []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\x00%s\x00%s\x00%s\x00%s\x00%s\x00", len(data), cutVersion, g.opts.Propositions.Name(), g.opts.Entities.Name(), j.name, j.title)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}
