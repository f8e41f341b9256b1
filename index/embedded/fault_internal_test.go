package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestLexicalFault cuts off a mapped file of a lexical index before a change. The change must return an error, and the next one must repair the index.
func TestLexicalFault(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut off on Windows")
	}
	dir := t.TempDir()
	x := openAt(t, dir)
	d, es := nestedDocument("lights", 2)
	other, oes := nestedDocument("other", 1)
	putAll(t, x, []corpus.Document{d, other}, [][]index.Entry{es, oes})
	files, err := filepath.Glob(filepath.Join(dir, "lexical", "*", "*.seg"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		require.NoError(t, os.Truncate(f, 0))
	}
	if err := x.Delete(t.Context(), "c", []corpus.DocumentID{d.ID}); err == nil {
		t.Error("no error")
	}
	if err := errors.Join(x.Delete(t.Context(), "c", []corpus.DocumentID{other.ID}), x.Health()); err != nil {
		t.Error(err)
	}
}
