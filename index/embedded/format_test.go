package embedded_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// convertToFirstFormat converts a closed folder to format 1, whose keys of vectors contain no space.
func convertToFirstFormat(t *testing.T, dir string) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "documents.db"), 0o600, nil)
	require.NoError(t, err)
	err = db.Update(func(tx *bolt.Tx) error {
		old := map[string][]byte{}
		err := tx.Bucket([]byte("vectors")).ForEach(func(k, v []byte) error {
			if len(k) != 4+4+1+8 || binary.BigEndian.Uint32(k) != 1 {
				return fmt.Errorf("key %x", k)
			}
			old[string(k[:4])+string(k[8:])] = append([]byte(nil), v...)
			return nil
		})
		for _, name := range []string{"vectors", "spaces", "dropped", "mentions"} {
			err = errors.Join(err, tx.DeleteBucket([]byte(name)))
		}
		vectors, err2 := tx.CreateBucket([]byte("vectors"))
		err = errors.Join(err, err2, tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("1")))
		for k, v := range old {
			err = errors.Join(err, vectors.Put([]byte(k), v))
		}
		if len(old) == 0 {
			err = errors.Join(err, errors.New("no vectors"))
		}
		return err
	})
	require.NoError(t, errors.Join(err, db.Close()))
}

// TestFirstFormat opens a folder whose vectors have no space. Only the vectors may be lost, and they can be computed again.
func TestFirstFormat(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	for i := range 5 {
		require.NoError(t, put(t.Context(), x, fmt.Sprintf("d%d", i), "apple", 3))
	}
	before, err := x.Documents(t.Context(), "c", "", 0)
	require.NoError(t, err)
	closeIndex(t, x)
	convertToFirstFormat(t, dir)
	for range 2 {
		x = open(t, dir)
		after, err := x.Documents(t.Context(), "c", "", 0)
		if d := cmp.Diff(before, after); d != "" || err != nil {
			t.Errorf("documents (-before +after), %v:\n%s", err, d)
		}
		if n := count(t, x, "apple", corpus.Sentence); n != 15 {
			t.Errorf("%d of 15 found by words", n)
		}
		hits, err := x.Search(t.Context(), index.Query{Collection: "c", Vector: []float32{1, 0}})
		if err != nil || len(hits) != 0 {
			t.Errorf("found by vectors of no space: %v, %v", hits, err)
		}
		if c, err := x.VectorStats(t.Context(), "c"); err != nil || cmp.Diff(index.VectorStats{Chunks: 30}, c) != "" {
			t.Errorf("census %v, %v", c, err)
		}
		closeIndex(t, x)
	}
	x = open(t, dir)
	refs, next, err := x.MissingVectors(t.Context(), "c", "new", "", 100)
	if err != nil || len(refs) != 30 || next != "" {
		t.Fatalf("%d of 30 miss a vector, %q, %v", len(refs), next, err)
	}
	for _, r := range refs {
		require.NoError(t, x.SetVectors(t.Context(), "c", "new", []string{r.Ref}, [][]float32{{1, 0, 0}}))
	}
	for range 2 {
		hits, err := x.Search(t.Context(), index.Query{Collection: "c", Space: "new", Vector: []float32{1, 0, 0}, Limit: 100})
		if err != nil || len(hits) != 15 {
			t.Errorf("%d of 15 found by new vectors: %v", len(hits), err)
		}
		closeIndex(t, x)
		x = open(t, dir)
	}
}

// TestFormatWithoutMentions opens a folder whose passages have no mentions. Lexical search must find them, and they must get mentions
// when they are put again.
func TestFormatWithoutMentions(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	for i := range 3 {
		d, es := document(fmt.Sprintf("d%d", i), "apple", 2)
		for k := range es {
			es[k].Mentions, es[k].Relations = nil, nil
		}
		require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	}
	closeIndex(t, x)
	db, err := bolt.Open(filepath.Join(dir, "documents.db"), 0o600, nil)
	require.NoError(t, err)
	err = db.Update(func(tx *bolt.Tx) error {
		return errors.Join(tx.DeleteBucket([]byte("mentions")), tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("2")))
	})
	require.NoError(t, errors.Join(err, db.Close()))
	x = open(t, dir)
	if n := count(t, x, "apple", corpus.Passage); n != 6 {
		t.Errorf("%d of 6 passages", n)
	}
	wantNamed(t, x, "Title d1", 0)
	require.NoError(t, put(t.Context(), x, "d1", "apple", 2))
	closeIndex(t, x)
	x = open(t, dir)
	wantNamed(t, x, "Title d1", 2)
	wantNamed(t, x, "Title d2", 0)
	if hits, err := x.Search(t.Context(), index.Query{Collection: "c", Vector: []float32{1, 0}}); err != nil || len(hits) != 6 {
		t.Errorf("%d of 6 by vectors: %v", len(hits), err)
	}
}

func TestUnknownFormat(t *testing.T) {
	dir := t.TempDir()
	closeIndex(t, open(t, dir))
	db, err := bolt.Open(filepath.Join(dir, "documents.db"), 0o600, nil)
	require.NoError(t, err)
	err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("99")) })
	require.NoError(t, errors.Join(err, db.Close()))
	if _, err := embedded.Open(t.Context(), dir, embedded.Options{}); err == nil {
		t.Error("opened an unknown format")
	} else if e, ok := errors.AsType[*fault.Error](err); ok {
		t.Errorf("a damaged folder is the caller's fault: %v", e)
	}
}

// TestDropSpaceInterrupted restores the entry of a dropped space with vectors, as a crash during DropSpace leaves it. No search may see the
// vectors, and Compact must delete them.
func TestDropSpaceInterrupted(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	require.NoError(t, errors.Join(put(t.Context(), x, "d", "apple", 3), x.DropSpace(t.Context(), "c", "")))
	closeIndex(t, x)
	path := filepath.Join(dir, "documents.db")
	left := func() (n int) {
		db, err := bolt.Open(path, 0o600, nil)
		require.NoError(t, err)
		defer db.Close()
		require.NoError(t, db.View(func(tx *bolt.Tx) error {
			n = tx.Bucket([]byte("vectors")).Stats().KeyN + tx.Bucket([]byte("dropped")).Stats().KeyN
			return nil
		}))
		return n
	}
	if n := left(); n != 0 {
		t.Fatalf("%d keys left by DropSpace", n)
	}
	db, err := bolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	err = db.Update(func(tx *bolt.Tx) error {
		prefix := []byte{0, 0, 0, 1, 0, 0, 0, 1}
		one := binary.LittleEndian.AppendUint32(make([]byte, 4), math.Float32bits(1))
		err := tx.Bucket([]byte("dropped")).Put(prefix, nil)
		for row := range 5000 {
			k := binary.BigEndian.AppendUint64(append(append([]byte(nil), prefix...), 2), uint64(row))
			err = errors.Join(err, tx.Bucket([]byte("vectors")).Put(k, one))
		}
		return errors.Join(err, withoutSums(tx, "4"))
	})
	require.NoError(t, errors.Join(err, db.Close()))
	x = open(t, dir)
	if hits, err := x.Search(t.Context(), index.Query{Collection: "c", Vector: []float32{1}}); err != nil || len(hits) != 0 {
		t.Errorf("dropped vectors are found: %v, %v", hits, err)
	}
	require.NoError(t, x.Compact(t.Context()))
	closeIndex(t, x)
	if n := left(); n != 0 {
		t.Errorf("%d keys left after Compact", n)
	}
}

// TestMissingVectorsInPages lists the last chunk of a collection that one call cannot scan.
func TestMissingVectorsInPages(t *testing.T) {
	x := open(t, t.TempDir())
	var docs []corpus.Document
	var entries [][]index.Entry
	const each, n = 3000, 8
	for i := range n {
		d := corpus.Document{ID: corpus.DocumentID(fmt.Sprintf("d%02d", i)), Collection: "c"}
		es := make([]index.Entry, each)
		for j := range es {
			es[j] = index.Entry{Space: "s", Vector: []float32{1}, Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprintf("%d/%d", i, j)), Level: corpus.Passage}}
		}
		docs, entries = append(docs, d), append(entries, es)
	}
	entries[n-1][each-1].Space, entries[n-1][each-1].Vector = "", nil
	require.NoError(t, x.Put(t.Context(), docs, entries))
	calls, after, found := 0, "", 0
	for first := true; first || after != ""; first = false {
		chunks, next, err := x.MissingVectors(t.Context(), "c", "s", after, 10)
		require.NoError(t, err)
		calls, after, found = calls+1, next, found+len(chunks)
	}
	if calls != 2 || found != 1 {
		t.Errorf("%d chunks in %d calls", found, calls)
	}
}
