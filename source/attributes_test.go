package source_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/store"
)

type sourceStore = store.Sources

// readSources counts how often the sources are listed, and calls during with each list.
type readSources struct {
	sourceStore
	lists  int
	during func()
}

func (r *readSources) Sources(ctx context.Context) ([]store.Source, error) {
	r.lists++
	all, err := r.sourceStore.Sources(ctx)
	if during := r.during; during != nil {
		r.during = nil
		during()
	}
	return all, err
}

// TestAttributesAreCached: searches do not list the sources each time, and see changes of this server at once and those of others after a second.
func TestAttributesAreCached(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "The pump is in the cellar.")
	id := b.add(source.Settings{Attributes: map[string]any{"team": "one"}})
	b.sync(id, false)
	now := time.Now()
	lists := &readSources{sourceStore: b.store}
	service := source.New(source.Options{Store: lists, Ingestions: b.store, Finder: b.store, Kinds: map[string]source.Kind{"folder": b.opened.Kind},
		Now: func() time.Time { return now }})
	defer service.Close()
	docs, err := b.store.SourceDocuments(t.Context(), id)
	require.NoError(t, err)
	want := func(team string, wantLists int) {
		t.Helper()
		lists.lists = 0
		for range 5 {
			got, err := service.Attributes(t.Context(), []string{docs[0].ID})
			require.NoError(t, err)
			if diff := cmp.Diff(map[string]map[string]any{docs[0].ID: {"team": team}}, got); diff != "" {
				t.Fatal(diff)
			}
		}
		if lists.lists != wantLists {
			t.Errorf("5 searches listed the sources %d times, want %d", lists.lists, wantLists)
		}
	}
	want("one", 1)
	change := func(s *source.Service, team string) {
		t.Helper()
		_, err := s.Change(t.Context(), id, source.Changes{Attributes: map[string]any{"team": team}})
		require.NoError(t, err)
	}
	change(service, "two")
	want("two", 1)
	now = now.Add(2 * time.Second)
	lists.during = func() { change(service, "three") } // the list of before must not be kept
	_, err = service.Attributes(t.Context(), nil)
	require.NoError(t, err)
	want("three", 1)
	other := source.New(source.Options{Store: b.store, Ingestions: b.store, Kinds: map[string]source.Kind{"folder": b.opened.Kind}})
	defer other.Close()
	change(other, "four")
	now = now.Add(time.Second)
	want("four", 1)
	now = now.Add(-time.Hour) // the clock is set back
	change(other, "five")
	want("five", 1)
}
