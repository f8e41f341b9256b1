package embedded_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

// TestAllAtOnce writes, deletes, compacts, reads and at last closes at once: what a reader is shown is whole until the
// index says that it is closed.
func TestAllAtOnce(t *testing.T) {
	x := open(t, t.TempDir())
	if err := put(t.Context(), x, "fixed", "steady", 5); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				hits, err := x.Search(ctx, index.Query{Collection: "c", Text: "steady", Vector: []float32{1, 0}, Limit: 50})
				if err != nil {
					if !strings.Contains(err.Error(), "closed") {
						t.Errorf("search: %v", err)
					}
					return
				}
				if len(hits)%5 != 0 || len(hits) == 0 {
					t.Errorf("%d hits", len(hits))
					return
				}
				if _, err := x.Documents(ctx, "c", "", 0); err != nil && !strings.Contains(err.Error(), "closed") {
					t.Errorf("documents: %v", err)
				}
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			for i := range 12 {
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
