package source_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/folder"
	"github.com/sluice-rag/sluice/store"
)

// countsListings counts how often all documents are listed.
type countsListings struct {
	source.Connector
	source.Watcher
	listings *atomic.Int32
}

func (c countsListings) List(ctx context.Context) (source.Listing, error) {
	c.listings.Add(1)
	return c.Connector.List(ctx)
}

// TestOneSyncOfAWatch checks that the first sync of a watched source lists its documents once: the watch notices all that changes after the listing, so it needs no second one.
func TestOneSyncOfAWatch(t *testing.T) {
	t.Parallel()
	yes, contributor := true, "bob"
	for name, watch := range map[string]func(b *scheduled) string{
		"added with a watch": func(b *scheduled) string {
			id := b.add(source.Settings{Watch: true})
			_, err := b.service.Sync(b.Context(), id, source.SyncOptions{})
			require.NoError(b, err)
			return id
		},
		"with other changes": func(b *scheduled) string {
			id := b.add(source.Settings{})
			_, err := b.service.Change(b.Context(), id, source.Changes{Watch: &yes, Contributor: &contributor})
			require.NoError(b, err)
			return id
		},
		"a sync that an earlier process has begun": func(b *scheduled) string {
			b.service.Close()
			id := b.add(source.Settings{Watch: true})
			b.set(id, func(src *store.Source) { src.State, src.Ingestion, src.Attempt = store.SourceSyncing, "ing-1", 1 })
			b.serve("", nil)
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &scheduled{bench: newBench(t), kind: folder.Kind(nil, nil)}
			listings, open := new(atomic.Int32), b.kind.Open
			b.kind.Open = func(location string) (source.Connector, error) {
				c, err := open(location)
				if err != nil {
					return nil, err
				}
				return countsListings{c, c.(source.Watcher), listings}, nil
			}
			b.serve("", nil)
			b.put("a.md", "The lighthouse was built in 1900.")
			id := watch(b)
			b.ended()
			b.put("b.md", "Bread needs flour.")
			for b.indexed() != "a.md b.md" {
				b.ended()
			}
			_, err := b.service.Wait(t.Context(), id)
			require.NoError(t, err)
			if n := listings.Load(); n != 1 {
				t.Errorf("all documents were listed %d times", n)
			}
		})
	}
}
