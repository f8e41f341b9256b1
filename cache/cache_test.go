package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// library is a real index without vectors, with one line of text per document.
type library struct {
	*embedded.Index
	t *testing.T
}

func newLibrary(t *testing.T) library {
	t.Helper()
	x, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Close() })
	l := library{x, t}
	for id, text := range map[string]string{"acme": "In 2023 the revenue of Acme grew by 12 percent.", "bread": "Sourdough rises for twelve hours.",
		"rivers": "The Amazon carries more water than any other river."} {
		l.put(id, text)
	}
	return l
}

func (l library) put(id, text string) {
	l.t.Helper()
	doc := corpus.Document{ID: corpus.DocumentID(id), Collection: corpus.DefaultCollection, Hash: fmt.Sprintf("%x", text)}
	chunk := corpus.Chunk{ID: chunkOf(id, text), Document: doc.ID, Level: corpus.Passage, Text: text, End: len(text)}
	require.NoError(l.t, l.Put(l.t.Context(), []corpus.Document{doc}, [][]index.Entry{{{Chunk: chunk}}}))
}

func (l library) delete(id string) {
	l.t.Helper()
	require.NoError(l.t, l.Delete(l.t.Context(), corpus.DefaultCollection, []corpus.DocumentID{corpus.DocumentID(id)}))
}

func chunkOf(id, text string) corpus.ChunkID {
	return corpus.ChunkID(fmt.Sprintf("c_%s_%d", id, len(text)))
}

// Search implements [cache.Documents].
func (l library) Search(ctx context.Context, collection, question string, limit int) ([]index.Hit, error) {
	return l.Index.Search(ctx, index.Query{Collection: collection, Text: question, Limit: limit})
}

const question = "What did the revenue of Acme do in 2023?"

func scope() cache.Scope {
	return cache.Scope{Collection: corpus.DefaultCollection, Mode: event.Direct, TopK: 5, Setup: "model-a"}
}

// entry returns an answer that depends on the document acme.
func entry(q string) cache.Entry {
	return cache.Entry{Question: q, Scope: scope(), Analysis: event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"},
		Pieces: []cache.Piece{{Text: "It "}, {Text: ""}, {Text: "grew.\n"}, {N: 1, Chunk: "c_acme_47"}}, By: "rules", Confidence: 0.75,
		Sources: []event.Source{{N: 1, Chunk: "c_acme_47", Document: "acme", Score: 0.9, Weight: 1, Cited: true}}}
}

// opener opens a new cache.
type opener func(t *testing.T, o cache.Options) *cache.Cache

// openers are those of the storages.
var openers = map[string]opener{"file": open}

// eachStorage runs a test with each storage.
func eachStorage(t *testing.T, test func(t *testing.T, open opener)) {
	for name, open := range openers {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func open(t *testing.T, o cache.Options) *cache.Cache {
	t.Helper()
	return openIn(t, filepath.Join(t.TempDir(), "cache.db"), o)
}

func openIn(t *testing.T, path string, o cache.Options) *cache.Cache {
	t.Helper()
	c, err := cache.Open(path, o)
	require.NoError(t, err)
	require.CloseAfter(t, c)
	return c
}

func keep(t *testing.T, c *cache.Cache, docs cache.Documents, e cache.Entry) {
	t.Helper()
	version, err := docs.Version(t.Context(), e.Scope.Collection)
	if err == nil {
		err = c.Put(t.Context(), docs, e, version)
	}
	require.NoError(t, err)
}

func lookup(t *testing.T, c *cache.Cache, docs cache.Documents, s cache.Scope, q string) *cache.Entry {
	t.Helper()
	e, similarity, err := c.Lookup(t.Context(), docs, s, q)
	require.NoError(t, err)
	if e != nil && (similarity <= 0 || similarity > 1) {
		t.Errorf("similarity %v", similarity)
	}
	return e
}

func TestLookupReturnsAnswers(t *testing.T) {
	t.Parallel()
	eachStorage(t, lookupReturnsAnswers)
}

func lookupReturnsAnswers(t *testing.T, open opener) {
	t.Parallel()
	docs := newLibrary(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
	counted := map[cache.Result]int{}
	c := open(t, cache.Options{Now: func() time.Time { return now }, OnLookup: func(r cache.Result) { counted[r]++ }})
	want := entry(question)
	keep(t, c, docs, want)
	got := lookup(t, c, docs, scope(), "Could you tell me what the revenue of Acme did in 2023?")
	if got == nil {
		t.Fatal("no answer")
	}
	if len(got.Dependencies) != 1 || got.Dependencies[0].Document != "acme" || len(got.Searches) != 1 || got.Searches[0].Question != question {
		t.Errorf("dependencies %v, searches %v", got.Dependencies, got.Searches)
	}
	want.Created, want.Dependencies, want.Searches = now.Truncate(time.Microsecond), got.Dependencies, got.Searches
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
	if e := lookup(t, c, docs, scope(), "What did the revenue of Acme do in 2024?"); e != nil {
		t.Errorf("another year's answer: %v", e.Pieces)
	}
	if diff := cmp.Diff(map[cache.Result]int{cache.Hit: 1, cache.Miss: 1}, counted); diff != "" {
		t.Error(diff)
	}
}

func TestScopeIsExact(t *testing.T) {
	t.Parallel()
	eachStorage(t, scopeIsExact)
}

func scopeIsExact(t *testing.T, open opener) {
	t.Parallel()
	docs := newLibrary(t)
	c := open(t, cache.Options{})
	keep(t, c, docs, entry(question))
	for name, change := range map[string]func(*cache.Scope){
		"collection": func(s *cache.Scope) { s.Collection = "other" }, "tenant": func(s *cache.Scope) { s.Tenant = "t" },
		"session": func(s *cache.Scope) { s.Session = "s" }, "mode": func(s *cache.Scope) { s.Mode = event.Agentic },
		"top_k": func(s *cache.Scope) { s.TopK = 6 }, "setup": func(s *cache.Scope) { s.Setup = "model-b" },
		"shifted": func(s *cache.Scope) { s.Tenant, s.Session = "x", "" },
	} {
		s := scope()
		change(&s)
		if lookup(t, c, docs, s, question) != nil {
			t.Errorf("the answer of another %s was given", name)
		}
	}
	if lookup(t, c, docs, scope(), question) == nil {
		t.Error("the answer of the scope itself was not given")
	}
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	eachStorage(t, freshness)
}

func freshness(t *testing.T, open opener) {
	t.Parallel()
	abstained := func() cache.Entry {
		e := entry(question)
		e.Abstained, e.Pieces = true, []cache.Piece{{Text: "The documents do not say."}}
		return e
	}
	hop := func() cache.Entry {
		e := entry(question)
		e.Searches = []cache.Search{{Question: question}, {Question: "Who leads Acme?"}}
		return e
	}
	for name, c := range map[string]struct {
		entry  func() cache.Entry
		change func(l library)
		fresh  bool
	}{
		"nothing changes":              {nil, func(library) {}, true},
		"what is cited changes":        {nil, func(l library) { l.put("acme", "In 2023 the revenue of Acme fell.") }, false},
		"what is cited goes":           {nil, func(l library) { l.delete("acme") }, false},
		"what is cited comes again":    {nil, func(l library) { l.delete("acme"); l.put("acme", "In 2023 the revenue of Acme grew by 12 percent.") }, true},
		"something relevant arrives":   {nil, func(l library) { l.put("new", "Acme restated its revenue of 2023: it fell.") }, false},
		"something irrelevant arrives": {nil, func(l library) { l.put("new", "Rye flour feeds the starter every morning.") }, true},
		"something hardly relevant": {nil, func(l library) {
			l.put("new", strings.Repeat("The oven is heated for the bread every morning. ", 20)+"In 2023 it broke.")
		}, true},
		"something irrelevant goes":     {nil, func(l library) { l.delete("bread") }, true},
		"what another step searched":    {hop, func(l library) { l.put("new", "Jane Doe leads the board.") }, false},
		"no answer, nothing changes":    {abstained, func(library) {}, true},
		"no answer, anything arrives":   {abstained, func(l library) { l.put("new", "Rye flour feeds the starter.") }, false},
		"no answer, something changes":  {abstained, func(l library) { l.put("bread", "Sourdough rises overnight.") }, false},
		"an answer of another question": {func() cache.Entry { return entry("Who leads Acme?") }, func(library) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := newLibrary(t)
			stale := 0
			kept := open(t, cache.Options{OnLookup: func(r cache.Result) {
				if r == cache.Stale {
					stale++
				}
			}})
			if c.entry == nil {
				c.entry = func() cache.Entry { return entry(question) }
			}
			keep(t, kept, docs, c.entry())
			c.change(docs)
			for range 2 { // stale answers are deleted, fresh ones are kept
				if got := lookup(t, kept, docs, scope(), question) != nil; got != c.fresh {
					t.Errorf("fresh %v, want %v", got, c.fresh)
				}
			}
			if stale > 1 || c.fresh && stale > 0 {
				t.Errorf("counted %d stale", stale)
			}
		})
	}
}

func TestPutOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	eachStorage(t, putOfAnEarlierVersion)
}

func putOfAnEarlierVersion(t *testing.T, open opener) {
	t.Parallel()
	docs := newLibrary(t)
	c := open(t, cache.Options{})
	before, err := docs.Version(t.Context(), corpus.DefaultCollection)
	require.NoError(t, err)
	docs.put("new", "Acme restated its revenue of 2023.")
	require.NoError(t, c.Put(t.Context(), docs, entry(question), before))
	if lookup(t, c, docs, scope(), question) != nil {
		t.Error("an answer from before the change was kept as one after it")
	}
}

// failing documents cannot be read.
type failing struct {
	library
	versions, searches bool
}

var errDown = errors.New("down")

func (f failing) Version(ctx context.Context, collection string) (uint64, error) {
	if f.versions {
		return 0, errDown
	}
	return f.library.Version(ctx, collection)
}

func (f failing) Search(ctx context.Context, collection, question string, limit int) ([]index.Hit, error) {
	if f.searches {
		return nil, errDown
	}
	return f.library.Search(ctx, collection, question, limit)
}

func TestLookupThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	eachStorage(t, lookupThatCannotBeChecked)
}

func lookupThatCannotBeChecked(t *testing.T, open opener) {
	t.Parallel()
	docs := newLibrary(t)
	c := open(t, cache.Options{})
	if err := c.Put(t.Context(), failing{library: docs, searches: true}, entry(question), 1); !errors.Is(err, errDown) {
		t.Errorf("keep: %v", err)
	}
	keep(t, c, docs, entry(question))
	docs.put("new", "Rye flour feeds the starter.")
	for _, f := range []failing{{docs, true, false}, {docs, false, true}} {
		if e, _, err := c.Lookup(t.Context(), f, scope(), question); e != nil || !errors.Is(err, errDown) {
			t.Errorf("%+v: %v, %v", f, e, err)
		}
	}
	if lookup(t, c, docs, scope(), question) == nil {
		t.Error("it was forgotten")
	}
}

func TestEntriesSurviveARestart(t *testing.T) {
	t.Parallel()
	docs := newLibrary(t)
	path := filepath.Join(t.TempDir(), "cache.db")
	c := openIn(t, path, cache.Options{})
	questions := []string{question, "Who leads Acme?", "Where is Acme?"}
	for _, q := range questions {
		keep(t, c, docs, entry(q))
	}
	again := entry(questions[1])
	again.Pieces[0].Text = "Again "
	keep(t, c, docs, again)
	gone := entry("Why is Acme?")
	gone.Abstained = true
	keep(t, c, docs, gone)
	docs.put("new", "Rye flour feeds the starter.")
	if lookup(t, c, docs, scope(), gone.Question) != nil {
		t.Fatal("what is stale was given")
	}
	require.NoError(t, c.Close())
	if lookup(t, c, docs, scope(), question) != nil || c.Close() != nil {
		t.Error("a closed cache returns answers, or cannot be closed again")
	}
	keep(t, c, docs, entry(question))
	c = openIn(t, path, cache.Options{})
	if n := c.Stats().Entries; n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
	for i, q := range questions {
		e := lookup(t, c, docs, scope(), q)
		if e == nil || i == 1 && e.Pieces[0].Text != "Again " {
			t.Errorf("%q: %v", q, e)
		}
	}
}

// TestDamagedFile opens files that are not complete caches. Each is replaced by an empty one.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	docs := newLibrary(t)
	path := filepath.Join(t.TempDir(), "cache.db")
	c := openIn(t, path, cache.Options{})
	keep(t, c, docs, entry(question))
	keep(t, c, docs, entry("Who leads Acme?"))
	require.NoError(t, c.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	zeroed := func(from, to int) []byte {
		b := slices.Clone(whole)
		clear(b[from:to])
		return b
	}
	for name, d := range map[string]struct {
		file    []byte
		entries int
		warned  bool
	}{
		"whole": {whole, 2, false}, "empty": {nil, 0, false}, "another format": {[]byte(strings.Repeat("hello", 1000)), 0, true},
		"cut short": {whole[:len(whole)-5000], 0, true}, "damaged header": {zeroed(0, 100), 0, true}, "damaged page": {zeroed(4096, 8192), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "cache.db")
			require.NoError(t, os.WriteFile(path, d.file, 0o600))
			var log bytes.Buffer
			c := openIn(t, path, cache.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if n := c.Stats().Entries; n != d.entries || (log.Len() > 0) != d.warned {
				t.Errorf("%d entries, want %d; logged %q", n, d.entries, log.String())
			}
			keep(t, c, docs, entry(question))
			if lookup(t, c, docs, scope(), question) == nil {
				t.Error("answers are not kept any more")
			}
		})
	}
	if _, err := cache.Open(t.TempDir(), cache.Options{}); err == nil {
		t.Error("a folder was opened")
	}
}

// TestDamagedEntry changes the text of an answer in the file. The answer is not returned.
func TestDamagedEntry(t *testing.T) {
	t.Parallel()
	docs := newLibrary(t)
	path := filepath.Join(t.TempDir(), "cache.db")
	c := openIn(t, path, cache.Options{})
	keep(t, c, docs, entry(question))
	require.NoError(t, c.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(raw, []byte("grew."), []byte("fell."), 1), 0o600))
	c = openIn(t, path, cache.Options{})
	if c.Stats().Entries != 1 || lookup(t, c, docs, scope(), question) != nil || c.Stats().Entries != 0 {
		t.Error("a damaged answer was returned, or it was not dropped")
	}
}

func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "cache.db")
	c, err := cache.Open(path, cache.Options{})
	require.NoError(f, err)
	require.NoError(f, c.Close())
	whole, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add([]byte("hello"))
	f.Add(whole)
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(t.TempDir(), "cache.db")
		require.NoError(t, os.WriteFile(path, file, 0o600))
		c, err := cache.Open(path, cache.Options{})
		require.NoError(t, err)
		c.Clear()
		if s := c.Stats(); s.Entries != 0 {
			t.Errorf("%d entries after Clear", s.Entries)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestMaxBytes(t *testing.T) {
	t.Parallel()
	docs := newLibrary(t)
	const maxBytes = 200_000
	path := filepath.Join(t.TempDir(), "cache.db")
	c := openIn(t, path, cache.Options{MaxBytes: maxBytes})
	of := func(i int) string { return fmt.Sprintf("What did the revenue of Acme do in %d?", 1000+i) }
	for i := range 300 {
		keep(t, c, docs, entry(of(i)))
		if lookup(t, c, docs, scope(), of(0)) == nil {
			t.Fatalf("what is used all the time was dropped at %d", i)
		}
		if s := c.Stats(); s.Bytes > maxBytes {
			t.Fatalf("%d bytes", s.Bytes)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() > maxBytes {
		t.Errorf("the file: %v, %v", info, err)
	}
	if lookup(t, c, docs, scope(), of(299)) == nil || lookup(t, c, docs, scope(), of(1)) != nil {
		t.Error("the newest is gone, or the oldest is not")
	}
	big := entry("What is large?")
	big.Pieces[0].Text = strings.Repeat("x", maxBytes/4)
	keep(t, c, docs, big)
	if lookup(t, c, docs, scope(), big.Question) != nil {
		t.Error("an answer that would take a quarter of the room was kept")
	}
	entries := c.Stats().Entries
	require.NoError(t, c.Close())
	c = openIn(t, path, cache.Options{MaxBytes: maxBytes * 3 / 4})
	if s := c.Stats(); s.Bytes > maxBytes*3/4 || s.Entries == 0 || s.Entries >= entries {
		t.Errorf("opened with less room: %+v", s)
	}
	c.Clear()
	if s := c.Stats(); s.Entries != 0 || s.Bytes > 64<<10 || lookup(t, c, docs, scope(), of(0)) != nil {
		t.Errorf("cleared: %+v", s)
	}
}

func TestMaxAge(t *testing.T) {
	t.Parallel()
	eachStorage(t, maxAge)
}

func maxAge(t *testing.T, open opener) {
	t.Parallel()
	docs := newLibrary(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := open(t, cache.Options{MaxAge: time.Hour, Now: func() time.Time { return now }})
	keep(t, c, docs, entry(question))
	for _, step := range []struct {
		passes time.Duration
		fresh  bool
	}{{time.Hour, true}, {time.Second, false}, {-2 * time.Hour, false}} {
		now = now.Add(step.passes)
		if got := lookup(t, c, docs, scope(), question) != nil; got != step.fresh {
			t.Errorf("after %v: %v", step.passes, got)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	eachStorage(t, concurrentUse)
}

func concurrentUse(t *testing.T, open opener) {
	t.Parallel()
	docs := newLibrary(t)
	c := open(t, cache.Options{MaxBytes: 130_000})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 20 {
				q := fmt.Sprintf("What did the revenue of Acme do in %d?", 1000+(w*i)%20)
				version, _ := docs.Version(t.Context(), corpus.DefaultCollection)
				if err := c.Put(t.Context(), docs, entry(q), version); err != nil {
					t.Error(err)
				}
				if e, _, err := c.Lookup(t.Context(), docs, scope(), q); err != nil || e != nil && e.Question != q {
					t.Errorf("%q: %v, %v", q, e, err)
				}
				if i%10 == 9 {
					docs.put("new", fmt.Sprintf("Rye flour %d.", i))
				}
				_ = c.Stats()
			}
		})
	}
	wg.Wait()
}

func BenchmarkLookup(b *testing.B) {
	x, err := embedded.Open(b.Context(), filepath.Join(b.TempDir(), "index"), embedded.Options{})
	require.NoError(b, err)
	defer x.Close()
	docs := library{x, nil}
	c, err := cache.Open(filepath.Join(b.TempDir(), "cache.db"), cache.Options{MaxBytes: 1 << 30})
	require.NoError(b, err)
	defer c.Close()
	const entries = 100_000
	for i := range entries {
		e := entry(fmt.Sprintf("What did the revenue of company %d do in 2023?", i))
		e.Sources = nil
		require.NoError(b, c.Put(b.Context(), docs, e, 0))
	}
	for name, of := range map[string]int{"hit": entries, "miss": 1 << 40} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				i++
				q := fmt.Sprintf("In 2023, what did the revenue of company %d do?", (i*7919)%of+of/entries-1)
				if e, _, err := c.Lookup(b.Context(), docs, scope(), q); err != nil || (e == nil) == (name == "hit") {
					b.Fatal(q, e, err)
				}
			}
		})
	}
}
