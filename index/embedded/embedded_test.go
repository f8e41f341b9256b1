package embedded_test

import (
	"context"
	"testing"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/indextest"
)

// opener returns an [indextest.Open] that keeps one index open per folder.
func opener() indextest.Open {
	last := map[string]*embedded.Index{}
	return func(t *testing.T, dir string) index.Index {
		t.Helper()
		if x := last[dir]; x != nil {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
		x, err := embedded.Open(context.Background(), dir, embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
		last[dir] = x
		return x
	}
}

func TestIndex(t *testing.T) { indextest.TestIndex(t, opener()) }
