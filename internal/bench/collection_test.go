package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/lang"
)

// TestCollect makes a collection of some of the files in a folder. Each question has words of its passage, which FTS5 finds by them.
func TestCollect(t *testing.T) {
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "collection")
	for i := range 300 {
		text := fmt.Sprintf("# Lamp %d\n\nThe keeper%[1]d of the lamp%[1]d trims wick%[1]d each evening%[1]d before harbour%[1]d bell%[1]d rings%[1]d.\n", i)
		require.NoError(t, os.WriteFile(filepath.Join(from, fmt.Sprintf("%d.md", i)), []byte(text), 0o600))
	}
	for name, content := range map[string]string{"picture.png": "no document", "damaged.pdf": "%PDF-1.7 no more than this"} {
		require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(content), 0o600))
	}
	shown := 0
	got, err := collect(t.Context(), dir, []string{from}, 200, 20, func(n int) { shown = n })
	require.NoError(t, err)
	count := func(folder string) int {
		files, err := listFiles([]string{filepath.Join(dir, folder)})
		if err != nil {
			t.Error(err)
		}
		return len(files)
	}
	if got.Files != 200 || got.Passages != 200 || shown != 200 || len(got.Questions) != 20 || count(folderDocuments) != 200 || count(folderLater) != 2 || got.Text < 200*70 || got.FTSSize == 0 {
		t.Errorf("%+v, %d shown, %d and %d files", got, shown, count(folderDocuments), count(folderLater))
	}
	again, err := collect(t.Context(), dir+"-again", []string{from}, 200, 20, func(int) {})
	if err != nil || !slices.EqualFunc(again.Questions, got.Questions, func(a, b knownQuestion) bool { return a.Text == b.Text }) {
		t.Errorf("other questions in another folder: %v", err)
	}
	fts, err := sqlitedb.Reader(filepath.Join(dir, fileFTS), 1)
	require.NoError(t, err)
	defer fts.Close()
	for _, q := range got.Questions {
		ids, err := searchFTS(t.Context(), fts, q.Words)
		if err != nil || !slices.Contains(ids, string(q.Passage)) {
			t.Errorf("%q: %v, not %s: %v", q.Text, ids, q.Passage, err)
		}
	}
	if _, err := collect(t.Context(), t.TempDir(), []string{from}, 1000, 20, func(int) {}); err == nil || !strings.Contains(err.Error(), "only 300 passages") {
		t.Errorf("too few passages: %v", err)
	}
}

func TestQuestionAbout(t *testing.T) {
	q, ok := questionAbout(corpus.Chunk{ID: "c", Text: "A short one. The old keeper of the northern lamp trims its wick each evening, and rings the bell."})
	if !ok || len(q.Words) != questionWords || q.Passage != "c" || q.Text != "What about "+strings.Join(q.Words, " ")+"?" {
		t.Errorf("%+v %v", q, ok)
	}
	for _, w := range q.Words {
		if lang.IsStopWord(w) {
			t.Errorf("%q is a stop word", w)
		}
	}
	if q, ok := questionAbout(corpus.Chunk{Text: "Too short for that."}); ok {
		t.Errorf("%+v", q)
	}
}

func TestCollectionTable(t *testing.T) {
	r := &collectionReport{
		collectionInfo: collectionInfo{Files: 10, FileBytes: 4e6, Text: 2e6, Passages: 1000, Parse: 1, FTSLoad: 0.5, FTSSize: 4e6},
		Ingest:         &ingestFigures{Seconds: 3, CPU: 5, Memory: 256 << 20, Index: 9e6},
		Start:          startFigures{Listening: 90, Ready: 400, Anonymous: 1e6, Idle: 5e5, Mapped: 2e6},
		Retrieval:      []searchFigures{{"hybrid", distribution{1, 2}, 0.95, 200}, {"FTS5", distribution{3, 4}, 0.9, 200}},
		Answers:        latencyReport{{Mode: "direct", Done: distribution{5, 6}, CPU: 7}},
	}
	const want = `1000 passages of 10 files: 2.0 MB of text, 4.0 MB of files

| what | Sluice | FTS5 |
| --- | --- | --- |
| ingestion | 3 s, 5 s of CPU | 0 s |
| text per second of CPU | 0.40 MB; without parsing, 0.50 MB | 4.00 MB |
| peak memory | 256 MiB | |
| size of the index / text | 4.50 | 2.00 |
| listening; ready | 90 ms; 400 ms | |
| resident memory per passage | 1000 bytes; 500 when idle; and 2000 of files | |

| search | p50 ms | p99 ms | passage among the first ten | searches |
| --- | --- | --- | --- | --- |
| hybrid | 1.00 | 2.00 | 0.950 | 200 |
| FTS5 | 3.00 | 4.00 | 0.900 | 200 |

| answers | p50 ms | p99 ms | CPU ms |
| --- | --- | --- | --- |
| direct, done | 5.00 | 6.00 | 7.0 |

`
	var out bytes.Buffer
	require.NoError(t, r.writeTable(&out))
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
