package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"testing"

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

// awayIndex is an ingester whose index cannot be reached.
type awayIndex struct {
	files.Ingester
	away  *atomic.Bool
	tried chan struct{}
}

func (a awayIndex) IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error) {
	if a.away.Load() {
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
