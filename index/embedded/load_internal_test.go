package embedded

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// reopened returns an open index of one collection, c, that is not loaded yet. It contains one passage, in the set s.
func reopened(t *testing.T) *Index {
	t.Helper()
	dir := t.TempDir()
	x, err := Open(t.Context(), dir, Options{})
	require.NoError(t, err)
	d := corpus.Document{ID: "d", Collection: "c"}
	e := index.Entry{Chunk: corpus.Chunk{ID: "p", Level: corpus.Passage, Text: "apple"}}
	require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{{e}}))
	require.NoError(t, x.AddToSet(t.Context(), "c", "s", []corpus.DocumentID{d.ID}))
	require.NoError(t, x.Close())
	if x, err = Open(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// TestVerifyAfterFailedLoad verifies an index in which a collection could not be loaded, and loads the collection once that is possible.
func TestVerifyAfterFailedLoad(t *testing.T) {
	t.Parallel()
	x := reopened(t)
	setLevel := func(record []byte) (old []byte) {
		err := x.db.Update(func(tx *bolt.Tx) error {
			b, key := tx.Bucket(bucketLevels), levelKey(*x.number("c"), int(corpus.Passage))
			old = append(old, b.Get(key)...)
			return errors.Join(b.Put(key, record), putTxID(tx))
		})
		require.NoError(t, err)
		return old
	}
	query := index.Query{Collection: "c", Text: "apple", Limit: 10}
	whole := setLevel([]byte("damaged"))
	if _, err := x.Search(t.Context(), query); err == nil {
		t.Fatal("a damaged collection was loaded")
	}
	if err := x.Verify(t.Context()); err == nil {
		t.Error("the check did not find the damage")
	}
	setLevel(whole)
	if hits, err := x.Search(t.Context(), query); err != nil || len(hits) != 1 {
		t.Errorf("%d of 1 hit, %v", len(hits), err)
	}
	if err := x.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// gateProbe is a log handler that checks, at each message, that searches of a scope can lock the gate of a collection.
type gateProbe struct {
	slog.Handler
	c              *collection
	probed, locked int
}

func (p *gateProbe) Enabled(context.Context, slog.Level) bool { return true }

func (p *gateProbe) Handle(_ context.Context, r slog.Record) error {
	if p.c == nil || r.Message != "rebuilding lexical index" {
		return nil
	}
	p.probed++
	if p.c.gate.TryLock() {
		p.locked++
		p.c.gate.Unlock()
	}
	return nil
}

// TestRepairDuringScopedSearch repairs a collection by a rebuild. Searches of its sets must work in the meantime.
func TestRepairDuringScopedSearch(t *testing.T) {
	t.Parallel()
	x := reopened(t)
	c, err := x.collection("c")
	require.NoError(t, err)
	probe := &gateProbe{Handler: slog.DiscardHandler, c: c}
	x.write.Lock()
	x.opts.Logger = slog.New(probe)
	_ = x.markStale(c, errDamaged)
	err = os.RemoveAll(x.lexicalDir(c, int(corpus.Passage)-1))
	x.write.Unlock()
	if err != nil || !x.repairAll() {
		t.Fatalf("the collection was not repaired: %v", err)
	}
	if probe.probed == 0 || probe.locked != probe.probed {
		t.Errorf("the gate was free in %d of %d rebuilds", probe.locked, probe.probed)
	}
	hits, err := x.Search(t.Context(), index.Query{Collection: index.Scope{Collection: "c", Sets: []string{"s"}}.Name(), Text: "apple", Limit: 10})
	if err != nil || len(hits) != 1 {
		t.Errorf("%d of 1 hit, %v", len(hits), err)
	}
}
