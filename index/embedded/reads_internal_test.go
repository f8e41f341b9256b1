package embedded

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// fillAndDelete puts long documents and deletes all but some, so that most of documents.db is free.
func fillAndDelete(t *testing.T, x *Index, kept int) {
	t.Helper()
	var docs []corpus.Document
	var entries [][]index.Entry
	var ids []corpus.DocumentID
	for id := range strings.SplitSeq("abcdefgh", "") {
		docs = append(docs, corpus.Document{ID: corpus.DocumentID(id), Collection: "c"})
		ids = append(ids, corpus.DocumentID(id))
		entries = append(entries, []index.Entry{{Chunk: corpus.Chunk{ID: corpus.ChunkID(id), Level: corpus.Passage,
			Text: strings.Repeat("long text ", 40_000)}}})
	}
	require.NoError(t, errors.Join(x.Put(t.Context(), docs, entries), x.Delete(t.Context(), "c", ids[:len(ids)-kept])))
}

// TestCompactWhileReading compacts while a read of documents.db runs. Other reads and writes must not wait.
func TestCompactWhileReading(t *testing.T) {
	for _, at := range []string{"before", "after"} { // compaction took the write lock
		t.Run(at, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			synctest.Test(t, func(t *testing.T) {
				x, err := Open(t.Context(), dir, Options{})
				require.NoError(t, err)
				defer func() { _ = x.Close() }() // after a failure, so that synctest shows it
				fillAndDelete(t, x, 1)
				ctx, cancel := context.WithCancel(t.Context())
				reading, finish := make(chan struct{}), make(chan struct{})
				go func() {
					_ = x.view(func(*txn) error { close(reading); <-finish; return nil })
				}()
				<-reading
				done := make(chan error, 1)
				go func() {
					if at == "before" {
						done <- x.Compact(ctx)
						return
					}
					x.write.Lock()
					defer x.write.Unlock()
					left, err := x.eraseLocked(ctx)
					if !left {
						t.Error("nothing is left to erase, although a read is running")
					}
					done <- err
				}()
				if at == "before" {
					synctest.Wait() // for the compaction to wait
					d := corpus.Document{ID: "d", Collection: "c"}
					e := index.Entry{Chunk: corpus.Chunk{ID: "p", Level: corpus.Passage, Text: "apple"}}
					if err := x.Put(ctx, []corpus.Document{d}, [][]index.Entry{{e}}); err != nil {
						t.Error(err)
					}
					if hits, err := x.Search(ctx, index.Query{Collection: "c", Text: "apple", Limit: 10}); err != nil || len(hits) != 1 {
						t.Errorf("%d of 1 hit, %v", len(hits), err)
					}
					cancel()
				}
				if err := <-done; at == "before" && !errors.Is(err, context.Canceled) || at == "after" && err != nil {
					t.Errorf("the compaction returned %v", err)
				}
				cancel()
				close(finish)
				if err := errors.Join(x.Compact(t.Context()), x.Verify(t.Context()), x.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPutAfterDeletingAll deletes all documents and puts another one. The write that deletes the last rows also looks up a key in the
// bucket that is now empty.
func TestPutAfterDeletingAll(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), t.TempDir(), Options{})
	require.NoError(t, err)
	fillAndDelete(t, x, 0)
	d := corpus.Document{ID: "new", Collection: "c"}
	e := index.Entry{Chunk: corpus.Chunk{ID: "new", Level: corpus.Passage, Text: "apple"}}
	if err := errors.Join(x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{{e}}), x.Verify(t.Context()), x.Close()); err != nil {
		t.Error(err)
	}
}
