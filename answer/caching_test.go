package answer_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

const keeper = "Who is the keeper of the Farland lighthouse?"

// caching returns the library with its own cache.
func caching(t *testing.T) *answer.Pipeline {
	t.Helper()
	c, err := cache.Open(filepath.Join(t.TempDir(), "cache.db"), cache.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	p := library()
	p.Cache = c
	return p
}

func cached(log []event.Event) bool {
	s := event.Fold(log)
	return s.Cached()
}

func TestCachedAnswerIsStreamed(t *testing.T) {
	t.Parallel()
	p := caching(t)
	said := []model.Delta{{Text: "The keep"}, {Text: "er is "}, {Text: "Ada\n"}, {Text: "Brook."}, {Cite: 2}, {Cite: 1}, {Text: " "}}
	p.Generator = speaking(said...)
	first := ask(t, p, keeper)
	p.Generator = speaking(model.Delta{Text: "something else"})
	again := ask(t, p, "Could you tell me who the keeper of the Farland lighthouse is?")
	if got, want := kinds(again), "run_started query_analyzed cache_checked token attributed run_finished"; got != want {
		t.Fatalf("%s", got)
	}
	pieces := func(log []event.Event) (out []event.Body) {
		for _, e := range log {
			switch b := e.Body.(type) {
			case event.Token, event.Cited, event.Attributed, event.QueryAnalyzed:
				out = append(out, b)
			}
		}
		return out
	}
	if diff := cmp.Diff(pieces(first), pieces(again)); diff != "" {
		t.Error(diff)
	}
}

// countedSearches counts the searches of an index.
type countedSearches struct {
	versioned
	n atomic.Int32
}

type versioned interface {
	index.Reader
	index.Versions
}

func (c *countedSearches) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	c.n.Add(1)
	return c.versioned.Search(ctx, q)
}

// TestCachingSearchesOnce checks that an answer is cached without a second search for the same question.
func TestCachingSearchesOnce(t *testing.T) {
	t.Parallel()
	with, without := caching(t), library()
	count := func(p *answer.Pipeline) int32 {
		x := &countedSearches{versioned: p.Index.(versioned)}
		p.Index = x
		askDirect(t, p, keeper)
		return x.n.Load()
	}
	want := count(without)
	if got := count(with); got != want || want == 0 {
		t.Errorf("%d searches with a cache, %d without", got, want)
	}
	if n := with.Cache.Stats().Entries; n != 1 {
		t.Errorf("%d answers are cached", n)
	}
}

func TestNotCached(t *testing.T) {
	t.Parallel()
	whole := []model.Delta{{Text: "The keeper of the Farland lighthouse is Ada Brook."}, {Cite: 1}}
	for name, c := range map[string]struct {
		change func(p *answer.Pipeline)
		kept   bool
	}{
		"whole": {func(p *answer.Pipeline) { p.Generator = speaking(whole...) }, true},
		"cut off": {func(p *answer.Pipeline) {
			p.Generator = speaking(append(whole, model.Delta{Stop: model.StopLength})...)
		}, false},
		"empty":         {func(p *answer.Pipeline) { p.Generator = speaking() }, false},
		"a model fails": {func(p *answer.Pipeline) { p.Vectors = answer.OneEmbedder(brokenEmbedder{}) }, false},
		"not supported": {func(p *answer.Pipeline) {
			p.Generator = speaking(model.Delta{Text: "The keeper of the Farland lighthouse is not Ada Brook."}, model.Delta{Cite: 1})
		}, false},
		"without versions": {func(p *answer.Pipeline) { p.Index = struct{ index.Reader }{p.Index} }, false},
		"the run fails": {func(p *answer.Pipeline) {
			p.Generator = speaker(func(context.Context, model.Task) iter.Seq2[model.Delta, error] {
				return func(yield func(model.Delta, error) bool) {
					_ = yield(whole[0], nil) && yield(model.Delta{}, errors.New("boom"))
				}
			})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := caching(t)
			with := *p
			c.change(&with)
			ask(t, &with, keeper)
			if n := p.Cache.Stats().Entries; (n == 1) != c.kept {
				t.Errorf("%d entries, kept %v", n, c.kept)
			}
		})
	}
}

func TestSetupIsPartOfCacheKey(t *testing.T) {
	t.Parallel()
	p := caching(t)
	ask(t, p, keeper)
	if cached(askDirect(t, p, keeper)) {
		t.Error("another mode's answer was given")
	}
	other := *p
	other.Setup = "other prompts"
	if cached(ask(t, &other, keeper)) {
		t.Error("another setup's answer was given")
	}
	if !cached(ask(t, p, keeper)) {
		t.Error("its own was not")
	}
}

func TestCachedAnswerStopsAtEveryStep(t *testing.T) {
	t.Parallel()
	p := caching(t)
	ask(t, p, keeper)
	whole := ask(t, p, keeper)
	if !cached(whole) {
		t.Fatal("not from the cache")
	}
	for after := event.Seq(1); after < event.Seq(len(whole))-1; after++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		log := run(t, ctx, p, stopping{eventlog.NewMemory(), after, func() { cancel(fault.New(fault.Cancelled, "stopped")) }}, keeper)
		cancel(nil)
		if code(log) != fault.Cancelled && after < event.Seq(len(whole))-2 || len(log) > int(after)+2 {
			t.Errorf("stopped behind %d of %d: %s %s", after, len(whole), code(log), kinds(log))
		}
	}
	if !cached(ask(t, p, keeper)) {
		t.Error("it was forgotten")
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	p := caching(t)
	q := event.RunStarted{Question: event.Question{Query: keeper, Mode: event.Direct, Collection: "default", TopK: 5}, Run: "run_1", Protocol: "forge"}
	key := p.ShareKey(t.Context(), q)
	if key == "" {
		t.Fatal("no key")
	}
	for name, c := range map[string]struct {
		change func(q *event.RunStarted)
		same   bool
	}{
		"another run":        {func(q *event.RunStarted) { q.Run, q.Protocol = "run_2", "other" }, true},
		"white space":        {func(q *event.RunStarted) { q.Query = "  " + strings.ReplaceAll(keeper, " ", "\n") }, true},
		"another question":   {func(q *event.RunStarted) { q.Query = strings.ToLower(keeper) }, false},
		"another mode":       {func(q *event.RunStarted) { q.Mode = event.Agentic }, false},
		"another collection": {func(q *event.RunStarted) { q.Collection = "other" }, false},
		"another top_k":      {func(q *event.RunStarted) { q.TopK = 6 }, false},
	} {
		with := q
		c.change(&with)
		if got := p.ShareKey(t.Context(), with); (got == key) != c.same {
			t.Errorf("%s: %q and %q", name, got, key)
		}
	}
	for name, change := range map[string]func(q *event.RunStarted){"no cache": func(q *event.RunStarted) { q.NoCache = true },
		"a session": func(q *event.RunStarted) { q.Session = "s" }, "a long question": func(q *event.RunStarted) { q.Query = strings.Repeat("x", 5000) }} {
		with := q
		change(&with)
		if got := p.ShareKey(t.Context(), with); got != "" {
			t.Errorf("%s has the key %q", name, got)
		}
	}
	if library().ShareKey(t.Context(), q) != "" {
		t.Error("without a cache, there is a key")
	}
}
