//go:build linux

package weaviate_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func document(id string, texts ...string) ([]corpus.Document, [][]index.Entry) {
	d := corpus.Document{ID: corpus.DocumentID(id), Collection: "c", Title: "Title " + id}
	var es []index.Entry
	for i, text := range texts {
		es = append(es, index.Entry{Space: "s", Vector: []float32{1, float32(len(text))},
			Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprintf("%s/%d", id, i)), Document: d.ID, Level: corpus.Passage, Ordinal: i, Title: d.Title, Text: text}})
	}
	return []corpus.Document{d}, [][]index.Entry{es}
}

func put(t *testing.T, x *weaviate.Index, id string, texts ...string) {
	t.Helper()
	docs, entries := document(id, texts...)
	require.NoError(t, x.Put(t.Context(), docs, entries))
}

// found returns the texts that a search for a word finds.
func found(t *testing.T, x *weaviate.Index, word string) string {
	t.Helper()
	hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: word, Limit: 100})
	require.NoError(t, err)
	var texts []string
	for _, h := range hits {
		texts = append(texts, h.Chunk.Text)
	}
	return strings.Join(texts, "; ")
}

// TestAway kills the server, which must fail calls with a clear error, and starts it again, after which they work and nothing is lost.
func TestAway(t *testing.T) {
	t.Parallel()
	s := weaviatetest.New(t, "")
	x := open(t, s.URL(), "t", "one")
	put(t, x, "a", "apple tree")
	s.Stop()
	docs, entries := document("b", "apple pie")
	_, err := x.Search(t.Context(), index.Query{Collection: "c", Text: "apple"})
	for call, err := range map[string]error{"search": err, "put": x.Put(t.Context(), docs, entries), "delete": x.Delete(t.Context(), "c", []corpus.DocumentID{"a"})} {
		if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(fault.Public(err).Message, "Weaviate") {
			t.Errorf("%s while the server is away: %v", call, err)
		}
	}
	require.NoError(t, s.Run())
	if got := found(t, x, "apple"); got != "apple tree" {
		t.Errorf("after the server came back: %q", got)
	}
	put(t, x, "b", "apple pie")
	if got := found(t, open(t, s.URL(), "t", "two"), "pie"); got != "apple pie" {
		t.Errorf("another server finds %q", got)
	}
}

// TestKey connects with and without the API key, which no error shows.
func TestKey(t *testing.T) {
	t.Parallel()
	const right = "correct-horse-battery"
	s := weaviatetest.New(t, right)
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(right+"\n"), 0o600))
	for name, c := range map[string]struct {
		key, file string
		want      fault.Code
	}{"none": {"", "", fault.Index}, "wrong": {"wrong-horse", "", fault.Index}, "right": {right, "", ""}, "file": {"wrong-horse", file, ""}} {
		x, err := weaviate.Open(weaviate.Options{URL: s.URL(), Key: c.key, KeyFile: c.file, Tenant: "t", Writer: name})
		require.NoError(t, err)
		docs, entries := document(name, "apple")
		err = x.Put(t.Context(), docs, entries)
		if fault.CodeOf(err) != c.want || err != nil && (strings.Contains(err.Error(), "horse") || !strings.Contains(err.Error(), "API key")) {
			t.Errorf("key %s: %v", name, err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestServersShare writes by two servers at once: each finds what the other has written, and a document that both replace at the same time exists once.
func TestServersShare(t *testing.T) {
	t.Parallel()
	address := weaviatetest.URL(t)
	servers := []*weaviate.Index{open(t, address, t.Name(), "one"), open(t, address, t.Name(), "two")}
	var writers sync.WaitGroup
	for n, x := range servers {
		writers.Go(func() {
			for i := range 8 {
				for _, id := range []string{fmt.Sprintf("own%d", n), "shared"} {
					docs, entries := document(id, fmt.Sprintf("apple %s of server%d round%d", id, n, i), "apple second")
					if err := x.Put(context.Background(), docs, entries); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	writers.Wait()
	put(t, servers[0], "last", "pear")
	for n, x := range servers {
		if got := found(t, x, "own0"); !strings.Contains(got, "server0 round7") {
			t.Errorf("server %d finds %q", n, got)
		}
		if got := found(t, x, "pear"); got != "pear" {
			t.Errorf("server %d finds %q", n, got)
		}
		if got := found(t, x, "shared"); strings.Count(got, "shared") != 1 {
			t.Errorf("server %d finds several revisions: %q", n, got)
		}
		stats, err := x.Terms(t.Context(), "c", []string{"apple"})
		if err != nil || stats.Chunks != 7 || stats.DF["apple"] != 6 {
			t.Errorf("server %d counts %+v, %v", n, stats, err)
		}
	}
	require.NoError(t, servers[1].Delete(t.Context(), "c", []corpus.DocumentID{"own0", "shared"}))
	if got := found(t, servers[0], "own0 shared"); got != "" {
		t.Errorf("after the other server deleted it: %q", got)
	}
}

// proxy passes requests to a server, except those that fail returns true for.
func proxy(t *testing.T, address string, fail func(r *http.Request, body string) bool) string {
	t.Helper()
	target, err := url.Parse(strings.Replace(address, "weaviate", "http", 1))
	require.NoError(t, err)
	pass := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if fail(r, string(body)) {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "http", "weaviate", 1)
}

// TestBrokenCommit breaks a replacement at each of its requests. Readers see the whole old document or the whole new one, and the next write succeeds.
func TestBrokenCommit(t *testing.T) {
	t.Parallel()
	address := weaviatetest.URL(t)
	reader := open(t, address, t.Name(), "reader")
	var left atomic.Int64 // requests that pass; negative: all do
	left.Store(-1)
	x := open(t, proxy(t, address, func(r *http.Request, _ string) bool {
		return left.Load() >= 0 && r.Method != http.MethodGet && left.Add(-1) < 0 && left.CompareAndSwap(-1, 0)
	}), t.Name(), "writer")
	put(t, x, "a", "apple old", "apple old too")
	failures := 0
	for n := int64(0); ; n++ {
		docs, entries := document("a", fmt.Sprintf("apple new%d", n), fmt.Sprintf("apple new%d too", n))
		left.Store(n)
		err := x.Put(t.Context(), docs, entries)
		left.Store(-1)
		got := found(t, reader, "apple")
		if want := fmt.Sprintf("apple new%d; apple new%d too", n, n); err == nil && got != want || strings.Count(got, ";") != 1 {
			t.Errorf("after request %d failed (%v): %q", n, err, got)
		}
		if err == nil {
			break
		}
		failures++
		if n%2 == 1 {
			put(t, x, "a", "apple old", "apple old too")
		}
	}
	if failures < 4 {
		t.Errorf("only %d requests failed", failures)
	}
	stats, err := reader.Terms(t.Context(), "c", []string{"apple"})
	if err != nil || stats.Chunks != 2 || stats.DF["apple"] != 2 {
		t.Errorf("counted %+v, %v", stats, err)
	}
}

// TestTenants checks that tenants share no documents, and deletes one.
func TestTenants(t *testing.T) {
	t.Parallel()
	address := weaviatetest.URL(t)
	one, two := open(t, address, "tenants-1", "s"), open(t, address, "tenants-2", "s")
	put(t, one, "a", "apple of one")
	put(t, two, "b", "apple of two")
	if got := found(t, one, "apple"); got != "apple of one" {
		t.Errorf("found %q", got)
	}
	require.NoError(t, weaviate.DeleteTenant(t.Context(), weaviate.Options{URL: address, Tenant: "tenants-1"}))
	again := open(t, address, "tenants-1", "s")
	if names, err := again.Collections(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("the deleted tenant has %q, %v", names, err)
	}
	if got := found(t, again, "apple"); got != "" {
		t.Errorf("the deleted tenant has %q", got)
	}
	if got := found(t, two, "apple"); got != "apple of two" {
		t.Errorf("found %q", got)
	}
}
