//go:build linux

package weaviate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestReplicas runs a cluster of three servers that all store the index. The one that is written to shows it at once, and the others soon. When one is killed, the others go on, and it
// has everything that it missed some time after its start.
func TestReplicas(t *testing.T) {
	servers := weaviatetest.NewCluster(t)
	x := open(t, weaviatetest.URLs(servers), "t", "one")
	var each []*weaviate.Index // readers of one server each
	for i, s := range servers {
		each = append(each, open(t, s.URL(), "t", fmt.Sprint("reader", i)))
	}
	for i := range 10 {
		put(t, x, fmt.Sprint("doc", i%3), fmt.Sprintf("apple version%d", i))
		for n, r := range append(each, x) {
			word, begun := fmt.Sprintf("version%d", i), time.Now()
			for got := found(t, r, word); got != "apple "+word; got = found(t, r, word) {
				if r == x || time.Since(begun) > 10*time.Second {
					t.Fatalf("after write %d, reader %d finds %q", i, n, got)
				}
			}
		}
	}
	servers[0].Stop() // the one that x uses
	begun := time.Now()
	put(t, x, "doc0", "apple renewed")
	t.Logf("the first write after the death of a server took %v", time.Since(begun))
	put(t, x, "new", "pear")
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"doc1"}))
	require.NoError(t, x.AddToSet(t.Context(), "c", "set", []corpus.DocumentID{"new"}))
	const want = "apple renewed; apple version8"
	for n, r := range append([]*weaviate.Index{x}, each[1:]...) {
		if got := found(t, r, "apple"); got != want {
			t.Errorf("without a server, reader %d finds %q", n, got)
		}
	}
	require.NoError(t, servers[0].Run())
	begun = time.Now()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	for got := ""; got != want || found(t, each[0], "pear") != "pear"; got = found(t, each[0], "apple") {
		select {
		case <-ctx.Done():
			t.Fatalf("the server that was away finds %q", got)
		case <-time.After(200 * time.Millisecond):
		}
	}
	t.Logf("the server that was away had all changes after %v", time.Since(begun))
}

// TestErasedWhileAway erases documents while a server of the cluster is away. It does not show them when it is back, and has what it missed some time later. It may show them for a moment if it was the
// leader of the cluster: Weaviate then carries out a write of before.
func TestErasedWhileAway(t *testing.T) {
	servers := weaviatetest.NewCluster(t)
	x := open(t, weaviatetest.URLs(servers[1:]), "t", "one")
	x.LateFor(100 * time.Second)
	away := open(t, servers[0].URL(), "t", "reader")
	put(t, x, "a", "apple old")
	put(t, x, "b", "apple of b")
	for found(t, away, "apple") == "" {
	}
	servers[0].Stop()
	put(t, x, "a", "apple new")
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"b"}))
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	await := func(what string, done func() bool) {
		t.Helper()
		for begun := time.Now(); !done(); {
			select {
			case <-ctx.Done():
				t.Fatal(what, "does not happen")
			case <-time.After(200 * time.Millisecond):
			}
			if done() {
				t.Logf("%s after %v", what, time.Since(begun))
			}
		}
	}
	await("the erasure", func() bool { return x.Erased("c") > 0 })
	require.NoError(t, servers[0].Run())
	var old time.Time // since when the head of before is used
	await("the return of the missed document", func() bool {
		got := found(t, away, "apple")
		switch {
		case got == "" || got == "apple new":
			old = time.Time{}
		case !x.Late(): // no write waited for the server that died
			t.Fatalf("the server that was away finds %q", got)
		case old.IsZero():
			old = time.Now()
		case time.Since(old) > 30*time.Second: // x writes its head every 5 seconds
			t.Fatalf("the server that was away still finds %q", got)
		}
		return got == "apple new"
	})
	await("the erasure from the server that was away", func() bool { return x.Erased("c") == 0 })
	for _, s := range servers {
		if got := found(t, open(t, s.URL(), "t", "new"), "apple"); got != "apple new" {
			t.Errorf("a server finds %q", got)
		}
	}
}

// TestLaggingReplica writes by a server of a cluster that was away and does not know the last revisions of documents. They disappear when it knows them.
func TestLaggingReplica(t *testing.T) {
	servers := weaviatetest.NewCluster(t)
	x := open(t, weaviatetest.URLs(servers[1:]), "t", "one")
	lagging := open(t, servers[0].URL(), "t", "two")
	lagging.RecheckAfter(time.Minute)
	put(t, x, "a", "apple old")
	put(t, x, "b", "apple of b")
	put(t, lagging, "c", "pear")
	servers[0].Stop()
	put(t, x, "a", "apple new")
	put(t, x, "b", "apple of new b")
	require.NoError(t, servers[0].Run())
	put(t, lagging, "a", "apple last")
	require.NoError(t, lagging.Delete(t.Context(), "c", []corpus.DocumentID{"b"}))
	begun := time.Now()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	for n, r := range []*weaviate.Index{x, lagging} {
		first := found(t, r, "apple")
		for got := first; got != "apple last"; got = found(t, r, "apple") {
			select {
			case <-ctx.Done():
				t.Fatalf("reader %d finds %q", n, got)
			case <-time.After(time.Second):
			}
		}
		t.Logf("reader %d found %q first, and the last revision alone after %v", n, first, time.Since(begun))
	}
}
