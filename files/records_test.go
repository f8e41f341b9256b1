package files_test

import (
	"context"
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

func (h *hookedStore) UpdateStore(ctx context.Context, id string, change func(*store.VectorStore) error) (store.Counted, error) {
	h.updated = true
	return h.inner.UpdateStore(ctx, id, change)
}

func (h *hookedStore) Store(ctx context.Context, id string) (store.Counted, error) {
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
	if _, err := p.ModifyStore(p.ctx(), "vs", files.StoreChange{Name: &name}); err != nil && !deleted {
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
