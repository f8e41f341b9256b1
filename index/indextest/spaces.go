package indextest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// spacesIndex is an index with several vector spaces.
type spacesIndex interface {
	index.Index
	index.Spaces
}

func openSpaces(t *testing.T, open Open, dir string) spacesIndex {
	t.Helper()
	x, ok := open(t, dir).(spacesIndex)
	if !ok {
		t.Skip("keeps one space")
	}
	return x
}

func wantStats(t *testing.T, x spacesIndex, collection string, chunks int, spaces ...index.Space) {
	t.Helper()
	got, err := x.VectorStats(t.Context(), collection)
	require.NoError(t, err)
	if d := cmp.Diff(index.VectorStats{Chunks: chunks, Spaces: spaces}, got); d != "" {
		t.Errorf("spaces of %s (-want +got):\n%s", collection, d)
	}
}

// unembedded lists all chunks without a vector of the space, page by page.
func missing(t *testing.T, x spacesIndex, collection, space string, limit int) (all []index.UnembeddedChunk) {
	t.Helper()
	after := ""
	for range 1000 {
		some, next, err := x.MissingVectors(t.Context(), collection, space, after, limit)
		require.NoError(t, err)
		if len(some) > limit {
			t.Errorf("%d chunks where %d were asked for", len(some), limit)
		}
		all = append(all, some...)
		if after = next; next == "" {
			return all
		}
	}
	t.Fatal("the list of what is missing has no end")
	return nil
}

// fill sets the vector of all chunks without one.
func fill(t *testing.T, x spacesIndex, collection, space string, vector ...float32) {
	t.Helper()
	for _, b := range missing(t, x, collection, space, 2) {
		require.NoError(t, x.SetVectors(t.Context(), collection, space, []string{b.Ref}, [][]float32{vector}))
	}
}

func twoSpaces(t *testing.T, open Open) {
	x := openSpaces(t, open, t.TempDir())
	if names, err := x.Collections(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("collections %q, %v", names, err)
	}
	wantStats(t, x, "c", 0)
	for i := range 5 {
		put(t, x, "c", fmt.Sprintf("d%d", i), "", passage("apple", 1, 0).in("old"),
			piece{level: corpus.Sentence, text: "pip", vector: []float32{0, 1}, space: "old"})
	}
	put(t, x, "d", "other", "", passage("apple", 1, 0).in("old"))
	put(t, x, "c", "words", "", passage("apple alone"))
	put(t, x, "c", "none", "", passage("apple unknown").in("old"))
	if names, err := x.Collections(t.Context()); err != nil || cmp.Diff([]string{"c", "d"}, names) != "" {
		t.Errorf("collections %q, %v", names, err)
	}
	wantStats(t, x, "c", 12, index.Space{Name: "old", Dim: 2, Vectors: 11, Complete: true})
	if got := missing(t, x, "c", "old", 3); len(got) != 1 || got[0].Text != "apple alone" {
		t.Errorf("missing %q", got)
	}
	if got := missing(t, x, "c", "new", 3); len(got) != 12 {
		t.Errorf("%d of 12 miss a vector of a new space", len(got))
	}

	fill(t, x, "c", "new", 0, 2, 0)
	wantStats(t, x, "c", 12, index.Space{Name: "new", Dim: 3, Vectors: 12}, index.Space{Name: "old", Dim: 2, Vectors: 11, Complete: true})
	wantStats(t, x, "d", 1, index.Space{Name: "old", Dim: 2, Vectors: 1, Complete: true})
	if got := missing(t, x, "c", "new", 3); len(got) != 0 {
		t.Errorf("missing %q", got)
	}
	old := index.Query{Collection: "c", Space: "old", Vector: []float32{1, 0}}
	fresh := index.Query{Collection: "c", Space: "new", Vector: []float32{0, 1, 0}}
	want(t, search(t, x, old), "d0/0", "d1/0", "d2/0", "d3/0", "d4/0")
	want(t, search(t, x, fresh), "d0/0", "d1/0", "d2/0", "d3/0", "d4/0", "none/0", "words/0")

	for range 2 {
		require.NoError(t, errors.Join(x.MarkComplete(t.Context(), "c", "new"), x.DropSpace(t.Context(), "c", "old"), x.DropSpace(t.Context(), "c", "unknown")))
		wantStats(t, x, "c", 12, index.Space{Name: "new", Dim: 3, Vectors: 12, Complete: true})
		want(t, search(t, x, old))
		want(t, search(t, x, fresh), "d0/0", "d1/0", "d2/0", "d3/0", "d4/0", "none/0", "words/0")
	}
	want(t, search(t, x, index.Query{Collection: "d", Space: "old", Vector: []float32{1, 0}}), "other/0")
	// The name is free for vectors of another dimension, and has no data of the dropped space.
	if got := missing(t, x, "c", "old", 3); len(got) != 12 {
		t.Errorf("%d of 12 miss a vector of the dropped space", len(got))
	}
	put(t, x, "c", "again", "", passage("apple", 1, 0, 0, 0).in("old"))
	want(t, search(t, x, index.Query{Collection: "c", Space: "old", Vector: []float32{1, 0, 0, 0}}), "again/0")
	wantStats(t, x, "c", 13, index.Space{Name: "new", Dim: 3, Vectors: 12, Complete: true}, index.Space{Name: "old", Dim: 4, Vectors: 1})
}

// spacesWhileWritten replaces and deletes documents between listing missing vectors and setting them.
func spacesWhileWritten(t *testing.T, open Open) {
	x := openSpaces(t, open, t.TempDir())
	ctx := t.Context()
	for i := range 4 {
		put(t, x, "c", fmt.Sprintf("d%d", i), "", passage("apple", 1, 0).in("old"))
	}
	listed := missing(t, x, "c", "new", 10)
	put(t, x, "c", "d1", "", passage("pear", 0, 1).in("old"))             // another text under the id of the chunk
	put(t, x, "c", "d2", "", passage("apple", 0, 1).in("new"))            // put with a vector of the space
	if err := x.Delete(ctx, "c", []corpus.DocumentID{"d3"}); err != nil { // gone
		t.Fatal(err)
	}
	var all []string
	for _, b := range listed {
		all = append(all, b.Ref, b.Ref)
	}
	vectors := make([][]float32, len(all))
	for i := range vectors {
		vectors[i] = []float32{1, 0}
	}
	require.NoError(t, x.SetVectors(ctx, "c", "new", all, vectors))
	hits := search(t, x, index.Query{Collection: "c", Space: "new", Vector: []float32{1, 0}})
	want(t, hits, "d0/0", "d2/0")
	if len(hits) == 2 && (hits[0].Cosine < 0.99 || hits[1].Cosine > 0.01) {
		t.Errorf("cosines %v and %v", hits[0].Cosine, hits[1].Cosine)
	}
	wantStats(t, x, "c", 3, index.Space{Name: "new", Dim: 2, Vectors: 2}, index.Space{Name: "old", Dim: 2, Vectors: 2, Complete: true})
	if got := missing(t, x, "c", "new", 1); len(got) != 1 || got[0].Text != "pear" {
		t.Errorf("missing %q", got)
	}
	fill(t, x, "c", "new") // none to be had
	if got := missing(t, x, "c", "new", 1); len(got) != 0 {
		t.Errorf("missing %q", got)
	}
	require.NoError(t, x.Delete(ctx, "c", []corpus.DocumentID{"d0", "d1", "d2"}))
	wantStats(t, x, "c", 0, index.Space{Name: "new", Dim: 2}, index.Space{Name: "old", Dim: 2, Complete: true})

	// Concurrently: a writer, and a worker that sets missing vectors in many small steps, out of order.
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 60 {
			d, es := document("c", fmt.Sprintf("e%d", i*7%60), "", passage("plum", 1, float32(i)), passage("plum", 1, float32(i)))
			es[0].Space, es[1].Space, es[1].Vector = "old", "", nil
			if err := x.Put(context.Background(), []corpus.Document{d}, [][]index.Entry{es}); err != nil {
				t.Errorf("put: %v", err)
			}
		}
	})
	for range 20 {
		fill(t, x, "c", "new", 1, 0)
		search(t, x, index.Query{Collection: "c", Space: "new", Vector: []float32{1, 0}, Text: "plum"})
	}
	wg.Wait()
	fill(t, x, "c", "new", 1, 0)
	fill(t, x, "c", "old", 1, 0)
	for _, space := range []string{"old", "new"} {
		q := index.Query{Collection: "c", Space: space, Vector: []float32{1, 0}, Limit: 1000}
		if n := len(search(t, x, q)); n != 120 {
			t.Errorf("%d of 120 in the %s space", n, space)
		}
	}
}

func spacesRefuse(t *testing.T, open Open) {
	x := openSpaces(t, open, t.TempDir())
	ctx := t.Context()
	put(t, x, "c", "a", "", passage("apple", 1, 0).in("s"), passage("pear"), passage("plum"))
	refs := missing(t, x, "c", "s", 10)
	refused(t, "dimension", x.SetVectors(ctx, "c", "s", []string{refs[0].Ref, refs[1].Ref}, [][]float32{{1, 0}, {1, 0, 0}}), "vector")
	refused(t, "reference", x.SetVectors(ctx, "c", "s", []string{"x"}, [][]float32{{1, 0}}), "ref")
	refused(t, "number", x.SetVectors(ctx, "c", "s", []string{refs[0].Ref}, nil), "vectors")
	_, _, err := x.MissingVectors(ctx, "c", "s", "?", 1)
	refused(t, "cursor", err, "after")
	wantStats(t, x, "c", 3, index.Space{Name: "s", Dim: 2, Vectors: 1, Complete: true})
	if err := errors.Join(x.SetVectors(ctx, "none", "s", []string{refs[0].Ref}, [][]float32{{1, 0}}), x.MarkComplete(ctx, "none", "s"),
		x.DropSpace(ctx, "none", "s")); err != nil {
		t.Errorf("a collection that there is not: %v", err)
	}
	if names, err := x.Collections(ctx); err != nil || len(names) != 1 {
		t.Errorf("collections %q, %v", names, err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := x.SetVectors(stopped, "c", "s", []string{refs[0].Ref}, [][]float32{{1, 0}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func spacesReopen(t *testing.T, open Open) {
	dir := t.TempDir()
	x := openSpaces(t, open, dir)
	put(t, x, "c", "a", "", passage("apple", 1, 0).in("old"), passage("pear", 0, 1).in("old"), passage("plum", 1, 1).in("old"))
	some, next, err := x.MissingVectors(t.Context(), "c", "new", "", 2)
	if err != nil || len(some) != 2 || next == "" {
		t.Fatalf("missing %v, %q, %v", some, next, err)
	}
	err = x.SetVectors(t.Context(), "c", "new", []string{some[1].Ref, some[0].Ref}, [][]float32{{0, 1, 0}, nil})
	require.NoError(t, err)
	x = openSpaces(t, open, dir)
	wantStats(t, x, "c", 3, index.Space{Name: "new", Dim: 3, Vectors: 2}, index.Space{Name: "old", Dim: 2, Vectors: 3, Complete: true})
	ids := map[string]string{"apple": "a/0", "pear": "a/1", "plum": "a/2"}
	want(t, search(t, x, index.Query{Collection: "c", Space: "new", Vector: []float32{0, 1, 0}}), ids[some[1].Text])
	rest, end, err := x.MissingVectors(t.Context(), "c", "new", next, 2)
	delete(ids, some[0].Text)
	delete(ids, some[1].Text)
	if err != nil || len(rest) != 1 || ids[rest[0].Text] == "" || end != "" {
		t.Errorf("missing %v, %q, %v", rest, end, err)
	}
	require.NoError(t, errors.Join(x.MarkComplete(t.Context(), "c", "new"), x.DropSpace(t.Context(), "c", "old")))
	x = openSpaces(t, open, dir)
	wantStats(t, x, "c", 3, index.Space{Name: "new", Dim: 3, Vectors: 2, Complete: true})
	want(t, search(t, x, index.Query{Collection: "c", Space: "old", Vector: []float32{1, 0}}))
}
