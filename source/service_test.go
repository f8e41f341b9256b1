package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/folder"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/store/sqlstore"
)

var words = local.New(local.Options{}) // creating it is slow

// bench is a service over a folder, with a real index and database.
type bench struct {
	testing.TB
	dir     string
	index   *embedded.Index
	store   *sqlstore.Store
	opened  *counted
	service *source.Service
	at      time.Time
}

// counted counts the documents that are read, and may stop after some.
type counted struct {
	source.Kind
	reads []string
	stop  func()
	after int
}

type countedConnector struct {
	source.Connector
	of *counted
}

func (c countedConnector) Read(ctx context.Context, d source.Document, limit int64) ([]byte, error) {
	c.of.reads = append(c.of.reads, d.Path) // one worker reads
	if c.of.stop != nil && len(c.of.reads) > c.of.after {
		c.of.stop()
		return nil, context.Canceled
	}
	return c.Connector.Read(ctx, d, limit)
}

func newBench(t testing.TB) *bench {
	t.Helper()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	kept, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "files.db"))
	require.NoError(t, err)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &bench{TB: t, dir: filepath.Join(dir, "docs"), index: ix, store: kept, at: time.Now().Add(-time.Hour)}
	require.NoError(t, os.Mkdir(b.dir, 0o700))
	b.open()
	t.Cleanup(func() { b.service.Close(); require.NoError(t, kept.Close()); require.NoError(t, ix.Close()) })
	return b
}

// open starts the service, as a new process would.
func (b *bench) open() {
	b.opened = &counted{Kind: folder.Kind(nil, nil)}
	kind := b.opened.Kind
	kind.Open = func(location string) (source.Connector, error) {
		c, err := b.opened.Kind.Open(location)
		return countedConnector{c, b.opened}, err
	}
	b.service = source.New(source.Options{Store: b.store, Ingestions: b.store, Ingester: ingest.New(b.index, words, ingest.Options{Workers: 1, BatchDocs: 2}), Collection: "default",
		Kinds: map[string]source.Kind{"folder": kind}})
}

// put writes a file with a time in the past, one second later for each change.
func (b *bench) put(name, text string) {
	b.Helper()
	path := filepath.Join(b.dir, name)
	require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(b, os.WriteFile(path, []byte(text), 0o600))
	b.at = b.at.Add(time.Second)
	require.NoError(b, os.Chtimes(path, b.at, b.at))
}

func (b *bench) add(set source.Settings) string {
	b.Helper()
	set.Kind, set.Location = "folder", b.dir
	src, err := b.service.Add(b.Context(), set, true)
	require.NoError(b, err)
	return src.ID
}

// sync syncs a source and returns the counts: added, moved, updated, unchanged, removed, failed, read.
func (b *bench) sync(id string, full bool) [7]int {
	b.Helper()
	b.opened.reads = nil
	_, err := b.service.Sync(b.Context(), id, source.SyncOptions{Full: full})
	require.NoError(b, err)
	src, err := b.service.Wait(b.Context(), id)
	require.NoError(b, err)
	r := src.Last
	if r == nil || r.Error != "" || src.State != store.SourceIdle {
		b.Fatalf("state %q, result %+v", src.State, r)
	}
	docs, err := b.index.Documents(b.Context(), src.Collection, "", 0)
	require.NoError(b, err)
	if r.Documents == nil || *r.Documents != len(docs) {
		b.Errorf("result %+v, but %d documents are searchable", r, len(docs))
	}
	return [7]int{r.Added, r.Moved, r.Updated, r.Unchanged, r.Removed, r.Failed, len(b.opened.reads)}
}

// indexed returns the names of the indexed documents.
func (b *bench) indexed() string {
	b.Helper()
	docs, err := b.index.Documents(b.Context(), "default", "", 0)
	require.NoError(b, err)
	var names []string
	for _, d := range docs {
		names = append(names, strings.TrimPrefix(d.URI, filepath.ToSlash(b.dir)+"/"))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (b *bench) want(step string, got, want [7]int, indexed string) {
	b.Helper()
	if got != want {
		b.Errorf("%s: added, moved, updated, unchanged, removed, failed, read: %v, want %v", step, got, want)
	}
	if now := b.indexed(); now != indexed {
		b.Errorf("%s: indexed %q, want %q", step, now, indexed)
	}
}

func TestSync(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	b.put("b.md", "Bread needs flour.")
	b.put("sub/c.md", "Ships pay twelve euros.")
	b.put("draft.txt", "Not yet.")
	id := b.add(source.Settings{Include: []string{"*.md", "sub/**"}, Exclude: []string{"**/private/**"}})
	b.put("sub/private/d.md", "Private.")
	b.want("first", b.sync(id, false), [7]int{3, 0, 0, 0, 0, 0, 3}, "a.md b.md sub/c.md")
	b.want("unchanged", b.sync(id, false), [7]int{0, 0, 0, 3, 0, 0, 0}, "a.md b.md sub/c.md")
	b.want("all read", b.sync(id, true), [7]int{0, 0, 0, 3, 0, 0, 3}, "a.md b.md sub/c.md")

	b.put("a.md", "The lighthouse was built in 1901.")
	b.put("b.md", "Bread needs flour.") // another time, the same bytes
	require.NoError(t, os.Rename(filepath.Join(b.dir, "sub/c.md"), filepath.Join(b.dir, "moved.md")))
	b.want("changed", b.sync(id, false), [7]int{1, 1, 1, 1, 1, 0, 3}, "a.md b.md moved.md")
	b.want("unchanged again", b.sync(id, false), [7]int{0, 0, 0, 3, 0, 0, 0}, "a.md b.md moved.md")

	require.NoError(t, os.Remove(filepath.Join(b.dir, "b.md")))
	b.put("sub/bad.pdf", "%PDF-1.7 and nothing else")
	b.put("new.md", "New text.")
	got := b.sync(id, false)
	src, err := b.service.Get(t.Context(), id)
	require.NoError(t, err)
	if f := src.Last.Failures; len(f) != 1 || !strings.HasSuffix(f[0].Path, "bad.pdf") || f[0].Reason == "" {
		t.Errorf("failures %+v", f)
	}
	b.want("one is damaged", got, [7]int{1, 0, 0, 2, 1, 1, 2}, "a.md moved.md new.md")
	b.want("tried again", b.sync(id, false), [7]int{0, 0, 0, 3, 0, 1, 1}, "a.md moved.md new.md")

	// The index was lost in part.
	require.NoError(t, b.index.Delete(t.Context(), "default", []corpus.DocumentID{ingest.DocumentID("default", filepath.ToSlash(b.dir)+"/a.md")}))
	b.want("a document was lost", b.sync(id, false), [7]int{1, 0, 0, 2, 0, 1, 2}, "a.md moved.md new.md")
}

// TestUnlistedPlace checks that a folder that is away loses no documents.
func TestUnlistedPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	id := b.add(source.Settings{})
	b.sync(id, false)
	require.NoError(t, os.Rename(b.dir, b.dir+" away"))
	_, err := b.service.Sync(t.Context(), id, source.SyncOptions{})
	require.NoError(t, err)
	src, err := b.service.Wait(t.Context(), id)
	require.NoError(t, err)
	if !strings.Contains(src.Last.Error, "does not exist") || b.indexed() != "a.md" || *src.Last.Documents != 1 {
		t.Errorf("result %+v, indexed %q", src.Last, b.indexed())
	}
	require.NoError(t, os.Rename(b.dir+" away", b.dir))
	b.want("back", b.sync(id, false), [7]int{0, 0, 0, 1, 0, 0, 0}, "a.md")
}

// TestResume stops a sync in the middle, as the end of a process does. The next process goes on from what is done, and then removes what has vanished.
func TestResume(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = 9
	for i := range n {
		b.put(fmt.Sprintf("%d.md", i), fmt.Sprintf("Text number %d.", i))
	}
	id := b.add(source.Settings{})
	old := b.service
	closed := make(chan struct{})
	b.opened.after, b.opened.stop = 5, func() {
		go func() { old.Close(); close(closed) }()
		b.opened.stop = nil
	}
	_, err := old.Sync(t.Context(), id, source.SyncOptions{})
	require.NoError(t, err)
	<-closed
	if src, err := old.Get(t.Context(), id); err != nil || src.State != store.SourceSyncing {
		t.Fatalf("state %q, %v", src.State, err)
	}
	if _, err := old.Sync(t.Context(), id, source.SyncOptions{}); fault.Public(err).Code != fault.Unavailable {
		t.Errorf("sync after the end: %v", err)
	}
	done := len(strings.Fields(b.indexed()))
	if done == 0 || done == n {
		t.Fatalf("%d documents are done", done)
	}
	require.NoError(t, os.Remove(filepath.Join(b.dir, "0.md"))) // it is in the index
	b.open()
	require.NoError(t, b.service.Resume(t.Context()))
	src, err := b.service.Wait(t.Context(), id)
	require.NoError(t, err)
	if r := src.Last; r == nil || r.Error != "" || r.Added+r.Unchanged != n-1 || r.Unchanged < done-1 || r.Removed+r.Failed > 1 {
		t.Errorf("result %+v, %d documents were done", src.Last, done)
	}
	if got, want := b.indexed(), "1.md 2.md 3.md 4.md 5.md 6.md 7.md 8.md"; got != want {
		t.Errorf("indexed %q", got)
	}
}

// TestRemove checks that the documents of a source go with it, and those of others do not, also if the process ends in between.
func TestRemove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	id := b.add(source.Settings{})
	b.sync(id, false)
	_, err := ingest.New(b.index, words, ingest.Options{}).IngestDocuments(t.Context(), "default", []ingest.Source{{URI: "other.md", Data: []byte("Other.")}}, nil)
	require.NoError(t, err)
	_, err = b.store.UpdateSource(t.Context(), id, func(s *store.Source) error { s.State = store.SourceRemoving; return nil })
	require.NoError(t, err)
	if _, err := b.service.Sync(t.Context(), id, source.SyncOptions{}); fault.Public(err).Code != fault.Conflict {
		t.Errorf("sync of a source that is being removed: %v", err)
	}
	require.NoError(t, b.service.Resume(t.Context()))
	if src, err := b.service.Wait(t.Context(), id); fault.Public(err).Code != fault.NotFound {
		t.Errorf("removed: %+v, %v", src, err)
	}
	if got := b.indexed(); got != "other.md" {
		t.Errorf("indexed %q", got)
	}
	if _, err := b.service.Remove(t.Context(), id); fault.Public(err).Code != fault.NotFound {
		t.Errorf("removed twice: %v", err)
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	require.NoError(t, os.Mkdir(filepath.Join(b.dir, "sub"), 0o700))
	b.add(source.Settings{})
	for name, c := range map[string]struct {
		set   source.Settings
		local bool
		code  fault.Code
		field string
	}{
		"kind":       {source.Settings{Kind: "tape", Location: b.dir}, true, fault.InvalidRequest, "kind"},
		"network":    {source.Settings{Kind: "folder", Location: t.TempDir()}, false, fault.Forbidden, "location"},
		"pattern":    {source.Settings{Kind: "folder", Location: t.TempDir(), Include: []string{"[a"}}, true, fault.InvalidRequest, "include"},
		"stars":      {source.Settings{Kind: "folder", Location: t.TempDir(), Exclude: []string{strings.Repeat("**/a/", 5)}}, true, fault.InvalidRequest, "exclude"},
		"file":       {source.Settings{Kind: "folder", Location: os.Args[0]}, true, fault.InvalidRequest, "location"},
		"no folder":  {source.Settings{Kind: "folder", Location: b.dir + "/none"}, true, fault.InvalidRequest, "location"},
		"twice":      {source.Settings{Kind: "folder", Location: b.dir}, true, fault.Conflict, "location"},
		"inside":     {source.Settings{Kind: "folder", Location: filepath.Join(b.dir, "sub")}, true, fault.Conflict, "location"},
		"around":     {source.Settings{Kind: "folder", Location: filepath.Dir(b.dir)}, true, fault.Conflict, "location"},
		"long":       {source.Settings{Kind: "folder", Location: "/" + strings.Repeat("x", 5000)}, true, fault.InvalidRequest, "location"},
		"zero bytes": {source.Settings{Kind: "folder", Location: "/\x00"}, true, fault.InvalidRequest, "location"},
	} {
		_, err := b.service.Add(t.Context(), c.set, c.local)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != c.code || f.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkUnchanged measures the sync of a folder of 10,000 files that have not changed.
func BenchmarkUnchanged(b *testing.B) {
	f := newBench(b)
	for i := range 10_000 {
		f.put(fmt.Sprintf("%02d/%d.md", i%100, i), fmt.Sprintf("# Note %d\n\nThis is the text of the note with the number %d.\n", i, i))
	}
	f.service = source.New(source.Options{Store: f.store, Ingestions: f.store, Ingester: ingest.New(f.index, nil, ingest.Options{}), Collection: "default", Kinds: map[string]source.Kind{"folder": folder.Kind(nil, nil)}})
	id := f.add(source.Settings{})
	f.sync(id, false)
	for b.Loop() {
		if got := f.sync(id, false); got[3] != 10_000 {
			b.Fatalf("counts %v", got)
		}
	}
}

// failing is a store that cannot store the result of a sync.
type failing struct {
	*sqlstore.Store
	works *atomic.Bool // again; nil: it never does
}

func (f failing) UpdateSource(ctx context.Context, id string, change func(*store.Source) error) (store.Source, error) {
	return f.Store.UpdateSource(ctx, id, func(src *store.Source) error {
		was := src.State
		if err := change(src); err != nil || was != store.SourceSyncing || src.State != store.SourceIdle || f.works != nil && f.works.Load() {
			return err
		}
		return errors.New("the disk failed")
	})
}

// blocked is a connector whose documents are not read before the sync is cancelled.
type blocked struct {
	source.Connector
	reading chan struct{}
}

func (b blocked) Read(ctx context.Context, _ source.Document, _ int64) ([]byte, error) {
	close(b.reading) // there is one document
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestIngestionEnds checks that a sync ends for those who follow it, also if its source is removed meanwhile or its result cannot be stored.
func TestIngestionEnds(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{true, false} {
		b := newBench(t)
		b.put("a.md", "The lighthouse was built in 1900.")
		id := b.add(source.Settings{})
		b.service.Close()
		reading, kind := make(chan struct{}), folder.Kind(nil, nil)
		o := source.Options{Store: failing{b.store, nil}, Ingestions: b.store, Ingester: ingest.New(b.index, words, ingest.Options{}), Collection: "default", Kinds: map[string]source.Kind{"folder": kind}}
		if open := kind.Open; removed {
			kind.Open = func(location string) (source.Connector, error) {
				c, err := open(location)
				return blocked{c, reading}, err
			}
			o.Store, o.Kinds = b.store, map[string]source.Kind{"folder": kind}
		}
		b.service = source.New(o)
		src, err := b.service.Sync(t.Context(), id, source.SyncOptions{})
		require.NoError(t, err)
		i, err := b.service.Ingestion(t.Context(), src.Ingestion)
		require.NoError(t, err)
		if removed {
			<-reading
			_, err := b.service.Remove(t.Context(), id)
			require.NoError(t, err)
		}
		if _, err := b.service.Wait(t.Context(), id); err != nil && !removed {
			t.Fatal(err)
		}
		if st, _ := i.After(0); st.Result == nil || st.Result.Error == "" || st.Result.Ingestion != i.ID || st.Result.Attempt != 1 || st.Result.Ended.IsZero() {
			t.Errorf("removed %v: result %+v", removed, st.Result)
		}
	}
}

// TestResultNotStored checks that a sync whose result could not be stored is done again when the store works again, without a restart.
func TestResultNotStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	id := b.add(source.Settings{})
	b.service.Close()
	works := new(atomic.Bool)
	b.service = source.New(source.Options{Store: failing{b.store, works}, Ingestions: b.store, Ingester: ingest.New(b.index, words, ingest.Options{}), Collection: "default",
		Kinds: map[string]source.Kind{"folder": folder.Kind(nil, nil)}})
	require.NoError(t, b.service.Resume(t.Context()))
	_, err := b.service.Sync(t.Context(), id, source.SyncOptions{})
	require.NoError(t, err)
	src, err := b.service.Wait(t.Context(), id)
	require.NoError(t, err)
	if src.State != store.SourceSyncing || src.Last != nil {
		t.Fatalf("state %q, result %+v", src.State, src.Last)
	}
	works.Store(true)
	_, err = b.service.Change(t.Context(), id, source.Changes{}) // has the schedule read, as time does
	require.NoError(t, err)
	for end := time.Now().Add(20 * time.Second); src.State != store.SourceIdle; {
		if time.Now().After(end) {
			t.Fatal("the sync is not done again")
		}
		src, err = b.service.Wait(t.Context(), id)
		require.NoError(t, err)
	}
	if r := src.Last; r == nil || r.Error != "" || r.Unchanged != 1 || r.Attempt != 2 {
		t.Errorf("result %+v", r)
	}
}
