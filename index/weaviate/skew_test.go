//go:build linux

package weaviate_test

import (
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestClockAhead checks that a server whose clock is ahead does not drop what another one has written after it.
func TestClockAhead(t *testing.T) {
	url := weaviatetest.URL(t)
	ahead, other := open(t, url, "skew", "one"), open(t, url, "skew", "two")
	put(t, ahead, "replaced", "apple one")
	put(t, ahead, "deleted", "pear one")
	require.NoError(t, ahead.Delete(t.Context(), "c", []corpus.DocumentID{"deleted"}))
	ahead.Ahead(time.Second)
	put(t, other, "replaced", "apple two")
	put(t, other, "deleted", "pear two")
	ahead.RecheckAfter(-time.Hour)
	require.NoError(t, ahead.Compact(t.Context()))
	for word, want := range map[string]string{"apple": "apple two", "pear": "pear two"} {
		if got := found(t, other, word); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}
