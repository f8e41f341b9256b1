package files_test

import (
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/store"
)

// TestServersShareTasks lets two servers share records, bytes and an index. One of them stands still while it reads two files. The other one leaves them alone
// until the first counts as dead, and then reads one and deletes the other. What the first one does later changes nothing.
func TestServersShareTasks(t *testing.T) {
	t.Parallel()
	var dead atomic.Bool
	var h *held
	var o files.Options
	p := newPlace(t, func(p *place, at *options) {
		at.Server, at.Workers = "one", 2
		at.Gone = func(string) bool { return false }
		at.Blobs = blobs.NewFolder(filepath.Join(at.dir, "files", "blobs"))
		if p != nil {
			o = at.Options
			h = newHeld(at.Ingest)
			at.Ingest = h
		}
	})
	first, second := p.send(files.Upload{}, ferns), p.send(files.Upload{}, "Mosses have no roots.")
	for range 2 {
		<-h.begun
	}
	o.Server, o.Gone, o.Logger = "two", func(server string) bool { return server == "one" && dead.Load() }, slog.New(slog.DiscardHandler)
	other, err := files.Open(t.Context(), filepath.Join(t.TempDir(), "files"), o)
	p.must(err)
	defer func() { p.must(other.Close()) }()
	p.must(other.TakeOver(t.Context()))
	for _, id := range []string{first, second} {
		if task, err := p.store.Task(t.Context(), "upload-"+id); err != nil || task.Status != store.Running || task.Server != "one" {
			t.Errorf("the task of a server that is alive: %+v, %v", task, err)
		}
	}
	p.must(other.DeleteFile(t.Context(), second))
	dead.Store(true)
	p.must(other.TakeOver(t.Context()))
	task, err := other.WaitTask(t.Context(), "upload-"+first)
	p.must(err)
	if task.Status != store.Completed || task.Server != "two" || task.Tries != 2 {
		t.Errorf("the task that was taken over: %+v", task)
	}
	if task, err := p.WaitTask(t.Context(), "upload-"+first); err != nil || task.Status != store.Completed { // on the server that does not run it
		t.Errorf("%+v, %v", task, err)
	}
	close(h.letGo)
	for !p.Idle() { // the end of the test is its timeout
		<-time.After(time.Millisecond)
	}
	p.finds("", "Mosses")
	p.finds("", "ferns", first)
	for id, want := range map[string]store.Status{first: store.Completed, second: store.Cancelled} {
		if again, err := p.store.Task(t.Context(), "upload-"+id); err != nil || again.Status != want {
			t.Errorf("the task of %s afterwards: %+v, %v", id, again, err)
		}
	}
}
