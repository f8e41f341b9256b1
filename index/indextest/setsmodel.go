package indextest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// The names and words in the documents of a [world].
var (
	worldWords = strings.Fields("apple pear plum fig date lime kiwi mango")
	worldNames = []string{"Anna Berg", "Carl Dahl", "Elsa Falk", "Gustav Holm", "Ida Jansson"}
)

// world is a simple model of the expected content of an index.
type world struct {
	t      *testing.T
	x      setsIndex
	r      *rand.Rand
	docs   map[corpus.DocumentID][]index.Entry
	puts   map[corpus.DocumentID]int
	sets   map[string]map[corpus.DocumentID]bool
	before map[string]seen // by scope
}

// seen is the state of a scope at the last check.
type seen struct {
	version uint64
	state   string
}

func (w *world) id() corpus.DocumentID { return corpus.DocumentID(fmt.Sprintf("d%02d", w.r.IntN(20))) }

// step makes a random change.
func (w *world) step() {
	ctx := w.t.Context()
	set := []string{"s", "t", "u"}[w.r.IntN(3)]
	var ids []corpus.DocumentID
	for range 1 + w.r.IntN(4) {
		ids = append(ids, w.id())
	}
	var err error
	switch n := w.r.IntN(20); {
	case n < 8:
		for _, id := range ids {
			w.put(id)
		}
	case n < 10:
		err = w.x.Delete(ctx, "c", ids)
		for _, id := range ids {
			delete(w.docs, id)
			for _, s := range w.sets {
				delete(s, id)
			}
		}
	case n < 16:
		err = w.x.AddToSet(ctx, "c", set, ids)
		for _, id := range ids {
			w.sets[set][id] = true
		}
	case n < 19:
		err = w.x.RemoveFromSet(ctx, "c", set, ids)
		for _, id := range ids {
			delete(w.sets[set], id)
		}
	default:
		err = w.x.DeleteSet(ctx, "c", set)
		clear(w.sets[set])
	}
	require.NoError(w.t, err)
}

func (w *world) put(id corpus.DocumentID) {
	words := func() string {
		var b strings.Builder
		for range 2 + w.r.IntN(5) {
			b.WriteString(worldWords[w.r.IntN(len(worldWords))] + " ")
		}
		return b.String()
	}
	var pieces []piece
	for range 1 + w.r.IntN(2) {
		p := passage(words())
		if w.r.IntN(4) > 0 {
			p.vector = []float32{w.r.Float32() - 0.5, w.r.Float32() - 0.5, w.r.Float32() - 0.5}
		}
		pieces = append(pieces, p)
	}
	pieces = append(pieces, piece{level: corpus.Sentence, text: words()})
	d, es := document("c", string(id), "Title Of "+strings.ToUpper(string(id)), pieces...)
	for i := range es {
		es[i].Mentions = []corpus.Mention{{Name: d.Title, Kind: corpus.Subject}, {Name: worldNames[w.r.IntN(len(worldNames))], Kind: corpus.Named}}
		if i > 0 && es[i].Level == corpus.Passage {
			es[i].Parent = corpus.ChunkID(w.id() + "/0") // which is another document's
		}
	}
	require.NoError(w.t, w.x.Put(w.t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	w.docs[id] = es
	w.puts[id]++
}

// members returns the existing documents of a scope, in order.
func (w *world) members(s index.Scope) (ids []corpus.DocumentID) {
	for id := range w.docs {
		in := slices.Contains(s.Documents, id)
		for _, set := range s.Sets {
			in = in || w.sets[set][id]
		}
		if in {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// check compares everything that can be read of a scope with the model.
func (w *world) check(s index.Scope) {
	w.t.Helper()
	members := w.members(s)
	w.searches(s, members)
	w.documents(s, members)
	if g, ok := w.x.(index.Graph); ok {
		w.graph(g, s, members)
	}
	state := ""
	for _, id := range members {
		state += fmt.Sprintf("%s %d ", id, w.puts[id])
	}
	v, err := w.x.Version(w.t.Context(), s.Name())
	require.NoError(w.t, err)
	if last, ok := w.before[s.Name()]; ok && (v < last.version || v == last.version && state != last.state) {
		w.t.Errorf("version of %q is %d after %d, of %q after %q", s.Name(), v, last.version, state, last.state)
	}
	w.before[s.Name()] = seen{v, state}
}

// searches compares a search in a scope with a search of the whole collection, restricted to the members. Lexical and vector search
// must have the same scores and order; hybrid search must fuse these scores over the members only.
func (w *world) searches(s index.Scope, members []corpus.DocumentID) {
	w.t.Helper()
	level := []corpus.Level{corpus.Passage, corpus.Sentence}[w.r.IntN(2)]
	text := worldWords[w.r.IntN(len(worldWords))] + " " + worldWords[w.r.IntN(len(worldWords))]
	vector := []float32{w.r.Float32() - 0.5, w.r.Float32() - 0.5, w.r.Float32() - 0.5}
	both := map[corpus.ChunkID]index.Candidate{}
	look := func(q index.Query, use func(*index.Candidate, index.Hit)) {
		q.Levels, q.Limit = []corpus.Level{level}, index.MaxLimit
		q.Collection = "c"
		var want []string
		for _, h := range search(w.t, w.x, q) {
			if slices.Contains(members, h.Chunk.Document) {
				want = append(want, string(h.Chunk.ID))
				c := both[h.Chunk.ID]
				c.ID = h.Chunk.ID
				use(&c, h)
				both[h.Chunk.ID] = c
			}
		}
		q.Collection = s.Name()
		var got []string
		var scores, first []float64
		for _, h := range search(w.t, w.x, q) {
			got = append(got, string(h.Chunk.ID))
			scores = append(scores, h.Score)
			c := both[h.Chunk.ID]
			if use(&c, h); c != both[h.Chunk.ID] {
				w.t.Errorf("%s scores %+v in %q, and %+v in the whole", h.Chunk.ID, c, s.Name(), both[h.Chunk.ID])
			}
		}
		if d := diff.Diff(want, got); d != "" {
			w.t.Errorf("search of %q (-want +got):\n%s", s.Name(), d)
		}
		q.Limit = 2
		for _, h := range search(w.t, w.x, q) { // of many with the same score, any may come
			first = append(first, h.Score)
		}
		if d := diff.Diff(scores[:min(2, len(scores))], first); d != "" && len(first)+len(scores) > 0 {
			w.t.Errorf("search of %q for two (-want +got):\n%s", s.Name(), d)
		}
	}
	look(index.Query{Text: text}, func(c *index.Candidate, h index.Hit) { c.Lexical = h.Lexical })
	look(index.Query{Vector: vector}, func(c *index.Candidate, h index.Hit) { c.Cosine, c.HasVector = h.Cosine, true })
	candidates := slices.SortedFunc(maps.Values(both), func(a, b index.Candidate) int { return cmp.Compare(a.ID, b.ID) })
	weights := index.Weights{Lexical: 0.6, Vector: 0.4}
	score := map[corpus.ChunkID]float64{}
	for i, f := range index.Fuse(candidates, weights) {
		score[candidates[i].ID] = f
	}
	hits := search(w.t, w.x, index.Query{Collection: s.Name(), Text: text, Vector: vector, Weights: weights, Levels: []corpus.Level{level}, Limit: index.MaxLimit})
	if len(hits) != len(score) {
		w.t.Errorf("%d of %d found by both in %q", len(hits), len(score), s.Name())
	}
	for _, h := range hits {
		if f, ok := score[h.Chunk.ID]; !ok || h.Score-f > 1e-6 || f-h.Score > 1e-6 {
			w.t.Errorf("%s scores %v in %q, want %v, %v", h.Chunk.ID, h.Score, s.Name(), f, ok)
		}
	}
}

// documents checks the reads of documents and chunks by id, with ids of members and of others.
func (w *world) documents(s index.Scope, members []corpus.DocumentID) {
	w.t.Helper()
	ctx, name := w.t.Context(), s.Name()
	var listed []corpus.DocumentID
	for {
		after := corpus.DocumentID("")
		if len(listed) > 0 {
			after = listed[len(listed)-1]
		}
		page, err := w.x.Documents(ctx, name, after, 3)
		require.NoError(w.t, err)
		for _, d := range page {
			listed = append(listed, d.ID)
		}
		if len(page) < 3 {
			break
		}
	}
	if d := diff.Diff(members, listed); d != "" {
		w.t.Errorf("documents of %q (-want +got):\n%s", name, d)
	}
	var ids []corpus.DocumentID
	var chunks, want []corpus.ChunkID
	for id := range w.docs {
		ids = append(ids, id)
		in := slices.Contains(members, id)
		for _, e := range w.docs[id] {
			chunks = append(chunks, e.ID)
			if in {
				want = append(want, e.ID)
			}
		}
		within, err := w.x.DocumentChunks(ctx, name, id, corpus.Sentence, 0, 0)
		if err != nil || (len(within) == 1) != in {
			w.t.Errorf("%d chunks within %s of %q, %v", len(within), id, name, err)
		}
	}
	got, err := w.x.Chunks(ctx, name, chunks)
	require.NoError(w.t, err)
	var have, parents []corpus.ChunkID
	for _, c := range got {
		have = append(have, c.ID)
		if c.Parent != "" {
			parents = append(parents, c.Parent)
		}
	}
	if d := diff.Diff(want, have); d != "" {
		w.t.Errorf("chunks of %q (-want +got):\n%s", name, d)
	}
	above, err := w.x.Chunks(ctx, name, parents)
	for _, c := range above {
		if !slices.Contains(members, c.Document) {
			w.t.Errorf("%s of %s is not in %q, yet the parent of one that is", c.ID, c.Document, name)
		}
	}
	hashes, err2 := w.x.Hashes(ctx, name, ids)
	described, err3 := w.x.DocumentsByID(ctx, name, ids)
	for _, err := range []error{err, err2, err3} {
		require.NoError(w.t, err)
	}
	if d := diff.Diff(members, slices.Sorted(maps.Keys(hashes))); d != "" {
		w.t.Errorf("hashes of %q (-want +got):\n%s", name, d)
	}
	if len(described) != len(members) {
		w.t.Errorf("%d of %d documents of %q are described", len(described), len(members), name)
	}
}

// graph checks that walks in a scope only reach names that a member mentions.
func (w *world) graph(g index.Graph, s index.Scope, members []corpus.DocumentID) {
	w.t.Helper()
	ctx, name := w.t.Context(), s.Name()
	names := map[string]bool{}
	var all, outside []corpus.ChunkID
	text := strings.Join(worldNames, ", ")
	for id, es := range w.docs {
		text += ", Title Of " + strings.ToUpper(string(id))
		for _, e := range es {
			if e.Level != corpus.Passage {
				continue
			}
			all = append(all, e.ID)
			if !slices.Contains(members, id) {
				outside = append(outside, e.ID)
				continue
			}
			for _, m := range e.Mentions {
				names[m.Name] = true
			}
		}
	}
	es, err := g.Entities(ctx, name, text)
	require.NoError(w.t, err)
	var found []string
	for _, e := range es {
		found = append(found, e.Name)
	}
	slices.Sort(found)
	if d := diff.Diff(slices.Sorted(maps.Keys(names)), found); d != "" {
		w.t.Errorf("entities of %q (-want +got):\n%s", name, d)
	}
	mentioned, err := g.EntitiesOf(ctx, name, all)
	require.NoError(w.t, err)
	for i, es := range mentioned {
		if (len(es) > 0) == slices.Contains(outside, all[i]) {
			w.t.Errorf("%s of %q mentions %v", all[i], name, es)
		}
	}
	starts := slices.Concat(outside, all)
	for _, walk := range []index.WalkQuery{{Entities: worldNames}, {Entities: worldNames[:1], Chunks: starts[:min(3, len(starts))], Question: "apple pear"},
		{Chunks: outside}} {
		walk.Collection, walk.Limit = name, index.MaxLimit
		rs, err := g.Walk(ctx, walk)
		require.NoError(w.t, err)
		if len(walk.Entities) == 0 && len(rs) > 0 {
			w.t.Errorf("walked in %q from passages that are not in it", name)
		}
		reached(w.t, walk, rs)
		for _, r := range rs {
			if !slices.Contains(members, r.Chunk.Document) {
				w.t.Errorf("%s is reached in %q", r.Chunk.ID, name)
			}
			for _, step := range r.Path {
				if !names[step] {
					w.t.Errorf("%s is reached in %q by %q, which none of its members names", r.Chunk.ID, name, step)
				}
			}
		}
	}
}

// setsModel compares random scopes with the model after random changes of documents and sets.
func setsModel(t *testing.T, open Open) {
	for seed := range uint64(2) {
		dir := t.TempDir()
		w := &world{t: t, x: openSets(t, open, dir), r: rand.New(rand.NewPCG(seed, 1)), docs: map[corpus.DocumentID][]index.Entry{},
			puts: map[corpus.DocumentID]int{}, sets: map[string]map[corpus.DocumentID]bool{"s": {}, "t": {}, "u": {}}, before: map[string]seen{}}
		for i := range 45 {
			w.step()
			if i%4 > 0 {
				continue
			}
			if i == 20 {
				w.x = openSets(t, open, dir)
			}
			s := index.Scope{Collection: "c"}
			for _, set := range []string{"s", "t", "none"} {
				if w.r.IntN(2) == 0 {
					s.Sets = append(s.Sets, set)
				}
			}
			if len(s.Sets) == 0 || w.r.IntN(3) == 0 {
				s.Documents = append(s.Documents, w.id())
			}
			w.check(s)
			w.check(index.Scope{Collection: "c", Sets: []string{"u"}})
			w.check(index.Scope{Collection: "c", Documents: []corpus.DocumentID{"d03"}})
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, i)
			}
		}
	}
}
