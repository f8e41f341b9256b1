//go:build linux

package weaviate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
)

// TestReplicas runs a cluster of three servers that all store the index. Each shows what was written at once. When one is killed, the others go on, and it
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
		for n, r := range each {
			if got, want := found(t, r, fmt.Sprintf("version%d", i)), fmt.Sprintf("apple version%d", i); got != want {
				t.Errorf("after write %d, server %d finds %q", i, n, got)
			}
		}
	}
	servers[0].Stop() // the one that x uses
	begun := time.Now()
	put(t, x, "doc0", "apple renewed")
	t.Logf("the first write after the death of a server took %v", time.Since(begun))
	put(t, x, "new", "pear")
	if err := x.Delete(t.Context(), "c", []corpus.DocumentID{"doc1"}); err != nil {
		t.Fatal(err)
	}
	if err := x.AddToSet(t.Context(), "c", "set", []corpus.DocumentID{"new"}); err != nil {
		t.Fatal(err)
	}
	const want = "apple renewed; apple version8"
	for n, r := range append([]*weaviate.Index{x}, each[1:]...) {
		if got := found(t, r, "apple"); got != want {
			t.Errorf("without a server, reader %d finds %q", n, got)
		}
	}
	if err := servers[0].Run(); err != nil {
		t.Fatal(err)
	}
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
	hits, err := each[0].Search(t.Context(), index.Query{Collection: "c/set", Text: "pear", Limit: 10})
	t.Logf("%d hits in the set, %v", len(hits), err)
}

// TestLaggingReplica writes by a server of a cluster that was away. It is refused, or builds on what the others have.
func TestLaggingReplica(t *testing.T) {
	servers := weaviatetest.NewCluster(t)
	x := open(t, weaviatetest.URLs(servers[1:]), "t", "one")
	lagging := open(t, servers[0].URL(), "t", "two")
	put(t, x, "a", "apple old")
	put(t, lagging, "b", "pear old")
	servers[0].Stop()
	put(t, x, "a", "apple new")
	if err := servers[0].Run(); err != nil {
		t.Fatal(err)
	}
	docs, entries := document("a", "apple last")
	err := lagging.Put(t.Context(), docs, entries)
	t.Logf("a write by the server that was away: %v", err)
	if err != nil && code(err) != fault.Unavailable {
		t.Error(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	for err = context.Canceled; err != nil; err = lagging.Put(t.Context(), docs, entries) {
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(time.Second):
		}
	}
	for n, r := range []*weaviate.Index{x, lagging} {
		if got := found(t, r, "apple"); got != "apple last" {
			t.Errorf("reader %d finds %q", n, got)
		}
	}
}
