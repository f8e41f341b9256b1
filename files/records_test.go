package files_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/store"
)

// hookedStore calls hook once, after the first read of a vector store that follows an update.
type hookedStore struct {
	inner
	updated bool
	hook    func()
}

func (h *hookedStore) UpdateStore(ctx context.Context, id string, change func(*store.VectorStore) error) (store.VectorStoreInfo, error) {
	h.updated = true
	return h.inner.UpdateStore(ctx, id, change)
}

func (h *hookedStore) Store(ctx context.Context, id string) (store.VectorStoreInfo, error) {
	c, err := h.inner.Store(ctx, id)
	if h.updated && h.hook != nil {
		hook := h.hook
		h.hook = nil
		hook()
	}
	return c, err
}

// TestModifyAndDeleteStore deletes a vector store while its changed record is being copied.
func TestModifyAndDeleteStore(t *testing.T) {
	t.Parallel()
	var h *hookedStore
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			h = &hookedStore{inner: o.Store}
			o.Store = h
		}
	})
	p.newStore("vs")
	deleted := false
	h.hook = func() {
		if !p.StoresLocked() {
			deleted = true
			p.must(p.DeleteStore(p.ctx(), "vs"))
		}
	}
	name := "new"
	if _, err := p.ModifyStore(p.ctx(), "vs", files.StoreUpdate{Name: &name}); err != nil && !deleted {
		t.Fatal(err)
	}
	if h.hook != nil {
		t.Fatal("the changed record was not copied")
	}
	if !deleted {
		p.must(p.DeleteStore(p.ctx(), "vs"))
	}
	copies, err := filepath.Glob(filepath.Join(p.dir, "files", "records", "stores", "*"))
	p.must(err)
	if len(copies) > 0 {
		t.Errorf("a deleted vector store has a copy: %s", filepath.Base(copies[0]))
	}
}

// TestFailedCopiesAreWrittenAgain puts a folder where a new copy is written, so that writing it fails, also for root.
func TestFailedCopiesAreWrittenAgain(t *testing.T) {
	t.Parallel()
	hash := sha256.Sum256([]byte(ferns))
	sum := hex.EncodeToString(hash[:])
	file, vectorStore := filepath.Join(sum[:2], sum+".json.new"), filepath.Join("stores", hex.EncodeToString([]byte("vs"))+".json.new")
	for name, c := range map[string]struct {
		blocked string
		upgrade bool // the copies fail at a start, in a folder of an earlier version
	}{
		"upgrade, file":         {file, true},
		"upgrade, vector store": {vectorStore, true},
		"upgrade, marker":       {"complete.new", true},
		"file":                  {file, false},
		"vector store":          {vectorStore, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := func(_ *place, o *options) { o.dir = dir }
			p := newPlace(t, at)
			records := filepath.Join(dir, "files", "records")
			block := func() { p.must(os.MkdirAll(filepath.Join(records, c.blocked, "x"), 0o700)) }
			if !c.upgrade {
				block()
			}
			id := p.indexed(files.Upload{Purpose: "mine"}, ferns)
			p.newStore("vs")
			p.close()
			if c.upgrade {
				p.must(os.RemoveAll(records))
				block()
				newPlace(t, at).close()
			}
			p.must(os.RemoveAll(filepath.Join(records, c.blocked)))
			newPlace(t, at).close()
			removeDB(t, dir)
			if _, err := reconcile(t, dir, false, -1); err != nil {
				t.Fatal(err)
			}
			p = newPlace(t, at)
			if f, err := p.File(p.ctx(), id); err != nil || f.Purpose != "mine" {
				t.Errorf("file restored as %+v, %v", f, err)
			}
			if _, err := p.Store(p.ctx(), "vs"); err != nil {
				t.Error(err)
			}
		})
	}
}
