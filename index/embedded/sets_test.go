package embedded_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

var scopeS = index.Scope{Collection: "c", Sets: []string{"s"}}.Name()

// edited changes documents.db of a closed index.
func edited(t *testing.T, dir string, do func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "documents.db"), 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(db.Update(do), db.Close()))
}

// withoutSums converts the folder to a format without checksums of buckets, so that the next Open computes them.
func withoutSums(tx *bolt.Tx, format string) error {
	meta := tx.Bucket([]byte("meta"))
	return errors.Join(meta.Delete([]byte("sums")), meta.Put([]byte("format"), []byte(format)))
}

// TestFormatsWithoutSetsOrSums opens folders of the formats before sums, and before sets.
func TestFormatsWithoutSetsOrSums(t *testing.T) {
	t.Parallel()
	for format, missing := range map[string][]string{"3": {"sets", "members", "memberships"}, "4": nil} {
		dir := t.TempDir()
		x := open(t, dir)
		require.NoError(t, put(t.Context(), x, "a", "apple", 3))
		closeIndex(t, x)
		edited(t, dir, func(tx *bolt.Tx) error {
			err := withoutSums(tx, format)
			for _, name := range missing {
				err = errors.Join(err, tx.DeleteBucket([]byte(name)))
			}
			return err
		})
		for range 2 {
			x = open(t, dir)
			if n := count(t, x, "apple", corpus.Passage); n != 3 {
				t.Errorf("format %s: %d of 3 passages", format, n)
			}
			require.NoError(t, x.AddToSet(t.Context(), "c", "s", []corpus.DocumentID{"a"}))
			if hits, err := x.Search(t.Context(), index.Query{Collection: scopeS, Text: "apple"}); err != nil || len(hits) != 3 {
				t.Errorf("format %s: %d of 3 passages in the set, %v", format, len(hits), err)
			}
			closeIndex(t, x)
		}
		edited(t, dir, func(tx *bolt.Tx) error {
			if f := tx.Bucket([]byte("meta")).Get([]byte("format")); string(f) != "8" {
				t.Errorf("format %s became %s", format, f)
			}
			return nil
		})
	}
}

// TestDamagedMembers damages a set. Reads of the set must fail, and reads of the collection must work.
func TestDamagedMembers(t *testing.T) {
	t.Parallel()
	for _, bucket := range []string{"members", "sets"} {
		dir := t.TempDir()
		x := open(t, dir)
		require.NoError(t, errors.Join(put(t.Context(), x, "a", "apple", 2), x.AddToSet(t.Context(), "c", "s", []corpus.DocumentID{"a"})))
		closeIndex(t, x)
		edited(t, dir, func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			k, v := b.Cursor().First()
			v = bytes.Clone(v)
			v[len(v)-1] ^= 1
			return errors.Join(b.Put(bytes.Clone(k), v), withoutSums(tx, "4"))
		})
		x = open(t, dir)
		if n := count(t, x, "apple", corpus.Passage); n != 2 {
			t.Errorf("%d of 2 passages", n)
		}
		_, err1 := x.Search(t.Context(), index.Query{Collection: scopeS, Text: "apple"})
		_, err2 := x.Version(t.Context(), scopeS)
		for _, err := range []error{err1, err2} {
			if err == nil || !strings.Contains(err.Error(), "documents.db") || !strings.Contains(err.Error(), "set") {
				t.Errorf("%s: error %v", bucket, err)
			}
		}
	}
}

// TestCompactErasesDeletedMember deletes a document that is a member of a set but was never put.
func TestCompactErasesDeletedMember(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := open(t, dir)
	require.NoError(t, errors.Join(put(t.Context(), x, "a", "apple", 1), x.AddToSet(t.Context(), "c", "s", []corpus.DocumentID{"a", "vanishing-id"}),
		x.Delete(t.Context(), "c", []corpus.DocumentID{"vanishing-id"})))
	compactAndClose(t, x)
	if files := holding(t, dir, "vanishing-id"); files != nil {
		t.Error(files)
	}
}

// TestManySets reads more sets than are cached in memory, in a collection of many segments with many deletions.
func TestManySets(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	for i := range 12 {
		putRange(t, x, "d", 40*i, 40*i+40, "apple", 1)
	}
	var gone []corpus.DocumentID
	for i := range 480 {
		id := corpus.DocumentID(fmt.Sprintf("d%d", i))
		switch {
		case i%5 == 4:
			gone = append(gone, id)
		case i%3 == 0:
			if i > 60 {
				continue
			}
			require.NoError(t, x.AddToSet(t.Context(), "c", fmt.Sprintf("s%d", i%10), []corpus.DocumentID{id}))
		}
	}
	require.NoError(t, x.Delete(t.Context(), "c", gone))
	all := map[string]bool{}
	for i := range 10 {
		scope := index.Scope{Collection: "c", Sets: []string{fmt.Sprintf("s%d", i)}}.Name()
		docs, err := x.Documents(t.Context(), scope, "", 0)
		require.NoError(t, err)
		hits, err := x.Search(t.Context(), index.Query{Collection: scope, Text: "apple", Limit: 1000})
		if err != nil || len(hits) != len(docs) {
			t.Errorf("%d of %d passages in %q, %v", len(hits), len(docs), scope, err)
		}
		for _, h := range hits {
			all[string(h.Chunk.Document)] = true
		}
	}
	if len(all) != 17 {
		t.Errorf("%d of 17 members", len(all))
	}
}
