package cache_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestErase checks that the text of a deleted answer is not in the file any more.
func TestErase(t *testing.T) {
	t.Parallel()
	const secret = "grew.\\n"
	for name, c := range map[string]struct {
		delete func(t *testing.T, c *cache.Cache, docs library, now *time.Time)
		left   int // entries
	}{
		"another document goes": {func(_ *testing.T, c *cache.Cache, _ library, _ *time.Time) {
			c.DeleteDependents([]corpus.DocumentID{"bread"})
		}, 2},
		"its document goes": {func(_ *testing.T, c *cache.Cache, _ library, _ *time.Time) {
			c.DeleteDependents([]corpus.DocumentID{"bread", "acme"})
		}, 0},
		"it is found to be stale": {func(t *testing.T, c *cache.Cache, docs library, _ *time.Time) {
			docs.delete("acme")
			_, _ = lookup(t, c, docs, scope(), question), lookup(t, c, docs, scope(), "Where is Acme?")
		}, 0},
		"it is replaced": {func(t *testing.T, c *cache.Cache, docs library, _ *time.Time) {
			for _, q := range []string{question, "Where is Acme?"} {
				e := entry(q)
				e.Pieces[2].Text = "fell."
				keep(t, c, docs, e)
			}
		}, 2},
		"it is too old at a lookup": {func(t *testing.T, c *cache.Cache, docs library, now *time.Time) {
			*now = now.Add(time.Hour + time.Second)
			_, _ = lookup(t, c, docs, scope(), question), lookup(t, c, docs, scope(), "Where is Acme?")
		}, 0},
		"it is too old when another is kept": {func(t *testing.T, c *cache.Cache, docs library, now *time.Time) {
			*now = now.Add(time.Hour + time.Second)
			e := entry("Who leads Acme?")
			e.Pieces[2].Text = "fell."
			keep(t, c, docs, e)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := newLibrary(t)
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			path := filepath.Join(t.TempDir(), "cache.db")
			o := cache.Options{MaxAge: time.Hour, Now: func() time.Time { return now }}
			kept := openIn(t, path, o)
			keep(t, kept, docs, entry(question))
			keep(t, kept, docs, entry("Where is Acme?"))
			kept = reopened(t, kept, path, o)
			c.delete(t, kept, docs, &now)
			if n := kept.Stats().Entries; n != c.left {
				t.Errorf("%d entries, want %d", n, c.left)
			}
			if raw, err := os.ReadFile(path); err != nil || bytes.Contains(raw, []byte(secret)) != (name == "another document goes") {
				t.Errorf("the file holds %q: %v, %v", secret, bytes.Contains(raw, []byte(secret)), err)
			}
			if n := reopened(t, kept, path, o).Stats().Entries; n != c.left {
				t.Errorf("%d entries when opened again, want %d", n, c.left)
			}
		})
	}
}

func reopened(t *testing.T, c *cache.Cache, path string, o cache.Options) *cache.Cache {
	t.Helper()
	require.NoError(t, c.Close())
	return openIn(t, path, o)
}

func TestOpenErasesOldAnswers(t *testing.T) {
	t.Parallel()
	docs := newLibrary(t)
	path := filepath.Join(t.TempDir(), "cache.db")
	c := openIn(t, path, cache.Options{Now: func() time.Time { return time.Now().Add(-8 * 24 * time.Hour) }})
	keep(t, c, docs, entry(question))
	if n := reopened(t, c, path, cache.Options{}).Stats().Entries; n != 0 {
		t.Errorf("%d entries", n)
	}
	if raw, err := os.ReadFile(path); err != nil || bytes.Contains(raw, []byte("grew.")) {
		t.Errorf("its text is there: %v", err)
	}
}

// deleting is documents that lose a document while an answer that depends on it is being stored.
type deleting struct {
	library
	delete func()
}

func (f deleting) Version(ctx context.Context, collection string) (uint64, error) {
	v, err := f.library.Version(ctx, collection)
	f.delete()
	return v, err
}

func TestPutDuringADeletion(t *testing.T) {
	t.Parallel()
	eachStorage(t, putDuringADeletion)
}

func putDuringADeletion(t *testing.T, open opener) {
	t.Parallel()
	docs := newLibrary(t)
	c := open(t, cache.Options{})
	version, err := docs.Version(t.Context(), corpus.DefaultCollection)
	require.NoError(t, err)
	f := deleting{docs, func() { c.DeleteDependents([]corpus.DocumentID{"acme"}) }}
	if err := c.Put(t.Context(), f, entry(question), version); err != nil || c.Stats().Entries != 0 {
		t.Errorf("%d entries, %v", c.Stats().Entries, err)
	}
}
