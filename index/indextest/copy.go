package indextest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// Copyable is an index that can be copied, and to which others can be.
type Copyable interface {
	index.Index
	index.Exporter
	index.Spaces
	index.Sets
	index.DocumentReader
	index.Annotator
}

// openCopyable opens an index, or skips the test if it cannot be copied.
func openCopyable(t *testing.T, open Open, dir string) Copyable {
	t.Helper()
	x, ok := open(t, dir).(Copyable)
	if !ok {
		t.Skip("not an index that can be copied")
	}
	return x
}

// fillForCopy puts documents of all kinds into a collection: with and without vectors, with mentions, at all levels, large and empty, and in sets.
func fillForCopy(t *testing.T, x Copyable, collection string) {
	t.Helper()
	d, es := document(collection, "lands", "Lands", piece{level: corpus.Section, text: "Farland and Nearland.", vector: []float32{1, 0}, space: "s"},
		piece{level: corpus.Sentence, text: "Ada keeps Farland.", vector: []float32{}, space: "s"}, passage("Ada Brook keeps Farland.", 0.6, 0.8).in("s"), passage("Bo Crane keeps Nearland \x00 ⟦1⟧."))
	es[2].Mentions = []corpus.Mention{{Name: "Farland", Kind: corpus.Subject}, {Name: "Ada Brook", Kind: corpus.Phrase}}
	es[2].Relations = []corpus.Relation{{From: "Ada Brook", To: "Farland", Predicate: "keeps"}}
	long, many := document(collection, "long", "Long", slices.Repeat([]piece{passage("The harbour has boats.", 0.1, 0.3, 0.2).in("old"), passage("A boat has sails.", 0.3, 0.1).in("s")}, index.ExportChunks/2+10)...)
	for i := range many {
		if many[i].Space == "old" {
			many[i].Space, many[i].Vector = "s", []float32{float32(i), 1}
		}
		many[i].Text += fmt.Sprint(" ", i)
	}
	empty, none := document(collection, "empty", "Empty")
	last, few := document(collection, "z/ö\n", "Zembla", passage("The castle of Zembla has 77 towers.", 0, 1).in("s"))
	require.NoError(t, x.Put(t.Context(), []corpus.Document{d, long, empty, last}, [][]index.Entry{es, many, none, few}))
	for set, ids := range map[string][]corpus.DocumentID{"all": {"lands", "z/ö\n"}, "later": {"lands", "not there yet"}} {
		require.NoError(t, x.AddToSet(t.Context(), collection, set, ids))
	}
	require.NoError(t, x.Annotate(t.Context(), collection, "lands", corpus.DublinCore{Title: "The lands"}, "ada"))
}

// exportAll exports a collection, limit documents at a time.
func exportAll(t *testing.T, x index.Exporter, collection, space string, limit int) (docs []corpus.Document, entries [][]index.Entry) {
	t.Helper()
	for after := corpus.DocumentID(""); ; after = docs[len(docs)-1].ID {
		d, e, err := x.Export(t.Context(), collection, space, after, limit)
		require.NoError(t, err)
		if len(d) == 0 {
			return docs, entries
		}
		if len(d) != len(e) || len(d) > limit {
			t.Fatalf("%d documents and %d lists of entries, limit %d", len(d), len(e), limit)
		}
		docs, entries = append(docs, d...), append(entries, e...)
	}
}

func sumsOf(t *testing.T, x index.Copied, collection string) (out []string) {
	t.Helper()
	require.NoError(t, index.Sums(t.Context(), x, collection, func(h [sha256.Size]byte) { out = append(out, fmt.Sprintf("%x", h)) }))
	slices.Sort(out)
	return out
}

// copies: an export has all that was put, whatever its limit, and a copy answers like its source. A copy that is repeated changes nothing.
func copies(t *testing.T, open Open) {
	from := openCopyable(t, open, t.TempDir())
	fillForCopy(t, from, "lands")
	docs, entries := exportAll(t, from, "lands", "s", 100)
	if len(docs) != 4 || len(entries[1]) != 4 || docs[0].ID != "empty" || docs[1].Given.Title != "The lands" || docs[1].Contributor != "ada" {
		t.Fatalf("exported %d documents: %+v", len(docs), docs)
	}
	byText := map[string]index.Entry{}
	for _, e := range entries[1] {
		byText[e.Text] = e
	}
	ada := byText["Ada Brook keeps Farland."]
	if none := byText["Ada keeps Farland."]; none.Space != "s" || none.Vector == nil || len(none.Vector) != 0 || byText["Bo Crane keeps Nearland \x00 ⟦1⟧."].Vector != nil || len(ada.Mentions) != 2 || len(ada.Relations) != 1 {
		t.Errorf("entries %+v", entries[1])
	}
	one, single := exportAll(t, from, "lands", "s", 1)
	if diff := cmp.Diff([]any{docs, entries}, []any{one, single}); diff != "" {
		t.Errorf("one document at a time (-all +one):\n%s", diff)
	}
	to := openCopyable(t, open, t.TempDir())
	for range 2 {
		done := 0
		if err := index.Copy(t.Context(), from, to, "lands", func(n int) { done += n }); err != nil || done != 4 {
			t.Fatalf("%d copied: %v", done, err)
		}
	}
	there, same := exportAll(t, to, "lands", "s", 100)
	if diff := cmp.Diff([]any{docs, entries}, []any{there, same}, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the copy (-source +copy):\n%s", diff)
	}
	if diff := cmp.Diff(sumsOf(t, from, "lands"), sumsOf(t, to, "lands")); diff != "" {
		t.Errorf("sums (-source +copy):\n%s", diff)
	}
	for _, q := range []index.Query{{Text: "Ada Farland"}, {Vector: []float32{0, 1}, Space: "s"}, {Text: "castle towers", Vector: []float32{1, 0}, Space: "s"}} {
		for _, name := range []string{"lands", index.Scope{Collection: "lands", Sets: []string{"all"}}.Name()} {
			q.Collection = name
			want, got := search(t, from, q), search(t, to, q)
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6), cmpopts.EquateEmpty()); diff != "" || len(want) == 0 {
				t.Errorf("%d hits of %+v (-source +copy):\n%s", len(want), q, diff)
			}
		}
	}
	put(t, to, "lands", "not there yet", "Late", passage("It is late."))
	if hits := search(t, to, index.Query{Collection: index.Scope{Collection: "lands", Sets: []string{"later"}}.Name(), Text: "late"}); len(hits) != 1 {
		t.Errorf("a member that came after the copy: %+v", hits)
	}
	if slices.Equal(sumsOf(t, from, "lands"), sumsOf(t, to, "lands")) {
		t.Error("sums do not differ after a change")
	}
}

// exportRefuses: unknown collections are empty, and scopes and limits below 1 are refused.
func exportRefuses(t *testing.T, open Open) {
	x := openCopyable(t, open, t.TempDir())
	if docs, entries, err := x.Export(t.Context(), "unknown", "s", "", 10); err != nil || len(docs)+len(entries) > 0 {
		t.Errorf("an unknown collection: %v, %v", docs, err)
	}
	if sets, err := x.Members(t.Context(), "unknown"); err != nil || len(sets) > 0 {
		t.Errorf("sets of an unknown collection: %v, %v", sets, err)
	}
	if _, _, err := x.Export(t.Context(), "lands", "s", "", 0); err == nil {
		t.Error("no limit is accepted")
	}
	scope := index.Scope{Collection: "lands", Sets: []string{"all"}}.Name()
	if _, _, err := x.Export(t.Context(), scope, "s", "", 1); err == nil {
		t.Error("a scope is accepted")
	}
	if _, err := x.Members(t.Context(), scope); err == nil {
		t.Error("a scope is accepted by Members")
	}
}
