// Package indextest is the conformance suite of indexes.
package indextest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// Open opens the index in dir, which is empty at first. If dir is already open, it closes that index first. It closes the last index
// with t.Cleanup. A back end that stores its data elsewhere uses dir as a name.
type Open func(t *testing.T, dir string) index.Index

// TestIndex checks an index against [index.Index], and against [index.Spaces], [index.Graph], [index.Sets], [index.DocumentReader] and [index.Annotator]
// if it implements them.
func TestIndex(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"Empty", empty},
		{"PutSearch", putSearch},
		{"Order", order},
		{"Replace", replace},
		{"Delete", remove},
		{"Levels", atLevels},
		{"Collections", collections},
		{"Vectors", vectors},
		{"Hybrid", hybrid},
		{"Chunks", chunks},
		{"Terms", terms},
		{"Documents", documents},
		{"Invalid", invalid},
		{"Hostile", hostile},
		{"Cancelled", cancelled},
		{"Reopen", reopen},
		{"Consistent", consistent},
		{"Owned", owned},
		{"Spaces", twoSpaces},
		{"SpacesWhileWritten", spacesWhileWritten},
		{"SpacesRefuse", spacesRefuse},
		{"SpacesReopen", spacesReopen},
		{"GraphEmpty", graphEmpty},
		{"GraphEntities", graphEntities},
		{"GraphForms", graphForms},
		{"GraphCommonWords", graphCommonWords},
		{"GraphWalk", graphWalk},
		{"GraphSame", graphSame},
		{"GraphHub", graphHub},
		{"GraphReplace", graphReplace},
		{"GraphReopen", graphReopen},
		{"GraphWhileWritten", graphWhileWritten},
		{"GraphHostile", graphHostile},
		{"GraphRefuse", graphRefuse},
		{"SetsMembers", setsMembers},
		{"SetsRefuse", setsRefuse},
		{"SetsLikeAnother", setsLikeAnother},
		{"SetsWalk", setsWalk},
		{"SetsWhileRead", setsWhileRead},
		{"SetsReadFirst", setsReadFirst},
		{"SetsReopen", setsReopen},
		{"SetsModel", setsModel},
		{"Contents", contents},
		{"Annotate", annotate},
		{"AmongDocuments", amongDocuments},
		{"Copies", copies},
		{"ExportRefuses", exportRefuses},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open) })
	}
}

// piece is a chunk of a document; see [document].
type piece struct {
	level  corpus.Level
	text   string
	vector []float32
	space  string
}

func (p piece) in(space string) piece {
	p.space = space
	return p
}

// document makes a document whose chunks have the ids id/0, id/1 …
func document(collection, id, title string, pieces ...piece) (corpus.Document, []index.Entry) {
	d := corpus.Document{ID: corpus.DocumentID(id), Collection: collection, Title: title, URI: "file:///" + id,
		MediaType: "text/plain", Hash: "h-" + id, Bytes: 7, IndexedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var es []index.Entry
	for i, p := range pieces {
		es = append(es, index.Entry{Space: p.space, Vector: p.vector, Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprintf("%s/%d", id, i)),
			Document: d.ID, Level: p.level, Ordinal: i, Title: title, Headings: []string{"One", "Two"}, Pages: []int{3},
			Start: 10 * i, End: 10*i + len(p.text), Text: p.text}})
	}
	return d, es
}

func passage(text string, vector ...float32) piece {
	return piece{level: corpus.Passage, text: text, vector: vector}
}

func put(t *testing.T, x index.Writer, collection, id, title string, pieces ...piece) {
	t.Helper()
	d, es := document(collection, id, title, pieces...)
	if err := x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}); err != nil {
		t.Fatalf("put %s: %v", id, err)
	}
}

func search(t *testing.T, x index.Reader, q index.Query) []index.Hit {
	t.Helper()
	hits, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("search %+v: %v", q, err)
	}
	check(t, hits)
	return hits
}

// check checks the properties of all hits.
func check(t *testing.T, hits []index.Hit) {
	t.Helper()
	seen := map[corpus.ChunkID]bool{}
	for i, h := range hits {
		if math.IsNaN(h.Score) || h.Score < 0 || h.Score > 1 || h.Lexical < 0 || h.Cosine < -1.001 || h.Cosine > 1.001 {
			t.Errorf("hit %s: score %v, lexical %v, cosine %v", h.Chunk.ID, h.Score, h.Lexical, h.Cosine)
		}
		if seen[h.Chunk.ID] {
			t.Errorf("hit %s twice", h.Chunk.ID)
		}
		seen[h.Chunk.ID] = true
		if i > 0 && (h.Score > hits[i-1].Score || h.Score == hits[i-1].Score && h.Chunk.ID <= hits[i-1].Chunk.ID) {
			t.Errorf("hits %d and %d are out of order", i-1, i)
		}
	}
}

func want(t *testing.T, hits []index.Hit, ids ...string) {
	t.Helper()
	got := []string{}
	for _, h := range hits {
		got = append(got, string(h.Chunk.ID))
	}
	if len(ids) == 0 {
		ids = []string{}
	}
	if d := cmp.Diff(ids, got); d != "" {
		t.Errorf("hits (-want +got):\n%s", d)
	}
}

func empty(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	want(t, search(t, x, index.Query{Collection: "none", Text: "anything", Vector: []float32{1, 0}}))
	if ds, err := x.Documents(t.Context(), "none", "", 0); err != nil || len(ds) != 0 {
		t.Errorf("documents: %v, %v", ds, err)
	}
	if cs, err := x.Chunks(t.Context(), "none", []corpus.ChunkID{"a"}); err != nil || len(cs) != 0 {
		t.Errorf("chunks: %v, %v", cs, err)
	}
	if s, err := x.Terms(t.Context(), "none", []string{"a"}); err != nil || s.Chunks != 0 {
		t.Errorf("terms: %v, %v", s, err)
	}
	if err := x.Delete(t.Context(), "none", []corpus.DocumentID{"a"}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := x.Put(t.Context(), nil, nil); err != nil {
		t.Errorf("put nothing: %v", err)
	}
}

func putSearch(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	d, es := document("c", "river", "Rivers", passage("The Danube flows through ten countries."), passage("Dams hold water."))
	require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	hits := search(t, x, index.Query{Collection: "c", Text: "Which countries does the danube FLOW through?"})
	want(t, hits, "river/0")
	if len(hits) == 1 {
		if diff := cmp.Diff(es[0].Chunk, hits[0].Chunk); diff != "" {
			t.Errorf("chunk (-want +got):\n%s", diff)
		}
		if hits[0].Lexical <= 0 || hits[0].Cosine != 0 {
			t.Errorf("lexical %v, cosine %v", hits[0].Lexical, hits[0].Cosine)
		}
	}
	want(t, search(t, x, index.Query{Collection: "c", Text: "the of and is"}))
	want(t, search(t, x, index.Query{Collection: "c"}))
	put(t, x, "", "d", "", passage("default things"))
	want(t, search(t, x, index.Query{Text: "default"}), "d/0")
	want(t, search(t, x, index.Query{Collection: corpus.DefaultCollection, Text: "default"}), "d/0")
}

func order(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	for i := range 30 {
		put(t, x, "c", fmt.Sprintf("same%02d", i), "", passage("copper kettle"))
	}
	put(t, x, "c", "more", "", passage("copper copper kettle"))
	hits := search(t, x, index.Query{Collection: "c", Text: "copper", Limit: 3})
	want(t, hits, "more/0", "same00/0", "same01/0")
	if n := len(search(t, x, index.Query{Collection: "c", Text: "copper"})); n != index.DefaultLimit {
		t.Errorf("%d hits without a limit", n)
	}
	if n := len(search(t, x, index.Query{Collection: "c", Text: "copper", Limit: math.MaxInt})); n != 31 {
		t.Errorf("%d hits without end", n)
	}
}

func replace(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "a", "", passage("apple", 1, 0), passage("pear", 0, 1))
	put(t, x, "c", "a", "", passage("plum", 0, 1))
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple pear"}))
	want(t, search(t, x, index.Query{Collection: "c", Text: "plum"}), "a/0")
	want(t, search(t, x, index.Query{Collection: "c", Vector: []float32{1, 0}}), "a/0")
	first, es1 := document("c", "twice", "", passage("early"))
	second, es2 := document("c", "twice", "", passage("late"))
	require.NoError(t, x.Put(t.Context(), []corpus.Document{first, second}, [][]index.Entry{es1, es2}))
	want(t, search(t, x, index.Query{Collection: "c", Text: "early late"}), "twice/0")
	want(t, search(t, x, index.Query{Collection: "c", Text: "early"}))
}

func remove(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "a", "", passage("apple", 1, 0))
	put(t, x, "c", "b", "", passage("apple", 1, 0))
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"a", "unknown", ""}))
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple", Vector: []float32{1, 0}}), "b/0")
	if cs, err := x.Chunks(t.Context(), "c", []corpus.ChunkID{"a/0"}); err != nil || len(cs) != 0 {
		t.Errorf("chunks: %v, %v", cs, err)
	}
	if s, err := x.Terms(t.Context(), "c", []string{"apple"}); err != nil || s.Chunks != 1 || s.DF["apple"] != 1 {
		t.Errorf("terms: %v, %v", s, err)
	}
	put(t, x, "c", "a", "", passage("apple", 1, 0))
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple"}), "a/0", "b/0")
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"a", "b"}))
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple", Vector: []float32{1, 0}}))
}

func atLevels(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "a", "", piece{level: corpus.Section, text: "apple section"}, passage("apple passage"),
		piece{level: corpus.Sentence, text: "apple sentence", vector: []float32{1, 0}})
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple"}), "a/1")
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple", Levels: []corpus.Level{corpus.Section}}), "a/0")
	want(t, search(t, x, index.Query{Collection: "c", Vector: []float32{1, 0}}))
	got := search(t, x, index.Query{Collection: "c", Text: "apple",
		Levels: []corpus.Level{corpus.Sentence, corpus.Section, corpus.Sentence}})
	if len(got) != 2 {
		t.Errorf("%d hits at two levels", len(got))
	}
	if s, err := x.Terms(t.Context(), "c", []string{"apple"}); err != nil || s.Chunks != 1 || s.DF["apple"] != 1 {
		t.Errorf("terms count passages: %v, %v", s, err)
	}
}

func collections(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	names := []string{"a", "A", "a/b", "../../etc", ".", "..", "a\x00b", strings.Repeat("long", 200), "日本", "a b", "CON", "\xff"}
	for i, n := range names {
		put(t, x, n, fmt.Sprintf("doc%d", i), "", passage(fmt.Sprintf("shared word%d", i), 1, 0))
	}
	for i, n := range names {
		id := fmt.Sprintf("doc%d/0", i)
		want(t, search(t, x, index.Query{Collection: n, Text: "shared", Vector: []float32{1, 0}}), id)
		if ds, err := x.Documents(t.Context(), n, "", 0); err != nil || len(ds) != 1 || ds[0].Collection != n {
			t.Errorf("documents of %q: %v, %v", n, ds, err)
		}
		other := corpus.ChunkID(fmt.Sprintf("doc%d/0", (i+1)%len(names)))
		if cs, err := x.Chunks(t.Context(), n, []corpus.ChunkID{other}); err != nil || len(cs) != 0 {
			t.Errorf("%q shows a chunk of another collection: %v, %v", n, cs, err)
		}
	}
	require.NoError(t, x.Delete(t.Context(), "a", []corpus.DocumentID{"doc0", "doc1"}))
	want(t, search(t, x, index.Query{Collection: "a", Text: "shared"}))
	want(t, search(t, x, index.Query{Collection: "A", Text: "shared"}), "doc1/0")
}

func cancelled(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "a", "", passage("apple"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Search(ctx, index.Query{Collection: "c", Text: "apple"}); !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
	d, es := document("c", "b", "", passage("apple"))
	if err := x.Put(ctx, []corpus.Document{d}, [][]index.Entry{es}); !errors.Is(err, context.Canceled) {
		t.Errorf("put: %v", err)
	}
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple"}), "a/0")
}

func invalid(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "good", "", passage("apple"))
	ok, _ := document("c", "bad", "")
	_, two := document("c", "bad", "", passage("apple"), passage("apple"))
	two[1].ID = two[0].ID
	_, level := document("c", "bad", "", piece{level: 9, text: "apple"})
	_, nan := document("c", "bad", "", passage("apple", float32(math.NaN())))
	_, nameless := document("c", "bad", "", passage("apple"))
	nameless[0].ID = ""
	_, bytes := document("c", "bad", "", passage("apple"))
	bytes[0].ID = "\xff"
	_, foreign := document("c", "worse", "", passage("apple"))
	for name, es := range map[string][]index.Entry{"two of an id": two, "level": level, "not a number": nan,
		"no chunk id": nameless, "other document": foreign, "id of no UTF-8": bytes} {
		err := x.Put(t.Context(), []corpus.Document{ok}, [][]index.Entry{es})
		if fault.CodeOf(err) != fault.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := x.Put(t.Context(), []corpus.Document{ok}, nil); err == nil {
		t.Error("documents without entries")
	}
	if err := x.Put(t.Context(), []corpus.Document{{Collection: "c"}}, [][]index.Entry{nil}); err == nil {
		t.Error("document without an id")
	}
	want(t, search(t, x, index.Query{Collection: "c", Text: "apple"}), "good/0")
}

func hostile(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	put(t, x, "c", "a", `title:"x" AND (`, passage("apple pie \\ \"quoted\" field:value +must -not ~ ^2 * ?"))
	put(t, x, "c", "b", strings.Repeat("T", 100_000), passage(strings.Repeat("x", 200_000)+" "+strings.Repeat("word ", 50_000)))
	many := &strings.Builder{}
	for i := range 20_000 {
		fmt.Fprintf(many, "term%d ", i)
	}
	for _, q := range []string{"", " ", "\x00", "\xff\xfe", "(", `"`, "title:", "+apple -pie", "apple AND NOT", "a*", "/re/", "~~", "^",
		strings.Repeat("apple ", 10_000), strings.Repeat("(", 10_000), strings.Repeat("a", 1<<20), many.String(), "🙂 ́"} {
		search(t, x, index.Query{Collection: "c", Text: q})
	}
	want(t, search(t, x, index.Query{Collection: "c", Text: "-apple NOT pie"}), "a/0")
	want(t, search(t, x, index.Query{Collection: strings.Repeat("c", 1<<20), Text: "apple"}))
	search(t, x, index.Query{Collection: "c", Text: "apple", Limit: -1, Weights: index.Weights{Lexical: -1, Vector: -3}})
	if _, err := x.Search(t.Context(), index.Query{Collection: "c", Levels: []corpus.Level{7}}); err == nil {
		t.Error("no error for level 7")
	}
	if _, err := x.Search(t.Context(), index.Query{Collection: "c", Vector: []float32{float32(math.Inf(1))}}); err == nil {
		t.Error("no error for an infinite vector")
	}
}

// consistent searches while a writer replaces documents. Readers must see exactly one complete version of a document.
func consistent(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	version := func(n int) {
		text := fmt.Sprintf("steady version%d", n)
		put(t, x, "c", "a", "", passage(text, 1, 0), passage(text, 1, 0), passage(text, 0.9, 0.1))
	}
	version(0)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for r := range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				q := index.Query{Collection: "c", Text: "steady", Vector: []float32{1, 0}}
				if r == 1 {
					q.Text = ""
				}
				hits, err := x.Search(context.Background(), q)
				if err != nil {
					t.Errorf("search: %v", err)
					return
				}
				if len(hits) != 3 {
					t.Errorf("%d hits", len(hits))
					return
				}
				for _, h := range hits[1:] {
					if h.Chunk.Text != hits[0].Chunk.Text {
						t.Errorf("%q beside %q", h.Chunk.Text, hits[0].Chunk.Text)
						return
					}
				}
				if s, err := x.Terms(context.Background(), "c", []string{"steady"}); err != nil || s.Chunks != 3 || s.DF["steady"] != 3 {
					t.Errorf("terms: %v, %v", s, err)
					return
				}
			}
		})
	}
	for n := range 25 {
		version(n + 1)
	}
	close(done)
	wg.Wait()
}
