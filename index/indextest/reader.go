package indextest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func vectors(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "a", "", passage("one", 2, 0))
	put(t, x, "c", "b", "", passage("two", 1, 1))
	put(t, x, "c", "d", "", passage("three", -1, 0))
	put(t, x, "c", "e", "", passage("none"))
	put(t, x, "c", "f", "", passage("zero", 0, 0))
	put(t, x, "c", "h", "", passage("other space of as many dimensions", 1, 0).in("flat"))
	put(t, x, "c", "g", "", passage("other space", 1, 0, 0).in("solid"))
	hits := search(t, x, index.Query{Collection: "c", Vector: []float32{3, 0}})
	want(t, hits, "a/0", "b/0", "d/0")
	if len(hits) == 3 {
		for i, cos := range []float64{1, 0.70710678, -1} {
			if d := hits[i].Cosine - cos; d > 1e-4 || d < -1e-4 {
				t.Errorf("cosine %v, want %v", hits[i].Cosine, cos)
			}
		}
	}
	want(t, search(t, x, index.Query{Collection: "c", Vector: []float32{0, 0}}))
	want(t, search(t, x, index.Query{Collection: "c", Space: "solid", Vector: []float32{0, 0, 1}}), "g/0")
	want(t, search(t, x, index.Query{Collection: "c", Space: "flat", Vector: []float32{1, 0}}), "h/0")
	want(t, search(t, x, index.Query{Collection: "c", Space: "none", Vector: []float32{1, 0}}))
	want(t, search(t, x, index.Query{Collection: "c", Space: "solid", Vector: []float32{0, 0, 1}, Text: "three"}), "d/0", "g/0")
	_, err := x.Search(t.Context(), index.Query{Collection: "c", Space: "flat", Vector: []float32{1, 0, 0}})
	refused(t, "search with another dimension", err, "vector")
	d, es := document("c", "i", "", passage("mismatched", 1, 0, 0).in("flat"))
	refused(t, "put of another dimension", x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}), "vector")
	want(t, search(t, x, index.Query{Collection: "c", Text: "mismatched"}))
}

// refused checks that err is a [fault.InvalidRequest] for the field.
func refused(t *testing.T, what string, err error, field string) {
	t.Helper()
	if e, coded := errors.AsType[*fault.Error](err); !coded || e.Code != fault.InvalidRequest || e.Field != field {
		t.Errorf("%s: %v", what, err)
	}
}

func hybrid(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "words", "", passage("copper kettle", 0, 1))
	put(t, x, "c", "near", "", passage("tin pot", 1, 0))
	put(t, x, "c", "both", "", passage("copper kettle", 1, 0))
	q := index.Query{Collection: "c", Text: "copper kettle", Vector: []float32{1, 0}}
	want(t, search(t, x, q), "both/0", "words/0", "near/0")
	q.Weights = index.Weights{Lexical: 0.1, Vector: 0.9}
	hits := search(t, x, q)
	want(t, hits, "both/0", "near/0", "words/0")
	if len(hits) == 3 && (hits[0].Lexical <= 0 || hits[0].Cosine < 0.99 || hits[1].Lexical != 0) {
		t.Errorf("scores: %+v", hits)
	}
}

func chunks(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	_, es := document("c", "a", "T", passage("zero"), passage("one"), piece{level: corpus.Sentence, text: "two"})
	put(t, x, "c", "a", "T", passage("zero"), passage("one"), piece{level: corpus.Sentence, text: "two"})
	got, err := x.Chunks(t.Context(), "c", []corpus.ChunkID{"a/2", "unknown", "", "a/0"})
	require.NoError(t, err)
	if d := cmp.Diff([]corpus.Chunk{es[2].Chunk, es[0].Chunk}, got); d != "" {
		t.Errorf("chunks (-want +got):\n%s", d)
	}
}

func terms(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "a", "Orchards", passage("Apples grow."), passage("Pears grow too."))
	put(t, x, "c", "b", "Nothing", passage("An apple."))
	got, err := x.Terms(t.Context(), "c", []string{"apple", "APPLES", "growing", "orchard", "absent", "the", "apple"})
	require.NoError(t, err)
	want := index.TermStats{Chunks: 3, DF: map[string]int{"apple": 2, "APPLES": 2, "growing": 2, "orchard": 2, "absent": 0, "the": 3}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("terms (-want +got):\n%s", d)
	}
}

func documents(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	var all []string
	for i := range 7 {
		id := fmt.Sprintf("doc%d", i)
		put(t, x, "c", id, "Title "+id, passage("text"))
		all = append(all, id)
	}
	put(t, x, "d", "other", "", passage("text"))
	bare, _ := document("c", "bare", "")
	put(t, x, "c", "bare", "")
	got, err := x.Documents(t.Context(), "c", "", 1)
	require.NoError(t, err)
	if d := cmp.Diff([]corpus.Document{bare}, got); d != "" {
		t.Errorf("document (-want +got):\n%s", d)
	}
	var paged []string
	after := corpus.DocumentID("bare")
	for {
		page, err := x.Documents(t.Context(), "c", after, 3)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			paged = append(paged, string(d.ID))
		}
		after = page[len(page)-1].ID
	}
	if d := cmp.Diff(all, paged); d != "" {
		t.Errorf("pages (-want +got):\n%s", d)
	}
	if rest, err := x.Documents(t.Context(), "c", "doc45", 0); err != nil || len(rest) != 2 {
		t.Errorf("after an id that is not there: %v, %v", rest, err)
	}
}

func reopen(t *testing.T, open Open) {
	dir := t.TempDir()
	x := open(t, dir)
	put(t, x, "c", "a", "Title", passage("apple tree", 1, 0), piece{level: corpus.Sentence, text: "apple"})
	put(t, x, "c", "b", "Title", passage("apple pie", 0, 1))
	put(t, x, "c", "gone", "Title", passage("apple core", 0, 1))
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"gone"}))
	queries := []index.Query{
		{Collection: "c", Text: "apple", Vector: []float32{1, 0}},
		{Collection: "c", Text: "apple pie"},
		{Collection: "c", Text: "apple", Levels: []corpus.Level{corpus.Sentence}},
	}
	var before [][]index.Hit
	for _, q := range queries {
		before = append(before, search(t, x, q))
	}
	for range 2 {
		x = open(t, dir)
		for i, q := range queries {
			if d := cmp.Diff(before[i], search(t, x, q)); d != "" {
				t.Errorf("hits after reopening (-before +after):\n%s", d)
			}
		}
	}
	put(t, x, "c", "z", "", passage("apple sauce"))
	if n := len(search(t, x, index.Query{Collection: "c", Text: "apple"})); n != 3 {
		t.Errorf("%d hits after writing again", n)
	}
}

// owned checks that results and arguments belong to the caller.
func owned(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	d, es := document("c", "a", "T", passage("apple", 1, 0))
	require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	es[0].Vector[0], es[0].Vector[1], es[0].Headings[0] = 0, 1, "spoilt"
	q := index.Query{Collection: "c", Text: "apple", Vector: []float32{1, 0}}
	first := search(t, x, q)
	if len(first) != 1 || first[0].Cosine < 0.99 || first[0].Chunk.Headings[0] != "One" {
		t.Fatalf("hits %+v", first)
	}
	first[0].Chunk.Headings[0] = "spoilt"
	first[0].Chunk.Pages[0] = 99
	if again := search(t, x, q); again[0].Chunk.Headings[0] != "One" || again[0].Chunk.Pages[0] != 3 {
		t.Errorf("a caller's change is seen: %+v", again[0].Chunk)
	}
}

// annotate changes what users state about a document.
func annotate(t *testing.T, open Open) {
	dir := t.TempDir()
	x := open(t, dir)
	a, ok := x.(index.Annotator)
	if !ok {
		t.Skip("the index has no annotations")
	}
	ctx := t.Context()
	put(t, x, "c", "a", "A", passage("apple"))
	given := corpus.DublinCore{Title: "Of Apples", Creator: "Ada"}
	for _, err := range []error{a.Annotate(ctx, "c", "a", given, "ada"), a.Annotate(ctx, "c", "unknown", given, "ada"), a.Annotate(ctx, "unknown", "a", given, "ada")} {
		require.NoError(t, err)
	}
	refused(t, "annotate in a scope", a.Annotate(ctx, index.Scope{Collection: "c", Sets: []string{"s"}}.Name(), "a", given, ""), "collection")
	given.Creator = ""
	if err := a.Annotate(ctx, "c", "a", given, ""); err != nil { // the contributor stays
		t.Fatal(err)
	}
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple"}), "a/0")
	x = open(t, dir)
	docs, err := x.Documents(ctx, "c", "", 0)
	if err != nil || len(docs) != 1 || docs[0].Given != given || docs[0].Contributor != "ada" || docs[0].Title != "A" {
		t.Errorf("%+v, %v", docs, err)
	}
	if docs, err := x.Documents(ctx, "unknown", "", 0); err != nil || len(docs) > 0 {
		t.Errorf("%+v, %v", docs, err)
	}
}

// amongDocuments searches in some documents.
func amongDocuments(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	for _, id := range []string{"a", "b", "c"} {
		put(t, x, "c", id, "", passage("apple "+id, 1, 0))
	}
	put(t, x, "other", "a2", "", passage("apple", 1, 0))
	among := func(collection string, ids ...corpus.DocumentID) index.Query {
		return index.Query{Collection: collection, Text: "apple", Vector: []float32{1, 0}, Documents: ids}
	}
	want(t, search(t, x, among("c", "b", "unknown", "a2")), "b/0")
	want(t, search(t, x, among("c", "b", "a", "b")), "a/0", "b/0")
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple", Documents: []corpus.DocumentID{}}))
	want(t, search(t, x, among("unknown", "a")))
	put(t, x, "c", "b", "", passage("pear", 0, 1))
	put(t, x, "c", "d", "", passage("apple d", 1, 0))
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple", Documents: []corpus.DocumentID{"b", "d"}}), "d/0")
	if sets, ok := x.(index.Sets); ok {
		require.NoError(t, sets.AddToSet(t.Context(), "c", "s", []corpus.DocumentID{"a", "d"}))
		scope := index.Scope{Collection: "c", Sets: []string{"s"}}.Name()
		want(t, search(t, x, index.Query{Collection: scope, Text: "apple", Documents: []corpus.DocumentID{"c", "d"}}), "d/0")
		want(t, search(t, x, index.Query{Collection: "c", Text: "apple", Documents: []corpus.DocumentID{"a", "c"}}), "a/0", "c/0")
	}
}
