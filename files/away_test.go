package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/store"
)

// remote is a folder that is used as a store elsewhere, whose readers cannot seek. It can be away.
type remote struct {
	*blobs.Folder
	away  atomic.Bool
	tried chan struct{}
}

func (r *remote) Open(ctx context.Context, sum string) (io.ReadCloser, error) {
	if r.away.Load() {
		select {
		case r.tried <- struct{}{}:
		default:
		}
		return nil, blobs.Unavailable(errors.New("test"))
	}
	body, err := r.Folder.Open(ctx, sum)
	return struct{ io.ReadCloser }{body}, err
}

func (r *remote) Remove(ctx context.Context, sum string) error {
	if r.away.Load() {
		return blobs.Unavailable(errors.New("test"))
	}
	return r.Folder.Remove(ctx, sum)
}

// TestBytesAway indexes a file whose bytes cannot be read at first, and deletes one whose bytes cannot be removed at first.
func TestBytesAway(t *testing.T) {
	t.Parallel()
	r := &remote{tried: make(chan struct{}, 1)}
	p := newPlace(t, func(_ *place, o *options) {
		r.Folder = blobs.NewFolder(filepath.Join(o.dir, "files", "blobs"))
		o.Blobs = r
	})
	r.away.Store(true)
	id := p.send(files.Upload{}, ferns)
	<-r.tried
	if _, _, err := p.Open(p.ctx(), id); !errors.Is(err, blobs.ErrUnavailable) || fault.Public(err).Code != fault.Unavailable {
		t.Errorf("open: %v", err)
	}
	r.away.Store(false)
	p.await(id, store.Completed)
	body, _, err := p.Open(p.ctx(), id)
	p.must(err)
	for _, from := range []int64{0, 5, 0} { // the second one reads a copy
		_, err := body.Seek(from, io.SeekStart)
		p.must(err)
		if got, err := io.ReadAll(body); err != nil || string(got) != ferns[from:] {
			t.Errorf("read from %d: %q, %v", from, got, err)
		}
	}
	p.must(body.Close())
	r.away.Store(true)
	wantFault(t, "delete", p.DeleteFile(p.ctx(), id), fault.Unavailable, "")
	if _, err := p.File(p.ctx(), id); fault.Public(err).Code != fault.NotFound || len(p.blobs()) != 1 {
		t.Errorf("file: %v, %d blobs", err, len(p.blobs()))
	}
	r.away.Store(false)
	p.must(p.CompleteRemovals(p.ctx()))
	p.checkConsistent()
}

// awayIndex is an ingester whose index cannot be reached, if only is set for this file.
type awayIndex struct {
	files.Ingester
	away  *atomic.Bool
	tried chan struct{}
	only  *atomic.Value // the id of the file; nil: all
}

func (a awayIndex) IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error) {
	if a.away.Load() && (a.only == nil || a.only.Load() == string(f.ID)) {
		a.tried <- struct{}{}
		return ingest.FileResult{}, fmt.Errorf("index file: %w", fault.New(fault.Unavailable, "the index cannot be reached"))
	}
	return a.Ingester.IngestFile(ctx, f, progress)
}

// TestIndexAway accepts a file while the index cannot be reached, for longer than the file may be tried. It is indexed when the index is back.
func TestIndexAway(t *testing.T) {
	t.Parallel()
	a := awayIndex{away: new(atomic.Bool), tried: make(chan struct{}, 1000)}
	p := newPlace(t, func(_ *place, o *options) {
		a.Ingester = o.Ingest
		o.Ingest = a
	})
	a.away.Store(true)
	id := p.send(files.Upload{}, ferns)
	for range 5 {
		<-a.tried
	}
	if f, err := p.File(p.ctx(), id); err != nil || f.Status == store.Failed {
		t.Errorf("the file is %s %q, %v", f.Status, f.Failure, err)
	}
	a.away.Store(false)
	p.await(id, store.Completed)
	p.checkConsistent()
}

// TestIndexAwayFetched is [TestIndexAway] for a file that was fetched by URL. Its task changes the queue when its bytes are here.
func TestIndexAwayFetched(t *testing.T) {
	t.Parallel()
	a := awayIndex{away: new(atomic.Bool), tried: make(chan struct{}, 1000)}
	p := newPlace(t, func(_ *place, o *options) {
		a.Ingester = o.Ingest
		o.Ingest, o.Fetch = a, source{"https://example.org/ferns": ferns}
	})
	a.away.Store(true)
	f, _, err := p.Upload(t.Context(), files.Upload{URL: "https://example.org/ferns"})
	p.must(err)
	<-a.tried
	a.away.Store(false)
	p.await(f.ID, store.Completed)
	p.checkConsistent()
}

// TestFileNeverIndexed has a file that the index never accepts, and one worker. Younger files go first, also on another server. The file says why it waits, its tries get
// rarer, and it is indexed within 16 seconds after the index accepts it.
func TestFileNeverIndexed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := awayIndex{away: new(atomic.Bool), tried: make(chan struct{}, 1000), only: new(atomic.Value)}
		a.away.Store(true)
		a.only.Store("first")
		var o files.Options
		p := newPlace(t, func(p *place, at *options) {
			at.Server, at.Workers = "one", 1
			at.Gone = func(string) bool { return false }
			at.Blobs = blobs.NewFolder(filepath.Join(at.dir, "files", "blobs"))
			if p != nil {
				a.Ingester = at.Ingest
				at.Ingest = a
				o = at.Options
			}
		})
		p.send(files.Upload{ID: "first"}, ferns)
		<-a.tried
		begun := time.Now()
		p.indexed(files.Upload{ID: "second"}, "Mosses have no roots.")
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("the younger file is indexed after %v", took)
		}
		task, err := p.Task(t.Context(), "upload-first")
		p.must(err)
		f, err := p.File(t.Context(), "first")
		p.must(err)
		const why = "it is tried again, because the index cannot be reached"
		if task.Status != store.Pending || task.Failure != why || f.Status != store.Pending || f.Failure != why {
			t.Errorf("the file that waits: %+v, %+v", task, f)
		}

		<-time.After(50*time.Second - time.Since(begun)) // in synctest, a sweep of the service, after a minute, could wait for a worker that waits for the database
		if n := len(a.tried); n < 5 || n > 7 {
			t.Errorf("%d more tries in 50 seconds", n)
		}
		for len(a.tried) > 0 {
			<-a.tried
		}

		// Another server starts, and the first one is dead.
		p.must(p.Service.Close())
		o.Server, o.Gone, o.Logger = "two", func(string) bool { return true }, slog.New(slog.DiscardHandler)
		p.Service, err = files.Open(t.Context(), filepath.Join(t.TempDir(), "files"), o)
		p.must(err)
		p.indexed(files.Upload{ID: "third"}, "Lichens are not plants.")
		<-a.tried
		a.away.Store(false)
		begun = time.Now()
		p.await("first", store.Completed)
		if took := time.Since(begun); took > 16*time.Second {
			t.Errorf("the file is indexed %v after the index is back", took)
		}
		if f, err := p.File(t.Context(), "first"); err != nil || f.Failure != "" {
			t.Errorf("the file that is indexed: %+v, %v", f, err)
		}
		p.checkConsistent()
		p.close()
	})
}
