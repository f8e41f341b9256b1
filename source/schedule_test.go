package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/folder"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/store/sqlstore"
)

type records = *sqlstore.Store

// synced is a store that reports the end of each sync.
type synced struct {
	records
	ends chan store.Source
}

func (s synced) UpdateSource(ctx context.Context, id string, change func(*store.Source) error) (store.Source, error) {
	was := store.SourceIdle
	src, err := s.records.UpdateSource(ctx, id, func(src *store.Source) error {
		was = src.State
		return change(src)
	})
	if err == nil && was == store.SourceSyncing && src.State == store.SourceIdle {
		s.ends <- src
	}
	return src, err
}

// scheduled is a bench whose service keeps the schedule, as a server does.
type scheduled struct {
	*bench
	kind source.Kind // of folders
	ends chan store.Source
	now  atomic.Pointer[time.Time] // of the service; nil: the time
}

// serve starts another service, as a server named name would.
func (b *scheduled) serve(name string, gone func(string) bool) {
	b.Helper()
	b.service.Close()
	b.ends = make(chan store.Source, 100)
	b.service = source.New(source.Options{Store: synced{b.store, b.ends}, Ingestions: b.store, Ingester: ingest.New(b.index, words, ingest.Options{}), Collection: "default", Reserved: []string{"files"},
		Kinds: map[string]source.Kind{"folder": b.kind}, Server: name, Gone: gone, Now: func() time.Time {
			if at := b.now.Load(); at != nil {
				return *at
			}
			return time.Now()
		}})
	require.NoError(b, b.service.Resume(b.Context()))
}

func newScheduled(t testing.TB) *scheduled {
	b := &scheduled{bench: newBench(t), kind: folder.Kind(nil, nil)}
	b.serve("", nil)
	return b
}

// set changes the record of a source without the service, as another server does.
func (b *scheduled) set(id string, change func(*store.Source)) {
	b.Helper()
	_, err := b.store.UpdateSource(b.Context(), id, func(src *store.Source) error { change(src); return nil })
	require.NoError(b, err)
}

func (b *scheduled) ended() store.Source {
	b.Helper()
	select {
	case src := <-b.ends:
		return src
	case <-time.After(30 * time.Second):
		b.Fatal("no sync has ended")
		return store.Source{}
	}
}

// TestSchedule checks when syncs are due: after the time of the schedule and up to a tenth more, and twice as long after each that failed. One that was missed
// while no server ran is caught up once.
func TestSchedule(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	id := b.add(source.Settings{Every: time.Hour})
	from := func(src store.Source, least, most time.Duration) {
		t.Helper()
		var r source.Result
		got, err := b.service.Get(t.Context(), id)
		require.NoError(t, err)
		if got.Last != nil {
			r = *got.Last
		}
		if after := src.Next.Sub(r.Ended); after < least || after > most {
			t.Errorf("next sync after %v, want %v to %v; %d failed", after, least, most, src.Failing)
		}
	}
	_, err := b.service.Sync(t.Context(), id, source.SyncOptions{})
	require.NoError(t, err)
	from(b.ended(), time.Hour, 66*time.Minute+time.Second)

	// A day later, the server is started.
	late := time.Now().Add(24 * time.Hour)
	b.now.Store(&late)
	b.serve("", nil)
	src := b.ended()
	from(src, time.Hour, 66*time.Minute+time.Second)
	if len(b.ends) > 0 || !src.Next.After(late) {
		t.Errorf("%d more syncs; the next one is at %v", len(b.ends), src.Next)
	}

	require.NoError(t, os.Rename(b.dir, b.dir+" away"))
	for failing, least := range []time.Duration{2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour, 24 * time.Hour, 24 * time.Hour} {
		b.set(id, func(src *store.Source) { src.Next = late })
		require.NoError(t, b.service.Resume(t.Context()))
		b.kick(id)
		src := b.ended()
		if src.Failing != failing+1 {
			t.Errorf("%d syncs have failed, want %d", src.Failing, failing+1)
		}
		from(src, least, least+least/10+time.Second)
	}
	require.NoError(t, os.Rename(b.dir+" away", b.dir))
	b.set(id, func(src *store.Source) { src.Next = late })
	b.kick(id)
	if src := b.ended(); src.Failing != 0 {
		t.Errorf("%d syncs have failed", src.Failing)
	}

	none := time.Duration(0)
	got, err := b.service.Change(t.Context(), id, source.Changes{Every: &none})
	require.NoError(t, err)
	if !got.Next.IsZero() || got.Every != 0 {
		t.Errorf("a source without a schedule is synced at %v", got.Next)
	}
}

// kick has the service read the schedule again, by a change of the source that changes nothing.
func (b *scheduled) kick(id string) {
	b.Helper()
	_, err := b.service.Change(b.Context(), id, source.Changes{})
	require.NoError(b, err)
}

func TestScheduleRefuses(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	for name, c := range map[string]struct {
		set   source.Settings
		field string
	}{
		"too often":   {source.Settings{Every: time.Second}, "every"},
		"negative":    {source.Settings{Every: -time.Hour}, "every"},
		"too rarely":  {source.Settings{Every: 10 * 366 * 24 * time.Hour}, "every"},
		"contributor": {source.Settings{Contributor: "platform"}, "contributor"},
		"metadata":    {source.Settings{Meta: corpus.DublinCore{Title: "a\nb"}}, "dc_title"},
		"uploads":     {source.Settings{Collection: "files"}, "collection"},
		"two":         {source.Settings{Collection: "a,b"}, "collection"},
	} {
		c.set.Kind, c.set.Location = "folder", b.dir
		_, err := b.service.Add(t.Context(), c.set, true)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	id := b.add(source.Settings{})
	every := time.Millisecond
	if _, err := b.service.Change(t.Context(), id, source.Changes{Every: &every}); fault.Public(err).Code != fault.InvalidRequest {
		t.Errorf("changed: %v", err)
	}
	if _, err := b.service.Change(t.Context(), "none", source.Changes{}); fault.Public(err).Code != fault.NotFound {
		t.Errorf("an unknown source was changed: %v", err)
	}
}

// TestWatched changes a watched folder.
func TestWatched(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	b.put("sub/b.md", "Bread needs flour.")
	id := b.add(source.Settings{Watch: true})
	await := func(step, want string, documents int) {
		t.Helper()
		for b.indexed() != want {
			b.ended()
		}
		got, err := b.service.Wait(t.Context(), id)
		require.NoError(t, err)
		if r := got.Last; r == nil || r.Error != "" || r.Added+r.Updated+r.Unchanged != documents { // also those that were not listed
			t.Errorf("%s: %+v", step, r)
		}
	}
	await("added", "a.md sub/b.md", 2)
	b.put("new/deep/c.md", "Ships pay twelve euros.")
	await("a new folder", "a.md new/deep/c.md sub/b.md", 3)
	require.NoError(t, os.Rename(filepath.Join(b.dir, "new"), filepath.Join(b.dir, "old")))
	await("renamed", "a.md old/deep/c.md sub/b.md", 3)
	require.NoError(t, os.RemoveAll(filepath.Join(b.dir, "old")))
	require.NoError(t, os.Remove(filepath.Join(b.dir, "a.md")))
	await("removed", "sub/b.md", 1)

	// The folder goes away and comes back. Nothing is removed meanwhile.
	for len(b.ends) > 0 {
		<-b.ends
	}
	require.NoError(t, os.Rename(b.dir, b.dir+" away"))
	for {
		src, err := b.service.Get(t.Context(), id)
		require.NoError(t, err)
		if src.WatchFailure != "" && !src.Next.IsZero() {
			break
		}
	}
	if got := b.indexed(); got != "sub/b.md" {
		t.Errorf("indexed %q", got)
	}
	no := false
	src, err := b.service.Change(t.Context(), id, source.Changes{Watch: &no})
	require.NoError(t, err)
	if src.Watch || !src.Next.IsZero() {
		t.Errorf("not watched any more: %+v", src.Schedule)
	}
}

// BenchmarkWatched measures the time from the change of one file of 10,000 until searches find it.
func BenchmarkWatched(b *testing.B) {
	f := newScheduled(b)
	for i := range 10_000 {
		f.put(fmt.Sprintf("%02d/%d.md", i%100, i), fmt.Sprintf("# Note %d\n\nThis is the text of the note with the number %d.\n", i, i))
	}
	f.add(source.Settings{Watch: true})
	f.ended()
	for len(f.ends) > 0 {
		<-f.ends
	}
	n := 0
	for b.Loop() {
		b.StopTimer()
		<-time.After(time.Second) // a change at once after another one waits for the pause after its sync
		b.StartTimer()
		n++
		word := fmt.Sprintf("quay%dth", n)
		require.NoError(b, os.WriteFile(filepath.Join(f.dir, "07/7.md"), []byte("This is the "+word+"."), 0o600))
		for {
			hits, err := f.index.Search(b.Context(), index.Query{Collection: "default", Text: word, Limit: 1})
			require.NoError(b, err)
			if len(hits) > 0 && strings.Contains(hits[0].Chunk.Text, word) {
				break
			}
			<-f.ends
		}
	}
}

// TestServers checks that only one of several servers syncs a source, and that the schedule of a folder is kept by the server that has it.
func TestServers(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	id := b.add(source.Settings{})
	alive := true
	b.set(id, func(src *store.Source) { src.State, src.Server = store.SourceSyncing, "other" })
	b.serve("this", func(server string) bool { return server == "this" || !alive })
	if _, err := b.service.Sync(t.Context(), id, source.SyncOptions{}); fault.Public(err).Code != fault.Conflict {
		t.Errorf("a sync of another server is in progress: %v", err)
	}
	if _, err := b.service.Remove(t.Context(), id); fault.Public(err).Code != fault.Conflict {
		t.Errorf("removed: %v", err)
	}
	if src, err := b.service.Change(t.Context(), id, source.Changes{Meta: &corpus.DublinCore{Creator: "Ada"}}); err != nil || src.Meta["dc_creator"] != "Ada" {
		t.Errorf("changed: %v, %v", src.Meta, err) // the other server syncs the documents again
	}
	alive = false
	require.NoError(t, b.service.Resume(t.Context())) // does not take over a folder of another machine
	_, err := b.service.Sync(t.Context(), id, source.SyncOptions{})
	require.NoError(t, err)
	if src := b.ended(); src.Server != "this" || b.indexed() != "a.md" {
		t.Errorf("synced by %q, indexed %q", src.Server, b.indexed())
	}
	b.set(id, func(src *store.Source) {
		src.Server, src.Every, src.Next = "other", time.Hour, time.Now().Add(-time.Hour)
	})
	b.serve("this", func(string) bool { return true })
	b.set(id, func(src *store.Source) { src.Server = "this" })
	b.kick(id)
	if src := b.ended(); !src.Next.After(time.Now()) || len(b.ends) > 0 {
		t.Errorf("next at %v, %d more syncs", src.Next, len(b.ends))
	}
}

// TestMetadata checks that documents get the metadata and the contributor of their source, also when these change.
func TestMetadata(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	b.put("a.md", "---\ncontributor: eve\ncreator: Eve\n---\nThe lighthouse was built in 1900.")
	id := b.add(source.Settings{Collection: "notes", Meta: corpus.DublinCore{Creator: "Ada"}, Contributor: "bob"})
	check := func(step, creator, contributor string) {
		t.Helper()
		src := b.ended()
		docs, err := b.index.Documents(t.Context(), "notes", "", 0)
		require.NoError(t, err)
		if len(docs) != 1 || docs[0].Metadata().Creator != creator || docs[0].Contributor != contributor || src.Again {
			t.Errorf("%s: %+v", step, docs)
		}
	}
	_, err := b.service.Sync(t.Context(), id, source.SyncOptions{})
	require.NoError(t, err)
	check("added", "Ada", "bob")
	carol, none := "carol", ""
	_, err = b.service.Change(t.Context(), id, source.Changes{Contributor: &carol, Meta: &corpus.DublinCore{Creator: "Bea"}})
	require.NoError(t, err)
	check("changed", "Bea", "carol")
	_, err = b.service.Change(t.Context(), id, source.Changes{Contributor: &none, Meta: &corpus.DublinCore{}})
	require.NoError(t, err)
	check("removed", "Eve", "eve")
}

// TestChangedBeforeStop checks that documents get changed metadata after a restart if the server ended before their sync began.
func TestChangedBeforeStop(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	id := b.add(source.Settings{})
	_, err := b.service.Sync(t.Context(), id, source.SyncOptions{})
	require.NoError(t, err)
	b.ended()
	b.service.Close()
	if _, err := b.service.Change(t.Context(), id, source.Changes{Meta: &corpus.DublinCore{Creator: "Ada"}}); err != nil {
		t.Errorf("changed: %v", err)
	}
	b.serve("", nil)
	src := b.ended()
	docs, err := b.index.Documents(t.Context(), "default", "", 0)
	require.NoError(t, err)
	if len(docs) != 1 || docs[0].Metadata().Creator != "Ada" || !src.Next.IsZero() {
		t.Errorf("next sync at %v, %+v", src.Next, docs)
	}
}

// TestIngestion follows a sync that a restart interrupts, and reads its result after another restart.
func TestIngestion(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	for i := range 3 {
		b.put(fmt.Sprintf("%d.pdf", i), "%PDF-1.7 and nothing else")
	}
	id := b.add(source.Settings{})
	b.set(id, func(src *store.Source) { src.State, src.Ingestion, src.Attempt = store.SourceSyncing, "ing-1", 1 })
	b.serve("", nil)
	i, err := b.service.Ingestion(t.Context(), "ing-1")
	require.NoError(t, err)
	seen := 0
	for {
		st, changed := i.After(seen)
		if seen += len(st.Failures); st.Result != nil {
			if seen != 3 || st.Failed != 3 || st.Result.Failed != 3 || i.Attempt != 2 || st.Result.Attempt != 2 {
				t.Errorf("attempt %d, %d failures: %+v", i.Attempt, seen, st.Result)
			}
			break
		}
		<-changed
	}
	b.serve("", nil)
	i, err = b.service.Ingestion(t.Context(), "ing-1")
	require.NoError(t, err)
	if st, _ := i.After(2); st.Result == nil || len(st.Failures) != 1 || i.Attempt != 2 || i.Source != id {
		t.Errorf("after a restart: %+v of %+v", st, i)
	}
	if _, err := b.service.Ingestion(t.Context(), ""); fault.Public(err).Code != fault.NotFound {
		t.Errorf("an ingestion without an id: %v", err)
	}

	require.NoError(t, os.WriteFile(filepath.Join(b.dir, "a.md"), []byte("The lighthouse."), 0o600))
	i, err = b.service.IngestPaths(t.Context(), source.PathsRequest{Paths: []string{b.dir, filepath.Join(b.dir, "none")}, Retry: true})
	require.NoError(t, err)
	st, changed := i.After(0)
	for ; st.Result == nil; st, changed = i.After(0) {
		<-changed
	}
	if st.Failed != 4 || len(st.Failures) != 4 || st.Result.Added != 1 || st.Result.Failed != 4 {
		t.Errorf("paths: %+v, %+v", st, st.Result)
	}
	if _, err := b.service.IngestPaths(t.Context(), source.PathsRequest{Collection: "files", Paths: []string{b.dir}}); fault.Public(err).Code != fault.InvalidRequest {
		t.Errorf("paths into the collection of uploads: %v", err)
	}
}

// TestIngestionOfChanges checks that the failures of a sync of what has changed are those of its result, which is about all documents: the ids of the events of its stream count them.
func TestIngestionOfChanges(t *testing.T) {
	t.Parallel()
	b := newScheduled(t)
	b.put("bad.pdf", "%PDF-1.7 and nothing else")
	id := b.add(source.Settings{Watch: true})
	for b.indexed() != "a.md" {
		if b.ended(); b.indexed() == "" {
			b.put("a.md", "The lighthouse was built in 1900.")
		}
	}
	src, err := b.service.Wait(t.Context(), id)
	require.NoError(t, err)
	i, err := b.service.Ingestion(t.Context(), src.Last.Ingestion)
	require.NoError(t, err)
	if st, _ := i.After(0); st.Failed != 1 || st.Result.Failed != 1 || len(st.Failures) != 1 {
		t.Errorf("%d failures %v, %d in the result", st.Failed, st.Failures, st.Result.Failed)
	}
}

// unbegun is a store that cannot store the beginning of a sync while broken is set.
type unbegun struct {
	records
	broken *atomic.Bool
	tried  chan struct{}
}

func (u unbegun) UpdateSource(ctx context.Context, id string, change func(*store.Source) error) (store.Source, error) {
	return u.records.UpdateSource(ctx, id, func(src *store.Source) error {
		was := src.State
		err := change(src)
		if err == nil && u.broken.Load() && was == store.SourceIdle && src.State == store.SourceSyncing {
			err = errors.New("the disk failed")
			select {
			case u.tried <- struct{}{}:
			default:
			}
		}
		return err
	})
}

// TestChangeNotBegun checks that a change in a folder is not lost if its sync cannot begin, because the store fails for some time.
func TestChangeNotBegun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.md", "The lighthouse was built in 1900.")
	id := b.add(source.Settings{Watch: true})
	b.service.Close()
	u := unbegun{b.store, new(atomic.Bool), make(chan struct{}, 1)}
	b.service = source.New(source.Options{Store: u, Ingestions: b.store, Ingester: ingest.New(b.index, words, ingest.Options{}), Collection: "default", Kinds: map[string]source.Kind{"folder": folder.Kind(nil, nil)}})
	require.NoError(t, b.service.Resume(t.Context()))
	await := func(want string) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); b.indexed() != want; {
			if time.Now().After(end) {
				t.Fatalf("indexed %q, want %q", b.indexed(), want)
			}
			_, err := b.service.Wait(t.Context(), id)
			require.NoError(t, err)
		}
	}
	await("a.md")
	u.broken.Store(true)
	b.put("b.md", "Bread needs flour.")
	<-u.tried
	u.broken.Store(false)
	await("a.md b.md")
}
