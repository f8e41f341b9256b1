//go:build linux

package weaviate

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// openTenant opens the index of a tenant, and closes it after the test.
func openTenant(t *testing.T, tenant string) *Index {
	t.Helper()
	x, err := Open(Options{URL: weaviatetest.URL(t), Tenant: tenant, Writer: "one"})
	require.NoError(t, err)
	require.CloseAfter(t, x)
	return x
}

// endGraceTime lets the time pass in which readers may use the revisions that were replaced.
func endGraceTime(x *Index, c *collection) {
	x.write.Lock()
	defer x.write.Unlock()
	for r := range x.dead[c.class] {
		x.dead[c.class][r] = time.Now().Add(-graceTime - time.Second)
	}
}

// TestErase checks that replaced and deleted documents are erased when no reader can use them any more, and not before.
func TestErase(t *testing.T) {
	t.Parallel()
	x, ctx := openTenant(t, "erase"), t.Context()
	put := func(id, text string) {
		t.Helper()
		e := index.Entry{Chunk: corpus.Chunk{ID: corpus.ChunkID(id + "/0"), Level: corpus.Passage, Text: text}}
		require.NoError(t, x.Put(ctx, []corpus.Document{{ID: corpus.DocumentID(id), Collection: "erased"}}, [][]index.Entry{{e}}))
	}
	put("a", "first")
	put("a", "second")
	put("b", "third")
	require.NoError(t, x.Delete(ctx, "erased", []corpus.DocumentID{"b"}))
	c, err := x.find(ctx, "erased")
	require.NoError(t, err)
	stored := func() int { // chunks, whether visible or not
		t.Helper()
		n, err := (&snapshot{collection: c, x: x}).count(ctx, []condition{isKind(kind(corpus.Passage))})
		require.NoError(t, err)
		return n[0]
	}
	require.NoError(t, x.Compact(ctx))
	if n := stored(); n != 3 {
		t.Errorf("%d chunks are stored right after the changes, want 3", n)
	}
	endGraceTime(x, c)
	require.NoError(t, x.Compact(ctx))
	if n := stored(); n != 1 {
		t.Errorf("%d chunks are stored after the time for readers, want 1", n)
	}
	s, err := x.snapshot(ctx, c)
	if err != nil || len(s.heads) != 1 || len(s.heads[0].Dead) != 0 {
		t.Errorf("heads %+v, %v", s.heads, err)
	}
}

// TestMaxDead checks that a write waits when too many revisions are replaced but not erased: it must not wait for longer than readers may take.
func TestMaxDead(t *testing.T) {
	t.Parallel()
	x, ctx := openTenant(t, "max-dead"), t.Context()
	write := func() {
		t.Helper()
		var docs []corpus.Document
		for i := range maxDead + 100 {
			docs = append(docs, corpus.Document{ID: corpus.DocumentID(fmt.Sprint(i)), Collection: "many"})
		}
		require.NoError(t, x.Put(ctx, docs, make([][]index.Entry, len(docs))))
	}
	write()
	write()
	c, err := x.find(ctx, "many")
	require.NoError(t, err)
	endGraceTime(x, c)
	write()
	if n := len(x.heads[c.class].Dead); n > maxDead+100 {
		t.Errorf("%d revisions are replaced and not erased", n)
	}
}
