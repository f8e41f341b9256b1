package indextest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// setsIndex is an index with sets.
type setsIndex interface {
	index.Index
	index.Sets
	index.DocumentReader
	index.Versions
}

func openSets(t *testing.T, open Open, dir string) setsIndex {
	t.Helper()
	x, ok := open(t, dir).(setsIndex)
	if !ok {
		t.Skip("keeps no sets")
	}
	return x
}

func addToSet(t *testing.T, x index.Sets, collection, set string, ids ...corpus.DocumentID) {
	t.Helper()
	if err := x.AddToSet(t.Context(), collection, set, ids); err != nil {
		t.Fatalf("add to %s: %v", set, err)
	}
}

func removeFromSet(t *testing.T, x index.Sets, collection, set string, ids ...corpus.DocumentID) {
	t.Helper()
	if err := x.RemoveFromSet(t.Context(), collection, set, ids); err != nil {
		t.Fatalf("remove from %s: %v", set, err)
	}
}

// inSets returns the name of a scope with sets of c.
func inSets(sets ...string) string { return index.Scope{Collection: "c", Sets: sets}.Name() }

// alone returns the name of a scope with documents of c.
func alone(ids ...corpus.DocumentID) string {
	return index.Scope{Collection: "c", Documents: ids}.Name()
}

// found returns the documents that a search for a word finds in a scope, in order.
func found(t *testing.T, x index.Reader, scope, word string) (ids []string) {
	t.Helper()
	for _, h := range search(t, x, index.Query{Collection: scope, Text: word, Limit: index.MaxLimit}) {
		ids = append(ids, string(h.Chunk.Document))
	}
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

func wantFound(t *testing.T, x index.Reader, scope string, ids ...string) {
	t.Helper()
	if d := cmp.Diff(ids, found(t, x, scope, "apple")); d != "" {
		t.Errorf("found in %q (-want +got):\n%s", scope, d)
	}
}

func setsMembers(t *testing.T, open Open) {
	x := openSets(t, open, t.TempDir())
	apple := func(id string) { put(t, x, "c", id, "", passage("apple "+id, 1, 0)) }
	wantFound(t, x, inSets("s"))
	addToSet(t, x, "c", "s", "a", "b") // before there is anything
	wantFound(t, x, inSets("s"))
	for _, id := range []string{"a", "b", "d", "e"} {
		apple(id)
	}
	addToSet(t, x, "c", "s", "d", "d", "a")
	addToSet(t, x, "c", "s2", "e", "a")
	wantFound(t, x, inSets("s"), "a", "b", "d")
	wantFound(t, x, inSets("s2"), "a", "e")
	wantFound(t, x, inSets("s2", "s"), "a", "b", "d", "e")
	wantFound(t, x, inSets("S"))
	wantFound(t, x, inSets("s", "none"), "a", "b", "d")
	wantFound(t, x, alone("e"), "e")
	wantFound(t, x, alone("none", "b", "e"), "b", "e")
	wantFound(t, x, index.Scope{Collection: "c", Sets: []string{"s2"}, Documents: []corpus.DocumentID{"b"}}.Name(), "a", "b", "e")
	wantFound(t, x, "c", "a", "b", "d", "e")

	apple("a") // another of the same id, which stays
	wantFound(t, x, inSets("s"), "a", "b", "d")
	if n := len(search(t, x, index.Query{Collection: inSets("s"), Text: "apple"})); n != 3 {
		t.Errorf("%d of 3 passages after one was put anew", n)
	}
	removeFromSet(t, x, "c", "s", "a", "e", "none")
	removeFromSet(t, x, "c", "nowhere", "a")
	removeFromSet(t, x, "nowhere", "s", "b")
	wantFound(t, x, inSets("s"), "b", "d")
	wantFound(t, x, inSets("s2"), "a", "e")

	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"a", "b", "f"}))
	wantFound(t, x, inSets("s"), "d")
	wantFound(t, x, inSets("s2"), "e")
	apple("a") // another document of its id: in no set
	wantFound(t, x, inSets("s", "s2"), "d", "e")
	wantFound(t, x, alone("a"), "a")
	addToSet(t, x, "c", "s", "a", "later")
	if err := x.Delete(t.Context(), "c", []corpus.DocumentID{"later"}); err != nil { // it ends that it was to be a member
		t.Fatal(err)
	}
	apple("later")
	wantFound(t, x, inSets("s"), "a", "d")

	put(t, x, "other", "d", "", passage("apple in another collection"))
	wantFound(t, x, index.Scope{Collection: "other", Sets: []string{"s"}}.Name())
	for range 2 {
		require.NoError(t, errors.Join(x.DeleteSet(t.Context(), "c", "s"), x.DeleteSet(t.Context(), "c", "none"), x.DeleteSet(t.Context(), "nowhere", "s")))
	}
	wantFound(t, x, inSets("s"))
	wantFound(t, x, inSets("s2"), "e")
	wantFound(t, x, "c", "a", "d", "e", "later")
	addToSet(t, x, "c", "s", "later")
	wantFound(t, x, inSets("s"), "later")
}

func setsRefuse(t *testing.T, open Open) {
	x := openSets(t, open, t.TempDir())
	ctx := t.Context()
	put(t, x, "c", "a", "", passage("apple", 1, 0).in("s"))
	addToSet(t, x, "c", "s", "a")
	scope := inSets("s")
	d, es := document(scope, "b", "", passage("apple"))
	refused(t, "put into a set", x.Put(ctx, []corpus.Document{d}, [][]index.Entry{es}), "collection")
	refused(t, "delete from a set", x.Delete(ctx, scope, []corpus.DocumentID{"a"}), "collection")
	refused(t, "join within a set", x.AddToSet(ctx, scope, "s", []corpus.DocumentID{"a"}), "collection")
	refused(t, "leave within a set", x.RemoveFromSet(ctx, alone("a"), "s", []corpus.DocumentID{"a"}), "collection")
	refused(t, "delete set within a set", x.DeleteSet(ctx, scope, "s"), "collection")
	for _, set := range []string{"", "a b", "a\x00b", "a\x1fsb", "é", "a/b", strings.Repeat("a", 300)} {
		refused(t, fmt.Sprintf("join %.20q", set), x.AddToSet(ctx, "c", set, []corpus.DocumentID{"a"}), "set")
		refused(t, fmt.Sprintf("leave %.20q", set), x.RemoveFromSet(ctx, "c", set, []corpus.DocumentID{"a"}), "set")
		refused(t, fmt.Sprintf("delete set %.20q", set), x.DeleteSet(ctx, "c", set), "set")
	}
	for _, id := range []corpus.DocumentID{"", "\xff"} {
		refused(t, fmt.Sprintf("join of %q", id), x.AddToSet(ctx, "c", "s", []corpus.DocumentID{"a", id}), "document")
	}
	if s, ok := x.(index.Spaces); ok {
		refs, _, err := s.MissingVectors(ctx, "c", "new", "", 1)
		if err != nil || len(refs) != 1 {
			t.Fatal(refs, err)
		}
		_, _, err = s.MissingVectors(ctx, scope, "new", "", 1)
		refused(t, "missing of a set", err, "collection")
		refused(t, "vectors of a set", s.SetVectors(ctx, scope, "new", []string{refs[0].Ref}, [][]float32{{1}}), "collection")
		refused(t, "complete of a set", s.MarkComplete(ctx, scope, "s"), "collection")
		refused(t, "drop of a set", s.DropSpace(ctx, scope, "s"), "collection")
		if c, err := s.VectorStats(ctx, scope); err != nil || len(c.Spaces) != 1 || c.Spaces[0].Name != "s" {
			t.Errorf("spaces of a set: %v, %v", c, err)
		}
	}
	for _, name := range []string{"c\x1f", "c\x1fx", "c\x1fs", "c\x1fsa\x00b", scope + "\x1f", "\x1fsé", "c" + strings.Repeat("\x1fsa", 200_000)} {
		_, err := x.Search(ctx, index.Query{Collection: name, Text: "apple"})
		refused(t, fmt.Sprintf("search of %.20q", name), err, "collection")
		_, err = x.Documents(ctx, name, "", 0)
		refused(t, fmt.Sprintf("documents of %.20q", name), err, "collection")
	}
	wantFound(t, x, scope, "a")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	for _, err := range []error{x.AddToSet(stopped, "c", "s", []corpus.DocumentID{"b"}), x.RemoveFromSet(stopped, "c", "s", []corpus.DocumentID{"a"}),
		x.DeleteSet(stopped, "c", "s")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
	wantFound(t, x, scope, "a")
}

// setsLikeAnother uses ids and sets whose names are parts of each other.
func setsLikeAnother(t *testing.T, open Open) {
	x := openSets(t, open, t.TempDir())
	ids := []corpus.DocumentID{"a", "ab", "a\x00b", "b", "s", "a\x1fb", "é", "ê"}
	for _, id := range ids {
		put(t, x, "c", string(id), "", passage("apple"))
	}
	addToSet(t, x, "c", "s", "a", "é")
	addToSet(t, x, "c", "sa", "ab", "b")
	addToSet(t, x, "c", "sab", "a\x00b")
	wantFound(t, x, inSets("s"), "a", "é")
	wantFound(t, x, inSets("sa"), "ab", "b")
	wantFound(t, x, inSets("sab"), "a\x00b")
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"a"}))
	wantFound(t, x, inSets("s"), "é")
	wantFound(t, x, inSets("sa"), "ab", "b")
	wantFound(t, x, inSets("sab"), "a\x00b")
	require.NoError(t, x.DeleteSet(t.Context(), "c", "sa"))
	wantFound(t, x, inSets("s", "sa", "sab"), "a\x00b", "é")
}

func contents(t *testing.T, open Open) {
	x := openSets(t, open, t.TempDir())
	d, es := document("c", "a", "T", passage("zero"), piece{level: corpus.Sentence, text: "one"}, passage("two"), passage("three"), passage("four"))
	es[2].Ordinal, es[3].Ordinal, es[4].Ordinal = 9, 4, 7 // not in the order of the entries
	slices.Reverse(es[2:])
	require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	put(t, x, "c", "bare", "")
	put(t, x, "c", "b", "", passage("b"))
	addToSet(t, x, "c", "s", "a", "bare", "none")
	got, err := x.DocumentsByID(t.Context(), "c", []corpus.DocumentID{"none", "b", "", "a", "a\x00", "bare"})
	if err != nil || len(got) != 3 || got[0].ID != "b" || got[2].ID != "bare" {
		t.Fatalf("described %v, %v", got, err)
	}
	if diff := cmp.Diff(d, got[1]); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	got, err = x.DocumentsByID(t.Context(), inSets("s"), []corpus.DocumentID{"none", "b", "a", "bare"})
	if err != nil || len(got) != 2 || got[0].ID != "a" || got[0].Collection != "c" || got[1].ID != "bare" {
		t.Errorf("described %v, %v", got, err)
	}
	for _, c := range []struct {
		scope       string
		id          corpus.DocumentID
		level       corpus.Level
		from, limit int
		want        string
	}{
		{"c", "a", corpus.Passage, 0, 0, "zero three four two"},
		{inSets("s"), "a", corpus.Passage, 0, 0, "zero three four two"},
		{alone("a"), "a", corpus.Passage, 0, 2, "zero three"},
		{"c", "a", corpus.Passage, 4, 2, "three four"},
		{"c", "a", corpus.Passage, 5, 2, "four two"},
		{"c", "a", corpus.Passage, -1, 1, "zero"},
		{"c", "a", corpus.Passage, 10, 0, ""},
		{"c", "a", corpus.Sentence, 1, 0, "one"},
		{"c", "a", corpus.Section, 0, 0, ""},
		{"c", "none", corpus.Passage, 0, 0, ""},
		{inSets("s"), "b", corpus.Passage, 0, 0, ""},
		{alone("b"), "a", corpus.Passage, 0, 0, ""},
		{"none", "a", corpus.Passage, 0, 0, ""},
	} {
		chunks, err := x.DocumentChunks(t.Context(), c.scope, c.id, c.level, c.from, c.limit)
		var texts []string
		for _, ch := range chunks {
			texts = append(texts, ch.Text)
		}
		if got := strings.Join(texts, " "); got != c.want || err != nil {
			t.Errorf("within %s of %q at %v from %d, %d: %q, %v; want %q", c.id, c.scope, c.level, c.from, c.limit, got, err, c.want)
		}
	}
	_, err = x.DocumentChunks(t.Context(), "c", "a", 0, 0, 0)
	refused(t, "no level", err, "level")
}

// setsWalk checks that a walk in a set does not use a passage outside the set that connects two members.
func setsWalk(t *testing.T, open Open) {
	x := openSets(t, open, t.TempDir())
	g := graphOf(t, x)
	films(t, x, "c")
	addToSet(t, x, "c", "s", "film", "mother", "town1", "town2") // the director, who leads from one to the other, is not in it
	scope := inSets("s")
	for _, question := range []string{"", "Who is the mother of the director of the film?"} {
		for _, w := range []index.WalkQuery{
			{Entities: []string{"Polish-Russian War"}},
			{Chunks: []corpus.ChunkID{"film/0"}},
			{Chunks: []corpus.ChunkID{"director/0", "writer/0"}, Entities: []string{"Xawery Żuławski"}},
		} {
			w.Collection, w.Question, w.Limit = scope, question, 100
			rs, err := g.Walk(t.Context(), w)
			require.NoError(t, err)
			for i, id := range reached(t, w, rs) {
				if path := strings.Join(rs[i].Path, "; "); !slices.Contains([]string{"film/0", "mother/0", "town1/0", "town2/0"}, id) ||
					strings.Contains(path, "Town 3") || strings.HasPrefix(path, "Xawery Żuławski; Xawery") {
					t.Errorf("walked to %s by %s", id, path)
				}
				if strings.HasSuffix(strings.Join(rs[i].Path, "; "), "Xawery Żuławski; Małgorzata Braunek") {
					t.Errorf("by one who is not there: %v", rs[i].Path)
				}
			}
		}
	}
	wantEntities(t, entities(t, g, scope, "Xawery Żuławski, Dorota Masłowska, Town 3 and Town 1 in Poland"),
		index.Entity{Name: "Xawery Żuławski", Chunks: 1}, index.Entity{Name: "Dorota Masłowska", Chunks: 1},
		index.Entity{Name: "Town 1", Chunks: 1, About: 1}, index.Entity{Name: "Poland", Chunks: 4})
	wantEntities(t, entities(t, g, alone("town1"), "Xawery Żuławski and Małgorzata Braunek"))
	got, err := g.EntitiesOf(t.Context(), scope, []corpus.ChunkID{"director/0", "film/0", "town3/0"})
	if err != nil || len(got) != 3 || len(got[0])+len(got[2]) != 0 || len(got[1]) != 5 {
		t.Errorf("mentioned %v, %v", got, err)
	}
	// The result is the same as in a collection without other documents.
	for _, id := range []string{"film", "mother", "town1", "town2"} {
		copied(t, x, "c", "only", corpus.DocumentID(id))
	}
	w := index.WalkQuery{Chunks: []corpus.ChunkID{"film/0"}, Limit: 100}
	w.Collection = scope
	in := walked(t, g, w)
	w.Collection = "only"
	if d := cmp.Diff(walked(t, g, w), in); d != "" || len(in) != 3 {
		t.Errorf("walk (-in a collection +in a set of them):\n%s", d)
	}
}

// copied also puts a document of [films] into another collection.
func copied(t *testing.T, x index.Index, from, to string, id corpus.DocumentID) {
	t.Helper()
	chunks, err := x.Chunks(t.Context(), from, []corpus.ChunkID{corpus.ChunkID(id + "/0")})
	if err != nil || len(chunks) != 1 {
		t.Fatal(chunks, err)
	}
	var names []string
	es, err := x.(index.Graph).EntitiesOf(t.Context(), from, []corpus.ChunkID{chunks[0].ID})
	require.NoError(t, err)
	for _, e := range es[0] {
		if e.Name != chunks[0].Title {
			names = append(names, e.Name)
		}
	}
	name(t, x, to, string(id), chunks[0].Title, chunks[0].Text, names...)
}

// setsWhileRead changes sets and documents during searches. Each search must see all permanent members and no document outside the set.
func setsWhileRead(t *testing.T, open Open) {
	x := openSets(t, open, t.TempDir())
	for _, id := range []string{"fixed", "replaced", "outside", "toggled"} {
		put(t, x, "c", id, "", passage("apple", 1, 0), passage("apple", 1, 1))
	}
	addToSet(t, x, "c", "s", "fixed", "replaced")
	ctx := context.Background()
	scope := inSets("s")
	var readers sync.WaitGroup
	done := make(chan struct{})
	for r := range 3 {
		readers.Go(func() {
			last := uint64(0)
			for {
				select {
				case <-done:
					return
				default:
				}
				v, err := x.Version(ctx, scope)
				if err != nil || v < last {
					t.Errorf("version %d after %d, %v", v, last, err)
					return
				}
				last = v
				q := index.Query{Collection: scope, Text: "apple", Limit: 100}
				if r == 1 {
					q.Text, q.Vector = "", []float32{1, 0}
				}
				hits, err := x.Search(ctx, q)
				if err != nil {
					t.Errorf("search: %v", err)
					return
				}
				n := map[corpus.DocumentID]int{}
				for _, h := range hits {
					n[h.Chunk.Document]++
				}
				if n["fixed"] != 2 || n["replaced"] != 2 || n["outside"] != 0 || n["toggled"]%2 != 0 || n["new"]%2 != 0 {
					t.Errorf("passages found: %v", n)
					return
				}
				cs, err := x.Chunks(ctx, scope, []corpus.ChunkID{"outside/0", "fixed/1"})
				if err != nil || len(cs) != 1 {
					t.Errorf("chunks %v, %v", cs, err)
					return
				}
			}
		})
	}
	for i := range 6 {
		put(t, x, "c", "replaced", "", passage("apple", 1, 0), passage(fmt.Sprintf("apple %d", i), 1, 1))
		addToSet(t, x, "c", "s", "toggled", "new")
		put(t, x, "c", "new", "", passage("apple", 1, 0), passage("apple", 1, 1))
		wantFound(t, x, scope, "fixed", "new", "replaced", "toggled")
		removeFromSet(t, x, "c", "s", "toggled")
		wantFound(t, x, scope, "fixed", "new", "replaced")
		require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"new"}))
		wantFound(t, x, scope, "fixed", "replaced")
	}
	close(done)
	readers.Wait()
}

// setsReadFirst reads sets for the first time after the index was opened, while a member is replaced.
func setsReadFirst(t *testing.T, open Open) {
	dir := t.TempDir()
	x := openSets(t, open, dir)
	replace := func(i int) {
		put(t, x, "c", "replaced", "", passage("apple"), passage(fmt.Sprintf("apple %d", i)))
	}
	const sets = 24
	for i := range sets {
		addToSet(t, x, "c", fmt.Sprint(i), "replaced")
	}
	replace(0)
	x = openSets(t, open, dir)
	var reader sync.WaitGroup
	begun, done := make(chan struct{}), make(chan struct{})
	reader.Go(func() {
		defer close(done)
		for i := range sets {
			<-begun
			for range 3 * i { // the first reading falls at another moment of the writing each time
				if _, err := x.Search(context.Background(), index.Query{Collection: "c", Text: "apple"}); err != nil {
					t.Error(err)
				}
			}
			hits, err := x.Search(context.Background(), index.Query{Collection: inSets(fmt.Sprint(i)), Text: "apple"})
			if err != nil || len(hits) != 2 {
				t.Errorf("set %d: %d of 2 passages, %v", i, len(hits), err)
			}
		}
	})
	for i := 1; ; i++ {
		select {
		case <-done:
			reader.Wait()
			return
		case begun <- struct{}{}:
		default:
		}
		replace(i)
	}
}

func setsReopen(t *testing.T, open Open) {
	dir := t.TempDir()
	x := openSets(t, open, dir)
	for _, id := range []string{"a", "b", "d"} {
		put(t, x, "c", id, "", passage("apple", 1, 0))
	}
	addToSet(t, x, "c", "s", "a", "b", "later")
	addToSet(t, x, "c", "gone", "a")
	removeFromSet(t, x, "c", "s", "b")
	require.NoError(t, x.DeleteSet(t.Context(), "c", "gone"))
	scopes := []string{inSets("s"), inSets("gone"), alone("d"), inSets("s", "gone"), alone("none")}
	before := map[string]uint64{}
	for _, s := range scopes {
		v, err := x.Version(t.Context(), s)
		require.NoError(t, err)
		before[s] = v
	}
	for range 2 {
		x = openSets(t, open, dir)
		for _, s := range scopes {
			if v, err := x.Version(t.Context(), s); err != nil || v != before[s] {
				t.Errorf("version of %q is %d after %d, %v", s, v, before[s], err)
			}
		}
		wantFound(t, x, inSets("s"), "a")
		wantFound(t, x, inSets("gone"))
	}
	put(t, x, "c", "later", "", passage("apple"))
	wantFound(t, x, inSets("s"), "a", "later")
	if v, err := x.Version(t.Context(), inSets("s")); err != nil || v <= before[inSets("s")] {
		t.Errorf("version %d after %d, %v", v, before[inSets("s")], err)
	}
	x = openSets(t, open, dir)
	wantFound(t, x, inSets("s"), "a", "later")
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"a"}))
	x = openSets(t, open, dir)
	wantFound(t, x, inSets("s"), "later")
}
