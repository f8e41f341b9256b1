package ingest

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// Item is a document that a caller lists, and whose bytes it reads on demand. URI identifies it within the collection, and its extension selects the
// format. Path is shown to users.
type Item struct {
	URI, Path string
	// Name is a name whose extension selects the format, if that of URI does not.
	Name string
	// Read returns the bytes, or an error if they are more than limit. It may be called on any goroutine.
	Read func(ctx context.Context, limit int64) ([]byte, error)
	// Hash is [corpus.Document.Hash] after an earlier ingestion, if the bytes have not changed since. The item is not read then, unless the
	// index has another document. Empty: the bytes may have changed.
	Hash string
	// Given and Contributor are the metadata and the account that a user sets; see [corpus.Document]. They are also set on documents whose bytes have not changed. Without a
	// Contributor, a new document has the one that it names, and an unchanged document keeps its own.
	Given       corpus.DublinCore
	Contributor string
	// Again indexes the document again although its bytes have not changed.
	Again bool
}

// Indexed is an item whose document is in the index.
type Indexed struct {
	URI  string
	ID   corpus.DocumentID
	Hash string // [corpus.Document.Hash]
}

// IngestItems brings the documents of a collection up to date with items. It deletes no documents. Each item whose document is in the index is passed
// to done, which runs on this goroutine, once the document is durable. Otherwise it is like [Ingester.Ingest].
func (g *Ingester) IngestItems(ctx context.Context, collection string, items []Item, done func(Indexed), progress func(Progress)) (Report, error) {
	started := g.opts.Now()
	r := g.newRun(collection, progress)
	r.onIndexed = done
	if err := r.loadItems(ctx, items); err != nil {
		return r.finish(started), err
	}
	r.annotates = true
	jobs := make([]job, 0, len(items))
	seen := map[string]bool{}
	for _, it := range items {
		if it.URI == "" || seen[it.URI] {
			r.fail(it.URI, fault.Invalid("uri", "is empty, or is given twice"))
			continue
		}
		seen[it.URI] = true
		jobs = append(jobs, job{uri: it.URI, name: cmp.Or(it.Name, it.URI), path: it.Path, known: it.Hash, given: it.Given, contributor: it.Contributor, again: it.Again, read: func() ([]byte, error) {
			data, err := it.Read(ctx, g.opts.MaxFileBytes)
			if err == nil && int64(len(data)) > g.opts.MaxFileBytes {
				err = tooLarge(g.opts.MaxFileBytes)
			}
			return data, err
		}})
	}
	err := r.process(ctx, jobs)
	return r.finish(started), err
}

// fewItems is up to how many items are looked up one by one, instead of with all documents of the collection.
const fewItems = 1000

// loadItems is load for the documents of items.
func (r *run) loadItems(ctx context.Context, items []Item) error {
	x, ok := r.index.(index.DocumentReader)
	if !ok || len(items) > fewItems {
		return r.load(ctx)
	}
	ids := make([]corpus.DocumentID, len(items))
	for i, it := range items {
		ids[i] = DocumentID(r.collection, it.URI)
	}
	docs, err := x.DocumentsByID(ctx, r.collection, ids)
	if err != nil {
		return fmt.Errorf("read documents: %w", err)
	}
	r.setKnown(docs)
	return nil
}

// DeleteDocuments deletes documents by their ids. Unknown ids are ignored.
func (g *Ingester) DeleteDocuments(ctx context.Context, collection string, ids []corpus.DocumentID) error {
	return g.newRun(collection, nil).remove(ctx, ids)
}

// Version names the steps of ingestion. After it has changed, documents have to be ingested again.
func (g *Ingester) Version() string {
	return cutVersion + " " + g.opts.Propositions.Name() + " " + g.opts.Entities.Name()
}

// Extensions returns [Options.Extensions].
func (g *Ingester) Extensions() []string { return g.opts.Extensions }

// Folder is a listed folder. Call Close after its files were read.
type Folder struct {
	Files   []FolderFile
	Failed  []Failure // files and subfolders that cannot be read
	Unread  []string  // URIs of subfolders that could not be listed
	Ignored int       // files whose extension is not that of a document

	list *listing
}

// FolderFile is a file of a folder.
type FolderFile struct {
	URI  string // absolute path with slashes
	Path string // with slashes; begins with the name of the folder
	file file
}

// OpenFolder lists the files of a folder, as [Ingester.Ingest] does: it skips hidden entries, folders of dependencies, symbolic links and special files.
// Links do not lead out of the folder. The
// extensions are those of [Options.Extensions], and only is [Request.Only]. If the folder itself cannot be read, the error says why, fit for users.
func OpenFolder(ctx context.Context, dir string, extensions, only []string) (*Folder, error) {
	l, err := list(ctx, []string{dir}, extensions, only)
	if err == nil && (len(l.roots) == 0 || slices.Contains(l.unread, filepath.ToSlash(dir))) {
		reason := "is not a folder"
		if len(l.failed) > 0 {
			reason = l.failed[0].Reason
		}
		err = fault.New(fault.InvalidRequest, "the folder %s %s", parse.PrintableName(dir), reason)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	f := &Folder{Files: make([]FolderFile, len(l.files)), Failed: l.failed, Unread: l.unread, Ignored: l.ignored, list: l}
	for i, file := range l.files {
		f.Files[i] = FolderFile{URI: file.uri, Path: file.name, file: file}
	}
	return f, nil
}

// Stat describes the folder itself.
func (f *Folder) Stat() (fs.FileInfo, error) { return f.list.roots[0].Stat(".") }

// Close releases the folder.
func (f *Folder) Close() { f.list.close() }

// Read returns the bytes of the file, or an error if they are more than limit.
func (f FolderFile) Read(limit int64) ([]byte, error) { return f.file.read(limit) }

// Stat describes the file.
func (f FolderFile) Stat() (fs.FileInfo, error) { return f.file.root.Lstat(f.file.path) }
