package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

var markers = []string{"Xylomarkerqq", "vanishing-id"}

// deleteMarked puts documents, one of which contains the markers, and deletes that one.
func deleteMarked(t *testing.T, x *embedded.Index, dir string) {
	t.Helper()
	putRange(t, x, "kept", 0, 20, "words that stay", 2)
	require.NoError(t, put(t.Context(), x, "vanishing-id", "Xylomarkerqq "+strings.Repeat("long text ", 2000), 3))
	if holding(t, dir, markers...) == nil {
		t.Fatal("the markers were never there")
	}
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"vanishing-id"}))
	if holding(t, dir, markers...) == nil {
		t.Fatal("the deletion itself erased the markers: the test shows nothing")
	}
}

// TestDeletedTextIsErasedInTheBackground searches all files of an open index for deleted text after the documented time, and
// again while documents are deleted continuously.
func TestDeletedTextIsErasedInTheBackground(t *testing.T) {
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy=%v", busy), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				x, err := embedded.Open(t.Context(), dir, embedded.Options{})
				require.NoError(t, err)
				defer func() { _ = x.Close() }() // after a failure, so that synctest shows it
				deleteMarked(t, x, dir)
				for i := 0; busy && i < 22; i++ { // never a minute without a deletion
					id := fmt.Sprintf("busy%d", i)
					require.NoError(t, errors.Join(put(t.Context(), x, id, "brief", 1), x.Delete(t.Context(), "c", []corpus.DocumentID{corpus.DocumentID(id)})))
					time.Sleep(30 * time.Second)
				}
				if !busy {
					time.Sleep(2 * time.Minute)
				}
				synctest.Wait()
				if files := holding(t, dir, markers...); files != nil {
					t.Error(files)
				}
				if n := count(t, x, "stay", corpus.Passage); n != 40 {
					t.Errorf("%d of 40 passages", n)
				}
				if err := errors.Join(x.Verify(t.Context()), x.Close()); err != nil {
					t.Error(err)
				}
			})
			closeIndex(t, open(t, dir))
		})
	}
}

// TestErasedAfterRestart closes an index right after a deletion. The next process must erase the text.
func TestErasedAfterRestart(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	deleteMarked(t, x, dir)
	closeIndex(t, x)
	if holding(t, dir, markers...) == nil {
		t.Error("closing the index waited for a compaction")
	}
	synctest.Test(t, func(t *testing.T) {
		x, err := embedded.Open(t.Context(), dir, embedded.Options{})
		require.NoError(t, err)
		defer func() { _ = x.Close() }() // after a failure, so that synctest shows it
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if files := holding(t, dir, markers...); files != nil {
			t.Error(files)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCompactDuringWrites compacts while documents are put, deleted and searched. Nothing may be lost, and finally no deleted text may be left.
func TestCompactDuringWrites(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	putRange(t, x, "kept", 0, 20, "words that stay", 2)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			if n := count(t, x, "stay", corpus.Passage); n != 40 {
				t.Errorf("%d of 40 passages", n)
				return
			}
		}
	})
	all.Go(func() {
		for ctx.Err() == nil {
			if err := x.Compact(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 12 {
		id := fmt.Sprintf("vanishing-id%d", i)
		require.NoError(t, errors.Join(put(t.Context(), x, id, "Xylomarkerqq here", 20), x.Delete(t.Context(), "c", []corpus.DocumentID{corpus.DocumentID(id)})))
	}
	cancel()
	all.Wait()
	require.NoError(t, errors.Join(x.Compact(t.Context()), x.Verify(t.Context())))
	if files := holding(t, dir, markers...); files != nil {
		t.Error(files)
	}
	closeIndex(t, x)
	x = open(t, dir)
	if n := count(t, x, "stay", corpus.Sentence); n != 40 {
		t.Errorf("%d of 40 sentences", n)
	}
}

// TestCompactShrinks deletes most of an index. Its database must shrink. If the new file cannot be created, the old one must stay in
// use.
func TestCompactShrinks(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	putRange(t, x, "kept", 0, 5, "words that stay", 2)
	var ids []corpus.DocumentID
	for i := range 40 {
		id := fmt.Sprintf("large%d", i)
		require.NoError(t, put(t.Context(), x, id, strings.Repeat("long text ", 2000), 2))
		ids = append(ids, corpus.DocumentID(id))
	}
	require.NoError(t, x.Delete(t.Context(), "c", ids))
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "documents.db"))
		require.NoError(t, err)
		return info.Size()
	}
	before := size()
	fresh := filepath.Join(dir, "documents.db.new")
	require.NoError(t, os.MkdirAll(filepath.Join(fresh, "in the way"), 0o700))
	if err := x.Compact(t.Context()); err == nil {
		t.Error("compacted over a folder")
	}
	if n := count(t, x, "stay", corpus.Passage); n != 10 || size() != before {
		t.Errorf("%d of 10 passages after a compaction that failed, %d of %d bytes", n, size(), before)
	}
	require.NoError(t, errors.Join(put(t.Context(), x, "more", "words that stay", 2), os.RemoveAll(fresh),
		x.Delete(t.Context(), "c", []corpus.DocumentID{"more"}), x.Compact(t.Context())))
	if after := size(); after > before/2 {
		t.Errorf("%d bytes of %d", after, before)
	}
	require.NoError(t, errors.Join(put(t.Context(), x, "more", "words that stay", 2), x.Verify(t.Context())))
	closeIndex(t, x)
	x = open(t, dir)
	if n := count(t, x, "stay", corpus.Passage); n != 12 {
		t.Errorf("%d of 12 passages", n)
	}
}

// TestCloseEndsCompaction closes the index in the middle of a compaction.
func TestCloseEndsCompaction(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		var log bytes.Buffer
		x, err := embedded.Open(t.Context(), dir, embedded.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		deleteMarked(t, x, dir)
		begun := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { close(begun); _ = x.Compact(t.Context()) })
		<-begun
		closeIndex(t, x)
		all.Wait()
		x = open(t, dir)
		if hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: "stay", Limit: 100}); err != nil || len(hits) != 40 {
			t.Errorf("%d of 40 hits, %v\n%s", len(hits), err, log.String())
		}
		closeIndex(t, x)
	}
}
