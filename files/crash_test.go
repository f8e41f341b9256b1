package files_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/store"
)

// Environment variables that tell the child process its folder and the step at which it is killed.
const (
	crashDir  = "SLUICE_FILES_CRASH_DIR"
	crashStep = "SLUICE_FILES_CRASH_STEP"
	crashAll  = "SLUICE_FILES_CRASH_ALL" // set by a developer: kill at each step instead of some
)

// fuse kills the process before or after a step that changes something.
type fuse struct{ left atomic.Int64 }

func (f *fuse) burn() {
	if f.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (f *fuse) around(do func() error) error {
	f.burn()
	err := do()
	f.burn()
	return err
}

// fusedStore and fusedIndex call the fuse around each change.
type fusedStore struct {
	inner
	*fuse
}

// inner is an alias, since the name Store is a method.
type inner interface{ files.Store }

func (s fusedStore) AddFile(ctx context.Context, f store.File, t store.Task, stores []string) error {
	return s.around(func() error { return s.inner.AddFile(ctx, f, t, stores) })
}

func (s fusedStore) AddStore(ctx context.Context, v store.VectorStore, ids []string) error {
	return s.around(func() error { return s.inner.AddStore(ctx, v, ids) })
}

func (s fusedStore) UpdateTask(ctx context.Context, id string, change func(*store.Task, *store.File) error) (t store.Task, err error) {
	err = s.around(func() error { t, err = s.inner.UpdateTask(ctx, id, change); return err })
	return t, err
}

func (s fusedStore) RemoveFile(ctx context.Context, id string, at time.Time) (f store.File, last bool, err error) {
	err = s.around(func() error { f, last, err = s.inner.RemoveFile(ctx, id, at); return err })
	return f, last, err
}

func (s fusedStore) Join(ctx context.Context, id string, ids []string) error {
	return s.around(func() error { return s.inner.Join(ctx, id, ids) })
}

func (s fusedStore) Leave(ctx context.Context, id string, ids []string) error {
	return s.around(func() error { return s.inner.Leave(ctx, id, ids) })
}

func (s fusedStore) RemoveStore(ctx context.Context, id string) error {
	return s.around(func() error { return s.inner.RemoveStore(ctx, id) })
}

func (s fusedStore) AcknowledgeChanges(ctx context.Context, changes []store.IndexChange) error {
	return s.around(func() error { return s.inner.AcknowledgeChanges(ctx, changes) })
}

type fusedIndex struct {
	files.Index
	*fuse
}

func (x fusedIndex) Put(ctx context.Context, docs []corpus.Document, entries [][]index.Entry) error {
	return x.around(func() error { return x.Index.Put(ctx, docs, entries) })
}

func (x fusedIndex) Delete(ctx context.Context, collection string, ids []corpus.DocumentID) error {
	return x.around(func() error { return x.Index.Delete(ctx, collection, ids) })
}

func (x fusedIndex) AddToSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error {
	return x.around(func() error { return x.Index.AddToSet(ctx, collection, set, ids) })
}

func (x fusedIndex) RemoveFromSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error {
	return x.around(func() error { return x.Index.RemoveFromSet(ctx, collection, set, ids) })
}

func (x fusedIndex) DeleteSet(ctx context.Context, collection, set string) error {
	return x.around(func() error { return x.Index.DeleteSet(ctx, collection, set) })
}

// TestCrashChild is the child process of the crash tests. It does nothing if it is run directly.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("run by TestCrash")
	}
	step, err := strconv.ParseInt(os.Getenv(crashStep), 10, 64)
	require.NoError(t, err)
	f := &fuse{}
	f.left.Store(1 << 40)
	p := newPlace(t, func(p *place, o *options) {
		o.embedder = nil
		if o.dir = dir; p != nil {
			o.Workers = 1
			x := fusedIndex{p.index, f}
			o.Store, o.Index = fusedStore{p.store, f}, x
			o.Ingest = ingest.New(x, nil, ingest.Options{Workers: 1})
		}
	})
	f.left.Store(step)
	p.newStore("a")
	p.newStore("b")
	fern := p.indexed(files.Upload{ID: "fern", Stores: []string{"a"}}, ferns)
	p.send(files.Upload{ID: "copy", Stores: []string{"a", "b"}}, ferns)
	moss := p.indexed(files.Upload{ID: "moss", Stores: []string{"b"}}, "Mosses have spores too.")
	change := func(id string, c files.StoreUpdate) {
		_, err := p.ModifyStore(t.Context(), id, c)
		p.must(err)
	}
	change("b", files.StoreUpdate{Join: []string{fern}})
	change("a", files.StoreUpdate{Leave: []string{fern}, Join: []string{moss}})
	p.must(p.DeleteFile(t.Context(), moss))
	p.must(p.DeleteStore(t.Context(), "b"))
	p.must(p.DeleteFile(t.Context(), "copy"))
	fmt.Println("reached the end with", f.left.Load(), "left")
}

// crash runs the child until it is killed at a step, and reports whether it ended before that step.
func crash(t *testing.T, dir string, step int) (ended bool) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashChild$", "-test.v")
	child.Env = append(os.Environ(), crashDir+"="+dir, crashStep+"="+strconv.Itoa(step))
	out, err := child.CombinedOutput()
	if err == nil {
		return true
	}
	status, ok := errors.AsType[*exec.ExitError](err)
	if ws, isWait := status.Sys().(syscall.WaitStatus); !ok || !isWait || ws.Signal() != syscall.SIGKILL {
		t.Fatalf("step %d: %v\n%s", step, err, out)
	}
	return false
}

// TestCrash kills a process at each step that changes something and checks that the service is consistent when it is opened again: no task runs for
// ever, index and store agree, and no bytes are left over.
func TestCrash(t *testing.T) {
	t.Parallel()
	stride := 7 // odd, so that it stops before some changes and after others
	switch {
	case testing.Short():
		t.Skip("starts processes")
	case os.Getenv(crashAll) != "":
		stride = 1
	case race.Enabled:
		stride = 21
	}
	for step := 2; ; step += stride {
		dir := t.TempDir()
		if crash(t, dir, step) {
			if step < 40 {
				t.Errorf("the child changes no more than %d things", step)
			}
			return
		}
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			p := newPlace(t, func(_ *place, o *options) { o.dir, o.embedder = dir, nil })
			fs, err := p.Files(t.Context(), "", 100)
			p.must(err)
			for _, f := range fs {
				p.await(f.ID, store.Completed)
			}
			p.checkConsistent()
		})
	}
}

func TestCrashLoopEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var id string
	for try := range 5 {
		var h *held
		p := newPlace(t, func(p *place, o *options) {
			if o.dir = dir; p != nil {
				h = newHeld(o.Ingest)
				o.Ingest, o.Workers = h, 1
			}
		})
		if try == 0 {
			id = p.send(files.Upload{}, ferns)
		}
		if try < 3 {
			<-h.begun
			// A killed process leaves a task that is running.
			_, err := p.store.UpdateTask(t.Context(), "upload-"+id, func(t *store.Task, _ *store.File) error { t.Tries++; return nil })
			p.must(err)
			p.close()
			continue
		}
		if task := p.await(id, store.Failed); !strings.Contains(task.Failure, "crashed or was killed each of the 3 times") || !strings.Contains(task.Failure, "upload it") {
			t.Errorf("failed with %q", task.Failure)
		}
		p.close()
	}
}

func TestCloseAndOpenAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var h *held
	p := newPlace(t, func(p *place, o *options) {
		if o.dir = dir; p != nil {
			h = newHeld(o.Ingest)
			o.Ingest, o.Workers = h, 1
		}
	})
	p.newStore("a")
	first, second := p.send(files.Upload{Stores: []string{"a"}}, ferns), p.send(files.Upload{}, "Mosses.")
	<-h.begun
	p.close()
	p = newPlace(t, func(_ *place, o *options) { o.dir = dir })
	if task := p.await(first, store.Completed); task.Tries != 1 {
		t.Errorf("stopping in order counts as %d tries", task.Tries)
	}
	p.await(second, store.Completed)
	p.finds("a", "spores", first)
	p.checkConsistent()

	// A lost index is created again.
	p.close()
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "index")))
	p = newPlace(t, func(_ *place, o *options) { o.dir = dir })
	p.await(first, store.Completed)
	p.await(second, store.Completed)
	p.finds("a", "spores", first)
	p.checkConsistent()
}

func TestLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newPlace(t, func(_ *place, o *options) { o.dir = dir })
	p.indexed(files.Upload{}, ferns)
	kept := p.blobs()[0]
	p.close()
	stray := strings.Repeat("ab", 32)
	at := filepath.Join(dir, "files")
	for name, text := range map[string]string{
		"staged/new.123": "half", "staged/" + stray + ".9": "no row", "staged/" + kept + ".8": ferns, "staged/" + stray + ".going": "", "staged/" + kept + ".going": "",
		"blobs/ab/" + stray: "no row",
	} {
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(at, name)), 0o700), os.WriteFile(filepath.Join(at, name), []byte(text), 0o600)))
	}
	newPlace(t, func(_ *place, o *options) { o.dir = dir }).checkConsistent()
}

// faulty is a store whose disk fails for a while.
type faulty struct {
	inner
	full    atomic.Bool   // the results of tasks cannot be written
	removal chan struct{} // if set, removals wait for it and then fail
	waits   chan struct{} // closed when a removal waits
	begins  chan string   // if set, receives the files whose tasks start
}

func (f *faulty) StartNext(ctx context.Context, at time.Time, unfetched bool, server string) (store.Task, error) {
	t, err := f.inner.StartNext(ctx, at, unfetched, server)
	if f.begins != nil && err == nil {
		f.begins <- t.Resource
	}
	return t, err
}

func (f *faulty) UpdateTask(ctx context.Context, id string, change func(*store.Task, *store.File) error) (store.Task, error) {
	if f.full.Load() {
		return store.Task{}, syscall.ENOSPC
	}
	return f.inner.UpdateTask(ctx, id, change)
}

func (f *faulty) RemoveFile(ctx context.Context, id string, at time.Time) (store.File, bool, error) {
	if f.removal != nil {
		close(f.waits)
		<-f.removal
		return store.File{}, false, syscall.ENOSPC
	}
	return f.inner.RemoveFile(ctx, id, at)
}

// TestTaskEndOnAFullDisk checks that a task whose result could not be written does not stay running.
func TestTaskEndOnAFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f *faulty
		p := newPlace(t, func(p *place, o *options) {
			if p != nil {
				f = &faulty{inner: p.store}
				o.Store = f
			}
		})
		f.full.Store(true)
		id := p.send(files.Upload{}, ferns)
		time.Sleep(30 * time.Second)
		f.full.Store(false)
		p.await(id, store.Completed)
		p.checkConsistent()
		p.close()
	})
}

// TestTaskAfterAFailedDeletion checks that a task that was due while its file was being deleted runs after the deletion has failed.
func TestTaskAfterAFailedDeletion(t *testing.T) {
	t.Parallel()
	var f *faulty
	var h *held
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			f = &faulty{inner: p.store, removal: make(chan struct{}), waits: make(chan struct{}), begins: make(chan string, 10)}
			h = newHeld(o.Ingest)
			o.Store, o.Ingest, o.Workers = f, h, 1
		}
	})
	first, stays, last := p.send(files.Upload{}, ferns), p.send(files.Upload{}, "Mosses."), p.send(files.Upload{}, "Lichens.")
	<-h.begun
	failed := make(chan error)
	go func() { failed <- p.DeleteFile(p.ctx(), stays) }()
	<-f.waits
	close(h.letGo)
	for _, id := range []string{first, stays, last} { // the worker has skipped the file in between
		if got := <-f.begins; got != id {
			t.Fatalf("%s begins, want %s", got, id)
		}
	}
	close(f.removal)
	if err := <-failed; !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("deleted: %v", err)
	}
	for _, id := range []string{first, stays, last} {
		p.await(id, store.Completed)
	}
}

// slow is an index whose DocumentsByID and Delete block.
type slow struct {
	files.Index
	look, looks, deletion, deletes chan struct{}
}

func (x *slow) DocumentsByID(ctx context.Context, collection string, ids []corpus.DocumentID) ([]corpus.Document, error) {
	if collection != files.Collection {
		close(x.looks)
		<-x.look
	}
	return x.Index.DocumentsByID(ctx, collection, ids)
}

func (x *slow) Delete(ctx context.Context, collection string, ids []corpus.DocumentID) error {
	close(x.deletes)
	<-x.deletion
	return x.Index.Delete(ctx, collection, ids)
}

// TestUploadWhileItsIDIsDeleted checks that a file with an id is not added while the index still has the deleted document with this id.
func TestUploadWhileItsIDIsDeleted(t *testing.T) {
	t.Parallel()
	for _, up := range []files.Upload{{Body: strings.NewReader("Mosses.")}, {URL: "https://h/moss"}} {
		var x *slow
		p := newPlace(t, func(p *place, o *options) {
			o.Fetch = source{"https://h/moss": "Mosses."}
			if p != nil {
				x = &slow{Index: o.Index, look: make(chan struct{}), looks: make(chan struct{}), deletion: make(chan struct{}), deletes: make(chan struct{})}
				o.Index = x
			}
		})
		id := p.indexed(files.Upload{}, ferns)
		up.ID = id
		uploaded, deleted := make(chan error), make(chan error)
		go func() { _, _, err := p.Upload(p.ctx(), up); uploaded <- err }()
		<-x.looks
		go func() { deleted <- p.DeleteFile(p.ctx(), id) }()
		<-x.deletes
		close(x.look)
		wantFault(t, "upload", <-uploaded, fault.Conflict, "")
		close(x.deletion)
		p.must(<-deleted)
		p.checkConsistent()
	}
}
