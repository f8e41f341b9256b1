//go:build linux

package cache_test

import (
	"testing"
	"time"

	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

func init() {
	openers["postgres"] = func(t *testing.T, o cache.Options) *cache.Cache { return connect(t, postgrestest.URL(t), o) }
}

// connect opens the cache of a database over connections of its own, like another server.
func connect(t *testing.T, url string, o cache.Options) *cache.Cache {
	t.Helper()
	db := postgrestest.Open(t, url)
	read, write, err := db.Part(t.Context(), "answers", "cache", cache.Migrations)
	require.NoError(t, err)
	return cache.OpenShared(t.Context(), read, write, o)
}

// rows returns the number of rows of the cache's tables.
func rows(t *testing.T, url string) (n int64) {
	t.Helper()
	db := postgrestest.Open(t, url)
	read, _, err := db.Part(t.Context(), "answers", "nothing", nil)
	if err == nil {
		n, err = sqldb.One(t.Context(), read, sqldb.Integer, "SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM dependencies)")
	}
	require.NoError(t, err)
	return n
}

// TestServers lets two servers share a cache: each finds what the other keeps, and each deletes it for both.
func TestServers(t *testing.T) {
	t.Parallel()
	docs, url := newLibrary(t), postgrestest.URL(t)
	one, two := connect(t, url, cache.Options{}), connect(t, url, cache.Options{})
	for name, remove := range map[string]func(c *cache.Cache){
		"a document":         func(c *cache.Cache) { c.DeleteDependents([]corpus.DocumentID{"bread", "acme"}) },
		"the run":            func(c *cache.Cache) { c.DeleteRun("run_1") },
		"everything":         (*cache.Cache).Clear,
		"a changed document": func(c *cache.Cache) { docs.put("acme", "Acme was sold."); lookup(t, c, docs, scope(), question) },
	} {
		docs.put("acme", "In 2023 the revenue of Acme grew by 12 percent.")
		e := entry(question)
		e.Run = "run_1"
		keep(t, one, docs, e)
		one.DeleteDependents([]corpus.DocumentID{"bread"})
		two.DeleteRun("run_2")
		if got := lookup(t, two, docs, scope(), "In 2023, what did the revenue of Acme do?"); got == nil || got.Run != event.RunID("run_1") {
			t.Errorf("%s: the other server finds %v", name, got)
		}
		if got := two.Stats(); got.Entries != 1 || got.Bytes == 0 {
			t.Errorf("%s: %+v", name, got)
		}
		remove(two)
		if n := rows(t, url); n != 0 {
			t.Errorf("%s is deleted: %d rows remain", name, n)
		}
		if got := lookup(t, one, docs, scope(), question); got != nil {
			t.Errorf("%s is deleted: the first server finds %v", name, got)
		}
	}
}

// TestPutDuringADeletionElsewhere deletes a document on one server while another one keeps an answer that depends on it.
func TestPutDuringADeletionElsewhere(t *testing.T) {
	t.Parallel()
	docs, url := newLibrary(t), postgrestest.URL(t)
	one, two := connect(t, url, cache.Options{}), connect(t, url, cache.Options{})
	version, err := docs.Version(t.Context(), corpus.DefaultCollection)
	require.NoError(t, err)
	f := deleting{docs, func() { two.DeleteDependents([]corpus.DocumentID{"acme"}) }}
	if err := one.Put(t.Context(), f, entry(question), version); err != nil || rows(t, url) != 0 {
		t.Errorf("%d rows, %v", rows(t, url), err)
	}
}

// TestMaxBytesInPostgres keeps more answers than there is room for. Those that were used longest ago are deleted.
func TestMaxBytesInPostgres(t *testing.T) {
	t.Parallel()
	docs := newLibrary(t)
	c := connect(t, postgrestest.URL(t), cache.Options{MaxBytes: 20_000})
	of := func(i int) string {
		return "What did the revenue of company " + string(rune('a'+i/26)) + string(rune('a'+i%26)) + " do in 2023?"
	}
	for i := range 60 {
		e := entry(of(i))
		keep(t, c, docs, e)
		if i > 0 && lookup(t, c, docs, e.Scope, of(0)) == nil {
			t.Fatalf("the answer that is used is gone after %d others", i)
		}
	}
	if s := c.Stats(); s.Bytes > 20_000 || s.Entries < 5 || s.Entries == 60 {
		t.Errorf("%+v", s)
	}
	if lookup(t, c, docs, scope(), of(1)) != nil || lookup(t, c, docs, scope(), of(59)) == nil {
		t.Error("the wrong answers were deleted")
	}
}

// TestDatabaseAway stops the database. Lookups find nothing, nothing fails, and a deletion is done when the database is back.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	docs, s := newLibrary(t), postgrestest.New(t)
	url, now := s.URL(t), time.Now()
	c := connect(t, url, cache.Options{Now: func() time.Time { return now }})
	other := entry("How much did Acme earn?")
	other.Sources = nil
	keep(t, c, docs, entry(question))
	keep(t, c, docs, other)
	s.Stop()
	began := time.Now()
	for range 20 {
		if got := lookup(t, c, docs, scope(), question); got != nil {
			t.Errorf("without a database: %v", got)
		}
		keep(t, c, docs, entry(question))
		c.DeleteDependents([]corpus.DocumentID{"acme"})
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("60 operations without a database took %v", took)
	}
	s.Start(t)
	if got := lookup(t, c, docs, scope(), other.Question); got != nil {
		t.Error("the database is used at once after a failure")
	}
	now = now.Add(6 * time.Second)
	if got := lookup(t, c, docs, scope(), other.Question); got == nil {
		t.Error("an answer is not found after the database came back")
	}
	if got := lookup(t, c, docs, scope(), question); got != nil || c.Stats().Entries != 1 {
		t.Errorf("an answer that was to be deleted is there: %v, %+v", got, c.Stats())
	}
}
