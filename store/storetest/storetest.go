// Package storetest holds the conformance tests of the back ends of package store.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/store"
)

// Store combines the interfaces under test.
type Store interface {
	store.Files
	store.Finder
	store.VectorStores
	store.Memberships
	store.Tasks
	store.Sources
	store.SourceFinder
	store.Ingestions
}

// start is the creation time of the records.
var start = time.Date(2026, 3, 1, 12, 0, 0, 123000, time.UTC)

// TestStore runs the conformance tests. The function open returns an empty store, and a function that opens the same store again, as another
// process would. It must also close them.
func TestStore(t *testing.T, open func(t *testing.T) (s Store, reopen func() Store)) {
	for name, test := range map[string]func(*suite){
		"files": (*suite).files, "hashes": (*suite).hashes, "vector stores": (*suite).stores, "expiry": (*suite).expiry,
		"memberships": (*suite).memberships, "counts": (*suite).counts, "changes": (*suite).changes, "tasks": (*suite).tasks,
		"queue": (*suite).queue, "fetching": (*suite).fetching, "removal": (*suite).removal, "listings": (*suite).listings, "concurrent": (*suite).concurrent, "empty": (*suite).empty, "cancelled": (*suite).cancelled, "sources": (*suite).sources, "ingestions": (*suite).ingestions,
	} {
		t.Run(name, func(t *testing.T) {
			s, reopen := open(t)
			test(&suite{T: t, ctx: t.Context(), Store: s, reopen: reopen})
		})
	}
}

type suite struct {
	*testing.T
	ctx context.Context
	Store
	reopen func() Store
}

// must fails the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) is(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("error %v, want %v", err, want)
	}
}

func (s *suite) same(what string, got, want any) {
	s.Helper()
	if d := cmp.Diff(want, got); d != "" {
		s.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func file(id string) store.File {
	return store.File{ID: id, Name: id + ".txt", MediaType: "text/plain", Purpose: "qa", Bytes: 10, MD5: "m", SHA256: "sum of " + id,
		Status: store.Pending, Options: json.RawMessage(`{"graph":"enable"}`), CreatedAt: start, UpdatedAt: start}
}

func task(of string, n int) store.Task {
	at := start.Add(time.Duration(n) * time.Second)
	return store.Task{ID: "upload-" + of, Type: "upload", Status: store.Pending, Resource: of, CreatedAt: at, UpdatedAt: at}
}

// add adds a file, pending.
func (s *suite) add(id string, stores ...string) {
	s.Helper()
	s.must(s.AddFile(s.ctx, file(id), task(id, 0), stores))
}

func (s *suite) addStore(ids ...string) {
	s.Helper()
	for _, id := range ids {
		s.must(s.AddStore(s.ctx, store.VectorStore{ID: id, Name: "N", CreatedAt: start, UpdatedAt: start}, nil))
	}
}

// end sets the status of a file and its task.
func (s *suite) end(id string, status store.Status) {
	s.Helper()
	_, err := s.UpdateTask(s.ctx, "upload-"+id, func(t *store.Task, f *store.File) error {
		t.Status, f.Status = status, status
		return nil
	})
	s.must(err)
}

// acknowledgeAll acknowledges all changes.
func (s *suite) acknowledgeAll() {
	s.Helper()
	cs, err := s.PendingChanges(s.ctx, 0, 1000)
	s.must(err)
	s.must(s.AcknowledgeChanges(s.ctx, cs))
}

func (s *suite) countsOf(id string) store.Counts {
	s.Helper()
	c, err := s.Store.Store(s.ctx, id)
	s.must(err)
	return c.Counts
}

func (s *suite) files() {
	full := file("a")
	full.URL, full.Fields, full.Failure = "https://example.org/x", json.RawMessage(`{"title":"Ünï"}`), "why"
	s.must(s.AddFile(s.ctx, full, task("a", 0), nil))
	s.is(s.AddFile(s.ctx, file("a"), task("b", 1), nil), store.ErrExists)
	_, err := s.Task(s.ctx, "upload-b")
	s.is(err, store.ErrNotFound)
	got, err := s.File(s.ctx, "a")
	s.must(err)
	s.same("file", got, full)
	_, err = s.File(s.ctx, "A")
	s.is(err, store.ErrNotFound)

	boom := errors.New("boom")
	_, err = s.UpdateFile(s.ctx, "a", func(f *store.File) error { f.Name = "other"; return boom })
	s.is(err, boom)
	full.Name, full.UpdatedAt = "new", start.Add(time.Hour)
	got, err = s.UpdateFile(s.ctx, "a", func(f *store.File) error { *f = full; f.ID = "z"; return nil })
	s.must(err)
	s.same("changed", got, full)
	got, err = s.reopen().File(s.ctx, "a")
	s.must(err)
	s.same("reopened", got, full)
	_, err = s.UpdateFile(s.ctx, "z", func(*store.File) error { return nil })
	s.is(err, store.ErrNotFound)

	// If the vector store does not exist, nothing is added.
	err = s.AddFile(s.ctx, file("c"), task("c", 0), []string{"vs"})
	s.is(err, store.ErrNotFound)
	if m, ok := errors.AsType[*store.NotFoundError](err); !ok || m.ID != "vs" {
		s.Errorf("missing: %v", err)
	}
	_, err = s.File(s.ctx, "c")
	s.is(err, store.ErrNotFound)

	s.add("b")
	named, err := s.FilesByID(s.ctx, []string{"no", "b", "a", "b", `"]`})
	s.must(err)
	s.same("named", named, []store.File{full, file("b")})
	named, err = s.FilesByID(s.ctx, nil)
	s.must(err)
	s.same("none named", len(named), 0)
}

// empty stores records with empty values where JSON is expected. They are read as nil, which can be encoded.
func (s *suite) empty() {
	f := file("f1")
	f.Options, f.Fields = json.RawMessage{}, json.RawMessage{}
	s.must(s.AddFile(s.ctx, f, task("f1", 0), nil))
	got, err := s.File(s.ctx, "f1")
	s.must(err)
	f.Options, f.Fields = nil, nil
	s.same("file", got, f)
	s.must(s.AddStore(s.ctx, store.VectorStore{ID: "s1", Name: "N", Metadata: json.RawMessage{}, CreatedAt: start, UpdatedAt: start}, nil))
	of, err := s.Store.Store(s.ctx, "s1")
	s.must(err)
	s.same("metadata", of.Metadata, json.RawMessage(nil))
}

func (s *suite) hashes() {
	for i, status := range []store.Status{store.Failed, store.Pending, store.Completed, store.Completed} {
		f := file(fmt.Sprint(i))
		f.SHA256, f.Status, f.CreatedAt = "sum", status, start.Add(time.Duration(i)*time.Minute)
		s.must(s.AddFile(s.ctx, f, task(f.ID, i), nil))
	}
	url := file("url")
	url.SHA256 = ""
	s.must(s.AddFile(s.ctx, url, task("url", 9), nil))
	for _, want := range []string{"2", "3", "1"} {
		f, err := s.FileBySHA256(s.ctx, "sum")
		s.must(err)
		s.same("file of the bytes", f.ID, want)
		_, last, err := s.RemoveFile(s.ctx, want, start)
		s.must(err)
		s.same("last", last, false)
	}
	f, err := s.FileBySHA256(s.ctx, "sum")
	s.must(err)
	s.same("one that failed", f.ID, "0")
	_, last, err := s.RemoveFile(s.ctx, "0", start)
	s.must(err)
	s.same("last of all", last, true)
	_, err = s.FileBySHA256(s.ctx, "sum")
	s.is(err, store.ErrNotFound)
	_, err = s.FileBySHA256(s.ctx, "")
	s.is(err, store.ErrNotFound)
}

func (s *suite) stores() {
	v := store.VectorStore{ID: "vs", Name: "N", Description: "D", Metadata: json.RawMessage(`{"a":"b"}`), CreatedAt: start, UpdatedAt: start, ExpiresAt: start.Add(time.Hour)}
	s.must(s.AddStore(s.ctx, v, nil))
	s.is(s.AddStore(s.ctx, v, nil), store.ErrExists)
	got, err := s.reopen().Store(s.ctx, "vs")
	s.must(err)
	s.same("vector store", got, store.VectorStoreInfo{VectorStore: v})
	v.Name, v.Description, v.Metadata, v.ExpiresAt = "M", "", nil, time.Time{}
	got, err = s.UpdateStore(s.ctx, "vs", func(to *store.VectorStore) error { *to = v; to.ID = "z"; return nil })
	s.must(err)
	s.same("changed", got, store.VectorStoreInfo{VectorStore: v})
	boom := errors.New("boom")
	_, err = s.UpdateStore(s.ctx, "vs", func(to *store.VectorStore) error { to.Name = ""; return boom })
	s.is(err, boom)
	s.must(s.RemoveStore(s.ctx, "vs"))
	s.is(s.RemoveStore(s.ctx, "vs"), store.ErrNotFound)
	_, err = s.Store.Store(s.ctx, "vs")
	s.is(err, store.ErrNotFound)
	_, err = s.UpdateStore(s.ctx, "vs", func(*store.VectorStore) error { return nil })
	s.is(err, store.ErrNotFound)
}

func (s *suite) expiry() {
	for i, id := range []string{"never", "late", "soon", "now"} {
		v := store.VectorStore{ID: id, CreatedAt: start, UpdatedAt: start}
		if i > 0 {
			v.ExpiresAt = start.Add(time.Duration(4-i) * time.Hour)
		}
		s.must(s.AddStore(s.ctx, v, nil))
	}
	for at, want := range map[time.Duration][]string{0: nil, time.Hour: {"now"}, 9 * time.Hour: {"now", "soon", "late"}} {
		got, err := s.Expired(s.ctx, start.Add(at), 10)
		s.must(err)
		s.same(at.String(), got, want)
	}
	got, err := s.Expired(s.ctx, start.Add(9*time.Hour), 1)
	s.must(err)
	s.same("limited", got, []string{"now"})
}

func (s *suite) memberships() {
	s.addStore("v", "w")
	s.add("a")
	s.add("b", "v")
	s.must(s.Join(s.ctx, "v", []string{"a", "a"}))
	s.must(s.Join(s.ctx, "w", []string{"a"}))
	err := s.AddStore(s.ctx, store.VectorStore{ID: "x"}, []string{"a", "no"})
	if m, ok := errors.AsType[*store.NotFoundError](err); !ok || m.ID != "no" || m.What != "file" {
		s.Errorf("a vector store with a file that does not exist: %v", err)
	}
	_, err = s.Store.Store(s.ctx, "x")
	s.is(err, store.ErrNotFound)
	s.must(s.AddStore(s.ctx, store.VectorStore{ID: "x"}, []string{"b"}))
	s.same("created with a file", s.countsOf("x"), store.Counts{InProgress: 1, Total: 1})
	s.must(s.RemoveStore(s.ctx, "x"))
	err = s.Join(s.ctx, "w", []string{"b", "no"})
	if m, ok := errors.AsType[*store.NotFoundError](err); !ok || m.ID != "no" || m.What != "file" {
		s.Errorf("join of a file that does not exist: %v", err)
	}
	s.is(s.Join(s.ctx, "no", []string{"a"}), store.ErrNotFound)
	ms, err := s.Members(s.ctx, "v", "", 10)
	s.must(err)
	s.same("members", ms, []store.Membership{{Store: "v", File: "a", Status: store.Pending}, {Store: "v", File: "b", Status: store.Pending}})
	ms, err = s.Members(s.ctx, "v", "a", 1)
	s.must(err)
	s.same("members after", ms, []store.Membership{{Store: "v", File: "b", Status: store.Pending}})
	ids, err := s.StoresOf(s.ctx, "a")
	s.must(err)
	s.same("stores of", ids, []string{"v", "w"})
	s.same("w", s.countsOf("w"), store.Counts{InProgress: 1, Total: 1})
	s.must(s.Leave(s.ctx, "v", []string{"a", "nonmember"}))
	ids, err = s.StoresOf(s.ctx, "a")
	s.must(err)
	s.same("stores of", ids, []string{"w"})
	s.must(s.RemoveStore(s.ctx, "w"))
	ids, err = s.StoresOf(s.ctx, "a")
	s.must(err)
	s.same("stores of", len(ids), 0)
	// A new vector store with the id of a removed one is empty.
	s.addStore("w")
	s.same("created again", s.countsOf("w"), store.Counts{})
}

func (s *suite) counts() {
	s.addStore("v", "w")
	for _, id := range []string{"a", "b", "c", "d"} {
		s.add(id, "v", "w")
	}
	s.same("pending", s.countsOf("v"), store.Counts{InProgress: 4, Total: 4})
	// A file that is completed before its membership is acknowledged is not yet found in the vector store.
	s.end("a", store.Completed)
	s.same("not acknowledged", s.countsOf("v"), store.Counts{InProgress: 4, Total: 4})
	s.acknowledgeAll()
	s.same("acknowledged", s.countsOf("v"), store.Counts{InProgress: 3, Completed: 1, Total: 4})
	s.end("b", store.Failed)
	s.end("c", store.Cancelled)
	s.end("d", store.Running)
	s.same("each", s.countsOf("w"), store.Counts{InProgress: 1, Completed: 1, Failed: 1, Cancelled: 1, Total: 4})
	_, err := s.UpdateFile(s.ctx, "b", func(f *store.File) error { f.Bytes, f.Status = 5, store.Pending; return nil })
	s.must(err)
	c, err := s.Store.Store(s.ctx, "v")
	s.must(err)
	s.same("again", c.Counts, store.Counts{InProgress: 2, Completed: 1, Cancelled: 1, Total: 4})
	s.same("bytes", c.Bytes, int64(35))
	s.must(s.Leave(s.ctx, "v", []string{"a"}))
	if _, _, err = s.RemoveFile(s.ctx, "c", start); err != nil {
		s.Fatal(err)
	}
	c, err = s.reopen().Store(s.ctx, "v")
	s.must(err)
	s.same("fewer", c.Counts, store.Counts{InProgress: 2, Total: 2})
	s.same("bytes", c.Bytes, int64(15))
	s.same("other", s.countsOf("w"), store.Counts{InProgress: 2, Completed: 1, Total: 3})
}

// outbox returns the pending changes without their numbers, which must ascend.
func (s *suite) outbox() (out []store.IndexChange) {
	s.Helper()
	cs, err := s.PendingChanges(s.ctx, 0, 100)
	s.must(err)
	for i, c := range cs {
		if i > 0 && c.Seq <= cs[i-1].Seq {
			s.Errorf("changes are out of order: %v", cs)
		}
		c.Seq = 0
		out = append(out, c)
	}
	return out
}

func (s *suite) changes() {
	s.addStore("v")
	s.add("a", "v")
	s.add("b")
	s.must(s.Join(s.ctx, "v", []string{"b"}))
	s.same("joined", s.outbox(), []store.IndexChange{{Store: "v", File: "a", Present: true}, {Store: "v", File: "b", Present: true}})
	old, err := s.PendingChanges(s.ctx, 0, 1)
	s.must(err)
	s.must(s.Leave(s.ctx, "v", []string{"a"}))
	// A later change of the same membership is another entry: acknowledging the earlier one leaves it.
	s.must(s.AcknowledgeChanges(s.ctx, old))
	s.same("left", s.outbox(), []store.IndexChange{{Store: "v", File: "b", Present: true}, {Store: "v", File: "a"}})
	next, err := s.PendingChanges(s.ctx, old[0].Seq+1, 10)
	s.must(err)
	s.same("after", len(next), 1)
	if _, _, err := s.RemoveFile(s.ctx, "b", start); err != nil {
		s.Fatal(err)
	}
	s.same("removed", s.outbox(), []store.IndexChange{{Store: "v", File: "a"}, {Store: "v", File: "b"}, {File: "b"}})
	s.must(s.RemoveStore(s.ctx, "v"))
	s.same("gone", s.outbox(), []store.IndexChange{{Store: "v", File: "a"}, {Store: "v", File: "b"}, {File: "b"}, {Store: "v"}})
	s.addStore("v")
	s.add("b")
	s.same("back", s.outbox(), []store.IndexChange{{Store: "v", File: "a"}, {Store: "v", File: "b"}, {File: "b", Present: true}, {Store: "v", Present: true}})
	s.acknowledgeAll()
	s.same("acknowledged", len(s.outbox()), 0)
	s.must(s.AcknowledgeChanges(s.ctx, []store.IndexChange{{Seq: 99, Store: "v", File: "a"}}))
}

func (s *suite) tasks() {
	want := store.Task{ID: "delete-v", Type: "delete", Status: store.Completed, Progress: 99.5, Resource: "v", Failure: "f", Tries: 2, Delay: time.Second, CreatedAt: start, UpdatedAt: start}
	s.must(s.PutTask(s.ctx, want))
	got, err := s.reopen().Task(s.ctx, "delete-v")
	s.must(err)
	s.same("task", got, want)
	_, err = s.UpdateTask(s.ctx, "delete-v", func(t *store.Task, f *store.File) error {
		if f != nil {
			s.Errorf("a file of a task without one: %v", f)
		}
		t.ID, t.Progress = "x", 100
		return nil
	})
	s.must(err)
	want.Progress = 100
	got, err = s.Task(s.ctx, "delete-v")
	s.must(err)
	s.same("changed", got, want)
	s.add("a")
	boom := errors.New("boom")
	_, err = s.UpdateTask(s.ctx, "upload-a", func(t *store.Task, f *store.File) error { t.Status, f.Name = store.Failed, "x"; return boom })
	s.is(err, boom)
	f, err := s.File(s.ctx, "a")
	s.must(err)
	s.same("file", f, file("a"))
	_, err = s.UpdateTask(s.ctx, "no", func(*store.Task, *store.File) error { return nil })
	s.is(err, store.ErrNotFound)

	// A task is kept as long as its file exists.
	s.end("a", store.Completed)
	n, err := s.DeleteOldTasks(s.ctx, start.Add(time.Hour))
	s.must(err)
	s.same("deleted", n, 1)
	_, err = s.Task(s.ctx, "delete-v")
	s.is(err, store.ErrNotFound)
	_, err = s.Task(s.ctx, "upload-a")
	s.must(err)
}

// fetching tests that tasks are in the queue of unfetched files as long as their files have no hash.
func (s *suite) fetching() {
	for i, id := range []string{"url", "next", "sent"} {
		f := file(id)
		if id != "sent" {
			f.URL, f.SHA256 = "https://example.org/"+id, ""
		}
		s.must(s.AddFile(s.ctx, f, task(id, i), nil))
	}
	starts := func(unfetched bool, want string) {
		s.Helper()
		got, err := s.StartNext(s.ctx, start, unfetched, "")
		if want == "" {
			s.is(err, store.ErrNotFound)
			return
		}
		s.must(err)
		s.same("started", got.Resource, want)
	}
	starts(false, "sent")
	starts(false, "")
	starts(true, "url")
	_, err := s.UpdateFile(s.ctx, "url", func(f *store.File) error { f.SHA256 = "sum"; return nil })
	s.must(err)
	if _, err = s.Requeue(s.ctx, start, func(t store.Task) bool { return t.ID != "upload-sent" }); err != nil {
		s.Fatal(err)
	}
	starts(true, "next")
	starts(true, "")
	starts(false, "url")
	starts(false, "")
	s.end("next", store.Failed)
	s.end("next", store.Pending)
	starts(true, "next")
}

func (s *suite) removal() {
	s.addStore("v")
	s.add("a", "v")
	s.add("b")
	s.end("b", store.Completed)
	at := start.Add(time.Minute)
	f, last, err := s.RemoveFile(s.ctx, "a", at)
	s.must(err)
	s.same("removed", []any{f.ID, last}, []any{"a", true})
	t, err := s.Task(s.ctx, "upload-a")
	s.must(err)
	s.same("task", []any{t.Status, t.Failure != "", t.UpdatedAt}, []any{store.Cancelled, true, at})
	s.same("counts", s.countsOf("v"), store.Counts{})
	_, _, err = s.RemoveFile(s.ctx, "a", at)
	s.is(err, store.ErrNotFound)
	if _, _, err = s.RemoveFile(s.ctx, "b", at); err != nil {
		s.Fatal(err)
	}
	t, err = s.Task(s.ctx, "upload-b")
	s.must(err)
	s.same("task that was done", t.Status, store.Completed)
	// A new file with the id of a removed one has its own task, which is kept.
	s.add("a")
	s.end("a", store.Completed)
	n, err := s.DeleteOldTasks(s.ctx, at.Add(time.Second))
	s.must(err)
	s.same("deleted", n, 1)
	if _, err = s.Task(s.ctx, "upload-a"); err != nil {
		s.Error(err)
	}
}

func (s *suite) listings() {
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("f%02d", (i*7)%25)
		want = append(want, id)
		s.add(id)
		s.addStore(id)
	}
	slices.Sort(want)
	var files, stores []string
	for after := ""; ; {
		fs, err := s.Files(s.ctx, after, 10)
		s.must(err)
		vs, err := s.Stores(s.ctx, after, 10)
		s.must(err)
		if len(fs) == 0 {
			break
		}
		for i, f := range fs {
			files, stores, after = append(files, f.ID), append(stores, vs[i].ID), f.ID
		}
	}
	s.same("files", files, want)
	s.same("vector stores", stores, want)
}

// concurrent tests that the counts add up in each read during concurrent writes.
func (s *suite) concurrent() {
	const files = 40
	s.addStore("v")
	done := make(chan struct{})
	var reader, writers sync.WaitGroup
	reader.Go(func() {
		for last := 0; ; {
			c, err := s.Store.Store(s.ctx, "v")
			if err != nil {
				s.Error(err)
				return
			}
			n := c.Counts
			if n.InProgress+n.Completed+n.Failed+n.Cancelled != n.Total || n.Total < last || n.InProgress < 0 || c.Bytes != int64(10*n.Total) {
				s.Errorf("counts %+v of %d bytes after a total of %d", n, c.Bytes, last)
				return
			}
			last = n.Total
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for w := range 4 {
		writers.Go(func() {
			for i := range files / 4 {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := s.AddFile(s.ctx, file(id), task(id, i), []string{"v"}); err != nil {
					s.Error(err)
				}
				if _, err := s.UpdateTask(s.ctx, "upload-"+id, func(t *store.Task, f *store.File) error {
					t.Status, f.Status = store.Completed, store.Completed
					return nil
				}); err != nil {
					s.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	reader.Wait()
	s.acknowledgeAll()
	s.same("in the end", s.countsOf("v"), store.Counts{Completed: files, Total: files})
}

func (s *suite) cancelled() {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.AddFile(ctx, file("a"), task("a", 0), nil); !errors.Is(err, context.Canceled) {
		s.Errorf("a cancelled context: %v", err)
	}
	_, err := s.File(s.ctx, "a")
	s.is(err, store.ErrNotFound)
	s.add("a")
}
