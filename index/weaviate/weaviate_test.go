//go:build linux

package weaviate_test

import (
	"testing"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/indextest"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func open(t testing.TB, url, tenant, writer string) *weaviate.Index {
	t.Helper()
	x, err := weaviate.Open(weaviate.Options{URL: url, Tenant: tenant, Writer: writer})
	require.NoError(t, err)
	require.CloseAfter(t, x)
	return x
}

// TestIndex runs the conformance suite. A folder is a tenant.
func TestIndex(t *testing.T) {
	url := weaviatetest.URL(t)
	last := map[string]*weaviate.Index{}
	indextest.TestIndex(t, func(t *testing.T, dir string) index.Index {
		t.Helper()
		if x := last[dir]; x != nil {
			require.NoError(t, x.Close())
		}
		last[dir] = open(t, url, dir, "server")
		return last[dir]
	})
}
