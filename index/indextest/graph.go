package indextest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func graphOf(t *testing.T, x index.Index) index.Graph {
	t.Helper()
	g, ok := x.(index.Graph)
	if !ok {
		t.Skip("the index holds no graph")
	}
	return g
}

// naming returns a passage about its title that mentions other names, each with a relation to the title.
func naming(collection, id, title, text string, names ...string) (corpus.Document, []index.Entry) {
	d, es := document(collection, id, title, passage(text))
	es[0].Mentions = []corpus.Mention{{Name: title, Kind: corpus.Subject}}
	for _, n := range names {
		es[0].Mentions = append(es[0].Mentions, corpus.Mention{Name: n, Kind: corpus.Named})
		if i := strings.Index(text, n); i > 0 {
			es[0].Relations = append(es[0].Relations, corpus.Relation{From: title, To: n, Predicate: text[max(0, i-20):i]})
		}
	}
	return d, es
}

func name(t *testing.T, x index.Index, collection, id, title, text string, names ...string) {
	t.Helper()
	d, es := naming(collection, id, title, text, names...)
	if err := x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}); err != nil {
		t.Fatalf("put %s: %v", id, err)
	}
}

// films puts a small graph: a film, the people who made it, and places. All passages mention one of the places.
func films(t *testing.T, x index.Index, collection string) {
	t.Helper()
	var docs []corpus.Document
	var all [][]index.Entry
	add := func(id, title, text string, names ...string) {
		d, es := naming(collection, id, title, text, append(names, "Poland")...)
		docs, all = append(docs, d), append(all, es)
	}
	add("film", "Polish-Russian War (film)", "A film directed by Xawery Żuławski in Poland after Dorota Masłowska.",
		"Polish-Russian War", "Xawery Żuławski", "Dorota Masłowska")
	add("director", "Xawery Żuławski", "A director from Poland, son of Małgorzata Braunek.", "Małgorzata Braunek")
	add("mother", "Małgorzata Braunek", "An actress from Poland.")
	add("writer", "Dorota Masłowska", "A writer of novels from Poland.")
	for i := range 10 {
		add(fmt.Sprintf("town%d", i), fmt.Sprintf("Town %d", i), "A town in Poland.")
	}
	require.NoError(t, x.Put(t.Context(), docs, all))
}

func entities(t *testing.T, g index.Graph, collection, text string) []index.Entity {
	t.Helper()
	es, err := g.Entities(t.Context(), collection, text)
	if err != nil {
		t.Fatalf("entities of %.100q: %v", text, err)
	}
	return es
}

func wantEntities(t *testing.T, got []index.Entity, want ...index.Entity) {
	t.Helper()
	if len(got)+len(want) == 0 {
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("entities (-want +got):\n%s", d)
	}
}

// walked returns the chunks that a walk reached, and checks the properties of all walks.
func walked(t *testing.T, g index.Graph, w index.WalkQuery) []string {
	t.Helper()
	rs, err := g.Walk(t.Context(), w)
	if err != nil {
		t.Fatalf("walk %+v: %v", w, err)
	}
	return reached(t, w, rs)
}

func reached(t *testing.T, w index.WalkQuery, rs []index.WalkHit) []string {
	t.Helper()
	out := []string{}
	seen := map[corpus.ChunkID]bool{}
	for _, id := range w.Chunks {
		seen[id] = true
	}
	for i, r := range rs {
		if seen[r.Chunk.ID] {
			t.Errorf("%s twice, or from the start", r.Chunk.ID)
		}
		seen[r.Chunk.ID] = true
		if math.IsNaN(r.Score) || r.Score <= 0 || r.Score > 1 || i == 0 && r.Score != 1 || i > 0 && r.Score > rs[i-1].Score {
			t.Errorf("%s is reached by %v", r.Chunk.ID, r.Score)
		}
		if r.Chunk.Level != corpus.Passage || r.Chunk.Text == "" || len(r.Path) == 0 {
			t.Errorf("reached %+v", r)
		}
		out = append(out, string(r.Chunk.ID))
	}
	if w.Limit > 0 && len(rs) > w.Limit || w.Limit == 0 && len(rs) > index.DefaultLimit {
		t.Errorf("%d reached, limit %d", len(rs), w.Limit)
	}
	return out
}

func graphEmpty(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	for _, collection := range []string{"none", "", strings.Repeat("c", 1<<20)} {
		wantEntities(t, entities(t, g, collection, "Poland"))
		if got, err := g.EntitiesOf(t.Context(), collection, []corpus.ChunkID{"a", ""}); err != nil || len(got) != 2 || len(got[0])+len(got[1]) != 0 {
			t.Errorf("mentioned: %v, %v", got, err)
		}
		if got := walked(t, g, index.WalkQuery{Collection: collection, Entities: []string{"Poland"}, Chunks: []corpus.ChunkID{"a"}}); len(got) != 0 {
			t.Errorf("walked to %v", got)
		}
	}
	put(t, x, "c", "plain", "Poland", passage("Poland has no graph."))
	wantEntities(t, entities(t, g, "c", "Poland"))
	if got := walked(t, g, index.WalkQuery{Collection: "c", Question: "Poland", Chunks: []corpus.ChunkID{"plain/0"}}); len(got) != 0 {
		t.Errorf("walked to %v", got)
	}
}

func graphEntities(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	films(t, x, "c")
	name(t, x, "c", "water", "Water", "It is a Liquid.", "Liquid")
	film := index.Entity{Name: "Polish-Russian War (film)", Chunks: 1, About: 1}
	director := index.Entity{Name: "Xawery Żuławski", Chunks: 2, About: 1}
	poland := index.Entity{Name: "Poland", Chunks: 14}
	wantEntities(t, entities(t, g, "c", "Who is the mother of the director of film Polish-Russian War (Film)?"), film)
	wantEntities(t, entities(t, g, "c", "Is XAWERY ZULAWSKI's mother, Xawery Żuławski’s, from the Poland of Poland?"), director, poland)
	wantEntities(t, entities(t, g, "c", "the polish-russian war"), index.Entity{Name: "Polish-Russian War", Chunks: 1})
	wantEntities(t, entities(t, g, "c", "water from poland, a liquid"), index.Entity{Name: "Water", Chunks: 1, About: 1})
	wantEntities(t, entities(t, g, "c", "A Liquid"), index.Entity{Name: "Liquid", Chunks: 1})
	wantEntities(t, entities(t, g, "c", "Nobody knows Żuławski or Xawery"))
	wantEntities(t, entities(t, g, "c", ""))
	got, err := g.EntitiesOf(t.Context(), "c", []corpus.ChunkID{"none", "director/0", "film/0"})
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	wantEntities(t, got[0])
	wantEntities(t, got[1], director, index.Entity{Name: "Małgorzata Braunek", Chunks: 2, About: 1}, poland)
	if len(got[2]) != 5 || got[2][0] != film {
		t.Errorf("mentioned %v", got[2])
	}
}

func graphForms(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	for i, n := range []string{"BEATLES", "The Beatles", "the Beatles", "The Beatles"} {
		name(t, x, "c", fmt.Sprint(i), fmt.Sprintf("Song %d", i), "A song.", n)
	}
	wantEntities(t, entities(t, g, "c", "beatles, Beatles and The BEATLES"), index.Entity{Name: "The Beatles", Chunks: 4})
}

// graphCommonWords checks that common words are not names in questions, even if a document has such a title.
func graphCommonWords(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	var docs []corpus.Document
	var entries [][]index.Entry
	for i := range 20 {
		d, es := naming("c", fmt.Sprintf("d%02d", i), fmt.Sprintf("Title %d", i), "The data of the first year is on Kafka.", "Kafka")
		docs, entries = append(docs, d), append(entries, es)
	}
	for _, title := range []string{"Data", "First", "What", "The", "Quartz"} {
		d, es := naming("c", title, title, "A title.")
		docs, entries = append(docs, d), append(entries, es)
	}
	require.NoError(t, x.Put(t.Context(), docs, entries))
	data, quartz, kafka := index.Entity{Name: "Data", Chunks: 1, About: 1}, index.Entity{Name: "Quartz", Chunks: 1, About: 1}, index.Entity{Name: "Kafka", Chunks: 20}
	for question, want := range map[string][]index.Entity{
		"What is the The?":                         nil,
		"what data was on it in the first year?":   nil,
		"Data of the first year":                   nil,
		"First, what of the quartz?":               {quartz},
		"Quartz and Data":                          {quartz, data},
		"Kafka keeps what?":                        {kafka},
		"Is the data that kafka keeps in Quartz's": {quartz},
	} {
		if d := cmp.Diff(want, entities(t, g, "c", question)); d != "" {
			t.Errorf("%s (-want +got):\n%s", question, d)
		}
	}
}

func graphWalk(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	films(t, x, "c")
	got := walked(t, g, index.WalkQuery{Collection: "c", Chunks: []corpus.ChunkID{"film/0"}, Question: "Who is the director?"})
	if len(got) < 3 || got[0] != "director/0" {
		t.Errorf("from the film to its director: %v", got)
	}
	got = walked(t, g, index.WalkQuery{Collection: "c", Chunks: []corpus.ChunkID{"film/0"}, Question: "Which novels did its writer write?"})
	if len(got) < 3 || got[0] != "writer/0" {
		t.Errorf("from the film to its writer: %v", got)
	}
	w := index.WalkQuery{Collection: "c", Entities: []string{"polish-russian war", "Nobody"}, Limit: 4}
	rs, err := g.Walk(t.Context(), w)
	require.NoError(t, err)
	paths := map[string][]string{}
	for i, id := range reached(t, w, rs) {
		paths[id] = rs[i].Path
	}
	for id, want := range map[string][]string{
		"film/0":     {"polish-russian war", "Polish-Russian War (film)"},
		"director/0": {"polish-russian war", "Polish-Russian War (film)", "Xawery Żuławski"},
	} {
		if d := cmp.Diff(want, paths[id]); d != "" {
			t.Errorf("path to %s (-want +got):\n%s", id, d)
		}
	}
	for _, n := range []int{1, 3, 0, -1, math.MaxInt} {
		want := map[int]int{1: 1, 3: 3, 0: index.DefaultLimit, -1: index.DefaultLimit, math.MaxInt: 14}[n]
		if rs, err := g.Walk(t.Context(), index.WalkQuery{Collection: "c", Entities: []string{"Poland"}, Limit: n}); err != nil || len(rs) != want {
			t.Errorf("%d of %d for limit %d: %v", len(rs), want, n, err)
		}
	}
	if got := walked(t, g, index.WalkQuery{Collection: "c", Entities: []string{"Nobody", "", "the"}, Chunks: []corpus.ChunkID{"none", ""}, Question: "Who?"}); len(got) != 0 {
		t.Errorf("walked from nowhere to %v", got)
	}
}

// graphSame repeats a walk. The results must be identical to the last digit.
func graphSame(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	words := strings.Fields("gold silver copper iron tin lead zinc nickel cobalt mercury")
	var docs []corpus.Document
	var entries [][]index.Entry
	for i := range words {
		d, es := naming("c", fmt.Sprintf("d%d", i), fmt.Sprintf("Mine %d", i), strings.Join(words[i:], " "), "Hull", "Leeds")
		says := strings.Join(words[:i+1], " ")
		es[0].Relations = []corpus.Relation{{From: d.Title, To: "Hull", Predicate: says}, {From: "Hull", To: "Leeds", Predicate: says[:len(says)/2]}}
		docs, entries = append(docs, d), append(entries, es)
	}
	require.NoError(t, x.Put(t.Context(), docs, entries))
	w := index.WalkQuery{Collection: "c", Chunks: []corpus.ChunkID{"d9/0", "d5/0", "d3/0"}, Question: strings.Join(words, " ")}
	first, err := g.Walk(t.Context(), w)
	if err != nil || len(first) == 0 {
		t.Fatal(first, err)
	}
	for range 20 {
		rs, err := g.Walk(t.Context(), w)
		if d := cmp.Diff(first, rs); d != "" || err != nil {
			t.Fatalf("a walk comes to something else each time: %v\n%s", err, d)
		}
	}
}

// graphHub walks from a name that all passages mention.
func graphHub(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	var docs []corpus.Document
	var entries [][]index.Entry
	for i := range 1200 {
		d, es := naming("c", fmt.Sprintf("d%04d", i), fmt.Sprintf("Title %d", i), fmt.Sprintf("In Everywhere, word%d.", i), "Everywhere")
		docs, entries = append(docs, d), append(entries, es)
	}
	require.NoError(t, x.Put(t.Context(), docs, entries))
	w := index.WalkQuery{Collection: "c", Entities: []string{"Everywhere"}}
	if got := walked(t, g, w); len(got) != index.DefaultLimit {
		t.Errorf("%d reached without a question", len(got))
	}
	w.Question = "What of word1111?"
	if got := walked(t, g, w); len(got) == 0 || got[0] != "d1111/0" {
		t.Errorf("reached %v", got)
	}
	w.Chunks = []corpus.ChunkID{"d0003/0"}
	if got := walked(t, g, w); len(got) == 0 || got[0] != "d1111/0" {
		t.Errorf("reached %v from a passage", got)
	}
}

func graphReplace(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	films(t, x, "c")
	films(t, x, "other")
	name(t, x, "c", "film", "Another Film", "A film directed by Jan Nowak.", "Jan Nowak")
	wantEntities(t, entities(t, g, "c", "Polish-Russian War by Dorota Masłowska and Jan Nowak"),
		index.Entity{Name: "Dorota Masłowska", Chunks: 1, About: 1}, index.Entity{Name: "Jan Nowak", Chunks: 1})
	if got := walked(t, g, index.WalkQuery{Collection: "c", Entities: []string{"Polish-Russian War"}}); len(got) != 0 {
		t.Errorf("walked from a name that is gone to %v", got)
	}
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"writer", "film"}))
	wantEntities(t, entities(t, g, "c", "Dorota Masłowska, Jan Nowak"))
	for _, id := range walked(t, g, index.WalkQuery{Collection: "c", Entities: []string{"Poland"}, Limit: 100}) {
		if id == "writer/0" || id == "film/0" {
			t.Errorf("walked to %s, which is deleted", id)
		}
	}
	if got, err := g.EntitiesOf(t.Context(), "c", []corpus.ChunkID{"film/0", "director/0"}); err != nil || len(got[0]) != 0 || len(got[1]) != 3 {
		t.Errorf("mentioned %v, %v", got, err)
	}
	wantEntities(t, entities(t, g, "other", "Polish-Russian War"), index.Entity{Name: "Polish-Russian War", Chunks: 1})
	if got := walked(t, g, index.WalkQuery{Collection: "other", Chunks: []corpus.ChunkID{"film/0"}, Question: "director"}); len(got) == 0 || got[0] != "director/0" {
		t.Errorf("in the other collection: %v", got)
	}
	require.NoError(t, x.Put(t.Context(), []corpus.Document{{ID: "director", Collection: "c"}}, [][]index.Entry{nil}))
	wantEntities(t, entities(t, g, "c", "Xawery Żuławski"))
}

func graphReopen(t *testing.T, open Open) {
	dir := t.TempDir()
	x := open(t, dir)
	graphOf(t, x)
	films(t, x, "c")
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"writer"}))
	w := index.WalkQuery{Collection: "c", Chunks: []corpus.ChunkID{"film/0"}, Question: "the director and writer in Poland", Limit: 20}
	before := walked(t, graphOf(t, x), w)
	x = open(t, dir)
	g := graphOf(t, x)
	if d := cmp.Diff(before, walked(t, g, w)); d != "" || len(before) < 3 {
		t.Errorf("walk (-before +after):\n%s", d)
	}
	wantEntities(t, entities(t, g, "c", "Dorota Masłowska"), index.Entity{Name: "Dorota Masłowska", Chunks: 1})
}

// graphWhileWritten walks while a writer replaces a document. Readers must see one version: a path through a name leads to a passage
// that mentions it.
func graphWhileWritten(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	films(t, x, "c")
	version := func(n int) {
		who := fmt.Sprintf("Person Number%d", n)
		name(t, x, "c", "a", "Fixed Title", "It is by "+who+", of course.", who, "Poland")
	}
	version(0)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				w := index.WalkQuery{Collection: "c", Entities: []string{"Fixed Title"}, Limit: 50}
				rs, err := g.Walk(context.Background(), w)
				if err != nil || len(rs) == 0 || rs[0].Chunk.ID != "a/0" {
					t.Errorf("walk: %v, %v", rs, err)
					return
				}
				reached(t, w, rs)
				es, err := g.EntitiesOf(context.Background(), "c", []corpus.ChunkID{"a/0"})
				if err != nil || len(es) != 1 || len(es[0]) != 0 && len(es[0]) != 3 { // none where the id was given to a newer passage meanwhile
					t.Errorf("mentioned: %v, %v", es, err)
					return
				}
				if _, err := g.Entities(context.Background(), "c", "Fixed Title by Person Number3"); err != nil {
					t.Errorf("entities: %v", err)
					return
				}
			}
		})
	}
	for n := range 6 {
		version(n + 1)
	}
	close(done)
	wg.Wait()
	wantEntities(t, entities(t, g, "c", "Person Number5 and Person Number6"), index.Entity{Name: "Person Number6", Chunks: 1})
}

func graphHostile(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	films(t, x, "c")
	d, es := document("c", "hostile", "", passage("hostile"), piece{level: corpus.Sentence, text: "hostile"})
	es[0].Mentions = []corpus.Mention{{Name: "", Kind: corpus.Named}, {Name: "\xff\xfe", Kind: corpus.Named}, {Name: "...", Kind: corpus.Link},
		{Name: "a\x00b", Kind: corpus.Phrase}, {Name: strings.Repeat("Long ", 50_000), Kind: corpus.Subject}, {Name: "Poland", Kind: corpus.Named},
		{Name: "POLAND", Kind: corpus.Subject}, {Name: "𝔓oland 🙂", Kind: corpus.Named}, {Name: "日本", Kind: corpus.Subject}}
	for i := range 1000 {
		es[0].Mentions = append(es[0].Mentions, corpus.Mention{Name: fmt.Sprintf("Many %d", i), Kind: corpus.Named})
		es[0].Relations = append(es[0].Relations, corpus.Relation{From: fmt.Sprintf("Many %d", i), To: "Poland", Predicate: strings.Repeat("says ", i)})
	}
	es[0].Relations = append(es[0].Relations, corpus.Relation{From: "Nobody", To: "Poland", Predicate: "x"}, corpus.Relation{From: "Poland", To: "Poland", Predicate: "\xff"})
	es[1].Mentions = []corpus.Mention{{Name: "Only Sentence", Kind: corpus.Named}}
	require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	wantEntities(t, entities(t, g, "c", "日本 in poland, Only Sentence"), index.Entity{Name: "日本", Chunks: 1, About: 1},
		index.Entity{Name: "Poland", Chunks: 15, About: 1})
	got := walked(t, g, index.WalkQuery{Collection: "c", Chunks: []corpus.ChunkID{"hostile/0", "hostile/1"}, Question: "says"})
	if len(got) == 0 {
		t.Error("a hostile passage leads nowhere")
	}
	long := strings.Repeat("Xawery Żuławski of Poland ", 5_000)
	if es := entities(t, g, "c", long); len(es) != 2 {
		t.Errorf("%d entities in a long text", len(es))
	}
	many := make([]string, 1000)
	ids := make([]corpus.ChunkID, 1000)
	for i := range many {
		many[i], ids[i] = fmt.Sprintf("Many %d", i), corpus.ChunkID(fmt.Sprintf("town%d/0", i%10))
	}
	walked(t, g, index.WalkQuery{Collection: "c", Entities: many, Chunks: ids, Question: long})
	if got, err := g.EntitiesOf(t.Context(), "c", ids); err != nil || len(got) != len(ids) {
		t.Errorf("%d places for %d ids: %v", len(got), len(ids), err)
	}
	for _, s := range []string{"\xff\xfe", "\x00", "(((", strings.Repeat("A ", 1<<17), "🙂 ́"} {
		entities(t, g, "c", s)
		walked(t, g, index.WalkQuery{Collection: "c", Entities: []string{s, "Poland"}, Chunks: []corpus.ChunkID{corpus.ChunkID(s)}, Question: s})
	}
}

func graphRefuse(t *testing.T, open Open) {
	x := open(t, t.TempDir())
	g := graphOf(t, x)
	for _, kind := range []corpus.MentionKind{0, -1, corpus.Phrase + 1} {
		d, es := naming("c", "a", "Title", "text")
		es[0].Mentions[0].Kind = kind
		err := x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es})
		if fault.CodeOf(err) != fault.InvalidRequest {
			t.Errorf("a mention of kind %d: %v", kind, err)
		}
	}
	films(t, x, "c")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err1 := g.Entities(ctx, "c", "Poland")
	_, err2 := g.EntitiesOf(ctx, "c", []corpus.ChunkID{"film/0"})
	_, err3 := g.Walk(ctx, index.WalkQuery{Collection: "c", Entities: []string{"Poland"}})
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}
