package embedded_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestLeftoverSegment opens an index with an unused segment file, as a crash during a write or a merge leaves it. The file must be
// removed, and no lexical index may be rebuilt.
func TestLeftoverSegment(t *testing.T) {
	const sentences = 5000
	dir := t.TempDir()
	x := open(t, dir)
	putRange(t, x, "d", 0, 50, "apple", sentences/50)
	closeIndex(t, x)
	segments, err := filepath.Glob(filepath.Join(dir, "lexical", "*", "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	whole, err := os.ReadFile(segments[0])
	require.NoError(t, err)
	for name, content := range map[string][]byte{"empty": nil, "half": whole[:len(whole)/2], "whole": whole} {
		t.Run(name, func(t *testing.T) {
			leftover := filepath.Join(filepath.Dir(segments[0]), "00000000ffff.seg")
			require.NoError(t, os.WriteFile(leftover, content, 0o600))
			var log bytes.Buffer
			x, err := embedded.Open(t.Context(), dir, embedded.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			defer closeIndex(t, x)
			for _, level := range []corpus.Level{corpus.Passage, corpus.Sentence} {
				if n := count(t, x, "apple", level); n != 1000 {
					t.Errorf("%d of 1000 hits at %v", n, level)
				}
			}
			if strings.Contains(log.String(), "rebuilding lexical index") {
				t.Errorf("a lexical index was rebuilt: %s", log.String())
			}
			if _, err := os.Stat(leftover); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the leftover segment is still there: %v", err)
			}
		})
	}
}

// TestEarlierLexicalFormat opens an index whose lexical index has the format of an earlier version. It must be rebuilt, and the old files must go.
func TestEarlierLexicalFormat(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	putRange(t, x, "d", 0, 50, "apple", 2)
	closeIndex(t, x)
	levels, err := filepath.Glob(filepath.Join(dir, "lexical", "*"))
	if err != nil || len(levels) == 0 {
		t.Fatal(levels, err)
	}
	for _, level := range levels {
		require.NoError(t, errors.Join(os.RemoveAll(level), os.Mkdir(level, 0o700), os.WriteFile(filepath.Join(level, "root.bolt"), []byte("old"), 0o600),
			os.WriteFile(filepath.Join(level, "000000000001.zap"), []byte("old"), 0o600)))
	}
	x = open(t, dir)
	defer closeIndex(t, x)
	if n := count(t, x, "apple", corpus.Passage); n == 0 {
		t.Error("nothing is found")
	}
	old, err := filepath.Glob(filepath.Join(dir, "lexical", "*", "*.zap"))
	if err != nil || len(old) > 0 {
		t.Errorf("files of the earlier format are left: %v, %v", old, err)
	}
}
