package files_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/store/sqlstore"
)

// place is a service with its store and index in a temporary folder. The end of the test closes them.
type place struct {
	testing.TB
	dir   string
	store *sqlstore.Store
	index *embedded.Index
	*files.Service
}

// options are the settings that a test can change.
type options struct {
	files.Options
	embedder model.Embedder
	dir      string
}

func newPlace(t testing.TB, change func(p *place, o *options)) *place {
	t.Helper()
	o := options{embedder: local.New(local.Options{}), dir: t.TempDir()}
	p := &place{TB: t}
	if change != nil {
		change(nil, &o)
	}
	p.dir = o.dir
	var err error
	if p.store, err = sqlstore.Open(t.Context(), filepath.Join(p.dir, "sluice.db")); err != nil {
		t.Fatal(err)
	}
	if p.index, err = embedded.Open(t.Context(), filepath.Join(p.dir, "index"), embedded.Options{}); err != nil {
		t.Fatal(err)
	}
	o.Store, o.Index, o.Ingest = p.store, p.index, ingest.New(p.index, o.embedder, ingest.Options{Workers: 1})
	o.Logger = slog.New(slog.DiscardHandler)
	if change != nil {
		change(p, &o)
	}
	if p.Service, err = files.Open(t.Context(), filepath.Join(p.dir, "files"), o.Options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

func (p *place) close() {
	if p.Service == nil {
		return
	}
	p.must(errors.Join(p.Service.Close(), p.index.Close(), p.store.Close()))
	p.Service = nil
}

func (p *place) must(err error) {
	p.Helper()
	require.NoError(p, err)
}

// send uploads a text and returns the id of the file.
func (p *place) send(u files.Upload, text string) string {
	p.Helper()
	if u.Name == "" {
		u.Name = "a.md"
	}
	u.Body = strings.NewReader(text)
	f, task, err := p.Upload(p.ctx(), u)
	p.must(err)
	if task.ID != "upload-"+f.ID || task.Resource != f.ID {
		p.Fatalf("task %+v of file %s", task, f.ID)
	}
	return f.ID
}

// ctx returns a context that is still valid in cleanup functions.
func (p *place) ctx() context.Context { return context.WithoutCancel(p.Context()) }

// await waits for the task of a file and checks its status.
func (p *place) await(id string, want store.Status) store.Task {
	p.Helper()
	task, err := p.WaitTask(p.ctx(), "upload-"+id)
	p.must(err)
	if task.Status != want {
		p.Fatalf("task of %s is %s: %s; want %s", id, task.Status, task.Failure, want)
	}
	return task
}

// indexed uploads a text and waits until it is indexed.
func (p *place) indexed(u files.Upload, text string) string {
	p.Helper()
	id := p.send(u, text)
	p.await(id, store.Completed)
	return id
}

// newStore creates a vector store.
func (p *place) newStore(id string, members ...string) {
	p.Helper()
	_, err := p.CreateStore(p.ctx(), files.StoreParams{ID: id, Files: members})
	p.must(err)
}

// found returns the sorted ids of the documents in a vector store that contain a word.
func (p *place) found(set, word string) []string {
	p.Helper()
	s := index.Scope{Collection: files.Collection}
	if set != "" {
		s.Sets = []string{set}
	}
	hits, err := p.index.Search(p.ctx(), index.Query{Collection: s.Name(), Text: word, Limit: 50})
	p.must(err)
	out := []string{}
	for _, h := range hits {
		out = append(out, string(h.Chunk.Document))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// finds checks which documents a search of a vector store finds.
func (p *place) finds(set, word string, want ...string) {
	p.Helper()
	slices.Sort(want)
	if got := p.found(set, word); !slices.Equal(got, want) {
		p.Errorf("%q in %q finds %v, want %v", word, set, got, want)
	}
}

// counts checks the counts of a vector store.
func (p *place) counts(id string, inProgress, completed, failed int) files.StoreInfo {
	p.Helper()
	info, err := p.Store(p.ctx(), id)
	p.must(err)
	want := store.Counts{InProgress: inProgress, Completed: completed, Failed: failed, Total: inProgress + completed + failed}
	if info.Counts != want {
		p.Errorf("%s counts %+v, want %+v", id, info.Counts, want)
	}
	return info
}

// wantFault checks the code and field of an error.
func wantFault(t testing.TB, what string, err error, code fault.Code, field string) {
	t.Helper()
	if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != code || e.Field != field {
		t.Errorf("%s: %v, want %s of %q", what, err, code, field)
	}
}

// blobs lists the hashes of the stored bytes.
func (p *place) blobs() (out []string) {
	p.Helper()
	p.must(filepath.WalkDir(filepath.Join(p.dir, "files", "blobs"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, d.Name())
		}
		return err
	}))
	return out
}

// documents lists the ids of the documents in a scope.
func (p *place) documents(scope string) (out []string) {
	p.Helper()
	docs, err := p.index.Documents(p.ctx(), scope, "", 0)
	p.must(err)
	for _, d := range docs {
		out = append(out, string(d.ID))
	}
	return out
}

// checkConsistent checks that store, index and disk are consistent. No task may be running.
func (p *place) checkConsistent() {
	p.Helper()
	all, err := p.store.Files(p.ctx(), "", 10_000)
	p.must(err)
	sums, done := map[string]bool{}, []string{}
	for _, f := range all {
		sums[f.SHA256] = f.SHA256 != ""
		task, err := p.Task(p.ctx(), "upload-"+f.ID)
		p.must(err)
		if !task.Status.Final() || task.Status != f.Status {
			p.Errorf("file %s is %s, its task %s", f.ID, f.Status, task.Status)
		}
		if f.Status == store.Completed {
			done = append(done, f.ID)
		}
	}
	if got := p.documents(files.Collection); !slices.Equal(got, done) {
		p.Errorf("indexed: %v, completed: %v", got, done)
	}
	kept := p.blobs()
	for _, sum := range kept {
		if !sums[sum] {
			p.Errorf("stored bytes without a file: %s", sum)
		}
	}
	if delete(sums, ""); len(kept) != len(sums) {
		p.Errorf("%d blobs of %d hashes", len(kept), len(sums))
	}
	if left, _ := os.ReadDir(filepath.Join(p.dir, "files", "staged")); len(left) > 0 {
		p.Errorf("staged files are left: %v", left)
	}
	stores, err := p.store.Stores(p.ctx(), "", 1000)
	p.must(err)
	for _, c := range stores {
		ms, err := p.store.Members(p.ctx(), c.ID, "", 10_000)
		p.must(err)
		counted, found := store.Counts{Total: len(ms)}, []string{}
		for _, m := range ms {
			switch m.Status {
			case store.Completed:
				counted.Completed++
				found = append(found, m.File)
			case store.Failed:
				counted.Failed++
			default:
				p.Errorf("%s is %s in %s", m.File, m.Status, c.ID)
			}
		}
		if c.Counts != counted {
			p.Errorf("%s counts %+v, but has %+v", c.ID, c.Counts, counted)
		}
		if got := p.documents(index.Scope{Collection: files.Collection, Sets: []string{c.ID}}.Name()); !slices.Equal(got, found) {
			p.Errorf("the set %s contains %v, the vector store %v", c.ID, got, found)
		}
	}
	changes, err := p.store.PendingChanges(p.ctx(), 0, 10)
	p.must(err)
	if len(changes) > 0 {
		p.Errorf("changes are still pending: %+v", changes)
	}
}

// held is an ingester that blocks before each file until it is released or its context ends.
type held struct {
	files.Ingester
	begun chan corpus.DocumentID
	letGo chan struct{}
	deaf  bool // ignores the end of its context
}

func newHeld(inner files.Ingester) *held {
	return &held{Ingester: inner, begun: make(chan corpus.DocumentID, 100), letGo: make(chan struct{})}
}

// begins uploads a text until it is being indexed, and returns the id of the file: on a busy machine a short deadline can end an attempt before
// the file is opened.
func (h *held) begins(p *place, text string) string {
	p.Helper()
	for {
		id := p.send(files.Upload{}, text)
		ended := make(chan error, 1)
		go func() {
			_, err := p.WaitTask(p.ctx(), "upload-"+id)
			ended <- err
		}()
		select {
		case <-h.begun:
			return id
		case err := <-ended:
			p.must(err)
		}
		if len(h.begun) > 0 {
			<-h.begun
			return id
		}
	}
}

func (h *held) IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error) {
	progress(ingest.Parsing, 1)
	h.begun <- f.ID
	ended := ctx.Done()
	if h.deaf {
		ended = nil
	}
	select {
	case <-h.letGo:
	case <-ended:
		return ingest.FileResult{}, fmt.Errorf("read file: %w", ctx.Err())
	}
	return h.Ingester.IngestFile(ctx, f, progress)
}
