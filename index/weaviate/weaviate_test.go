//go:build linux

package weaviate_test

import (
	"testing"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/indextest"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
)

func open(t testing.TB, url, tenant, writer string) *weaviate.Index {
	t.Helper()
	x, err := weaviate.Open(weaviate.Options{URL: url, Tenant: tenant, Writer: writer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestIndex runs the conformance suite. A folder is a tenant.
func TestIndex(t *testing.T) {
	url := weaviatetest.URL(t)
	last := map[string]*weaviate.Index{}
	indextest.TestIndex(t, func(t *testing.T, dir string) index.Index {
		t.Helper()
		if x := last[dir]; x != nil {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
		last[dir] = open(t, url, dir, "server")
		return last[dir]
	})
}
