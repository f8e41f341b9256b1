package embedded

import (
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

// reopened returns an open index of one collection, c, that is not loaded yet. It holds one passage, of the set s.
func reopened(t *testing.T) *Index {
	t.Helper()
	dir := t.TempDir()
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := corpus.Document{ID: "d", Collection: "c"}
	e := index.Entry{Chunk: corpus.Chunk{ID: "p", Level: corpus.Passage, Text: "apple"}}
	if err := x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{{e}}); err != nil {
		t.Fatal(err)
	}
	if err := x.Join(t.Context(), "c", "s", []corpus.DocumentID{d.ID}); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = Open(dir, Options{}); err != nil {
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
			return b.Put(key, record)
		})
		if err != nil {
			t.Fatal(err)
		}
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
