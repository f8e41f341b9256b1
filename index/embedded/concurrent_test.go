package embedded_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestConcurrentCalls writes, deletes, compacts and reads concurrently, and then closes the index. Readers must see complete documents until
// they get the error that the index is closed.
func TestConcurrentCalls(t *testing.T) {
	x := open(t, t.TempDir())
	require.NoError(t, put(t.Context(), x, "fixed", "steady", 5))
	ctx := context.Background()
	var readers, writers sync.WaitGroup
	read := func(what string, count func() (int, error)) {
		readers.Go(func() {
			for {
				n, err := count()
				if err != nil {
					if !strings.Contains(err.Error(), "closed") {
						t.Errorf("%s: %v", what, err)
					}
					return
				}
				if n%5 != 0 || n == 0 {
					t.Errorf("%s: %d passages", what, n)
					return
				}
			}
		})
	}
	read("search", func() (int, error) {
		hits, err := x.Search(ctx, index.Query{Collection: "c", Text: "steady", Vector: []float32{1, 0}, Limit: 50})
		if err != nil {
			return 0, err
		}
		_, err = x.Documents(ctx, "c", "", 0)
		return len(hits), err
	})
	read("walk", func() (int, error) {
		rs, err := x.Walk(ctx, index.WalkQuery{Collection: "c", Entities: []string{"Name steady"}, Limit: 50})
		return len(rs), err
	})
	for w := range 2 {
		writers.Go(func() {
			for i := range 8 {
				id := fmt.Sprintf("doc%d-%d", w, i%3)
				if err := put(ctx, x, id, "steady", 5); err != nil {
					t.Errorf("put: %v", err)
				}
				if i%4 == 3 {
					if err := x.Delete(ctx, "c", []corpus.DocumentID{corpus.DocumentID(id)}); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
				if i%5 == 4 {
					if err := x.Compact(ctx); err != nil {
						t.Errorf("compact: %v", err)
					}
				}
			}
		})
	}
	writers.Wait()
	closeIndex(t, x)
	readers.Wait()
}
