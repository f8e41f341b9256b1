package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/store"
)

// TestWatch follows a task from before the upload to its end.
func TestWatch(t *testing.T) {
	t.Parallel()
	var h *held
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			h = newHeld(o.Ingest)
			o.Ingest = h
		} else {
			o.embedder = muteModel{o.embedder}
		}
	})
	w := p.Watch("a")
	defer w.Close()
	_, err := w.Next(p.ctx())
	wantFault(t, "before the upload", err, fault.NotFound, "")
	p.send(files.Upload{ID: "a"}, "# A\n\nMosses have spores.\n")
	<-h.begun
	first, err := w.Next(p.ctx())
	p.must(err)
	if first.Task.Status != store.Running || first.Stage != files.Parsing || first.Task.Progress != 30 {
		t.Errorf("%+v", first)
	}
	gone, cancel := context.WithCancel(p.ctx())
	cancel()
	if _, err := w.Next(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("without a change: %v", err)
	}
	late := p.Watch("a")
	defer late.Close()
	if got, err := late.Next(p.ctx()); err != nil || got.Stage != files.Parsing {
		t.Errorf("a second watcher: %+v, %v", got, err)
	}
	close(h.letGo)
	last := first
	for !last.Task.Status.Final() {
		next, err := w.Next(p.ctx())
		p.must(err)
		if next.Task.Progress < last.Task.Progress {
			t.Errorf("%v%% after %v%%", next.Task.Progress, last.Task.Progress)
		}
		last = next
	}
	if last.Task.Status != store.Completed || last.Task.Progress != 100 || last.Stage != "" || last.Unembedded == 0 {
		t.Errorf("%+v", last)
	}
}

// TestWatchDeleted follows a task whose file is deleted.
func TestWatchDeleted(t *testing.T) {
	t.Parallel()
	var h *held
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			h = newHeld(o.Ingest)
			o.Ingest = h
		}
	})
	w := p.Watch("a")
	defer w.Close()
	p.send(files.Upload{ID: "a"}, "text")
	<-h.begun
	_, err := w.Next(p.ctx())
	p.must(err)
	p.must(p.DeleteFile(p.ctx(), "a"))
	if got, err := w.Next(p.ctx()); err != nil || got.Task.Status != store.Cancelled {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestUploadWithMetadata uploads a file with metadata for filters.
func TestUploadWithMetadata(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	id := p.indexed(files.Upload{Metadata: json.RawMessage(`{"year":1849}`), Contributor: "ada"}, "text")
	f, err := p.File(p.ctx(), id)
	p.must(err)
	if string(f.Fields) != `{"contributor":"ada","metadata":{"year":1849}}` {
		t.Errorf("%s", f.Fields)
	}
	for what, raw := range map[string]string{"a list": `[]`, "null": `null`, "no JSON": `{`, "a number out of range": `{"a":1e999}`} {
		u := files.Upload{URL: "http://example.com/a", Metadata: json.RawMessage(raw)}
		wantFault(t, what, u.Validate(), fault.InvalidRequest, "metadata")
	}
}
