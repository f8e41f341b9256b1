package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/store"
)

func TestStoresShareFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.newStore("a")
	p.newStore("c")
	fern := p.indexed(files.Upload{Stores: []string{"a"}}, ferns)
	moss := p.indexed(files.Upload{}, "Mosses have spores too.")
	before, err := p.index.Terms(t.Context(), files.Collection, nil)
	p.must(err)
	info, err := p.CreateStore(t.Context(), files.StoreParams{ID: "b", Name: "B", Description: "D", Metadata: json.RawMessage(`{"k":"v"}`), Files: []string{fern, moss}})
	p.must(err)
	want := []string{fern, moss}
	slices.Sort(want)
	if info.Name != "B" || info.Description != "D" || string(info.Metadata) != `{"k":"v"}` || !slices.Equal(info.Files, want) || info.Bytes != int64(len(ferns)+len("Mosses have spores too.")) {
		t.Errorf("store %+v", info)
	}
	// A file in three stores is stored once.
	_, err = p.ModifyStore(t.Context(), "c", files.StoreUpdate{Join: []string{fern}})
	p.must(err)
	after, err := p.index.Terms(t.Context(), files.Collection, nil)
	p.must(err)
	if after.Chunks != before.Chunks || len(p.blobs()) != 2 {
		t.Errorf("%d chunks and then %d, %d blobs", before.Chunks, after.Chunks, len(p.blobs()))
	}
	for set, want := range map[string][]string{"a": {fern}, "b": {fern, moss}, "c": {fern}, "d": {}} {
		p.finds(set, "spores", want...)
	}
	ids, err := p.StoresOf(t.Context(), fern)
	p.must(err)
	if !slices.Equal(ids, []string{"a", "b", "c"}) {
		t.Errorf("stores of the file: %v", ids)
	}
	p.checkConsistent()

	_, err = p.ModifyStore(t.Context(), "b", files.StoreUpdate{Leave: []string{fern, "stranger"}})
	p.must(err)
	p.finds("b", "spores", moss)
	p.must(p.DeleteStore(t.Context(), "a"))
	p.finds("a", "spores")
	p.finds("c", "spores", fern)
	_, err = p.Store(t.Context(), "a")
	wantFault(t, "deleted", err, fault.NotFound, "")
	task, err := p.Task(t.Context(), "delete-a")
	p.must(err)
	if task.Status != store.Completed {
		t.Errorf("task %+v", task)
	}
	wantFault(t, "deleted twice", p.DeleteStore(t.Context(), "a"), fault.NotFound, "")
	// A new vector store with the same id is empty.
	p.newStore("a")
	p.finds("a", "spores")
	p.must(p.DeleteFile(t.Context(), fern))
	p.counts("c", 0, 0, 0)
	p.checkConsistent()
}

// TestCreateStoreFails checks that a vector store with a file that does not exist is not created, so that its id stays free.
func TestCreateStoreFails(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	id := p.indexed(files.Upload{}, ferns)
	_, err := p.CreateStore(t.Context(), files.StoreParams{ID: "vs", Files: []string{id, "gone"}})
	wantFault(t, "a file that is gone", err, fault.InvalidRequest, "file_ids")
	p.newStore("vs", id)
	p.counts("vs", 0, 1, 0)
	p.checkConsistent()
}

func TestModifyStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	id := p.indexed(files.Upload{}, ferns)
	p.newStore("a")
	name, none, hour := "N", "", time.Hour
	info, err := p.ModifyStore(t.Context(), "a", files.StoreUpdate{Name: &name, Description: &name, Metadata: json.RawMessage(`{"x":1}`), Lifetime: &hour, Join: []string{id}})
	p.must(err)
	if info.Name != "N" || info.Description != "N" || info.ExpiresAt.IsZero() || string(info.Metadata) != `{"x":1}` || info.Counts.Completed != 1 {
		t.Errorf("store %+v", info)
	}
	never := time.Duration(0)
	info, err = p.ModifyStore(t.Context(), "a", files.StoreUpdate{Description: &none, Lifetime: &never})
	p.must(err)
	if info.Name != "N" || info.Description != "" || !info.ExpiresAt.IsZero() || string(info.Metadata) != `{"x":1}` {
		t.Errorf("store %+v", info)
	}
	for what, c := range map[string]struct {
		id    string
		c     files.StoreUpdate
		code  fault.Code
		field string
	}{
		"no store":      {"no", files.StoreUpdate{Name: &name}, fault.NotFound, ""},
		"all files":     {"files", files.StoreUpdate{Name: &name}, fault.NotFound, ""},
		"no file":       {"a", files.StoreUpdate{Name: &none, Join: []string{id, "nobody"}}, fault.InvalidRequest, "join_file_ids"},
		"odd file":      {"a", files.StoreUpdate{Join: []string{"a\x1fb"}}, fault.InvalidRequest, "join_file_ids"},
		"odd leaver":    {"a", files.StoreUpdate{Leave: []string{"../x"}}, fault.InvalidRequest, "left_file_ids"},
		"in and out":    {"a", files.StoreUpdate{Join: []string{id}, Leave: []string{id}}, fault.InvalidRequest, "left_file_ids"},
		"many":          {"a", files.StoreUpdate{Join: make([]string, 10_001)}, fault.InvalidRequest, "join_file_ids"},
		"no object":     {"a", files.StoreUpdate{Metadata: json.RawMessage(`[]`)}, fault.InvalidRequest, "metadata"},
		"another scope": {"a\x1fsb", files.StoreUpdate{Name: &name}, fault.NotFound, ""},
	} {
		_, err := p.ModifyStore(t.Context(), c.id, c.c)
		wantFault(t, what, err, c.code, c.field)
	}
	for what, c := range map[string]struct {
		n     files.StoreParams
		code  fault.Code
		field string
	}{
		"taken":     {files.StoreParams{ID: "a"}, fault.Conflict, ""},
		"odd":       {files.StoreParams{ID: "a b"}, fault.InvalidRequest, "id"},
		"all files": {files.StoreParams{ID: "files"}, fault.InvalidRequest, "id"},
		"no file":   {files.StoreParams{ID: "new", Files: []string{"nobody"}}, fault.InvalidRequest, "file_ids"},
		"long":      {files.StoreParams{Name: strings.Repeat("n", 1000)}, fault.InvalidRequest, "name"},
		"past":      {files.StoreParams{Lifetime: -1}, fault.InvalidRequest, "expires_after"},
	} {
		_, err := p.CreateStore(t.Context(), c.n)
		wantFault(t, what, err, c.code, c.field)
	}
	_, err = p.Store(t.Context(), "new")
	wantFault(t, "made halfway", err, fault.NotFound, "")
	named, err := p.CreateStore(t.Context(), files.StoreParams{})
	p.must(err)
	if !strings.HasPrefix(named.ID, "vs_") || named.Name != named.ID {
		t.Errorf("store %+v", named)
	}
	p.checkConsistent()
}

func TestStoresExpire(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(1_800_000_000)
	p := newPlace(t, func(_ *place, o *options) { o.Now = func() time.Time { return time.Unix(now.Load(), 0) } })
	id := p.indexed(files.Upload{}, ferns)
	for _, vs := range []string{"read", "listed", "swept", "stays", "again"} {
		n := files.StoreParams{ID: vs, Files: []string{id}, Lifetime: time.Minute}
		if vs == "stays" {
			n.Lifetime = 0
		}
		_, err := p.CreateStore(t.Context(), n)
		p.must(err)
	}
	now.Add(59)
	p.must(p.Sweep(t.Context()))
	p.finds("read", "spores", id)
	now.Add(1)
	_, err := p.Store(t.Context(), "read")
	wantFault(t, "read", err, fault.NotFound, "")
	p.finds("read", "spores")
	_, err = p.ModifyStore(t.Context(), "listed", files.StoreUpdate{Join: []string{id}})
	wantFault(t, "changed", err, fault.NotFound, "")
	p.newStore("again")
	p.finds("again", "spores")
	p.must(p.Sweep(t.Context()))
	p.finds("swept", "spores")
	p.finds("stays", "spores", id)
	infos, err := p.Stores(t.Context(), "", 10)
	p.must(err)
	if len(infos) != 2 {
		t.Errorf("stores %+v", infos)
	}
	p.checkConsistent()
}

// limits records the limits of lists of documents.
type limits struct {
	files.Index
	mu  sync.Mutex
	all []int
}

func (l *limits) Documents(ctx context.Context, collection string, after corpus.DocumentID, limit int) ([]corpus.Document, error) {
	l.mu.Lock()
	l.all = append(l.all, limit)
	l.mu.Unlock()
	return l.Index.Documents(ctx, collection, after, limit)
}

// TestHasStore checks which names are those of a vector store or collection. At most one document is read for that.
func TestHasStore(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(1_800_000_000)
	var read *limits
	p := newPlace(t, func(p *place, o *options) {
		o.Now = func() time.Time { return time.Unix(now.Load(), 0) }
		if p != nil {
			read = &limits{Index: o.Index}
			o.Index = read
		}
	})
	id := p.indexed(files.Upload{}, ferns)
	_, err := ingest.New(p.index, nil, ingest.Options{}).IngestDocuments(t.Context(), "Kräuter, lose", []ingest.Source{{URI: "a.md", Data: []byte("Sage.")}, {URI: "b.md", Data: []byte("Mint.")}}, nil)
	p.must(err)
	p.newStore("filled", id)
	p.newStore("empty")
	_, err = p.CreateStore(t.Context(), files.StoreParams{ID: "old", Files: []string{id}, Lifetime: time.Minute})
	p.must(err)
	now.Add(60)
	read.all = nil
	for name, want := range map[string]bool{"filled": true, "empty": true, "Kräuter, lose": true, "old": false, "none": false, "": false, "a\x1fsfilled": false, strings.Repeat("a", 300): false} {
		if got, err := p.HasStore(t.Context(), name); err != nil || got != want {
			t.Errorf("%.20q: %v, %v", name, got, err)
		}
	}
	if slices.ContainsFunc(read.all, func(limit int) bool { return limit != 1 }) {
		t.Errorf("read up to %v documents", read.all)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.HasStore(ended, "filled"); !errors.Is(err, context.Canceled) || fault.Public(err).Code != fault.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
	p.must(p.store.Close())
	_, err = p.HasStore(t.Context(), "empty")
	wantFault(t, "without the database", err, fault.Index, "")
}

func TestFoldersAreStores(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(_ *place, o *options) { o.MaxListed = 4 })
	_, err := p.Store(t.Context(), "default")
	wantFault(t, "a folder of nothing", err, fault.NotFound, "")
	var docs []ingest.Source
	for i := range 3 {
		docs = append(docs, ingest.Source{URI: fmt.Sprint(i, ".md"), Data: []byte("Lichens are two beings.")})
	}
	g := ingest.New(p.index, nil, ingest.Options{})
	_, err = g.IngestDocuments(t.Context(), "", docs, nil)
	p.must(err)
	info := p.counts("default", 0, 3, 0)
	if info.Name != "default" || info.CreatedAt.IsZero() || len(info.Files) != 3 || info.Bytes != int64(3*len(docs[0].Data)) {
		t.Errorf("store %+v", info)
	}
	_, err = p.CreateStore(t.Context(), files.StoreParams{ID: "default"})
	wantFault(t, "made", err, fault.Conflict, "")
	wantFault(t, "deleted", p.DeleteStore(t.Context(), "default"), fault.Conflict, "")
	_, err = p.ModifyStore(t.Context(), "default", files.StoreUpdate{Join: []string{info.Files[0]}})
	wantFault(t, "a folder's document joins", err, fault.InvalidRequest, "join_file_ids")
	first, second := p.indexed(files.Upload{}, ferns), p.indexed(files.Upload{}, ferns)
	_, err = p.ModifyStore(t.Context(), "default", files.StoreUpdate{Join: []string{first, second}})
	p.must(err)
	info = p.counts("default", 0, 5, 0)
	if len(info.Files) != 4 || !slices.IsSorted(info.Files) {
		t.Errorf("files %v", info.Files)
	}
	var members []string
	for after := ""; ; {
		ms, err := p.Members(t.Context(), "default", after, 2)
		p.must(err)
		if len(ms) == 0 {
			break
		}
		for _, m := range ms {
			members, after = append(members, m.File), m.File
		}
	}
	if len(members) != 5 || !slices.IsSorted(members) {
		t.Errorf("members %v", members)
	}
	p.finds("default", "spores", first, second)
	hour := time.Hour
	_, err = p.ModifyStore(t.Context(), "default", files.StoreUpdate{Lifetime: &hour})
	wantFault(t, "expires", err, fault.InvalidRequest, "expires_after")
	_, err = g.IngestDocuments(t.Context(), "", []ingest.Source{{URI: "9.md", Data: []byte("Algae.")}}, nil)
	p.must(err)
	p.counts("default", 0, 6, 0)
	p.newStore("zoo")
	infos, err := p.Stores(t.Context(), "", 10)
	p.must(err)
	if len(infos) != 2 || infos[0].ID != "default" || infos[0].Counts.Total != 6 || infos[1].ID != "zoo" {
		t.Errorf("stores %+v", infos)
	}
}

// flaky is an ingester that fails for every third file.
type flaky struct {
	files.Ingester
	n *atomic.Int32
}

func (f flaky) IngestFile(ctx context.Context, in ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error) {
	if f.n.Add(1)%3 == 0 {
		return ingest.FileResult{}, fault.New(fault.InvalidRequest, "it is the third")
	}
	return f.Ingester.IngestFile(ctx, in, progress)
}

// TestCountsDuringChanges reads counts while files are added, join, fail and are deleted. The counts must add up, and not more files may be completed
// than a later search finds.
func TestCountsDuringChanges(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			o.Ingest = flaky{o.Ingest, new(atomic.Int32)}
		}
	})
	p.newStore("a")
	p.newStore("b")
	stop := make(chan struct{})
	var reader, writers sync.WaitGroup
	reader.Go(func() {
		for {
			for _, id := range []string{"a", "b"} {
				info, err := p.Store(p.ctx(), id)
				n := info.Counts
				if err != nil || n.InProgress+n.Completed+n.Failed+n.Cancelled != n.Total || min(n.InProgress, n.Completed, n.Failed, n.Cancelled) < 0 {
					t.Errorf("%s counts %+v: %v", id, n, err)
					return
				}
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for w := range 2 {
		writers.Go(func() {
			for i := range 8 {
				f, _, err := p.Upload(p.ctx(), files.Upload{Stores: []string{"a"}, Body: strings.NewReader(fmt.Sprintf("Text %d of %d.", i, w))})
				if err != nil {
					t.Error(err)
					return
				}
				change := files.StoreUpdate{Join: []string{f.ID}}
				if _, err := p.ModifyStore(p.ctx(), "b", change); err != nil {
					t.Error(err)
				}
				switch i % 4 {
				case 0:
					err = p.DeleteFile(p.ctx(), f.ID)
				case 1:
					_, err = p.ModifyStore(p.ctx(), "a", files.StoreUpdate{Leave: []string{f.ID}})
				default:
					_, err = p.WaitTask(p.ctx(), "upload-"+f.ID)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for _, id := range []string{"a", "b"} {
		if _, err := p.WaitTask(t.Context(), "vectorize-"+id); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	reader.Wait()
	fs, err := p.Files(t.Context(), "", 100)
	p.must(err)
	for _, f := range fs {
		if _, err := p.WaitTask(t.Context(), "upload-"+f.ID); err != nil {
			t.Error(err)
		}
	}
	p.checkConsistent()
}

// failing is an index that rejects changes for a while.
type failing struct {
	files.Index
	broken atomic.Bool
}

var errBroken = errors.New("the index is broken")

func (f *failing) AddToSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error {
	if f.broken.Load() {
		return errBroken
	}
	return f.Index.AddToSet(ctx, collection, set, ids)
}

func (f *failing) RemoveFromSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error {
	if f.broken.Load() {
		return errBroken
	}
	return f.Index.RemoveFromSet(ctx, collection, set, ids)
}

func (f *failing) DeleteSet(ctx context.Context, collection, set string) error {
	if f.broken.Load() {
		return errBroken
	}
	return f.Index.DeleteSet(ctx, collection, set)
}

func (f *failing) Delete(ctx context.Context, collection string, ids []corpus.DocumentID) error {
	if f.broken.Load() {
		return errBroken
	}
	return f.Index.Delete(ctx, collection, ids)
}

var _ index.Sets = (*failing)(nil)

func TestFailedIndexChangesAreRetried(t *testing.T) {
	t.Parallel()
	var f *failing
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			f = &failing{Index: o.Index}
			o.Index = f
		}
	})
	fern, moss := p.indexed(files.Upload{}, ferns), p.indexed(files.Upload{ID: "moss"}, "Mosses have spores too.")
	p.newStore("a", fern)
	f.broken.Store(true)
	_, err := p.ModifyStore(t.Context(), "a", files.StoreUpdate{Join: []string{moss}})
	if !errors.Is(err, errBroken) {
		t.Errorf("joined: %v", err)
	}
	p.counts("a", 1, 1, 0) // a file that searches do not find yet is in progress
	if err := p.DeleteFile(t.Context(), moss); !errors.Is(err, errBroken) {
		t.Errorf("deleted: %v", err)
	}
	if err := p.DeleteStore(t.Context(), "a"); !errors.Is(err, errBroken) {
		t.Errorf("deleted: %v", err)
	}
	// While the index may still have the old set of an id, a new vector store with the id must not get it.
	if _, err := p.CreateStore(t.Context(), files.StoreParams{ID: "a"}); !errors.Is(err, errBroken) {
		t.Errorf("made again: %v", err)
	}
	if _, _, err := p.Upload(t.Context(), files.Upload{ID: "moss", Body: strings.NewReader("x")}); !errors.Is(err, errBroken) {
		t.Errorf("uploaded again: %v", err)
	}
	f.broken.Store(false)
	p.newStore("a")
	p.finds("a", "spores")
	p.finds("", "spores", fern)
	p.checkConsistent()
}
