package embedded_test

import (
	"context"
	"testing"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/indextest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// opener returns an [indextest.Open] that keeps one index open per folder.
func opener() indextest.Open {
	last := map[string]*embedded.Index{}
	return func(t *testing.T, dir string) index.Index {
		t.Helper()
		if x := last[dir]; x != nil {
			require.NoError(t, x.Close())
		}
		x, err := embedded.Open(context.Background(), dir, embedded.Options{})
		require.NoError(t, err)
		require.CloseAfter(t, x)
		last[dir] = x
		return x
	}
}

func TestIndex(t *testing.T) { indextest.TestIndex(t, opener()) }
