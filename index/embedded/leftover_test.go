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
)

// TestLeftoverSegment opens an index with an unused segment file, as a crash during a write or a merge leaves it. The file must be
// removed, and no lexical index may be rebuilt.
func TestLeftoverSegment(t *testing.T) {
	const sentences = 5000
	dir := t.TempDir()
	x := open(t, dir)
	putRange(t, x, "d", 0, 50, "apple", sentences/50)
	closeIndex(t, x)
	segments, err := filepath.Glob(filepath.Join(dir, "lexical", "*", "*.zap"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	whole, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"empty": nil, "half": whole[:len(whole)/2], "whole": whole} {
		t.Run(name, func(t *testing.T) {
			leftover := filepath.Join(filepath.Dir(segments[0]), "00000000ffff.zap")
			// A killed process leaves no checksum of the list of segments.
			if err := errors.Join(os.WriteFile(leftover, content, 0o600), os.Remove(filepath.Join(filepath.Dir(leftover), "root.sum"))); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			x, err := embedded.Open(t.Context(), dir, embedded.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
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
