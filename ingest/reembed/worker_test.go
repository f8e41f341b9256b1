package reembed_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/reembed"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/fingerprint"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/model/vectorcache"
)

// hashing is an embedder that hashes the words of a text to components, so that texts with common words are similar.
type hashing struct {
	space string
	dim   int
	salt  string                     // differs between models
	fail  func(texts []string) error // called before passages are embedded; may be nil

	mu    sync.Mutex
	calls int
	texts map[string]int
}

func (h *hashing) Space() string { return h.space }

func (h *hashing) Embed(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	if p == model.ForPassage {
		h.mu.Lock()
		h.calls++
		h.mu.Unlock()
		if h.fail != nil {
			if err := h.fail(texts); err != nil {
				return nil, err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		h.mu.Lock()
		if h.texts == nil {
			h.texts = map[string]int{}
		}
		h.texts[t]++
		h.mu.Unlock()
		out[i] = make([]float32, h.dim)
		for _, w := range lang.Terms(t) {
			f := fnv.New32a()
			f.Write([]byte(h.salt + w))
			out[i][f.Sum32()%uint32(h.dim)]++
		}
		norm := 0.0
		for _, x := range out[i] {
			norm += float64(x * x)
		}
		for j := range out[i] {
			out[i][j] /= float32(math.Sqrt(max(norm, 1)))
		}
	}
	return out, nil
}

func (h *hashing) asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

func openIndex(t testing.TB, dir string) *embedded.Index {
	t.Helper()
	x, err := embedded.Open(t.Context(), dir, embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func add(t testing.TB, x *embedded.Index, e model.Embedder, collection string, texts map[string]string) ingest.Report {
	t.Helper()
	var sources []ingest.Source
	for name, s := range texts {
		sources = append(sources, ingest.Source{URI: name, Data: []byte(s)})
	}
	r, err := ingest.New(x, e, ingest.Options{}).IngestDocuments(t.Context(), collection, sources, nil)
	require.NoError(t, err)
	return r
}

// rivers returns n documents.
func rivers(n int) map[string]string {
	names := strings.Fields("danube rhine volga thames seine loire ebro tagus oder elbe vistula dnieper")
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("doc%02d.txt", i)] = fmt.Sprintf("The %s is river number%d. It flows through valleys to the sea.", names[i%len(names)], i)
	}
	return out
}

// ask searches as the pipeline does, and returns the space and the hits.
func ask(t *testing.T, x *embedded.Index, k *reembed.Worker, collection, question string) (string, []index.Hit) {
	t.Helper()
	p, err := k.SearchVector(t.Context(), collection, question, model.ForQuery)
	require.NoError(t, err)
	hits, err := x.Search(t.Context(), index.Query{Collection: collection, Text: question, Space: p.Space, Vector: p.Vector,
		Weights: p.Weights, Limit: 100})
	require.NoError(t, err)
	return p.Space, hits
}

func wantStats(t *testing.T, x *embedded.Index, collection string, want index.VectorStats) {
	t.Helper()
	got, err := x.VectorStats(t.Context(), collection)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("spaces of %s (-want +got), %v:\n%s", collection, err, d)
	}
}

// start runs the worker until the test ends or the returned function is called.
func start(t *testing.T, k *reembed.Worker) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := k.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// TestOldVectorsServe changes the embedder of two collections, step by step, while questions are asked, and documents
// are added, deleted and changed.
func TestOldVectorsServe(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := openIndex(t, dir)
		old := local.New(local.Options{})
		add(t, x, old, "one", rivers(30))
		add(t, x, old, "two", rivers(5))
		gate := make(chan struct{})
		fresh := &hashing{space: "hash", dim: 64, fail: func([]string) error { <-gate; return nil }}
		k := reembed.New(x, fresh, []model.Embedder{&hashing{space: "never used"}, old}, reembed.Options{Batch: 2,
			Weights: func(space string) index.Weights { return index.Weights{Lexical: 1, Vector: float64(len(space)) / 100} }})
		stop := start(t, k)
		defer stop()
		steps, switched := 0, false
		for ; !switched; steps++ {
			synctest.Wait()
			switch steps {
			case 2: // one document is added, one deleted, one changed; only the wanted embedder embeds them
				quick := &hashing{space: "hash", dim: 64}
				add(t, x, quick, "one", map[string]string{"new.txt": "The Ganges is a holy river.", "doc03.txt": "The Mekong is long."})
				gone := []corpus.DocumentID{ingest.DocumentID("one", "doc05.txt")}
				require.NoError(t, x.Delete(t.Context(), "one", gone))
				k.Notify()
			case 4:
				if space, hits := ask(t, x, k, "one", "mekong ganges"); space != old.Space() || hits[0].Lexical == 0 || hits[1].Lexical == 0 || hits[0].Cosine != 0 {
					t.Errorf("by the vectors of %s: %v", space, hits[:2])
				}
			}
			space, hits := ask(t, x, k, "one", "Where does the danube flow?")
			switched = space == "hash"
			near := 0
			for _, h := range hits {
				if h.Cosine > 0.1 {
					near++
				}
			}
			if !strings.Contains(hits[0].Chunk.Text, "danube") || near < 20 {
				t.Fatalf("step %d, by the vectors of %s: %d near, first %q", steps, space, near, hits[0].Chunk.Text)
			}
			p := k.Progress()
			if one := p.Collections[0]; one.Name != "one" || one.Total < 29 || !switched && one.Done >= one.Total || p.Failure != "" || p.Space != "hash" {
				t.Errorf("progress %+v", p)
			}
			if !switched {
				gate <- struct{}{}
			}
		}
		if steps < 10 {
			t.Errorf("took over after %d steps", steps)
		}
		if space, hits := ask(t, x, k, "two", "rhine"); space != old.Space() || !strings.Contains(hits[0].Chunk.Text, "rhine") {
			t.Errorf("the other collection is searched by %s: %v", space, hits)
		}
		close(gate)
		synctest.Wait()
		for _, name := range []string{"one", "two"} {
			if space, hits := ask(t, x, k, name, "loire rhine thames"); space != "hash" || len(hits) < 5 || hits[0].Cosine == 0 {
				t.Errorf("%s is searched by %s: %v", name, space, hits)
			}
			c, err := x.VectorStats(t.Context(), name)
			if want := (index.Space{Name: "hash", Dim: 64, Vectors: c.Chunks, Complete: true}); err != nil || len(c.Spaces) != 1 || c.Spaces[0] != want {
				t.Errorf("%s has %+v, %v", name, c, err)
			}
		}
		if vector, err := k.SearchVector(t.Context(), "one", "x", model.ForQuery); err != nil || vector.Weights.Vector != 0.04 {
			t.Errorf("search vector %+v, %v", vector, err)
		}
		for _, c := range k.Progress().Collections {
			if c.Done != c.Total || c.Total == 0 {
				t.Errorf("progress %+v", c)
			}
		}
		calls := fresh.asked()
		k.Notify()
		synctest.Wait()
		if fresh.asked() != calls {
			t.Error("the embedder was called although no vector is missing")
		}
		stop()
	})
}

// TestEmbedderFails lets the embedder fail for an hour. The worker must call it rarely, and continue when it works again.
func TestEmbedderFails(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := openIndex(t, dir)
		var down atomic.Bool
		down.Store(true)
		e := &hashing{space: "hash", dim: 64}
		e.fail = func([]string) error {
			if down.Load() {
				return &model.Error{Model: "server", Failure: model.Unreachable}
			}
			return nil
		}
		if r := add(t, x, e, "c", rivers(20)); r.Unembedded == 0 || r.Added != 20 {
			t.Fatalf("report %+v", r)
		}
		k := reembed.New(x, e, nil, reembed.Options{Batch: 16})
		stop := start(t, k)
		defer stop()
		synctest.Wait()
		p, err := k.SearchVector(t.Context(), "c", "danube", model.ForQuery)
		if err != nil || p.Space != "hash" {
			t.Errorf("search vector %+v, %v", p, err)
		}
		if f := k.Progress().Failure; f != "server could not be reached" {
			t.Errorf("failure %q", f)
		}
		before := e.asked()
		for range 60 {
			time.Sleep(time.Minute) // in the synctest bubble
			k.Notify()
		}
		synctest.Wait()
		if n := e.asked() - before; n < 20 || n > 100 {
			t.Errorf("asked %d times in an hour", n)
		}
		if _, hits := ask(t, x, k, "c", "danube"); len(hits) != 2 || hits[0].Cosine != 0 {
			t.Errorf("found by words: %v", hits)
		}
		down.Store(false)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if p := k.Progress(); p.Failure != "" || p.Collections[0].Done != p.Collections[0].Total {
			t.Errorf("progress %+v", p)
		}
		if _, hits := ask(t, x, k, "c", "danube"); len(hits) < 10 || hits[0].Cosine == 0 {
			t.Errorf("found by vectors: %v", hits)
		}
		stop()
	})
}

// TestRejectedTexts embeds texts that the embedder rejects. Texts that are too long must get the vector of their beginning, others none, and
// they must not delay other texts.
func TestRejectedTexts(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := openIndex(t, dir)
		texts := rivers(20)
		texts["long.txt"] = "Long " + strings.Repeat("many words in a row ", 200)
		texts["poison.txt"] = "Poison."
		add(t, x, nil, "c", texts)
		e := &hashing{space: "hash", dim: 64}
		e.fail = func(texts []string) error {
			for _, s := range texts {
				if strings.Contains(s, "Poison") || len(s) > 1000 {
					return &model.Error{Model: "server", Failure: model.ServerError, Status: 500}
				}
			}
			return nil
		}
		k := reembed.New(x, e, nil, reembed.Options{})
		stop := start(t, k)
		defer stop()
		synctest.Wait()
		p := k.Progress()
		if c := p.Collections[0]; p.Failure != "" || c.Done != c.Total || c.Refused != 1 {
			t.Errorf("progress %+v", p)
		}
		for question, near := range map[string]bool{"many words in a row": true, "poison": false} {
			if _, hits := ask(t, x, k, "c", question); len(hits) == 0 || hits[0].Cosine > 0.5 != near {
				t.Errorf("%s: %v", question, hits)
			}
		}
		stop()
	})
}

// TestKilled kills the process during the work and continues with a new one.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("REEMBED_TEST_DIR"); dir != "" {
		x, err := embedded.Open(t.Context(), dir, embedded.Options{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		e := &hashing{space: "hash", dim: 64, fail: func([]string) error { fmt.Print("."); return nil }}
		_ = reembed.New(x, e, nil, reembed.Options{Batch: 4}).Run(context.Background())
		return
	}
	dir := t.TempDir()
	x := openIndex(t, dir)
	old := local.New(local.Options{})
	add(t, x, old, "c", rivers(60))
	require.NoError(t, x.Close())
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "REEMBED_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	require.NoError(t, err)
	for range 10 {
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()

	synctest.Test(t, func(t *testing.T) { resume(t, openIndex(t, dir), old) })
}

func resume(t *testing.T, x *embedded.Index, old model.Embedder) {
	c, err := x.VectorStats(t.Context(), "c")
	if err != nil || len(c.Spaces) != 2 || !c.Spaces[0].Complete || c.Spaces[1].Complete || c.Spaces[1].Vectors < 36 || c.Spaces[1].Vectors >= c.Chunks {
		t.Fatalf("after the kill: %+v, %v", c, err)
	}
	e := &hashing{space: "hash", dim: 64}
	k := reembed.New(x, e, []model.Embedder{old}, reembed.Options{})
	if space, hits := ask(t, x, k, "c", "danube"); space != old.Space() || len(hits) < 50 {
		t.Errorf("searched by %s: %d hits", space, len(hits))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = k.Run(ctx) })
	synctest.Wait()
	cancel()
	wg.Wait()
	wantStats(t, x, "c", index.VectorStats{Chunks: c.Chunks, Spaces: []index.Space{{Name: "hash", Dim: 64, Vectors: c.Chunks, Complete: true}}})
	again := 0
	for _, n := range e.texts {
		again += n
	}
	if most := c.Chunks - c.Spaces[1].Vectors; again > most {
		t.Errorf("%d texts embedded where %d were left", again, most)
	}
}

// TestServingEmbedder checks the serving embedder in all states of a collection.
func TestServingEmbedder(t *testing.T) {
	a, b, c := &hashing{space: "a", dim: 4}, &hashing{space: "b", dim: 4}, &hashing{space: "c", dim: 4}
	for _, test := range []struct {
		name     string
		put      []*hashing
		complete string
		want     string
	}{
		{"no such collection", nil, "", "c"},
		{"the wanted one alone", []*hashing{c}, "", "c"},
		{"the first is complete", []*hashing{a, c}, "", "a"},
		{"both are complete", []*hashing{a, c}, "c", "c"},
		{"the older one is not", []*hashing{{space: "x", dim: 4}, b, c}, "", "c"},
		{"in order", []*hashing{b, a}, "a", "a"},
		{"no embedder for its space", []*hashing{{space: "x", dim: 4}}, "", "c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := openIndex(t, t.TempDir())
			for i, e := range test.put {
				add(t, x, e, "col", map[string]string{fmt.Sprintf("%d.txt", i): "Some text."})
			}
			if test.complete != "" {
				require.NoError(t, x.MarkComplete(t.Context(), "col", test.complete))
			}
			e, err := reembed.New(x, c, []model.Embedder{a, b}, reembed.Options{}).ServingEmbedder(t.Context(), "col")
			if err != nil || e.Space() != test.want {
				t.Errorf("serving %v, %v", e, err)
			}
		})
	}
}

// TestServingEmbedderIsCached checks that the serving embedder is cached until a collection changes.
func TestServingEmbedderIsCached(t *testing.T) {
	x := openIndex(t, t.TempDir())
	e := &hashing{space: "a", dim: 4}
	add(t, x, e, "col", rivers(1))
	counted := &statsCounter{Spaces: x}
	k := reembed.New(counted, e, nil, reembed.Options{})
	for range 10 {
		if _, err := k.SearchVector(t.Context(), "col", "q", model.ForQuery); err != nil {
			t.Fatal(err)
		}
	}
	if counted.n != 1 {
		t.Errorf("%d reads for ten questions", counted.n)
	}
	k.Notify()
	for range 10 {
		if _, err := k.ServingEmbedder(t.Context(), "col"); err != nil {
			t.Fatal(err)
		}
	}
	if counted.n != 2 {
		t.Errorf("%d reads after a change", counted.n)
	}
	e.dim = 5 // another model with the same name
	if p, err := k.SearchVector(t.Context(), "col", "q", model.ForQuery); err == nil {
		t.Errorf("a vector of another dimension: %+v", p)
	}
}

// TestOlderEmbedderFails lets the serving embedder fail. Questions must use the vectors of the wanted embedder.
func TestOlderEmbedderFails(t *testing.T) {
	x := openIndex(t, t.TempDir())
	old, wanted := &hashing{space: "old", dim: 8}, &hashing{space: "wanted", dim: 64}
	add(t, x, old, "c", rivers(12))
	add(t, x, wanted, "c", map[string]string{"new.txt": "The Ganges is a holy river."})
	k := reembed.New(x, wanted, []model.Embedder{gone{old}}, reembed.Options{})
	var reported []string
	ctx := model.WithTrace(t.Context(), &model.Trace{Failed: func(err error, name, next string) {
		reported = append(reported, fmt.Sprint(err, " ", name, " ", next))
	}})
	p, err := k.SearchVector(ctx, "c", "ganges", model.ForQuery)
	if err != nil || p.Space != "wanted" || len(p.Vector) != 64 {
		t.Errorf("search vector %+v, %v", p, err)
	}
	if d := cmp.Diff([]string{"no connection old wanted"}, reported); d != "" {
		t.Errorf("reported (-want +got):\n%s", d)
	}
	if _, hits := ask(t, x, k, "c", "ganges danube"); len(hits) < 2 || hits[0].Cosine == 0 || hits[1].Cosine != 0 {
		t.Errorf("hits %v", hits)
	}
}

type gone struct{ *hashing }

func (gone) Embed(context.Context, []string, model.Purpose) ([][]float32, error) {
	return nil, errors.New("no connection")
}

// TestRetryDelays checks the delays after errors: not shorter than the provider requests, and with backoff for the index.
func TestRetryDelays(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := openIndex(t, dir)
		add(t, x, nil, "c", rivers(3))
		busy := &hashing{space: "hash", dim: 8, fail: func([]string) error {
			return &model.Error{Model: "server", Failure: model.RateLimited, Status: 429, RetryAfter: 2 * time.Minute}
		}}
		k := reembed.New(x, busy, nil, reembed.Options{})
		stop := start(t, k)
		time.Sleep(119 * time.Second)
		synctest.Wait()
		if n := busy.asked(); n != 1 {
			t.Errorf("asked %d times before the requested delay was over", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := busy.asked(); n != 2 {
			t.Errorf("asked %d times afterwards", n)
		}
		stop()
		require.NoError(t, x.Close())
		k = reembed.New(x, busy, nil, reembed.Options{})
		stop = start(t, k)
		time.Sleep(time.Hour)
		synctest.Wait()
		if f := k.Progress().Failure; f != "the index failed" {
			t.Errorf("failure %q", f)
		}
		if _, err := k.SearchVector(t.Context(), "c", "danube", model.ForQuery); err == nil {
			t.Error("a vector without an index")
		}
		stop()
	})
}

// statsCounter counts the calls of VectorStats.
type statsCounter struct {
	index.Spaces
	n int
}

func (l *statsCounter) VectorStats(ctx context.Context, collection string) (index.VectorStats, error) {
	l.n++
	return l.Spaces.VectorStats(ctx, collection)
}

// TestReplacedModel replaces the model behind a space by another one of the same dimension. Vectors of both must never be compared, and
// all chunks must be re-embedded.
func TestReplacedModel(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		x := openIndex(t, filepath.Join(dir, "index"))
		h := &hashing{space: "hash", dim: 64}
		var k *reembed.Worker
		known, err := fingerprint.New(filepath.Join(dir, "embedders.json"), h, fingerprint.Options{OnReplaced: func() { k.Notify() }})
		require.NoError(t, err)
		cache, err := vectorcache.Open(filepath.Join(dir, "vectors.db"), known, vectorcache.Options{})
		require.NoError(t, err)
		defer cache.Close()
		k = reembed.New(x, cache, nil, reembed.Options{})
		defer start(t, k)()
		add(t, x, cache, "c", rivers(5))
		k.Notify()
		for i, space := range []string{"hash", "hash#2"} {
			if i == 1 {
				h.mu.Lock()
				h.salt = "second"
				h.mu.Unlock()
				time.Sleep(time.Minute) // in the synctest bubble; the next question checks the model
				if _, err := k.SearchVector(t.Context(), "c", "a question", model.ForQuery); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			wantStats(t, x, "c", index.VectorStats{Chunks: 5, Spaces: []index.Space{{Name: space, Dim: 64, Vectors: 5, Complete: true}}})
			if got, hits := ask(t, x, k, "c", "danube"); got != space || len(hits) == 0 || hits[0].Cosine == 0 {
				t.Errorf("space %s, hits %v", got, hits)
			}
		}
	})
}
