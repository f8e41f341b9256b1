package embedded

import (
	"fmt"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestFilterCachesArePruned adds many documents to a set, one by one, with a search after each. Filters must not keep data of segments that were
// merged.
func TestFilterCachesArePruned(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), t.TempDir(), Options{})
	require.NoError(t, err)
	defer x.Close()
	ctx := t.Context()
	const puts = 80
	scope := index.Scope{Collection: "c", Sets: []string{"s"}}
	for i := range puts {
		d := corpus.Document{ID: corpus.DocumentID(fmt.Sprint(i)), Collection: "c"}
		e := index.Entry{Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint(i)), Level: corpus.Passage, Text: "apple"}}
		require.NoError(t, x.Put(ctx, []corpus.Document{d}, [][]index.Entry{{e}}))
		require.NoError(t, x.AddToSet(ctx, "c", "s", []corpus.DocumentID{d.ID}))
		hits, err := x.Search(ctx, index.Query{Collection: scope.Name(), Text: "apple", Limit: 100})
		if err != nil || len(hits) != i+1 {
			t.Fatalf("%d hits after %d documents, %v", len(hits), i+1, err)
		}
	}
	c, err := x.collection("c")
	require.NoError(t, err)
	s, f, err := x.scoped(ctx, c, scope)
	require.NoError(t, err)
	defer c.release(s)
	if n := len(f.segments); n == 0 || n > puts/2 || len(c.filters) != 1 {
		t.Errorf("the chunks of %d segments are remembered, for %d filters", n, len(c.filters))
	}
}
