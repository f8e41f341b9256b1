package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestStaleRootPage replaces the root page by that of the empty index, as a disk that loses a write does. The older state is complete, its
// checksums are correct, and it uses no page that is in use, but it contains no documents.
func TestStaleRootPage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileDocuments)
	put := func(docs ...corpus.Document) {
		t.Helper()
		x, err := Open(t.Context(), dir, Options{})
		require.NoError(t, err)
		for _, d := range docs {
			require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{nil}))
		}
		require.NoError(t, x.Close())
	}
	root := func() (page []byte, at int64) {
		t.Helper()
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		newest, _, err := readTrees(f)
		require.NoError(t, err)
		page, at = make([]byte, newest.pageSize), int64(newest.root)*newest.pageSize
		if _, err := f.ReadAt(page, at); err != nil {
			t.Fatal(err)
		}
		return page, at
	}
	put()
	stale, _ := root()
	put(corpus.Document{ID: "a", Collection: "c"}, corpus.Document{ID: "b", Collection: "c"})
	current, at := root()
	copy(stale[:8], current[:8]) // the number of the page
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	copy(data[at:], stale)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	if x, err := Open(t.Context(), dir, Options{}); !errors.Is(err, errDamaged) {
		t.Errorf("an index that lacks its documents opens: %v", err)
		_ = x.Close()
	}
}
