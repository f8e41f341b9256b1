package files_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/store"
)

// gate is a fetcher that blocks until it is opened.
type gate struct {
	begun chan string
	open  chan struct{}
}

func (g *gate) Check(string) error { return nil }

func (g *gate) Fetch(ctx context.Context, url string, w io.Writer) (string, error) {
	g.begun <- url
	select {
	case <-g.open:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	_, err := fmt.Fprintf(w, "Ferns of %s", url)
	return "text/markdown", err
}

// counted is an ingester that records its maximum number of concurrent files.
type counted struct {
	files.Ingester
	now, most atomic.Int32
}

func (c *counted) IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error) {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return c.Ingester.IngestFile(ctx, f, progress)
}

// TestSlowURLsDoNotBlockUploads checks that uploaded files are indexed while all fetchers wait, and that fetched files count towards the limit of
// concurrently indexed files.
func TestSlowURLsDoNotBlockUploads(t *testing.T) {
	t.Parallel()
	g := &gate{begun: make(chan string, 10), open: make(chan struct{})}
	var c *counted
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			c = &counted{Ingester: o.Ingest}
			o.Ingest, o.Fetch, o.Workers, o.Fetchers = c, g, 1, 2
		}
	})
	var urls []string
	for i := range 4 {
		f, _, err := p.Upload(t.Context(), files.Upload{URL: fmt.Sprintf("https://example.org/%d", i)})
		p.must(err)
		urls = append(urls, f.ID)
	}
	<-g.begun
	<-g.begun
	p.indexed(files.Upload{}, ferns)
	if len(g.begun) > 0 {
		t.Error("more are fetched at once than there are fetchers")
	}
	if f, err := p.File(t.Context(), urls[0]); err != nil || f.Status != store.Running {
		t.Errorf("a file that is fetched is %s, %v", f.Status, err)
	}
	close(g.open)
	var sent sync.WaitGroup
	for i := range 3 {
		sent.Go(func() {
			f, _, err := p.Upload(p.ctx(), files.Upload{Name: "a.md", Body: strings.NewReader(fmt.Sprint("Mosses ", i))})
			if err == nil {
				_, err = p.WaitTask(p.ctx(), "upload-"+f.ID)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	sent.Wait()
	for _, id := range urls {
		if task := p.await(id, store.Completed); task.Tries != 1 {
			t.Errorf("%d tries", task.Tries)
		}
	}
	if n := c.most.Load(); n != 1 {
		t.Errorf("%d files were read at once, want 1", n)
	}
	p.checkConsistent()
}

// telling is a store that reports updated files.
type telling struct {
	inner
	changed chan string
}

func (s *telling) UpdateFile(ctx context.Context, id string, change func(*store.File) error) (store.File, error) {
	f, err := s.inner.UpdateFile(ctx, id, change)
	s.changed <- id
	return f, err
}

// TestFetchedBeforeClose checks that a file is not fetched again if the service is closed before the file is indexed.
func TestFetchedBeforeClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := &gate{begun: make(chan string, 10), open: make(chan struct{})}
	close(g.open)
	var h *held
	kept := &telling{changed: make(chan string, 10)}
	p := newPlace(t, func(p *place, o *options) {
		if o.dir = dir; p != nil {
			h = newHeld(o.Ingest)
			kept.inner, o.Store = p.store, kept
			o.Ingest, o.Fetch, o.Workers = h, g, 1
		}
	})
	p.send(files.Upload{}, ferns)
	<-h.begun
	_, task, err := p.Upload(t.Context(), files.Upload{URL: "https://example.org/a"})
	p.must(err)
	<-kept.changed
	p.close()
	p = newPlace(t, func(_ *place, o *options) { o.dir = dir })
	if task, err = p.WaitTask(p.ctx(), task.ID); err != nil || task.Status != store.Completed || task.Tries != 1 {
		t.Errorf("%+v, %v", task, err)
	}
}
