package app_test

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/sse"
)

// put ingests a document.
func put(t *testing.T, a *app.App, uri, text string) {
	t.Helper()
	if _, err := a.Ingester.IngestDocuments(t.Context(), "default", []ingest.Source{{URI: uri, Data: []byte(text)}}, nil); err != nil {
		t.Fatal(err)
	}
}

// pieces returns the streamed answer.
func pieces(log []event.Event) []event.Body {
	var out []event.Body
	for _, e := range log {
		switch e.Body.(type) {
		case event.Token, event.Cited:
			out = append(out, e.Body)
		}
	}
	return out
}

func TestCachedAnswerEqualsAnswer(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	const question = "Who is the keeper of the Farland lighthouse?"
	log, first := ask(t, a, question)
	if first.Cached() || len(first.Citations)+len(first.Sources) == 0 {
		t.Fatalf("the first answer: cached %v, %d citations", first.Cached(), len(first.Sources))
	}
	for _, q := range []string{question, "could you tell me who the keeper of the Farland lighthouse is", "Who is the Farland lighthouse's keeper?"} {
		again, state := ask(t, a, q)
		if !state.Cached() {
			t.Errorf("%q is answered anew", q)
			continue
		}
		if diff := cmp.Diff(pieces(log), pieces(again)); diff != "" {
			t.Errorf("%q: other pieces: %s", q, diff)
		}
		if diff := cmp.Diff(first.Sources, state.Sources); diff != "" {
			t.Errorf("%q: other sources: %s", q, diff)
		}
		if state.Confidence != first.Confidence || state.Confidence == 0 || state.ClaimSupport() != first.ClaimSupport() || state.Cache.Query != question || state.Cache.Similarity < 0.5 || state.Status != event.Finished {
			t.Errorf("%q: %+v, confidence %v where it was %v", q, state.Cache, state.Confidence, first.Confidence)
		}
	}
	for _, q := range []string{"Who is not the keeper of the Farland lighthouse?", "Who is the keeper of the Nearland lighthouse?", "Who was the keeper of the Farland lighthouse?"} {
		if _, state := ask(t, a, q); state.Cached() {
			t.Errorf("%q gets the answer to %q", q, question)
		}
	}
	put(t, a, "lighthouse.md", strings.ReplaceAll(lighthouse, "Ada Brook", "Bea Stone"))
	if log, state := ask(t, a, question); state.Cached() || !strings.Contains(fmt.Sprint(pieces(log)), "Stone") {
		t.Errorf("the document has changed, and the answer is cached %v: %v", state.Cached(), pieces(log))
	}
}

func TestNewDocumentsInvalidateAbstention(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	const question = "What does a zeppelin weigh?"
	_, first := ask(t, a, question)
	_, second := ask(t, a, question)
	if len(first.Citations) > 0 || !second.Cached() {
		t.Fatalf("%d citations in the answer to %q, and the second is cached: %v", len(first.Citations), question, second.Cached())
	}
	put(t, a, "zeppelin.md", "# Zeppelins\n\nA zeppelin weighs 120 tonnes.\n")
	if _, state := ask(t, a, question); state.Cached() {
		t.Error("that nothing was found is still said")
	}
}

func TestNoCache(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	off, _ := open(t, func(c *config.Config) { c.Cache.CacheBytes = 0 })
	const question = "Who is the keeper of the Farland lighthouse?"
	anew := func() bool {
		run, err := a.Engine.Ask(t.Context(), event.Question{Query: question, NoCache: true}, engine.Caller{})
		require.NoError(t, err)
		state := read(t, a, run)
		return state.Cached()
	}
	if anew() {
		t.Error("the first is cached")
	}
	if _, state := ask(t, a, question); state.Cached() {
		t.Error("an answer was kept that was not to be")
	}
	if anew() {
		t.Error("an answer was given that was not to be")
	}
	if _, state := ask(t, a, question); !state.Cached() {
		t.Error("nothing was kept")
	}
	for range 2 {
		if _, state := ask(t, off, question); state.Cached() {
			t.Error("there is a cache where none is wanted")
		}
	}
}

func read(t *testing.T, a *app.App, run event.RunID) event.State {
	t.Helper()
	var log []event.Event
	for batch, err := range a.Engine.Events(t.Context(), run, 0) {
		require.NoError(t, err)
		log = append(log, batch...)
	}
	return event.Fold(log)
}

func TestCacheAfterRestart(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	const question = "Who is the keeper of the Farland lighthouse?"
	for i, step := range []struct {
		change func(*config.Config)
		cached bool
	}{
		{func(*config.Config) {}, false}, {func(*config.Config) {}, true}, {func(c *config.Config) { c.Runs.AgentIterations = 2 }, false},
		{func(c *config.Config) { c.Runs.MaxRuns = 7 }, true}, {func(c *config.Config) { c.Models.EmbedWeight = 50 }, false},
	} {
		with := cfg
		step.change(&with)
		a, err := app.Open(t.Context(), with, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		if i == 0 {
			put(t, a, "lighthouse.md", lighthouse)
		}
		if _, state := ask(t, a, question); state.Cached() != step.cached {
			t.Errorf("step %d: cached %v, want %v", i, state.Cached(), step.cached)
		}
		require.NoError(t, a.Close())
	}
}

func TestCacheOverHTTP(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	s, err := a.Server("test")
	require.NoError(t, err)
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	post := func(body string) (run, text string, hit bool) {
		res, err := http.Post(h.URL+"/api/query/stream", "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		for ev, err := range sse.NewReader(res.Body, 0).All() {
			if err != nil {
				t.Error(err)
			}
			hit = hit || ev.Name == "cache_hit"
			if ev.Name == "token" {
				text += strings.TrimSuffix(strings.TrimPrefix(ev.Data, `{"type":"token","content":"`), `"}`)
			}
		}
		return res.Header.Get("Sluice-Run-Id"), text, hit
	}
	const body = `{"query":"Who is the keeper of the Farland lighthouse?","mode":"direct"}`
	var mu sync.Mutex
	runs, texts := map[string]int{}, map[string]int{}
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			run, text, _ := post(body)
			mu.Lock()
			defer mu.Unlock()
			runs[run]++
			texts[text]++
		})
	}
	all.Wait()
	if len(texts) != 1 || runs[""] > 0 {
		t.Errorf("30 equal questions get %d answers: %v", len(texts), texts)
	}
	_, first, taken := post(strings.Replace(body, `"mode"`, `"no_cache":true,"mode"`, 1))
	run, again, hit := post(body)
	if taken || !hit || again != first || again == "" || runs[run] > 0 {
		t.Errorf("from the cache %v: %q, anew: %q", hit, again, first)
	}
	res, err := http.Get(h.URL + "/metrics")
	require.NoError(t, err)
	defer res.Body.Close()
	metrics, _ := io.ReadAll(res.Body)
	if !strings.Contains(string(metrics), `sluice_cache_lookups_total{result="hit",tenant="default"}`) || !strings.Contains(string(metrics), `sluice_cache_entries{tenant="default"} 1`) {
		t.Error("the metrics do not tell of the cache")
	}
}

func TestDeletedDocumentsLeaveCache(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, a *app.App){
		"it goes": func(t *testing.T, a *app.App) {
			if n, err := a.Ingester.Delete(t.Context(), "default", []string{"lighthouse.md"}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		},
		"it changes": func(t *testing.T, a *app.App) {
			put(t, a, "lighthouse.md", strings.ReplaceAll(lighthouse, "Ada Brook", "Bea Stone"))
		},
		"the cache is not wanted any more": func(t *testing.T, a *app.App) {
			cfg := a.Config
			cfg.Cache.CacheBytes = 0
			require.NoError(t, a.Close())
			without, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			if err := without.Close(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			cfg.Store.Data = t.TempDir()
			a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			t.Cleanup(func() { _ = a.Close() })
			put(t, a, "lighthouse.md", lighthouse)
			ask(t, a, "Who is the keeper of the Farland lighthouse?")
			path := filepath.Join(cfg.Store.Data, "cache.db")
			if raw, err := os.ReadFile(path); err != nil || !strings.Contains(string(raw), "Ada") {
				t.Fatalf("the answer was not kept: %v", err)
			}
			change(t, a)
			if raw, _ := os.ReadFile(path); strings.Contains(string(raw), "Ada") {
				t.Error("the file of the cache still holds what the document said")
			}
		})
	}
}

// TestDeletedRunLeavesCache checks that no file has the question of a deleted or ephemeral run, and that answers of other runs stay cached.
func TestDeletedRunLeavesCache(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Close() })
	put(t, a, "lighthouse.md", lighthouse)
	in := func(words string) (names []string) {
		for _, name := range []string{"cache.db", "runs"} {
			err := filepath.WalkDir(filepath.Join(cfg.Store.Data, name), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				raw, err := os.ReadFile(path)
				if strings.Contains(string(raw), words) {
					names = append(names, d.Name())
				}
				return err
			})
			require.NoError(t, err)
		}
		return names
	}
	const kept, gone, unkept = "Who is the keeper of the Farland lighthouse?", "Who looks after the lighthouse of Farland?", "What is the name of Farland's keeper?"
	asked(t, a, event.Question{Query: kept})
	s := asked(t, a, event.Question{Query: gone, Collection: "default,default"}) // of the same documents, and not the same question
	if len(in(gone)) != 2 || s.Cached() {
		t.Fatalf("it is in %v, from the cache %v", in(gone), s.Cached())
	}
	require.NoError(t, a.Engine.Delete(t.Context(), s.Run))
	asked(t, a, event.Question{Query: unkept, Collection: "default,default", Ephemeral: true})
	if got := in(unkept); slices.Contains(got, "cache.db") {
		t.Error("the cache holds the answer of an unstored run")
	}
	if got := in(gone); len(got) != 0 {
		t.Errorf("the deleted run is still in %v", got)
	}
	if again := asked(t, a, event.Question{Query: kept}); !again.Cached() {
		t.Error("another run's answer was deleted, too")
	}
}
