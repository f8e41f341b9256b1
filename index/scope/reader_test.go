package scope_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/scope"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

// library is an index with collections and with uploaded files in sets. It counts calls.
type library struct {
	*embedded.Index
	t           *testing.T
	searches    int
	embeddedFor []string // collections that texts were embedded for
}

func (l *library) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	l.searches++
	return l.Index.Search(ctx, q)
}

func (l *library) SearchVector(_ context.Context, collection, _ string, p model.Purpose) (index.SearchVector, error) {
	l.embeddedFor = append(l.embeddedFor, collection)
	return index.SearchVector{Space: "space of " + collection}, nil
}

// put puts a document of one passage, which is about its id in capitals and mentions Northern Poland.
func (l *library) put(collection, id, text string) {
	l.t.Helper()
	d := corpus.Document{ID: corpus.DocumentID(id), Collection: collection, Title: "Title " + strings.ToUpper(id), Hash: "hash of " + id + " in " + collection}
	c := corpus.Chunk{ID: corpus.ChunkID(collection + "/" + id), Document: d.ID, Level: corpus.Passage, Title: d.Title, Text: text}
	err := l.Put(l.t.Context(), []corpus.Document{d}, [][]index.Entry{{{Chunk: c, Mentions: []corpus.Mention{
		{Name: d.Title, Kind: corpus.Subject}, {Name: "Northern Poland", Kind: corpus.Named}}}}})
	require.NoError(l.t, err)
}

func (l *library) addToSet(set string, ids ...corpus.DocumentID) {
	l.t.Helper()
	require.NoError(l.t, l.AddToSet(l.t.Context(), "files", set, ids))
}

func open(t *testing.T) (*library, *scope.Reader) {
	t.Helper()
	x, err := embedded.Open(t.Context(), t.TempDir(), embedded.Options{})
	require.NoError(t, err)
	require.CloseAfter(t, x)
	l := &library{Index: x, t: t}
	return l, scope.New(l, "files", scope.Options{Vectors: l})
}

// openFilled opens a library with documents and sets.
func openFilled(t *testing.T) (*library, *scope.Reader) {
	l, r := open(t)
	for _, c := range []struct{ collection, id string }{{"default", "d1"}, {"default", "both"}, {"notes", "n1"}, {"with, comma", "w1"},
		{"files", "f1"}, {"files", "f2"}, {"files", "f3"}, {"files", "loose"}, {"files", "both"}} {
		l.put(c.collection, c.id, "apple of "+c.collection)
	}
	l.addToSet("vs_a", "f1", "f2")
	l.addToSet("vs_b", "f2", "f3", "later")
	l.addToSet("notes", "f3")
	return l, r
}

// TestReaderSelects checks which documents each method reads for a scope.
func TestReaderSelects(t *testing.T) {
	t.Parallel()
	l, r := openFilled(t)
	for name, want := range map[string]string{
		"":                               "default/both default/d1",
		"default":                        "default/both default/d1",
		"vs_a":                           "files/f1 files/f2",
		"vs_a,vs_b":                      "files/f1 files/f2 files/f3",
		" vs_b ,, vs_a,vs_b":             "files/f1 files/f2 files/f3",
		"notes":                          "files/f3 notes/n1",
		"default,vs_a":                   "default/both default/d1 files/f1 files/f2",
		"notes,default,vs_a":             "default/both default/d1 files/f1 files/f2 files/f3 notes/n1",
		"nothing":                        "",
		"nothing,vs_a":                   "files/f1 files/f2",
		"not a set's name":               "",
		"with, comma":                    "with, comma/w1",
		"comma, with":                    "",
		"with, comma,vs_a":               "files/f1 files/f2",
		"file:loose":                     "files/loose",
		"file:f1,vs_b":                   "files/f1 files/f2 files/f3",
		"file:f1,vs_a":                   "files/f1 files/f2",
		"file: loose":                    "files/loose",
		"file:both":                      "files/both",
		"file:d1":                        "default/d1",
		"file:d1,default":                "default/both default/d1",
		"file:d1,file:loose,notes":       "default/d1 files/f3 files/loose notes/n1",
		"file:n1":                        "",
		"file:none":                      "",
		"file:later":                     "",
		"files":                          "files/both files/f1 files/f2 files/f3 files/loose",
		"files,vs_a,file:f1":             "files/both files/f1 files/f2 files/f3 files/loose",
		"files,notes":                    "files/both files/f1 files/f2 files/f3 files/loose notes/n1",
		"file:d1,files":                  "default/d1 files/both files/f1 files/f2 files/f3 files/loose",
		strings.Repeat("c", 5000):        "",
		"file:" + strings.Repeat("c", 9): "",
	} {
		t.Run(name[:min(len(name), 40)], func(t *testing.T) {
			(&library{Index: l.Index, t: t}).reads(r, name, strings.FieldsFunc(want, func(c rune) bool { return c == ' ' && want != "with, comma/w1" }))
		})
	}
}

// reads checks with each method that a scope selects exactly the wanted chunks. Each document has one chunk.
func (l *library) reads(r *scope.Reader, name string, want []string) {
	t, ctx := l.t, l.t.Context()
	t.Helper()
	var all []corpus.ChunkID
	var ids []corpus.DocumentID
	for _, c := range []string{"default", "files", "notes", "with, comma"} {
		docs, err := l.Documents(ctx, c, "", 0)
		require.NoError(t, err)
		for _, d := range docs {
			all = append(all, corpus.ChunkID(c+"/"+string(d.ID)))
			ids = append(ids, d.ID)
		}
	}
	is := func(what string, err error, got []string) {
		t.Helper()
		slices.Sort(got)
		if d := cmp.Diff(want, got); (d != "" && len(want)+len(got) > 0) || err != nil {
			t.Errorf("%s of %q, %v (-want +got):\n%s", what, name, err, d)
		}
	}
	var got []string
	hits, err := r.Search(ctx, index.Query{Collection: name, Text: "apple", Limit: 100})
	for _, h := range hits {
		got = append(got, string(h.Chunk.ID))
	}
	is("search", err, got)
	got = nil
	chunks, err := r.Chunks(ctx, name, all)
	for _, c := range chunks {
		got = append(got, string(c.ID))
	}
	is("chunks", err, got)
	got = nil
	rs, err := r.Walk(ctx, index.WalkQuery{Collection: name, Entities: []string{"Northern Poland"}, Limit: 100})
	for _, c := range rs {
		got = append(got, string(c.Chunk.ID))
	}
	is("walk", err, got)
	got = nil
	mentioned, err := r.EntitiesOf(ctx, name, all)
	for i, es := range mentioned {
		if len(es) > 0 {
			got = append(got, string(all[i]))
		}
	}
	is("mentioned", err, got)

	docs, err := r.Documents(ctx, name, "", 0)
	described, err2 := r.DocumentsByID(ctx, name, ids)
	hashes, err3 := r.Hashes(ctx, name, ids)
	terms, err4 := r.Terms(ctx, name, []string{"apple", "absent"})
	entities, err5 := r.Entities(ctx, name, "Northern Poland")
	require.NoError(t, errors.Join(err, err2, err3, err4, err5))
	if len(docs) != len(want) || len(described) < len(want) || len(hashes) != len(want) {
		t.Errorf("%d listed, %d described, %d hashed of %q, want %v", len(docs), len(described), len(hashes), name, want)
	}
	if terms.DF["apple"] != terms.Chunks || terms.Chunks < len(want) || len(terms.DF) != 2 {
		t.Errorf("terms of %q: %v", name, terms)
	}
	if len(want) > 0 && (len(entities) != 1 || entities[0].Chunks != len(want)) || len(want) == 0 && len(entities) > 0 {
		t.Errorf("entities of %q: %v", name, entities)
	}
	for _, d := range docs {
		within, err := r.DocumentChunks(ctx, name, d.ID, corpus.Passage, 0, 0)
		if err != nil || len(within) != 1 || !slices.Contains(want, string(within[0].ID)) || hashes[d.ID] != d.Hash {
			t.Errorf("%v within %s of %q, %v; hash %s", within, d.ID, name, err, hashes[d.ID])
		}
	}
	for _, id := range ids {
		within, err := r.DocumentChunks(ctx, name, id, corpus.Passage, 0, 0)
		if err != nil || len(within) == 1 && !slices.Contains(want, string(within[0].ID)) {
			t.Errorf("%v within %s of %q, %v", within, id, name, err)
		}
	}
}

func TestInvalidScopes(t *testing.T) {
	t.Parallel()
	_, r := openFilled(t)
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("vs_%d", i))
	}
	for _, name := range []string{",", " ", "file:", "a\x1fsvs_a", "files\x1fsvs_a", "file:f1\x1fsvs_a", "vs_a\x00", "a\nb", "\xff", "a\u202eb",
		strings.Join(many, ","), strings.Repeat("a,", 20_000)} {
		ctx := t.Context()
		_, err := r.Search(ctx, index.Query{Collection: name, Text: "apple"})
		errs := []error{err}
		_, err = r.Chunks(ctx, name, nil)
		errs = append(errs, err)
		_, err = r.Version(ctx, name)
		errs = append(errs, err)
		_, err = r.SearchVector(ctx, name, "apple", model.ForQuery)
		errs = append(errs, err)
		for i, err := range errs {
			if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.InvalidRequest || e.Field != "collection" {
				t.Errorf("%.20q, %d: %v", name, i, err)
			}
		}
	}
	if _, err := r.Search(t.Context(), index.Query{Collection: strings.Join(many[:64], ","), Text: "apple"}); err != nil {
		t.Error(err)
	}
}

// TestSinglePart checks that a scope of one part costs one search and returns the hits of the index unchanged.
func TestSinglePart(t *testing.T) {
	t.Parallel()
	l, r := openFilled(t)
	for name, direct := range map[string]string{"default": "default", "vs_a,vs_b": index.Scope{Collection: "files", Sets: []string{"vs_a", "vs_b"}}.Name()} {
		l.searches = 0
		got, err := r.Search(t.Context(), index.Query{Collection: name, Text: "apple"})
		if err != nil || l.searches != 1 {
			t.Errorf("%d searches for %s, %v", l.searches, name, err)
		}
		want, err := l.Index.Search(t.Context(), index.Query{Collection: direct, Text: "apple"})
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s (-want +got), %v:\n%s", name, err, d)
		}
	}
}

// TestPartsAreFused searches a collection with weak matches together with files that have strong ones.
func TestPartsAreFused(t *testing.T) {
	t.Parallel()
	l, r := open(t)
	for i := range 8 {
		l.put("default", fmt.Sprintf("weak%d", i), "The kettle of apple and pear, and much else that is said at length of other things.")
		l.put("files", fmt.Sprintf("other%d", i), "Something else.")
	}
	l.put("files", "strong", "copper kettle, copper kettle")
	l.put("files", "outside", "copper kettle, copper kettle, copper kettle")
	l.addToSet("vs", "strong", "other1")
	hits, err := r.Search(t.Context(), index.Query{Collection: "default,vs", Text: "copper kettle", Limit: 3})
	if err != nil || len(hits) != 3 {
		t.Fatal(len(hits), err)
	}
	if hits[0].Chunk.ID != "files/strong" || hits[0].Score != 1 || hits[1].Score >= 0.5 || hits[1].Chunk.ID != "default/weak0" {
		t.Errorf("%s scores %v, then %s %v", hits[0].Chunk.ID, hits[0].Score, hits[1].Chunk.ID, hits[1].Score)
	}
	var pages []corpus.DocumentID
	after := corpus.DocumentID("")
	for range 5 {
		docs, err := r.Documents(t.Context(), "vs,default", after, 3)
		require.NoError(t, err)
		for _, d := range docs {
			pages = append(pages, d.ID)
			after = d.ID
		}
	}
	if len(pages) != 10 || !slices.IsSorted(pages) {
		t.Errorf("documents %v", pages)
	}
	terms, err := r.Terms(t.Context(), "vs,default", []string{"kettle", "none"})
	if want := (index.TermStats{Chunks: 18, DF: map[string]int{"kettle": 10, "none": 0}}); err != nil || !cmp.Equal(want, terms) {
		t.Errorf("terms %v, %v", terms, err)
	}
	es, err := r.Entities(t.Context(), "vs,default", "Northern Poland, then Title STRONG or Title WEAK3")
	require.NoError(t, err)
	want := []index.Entity{{Name: "Northern Poland", Chunks: 10}, {Name: "Title STRONG", Chunks: 1, About: 1}, {Name: "Title WEAK3", Chunks: 1, About: 1}}
	if d := cmp.Diff(want, es); d != "" {
		t.Errorf("entities (-want +got):\n%s", d)
	}
}

// TestSameIDInTwoParts reads documents and entities that exist in two parts of a scope.
// TestRareWordOfASmallPart puts one document beside many. A word that is only in that document is frequent there, and rare in both parts together.
func TestRareWordOfASmallPart(t *testing.T) {
	l, r := open(t)
	for i := range 60 {
		l.put("default", fmt.Sprintf("d%d", i), fmt.Sprintf("The number %d is in the house of the king.", i))
	}
	l.put("default", "d60", "A run lives as long as it has readers.")
	l.put("files", "zebra", "The zebra Ottokar lives in Graz.")
	hits, err := r.Search(t.Context(), index.Query{Collection: "default,files", Text: "Where does the zebra Ottokar live?"})
	require.NoError(t, err)
	if len(hits) == 0 || hits[0].Chunk.Document != "zebra" {
		t.Errorf("best hit of %d: %v, want the zebra", len(hits), hits[0].Chunk)
	}
}

func TestSameIDInTwoParts(t *testing.T) {
	t.Parallel()
	l, r := openFilled(t)
	ctx, name := t.Context(), "default,file:both"
	docs, err := r.Documents(ctx, name, "", 0)
	if err != nil || len(docs) != 2 || docs[0].ID != "both" || docs[0].Collection != "default" {
		t.Errorf("documents %v, %v", docs, err)
	}
	hashes, err := r.Hashes(ctx, name, []corpus.DocumentID{"both"})
	if err != nil || hashes["both"] != docs[0].Hash {
		t.Errorf("hashes %v, %v", hashes, err)
	}
	within, err := r.DocumentChunks(ctx, name, "both", corpus.Passage, 0, 0)
	if err != nil || len(within) != 1 || within[0].ID != "default/both" {
		t.Errorf("within %v, %v", within, err)
	}
	l.put("default", "f1 and more", "apple")
	es, err := r.Entities(ctx, "default,vs_a", "Northern Poland and the Title F1 And More")
	want := []index.Entity{{Name: "Northern Poland", Chunks: 5}, {Name: "Title F1 AND MORE", Chunks: 1, About: 1}}
	if d := cmp.Diff(want, es); d != "" || err != nil {
		t.Errorf("entities (-want +got), %v:\n%s", err, d)
	}
}

func TestSearchVector(t *testing.T) {
	t.Parallel()
	l, r := openFilled(t)
	l.put("notes", "n2", "apple")
	for name, want := range map[string]string{
		"": "default", "vs_a": "files", "notes": "files", "default,notes": "files", "file:d1": "default", "nothing": "default", "with, comma": "with, comma",
	} {
		l.embeddedFor = nil
		p, err := r.SearchVector(t.Context(), name, "apple", model.ForQuery)
		if err != nil || !slices.Equal(l.embeddedFor, []string{want}) || p.Space != "space of "+want {
			t.Errorf("the vector for %q is of %v, %v, want %s", name, l.embeddedFor, err, want)
		}
	}
	if p, err := scope.New(l, "files", scope.Options{}).SearchVector(t.Context(), "vs_a", "apple", model.ForQuery); err != nil || p.Vector != nil {
		t.Errorf("a vector without embedder: %v, %v", p, err)
	}
}

// TestVersionGrows checks that each change to the content of a scope increases its version.
func TestVersionGrows(t *testing.T) {
	t.Parallel()
	l, r := openFilled(t)
	ctx := t.Context()
	last := map[string]uint64{}
	for _, step := range []struct {
		name  string
		do    func() error
		grows string
	}{
		{"at first", func() error { return nil }, "vs_a|vs_b|default|vs_a,default|file:f1|nothing,vs_a"},
		{"a file replaced", func() error { l.put("files", "f1", "apple again"); return nil }, "vs_a|vs_a,default|file:f1|nothing,vs_a"},
		{"a member is put", func() error { l.put("files", "later", "apple"); return nil }, "vs_b"},
		{"add to set", func() error { return l.AddToSet(ctx, "files", "vs_b", []corpus.DocumentID{"f1"}) }, "vs_b"},
		{"remove from set", func() error { return l.RemoveFromSet(ctx, "files", "vs_a", []corpus.DocumentID{"f1"}) }, "vs_a|vs_a,default|nothing,vs_a"},
		{"all documents of a collection deleted", func() error { return l.Delete(ctx, "default", []corpus.DocumentID{"d1", "both"}) }, "default|vs_a,default"},
		{"a file deleted", func() error { return l.Delete(ctx, "files", []corpus.DocumentID{"f1"}) }, "vs_b|file:f1"},
		{"delete set", func() error { return l.DeleteSet(ctx, "files", "vs_a") }, "vs_a|vs_a,default|nothing,vs_a"},
		{"the same id in the default collection", func() error { l.put("default", "f1", "apple"); return nil }, "file:f1|default|vs_a,default"},
		{"a collection created", func() error { l.put("nothing", "x", "apple"); return nil }, "nothing,vs_a"},
		{"a file put again", func() error { l.put("files", "f1", "apple"); return nil }, "file:f1"},
	} {
		require.NoError(t, step.do())
		for _, name := range []string{"vs_a", "vs_b", "default", "vs_a,default", "file:f1", "nothing,vs_a"} {
			v, err := r.Version(ctx, name)
			require.NoError(t, err)
			if v < last[name] || v == last[name] && slices.Contains(strings.Split(step.grows, "|"), name) {
				t.Errorf("%s: %q has version %d after %d", step.name, name, v, last[name])
			}
			last[name] = v
		}
	}
}

func TestWithoutFiles(t *testing.T) {
	t.Parallel()
	l, _ := openFilled(t)
	r := scope.New(l, "", scope.Options{})
	for name, n := range map[string]int{"default": 2, "vs_a": 0, "file:d1": 1, "file:f1": 0, "notes,default": 3} {
		hits, err := r.Search(t.Context(), index.Query{Collection: name, Text: "apple"})
		if err != nil || len(hits) != n {
			t.Errorf("%d found in %s, %v, want %d", len(hits), name, err, n)
		}
		if _, err := r.Version(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
}
