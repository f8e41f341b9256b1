package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// nestedDocument returns a document of n sections, each with two passages of two sentences.
func nestedDocument(id string, n int) (corpus.Document, []index.Entry) {
	d := corpus.Document{ID: corpus.DocumentID(id), Collection: "c", Title: "The " + id, Hash: "h-" + id}
	var es []index.Entry
	at, passage, sentence := 0, 0, 0
	chunk := func(l corpus.Level, ordinal int, parent corpus.ChunkID, start int, text string) *index.Entry {
		id := corpus.ChunkID(fmt.Sprintf("c_%08x%08x", crc32.ChecksumIEEE([]byte(id)), int(l)<<24|ordinal))
		if ordinal%3 == 1 {
			id = corpus.ChunkID(fmt.Sprintf("%s/%s/%d", d.ID, l, ordinal))
		}
		es = append(es, index.Entry{Chunk: corpus.Chunk{ID: id, Document: d.ID, Parent: parent, Level: l, Ordinal: ordinal, Title: d.Title,
			Headings: []string{"One", "Two"}, Start: start, End: start + len(text), Text: text}})
		return &es[len(es)-1]
	}
	for s := range n {
		word := fmt.Sprintf("word%d", s)
		sentences := []string{"The keeper lights the lamp. ", "It burns " + word + " oil <all> night.\n\n", "Wölfe heulen & " + word + " schläft. ", "Nobody answers."}
		text := strings.Join(sentences, "")
		section := chunk(corpus.Section, s, "", at, text)
		section.Pages, section.PageStarts = []int{s + 1, s + 2}, []int{9}
		parent := section.ID
		for p := range 2 {
			start := at + p*(len(sentences[0])+len(sentences[1]))
			e := chunk(corpus.Passage, passage, parent, start, strings.TrimSpace(sentences[2*p]+sentences[2*p+1]))
			e.Space, e.Vector, e.Pages = "words", []float32{0, 1}, []int{s + 1}
			if p == 1 {
				e.Vector = []float32{1, 0}
			}
			passage++
			of := e.ID
			for i := range 2 {
				e := chunk(corpus.Sentence, sentence, of, start, strings.TrimSpace(sentences[2*p+i]))
				if i == 1 {
					e.Proposition = "The " + id + ": " + e.Text
				}
				start += len(sentences[2*p])
				sentence++
			}
		}
		at += len(text) + 2
	}
	return d, es
}

// computedDocument is nestedDocument with computed ids.
func computedDocument(id string, n int) (corpus.Document, []index.Entry) {
	d, es := nestedDocument(id, n)
	ids := map[corpus.ChunkID]corpus.ChunkID{}
	for i := range es {
		e := &es[i]
		ids[e.ID] = corpus.NewChunkID(d.ID, e.Level, e.Ordinal, e.Text)
		e.ID, e.Parent = ids[e.ID], ids[e.Parent]
	}
	return d, es
}

func openAt(t *testing.T, dir string) *Index {
	t.Helper()
	x, err := Open(t.Context(), dir, Options{})
	require.NoError(t, err)
	require.CloseAfter(t, x)
	return x
}

func putAll(t *testing.T, x *Index, docs []corpus.Document, entries [][]index.Entry) {
	t.Helper()
	require.NoError(t, x.Put(t.Context(), docs, entries))
}

func exportAll(t *testing.T, x *Index) [][]index.Entry {
	t.Helper()
	var out [][]index.Entry
	for after := corpus.DocumentID(""); ; {
		docs, es, err := x.Export(t.Context(), "c", "words", after, 1000)
		require.NoError(t, err)
		if len(docs) == 0 {
			return out
		}
		out, after = append(out, es...), docs[len(docs)-1].ID
	}
}

func sorted(es []index.Entry) []index.Entry {
	es = slices.Clone(es)
	prepare.SortEntries(es)
	return es
}

// TestNestedDocument reads back what was put, in all ways, also after a start and from an index with deleted documents.
func TestNestedDocument(t *testing.T) {
	t.Run("given ids", func(t *testing.T) { testNested(t, nestedDocument) })
	t.Run("computed ids", func(t *testing.T) { testNested(t, computedDocument) })
}

func testNested(t *testing.T, document func(id string, n int) (corpus.Document, []index.Entry)) {
	dir := t.TempDir()
	x := openAt(t, dir)
	gone, ges := document("gone", 3)
	d, es := document("lights", 40)
	putAll(t, x, []corpus.Document{gone, d}, [][]index.Entry{ges, es})
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{"gone"}))
	want := sorted(es)
	for range 2 {
		if diff := cmp.Diff([][]index.Entry{want}, exportAll(t, x)); diff != "" {
			t.Fatalf("export (-want +got):\n%s", diff)
		}
		for _, e := range want {
			got, err := x.Chunks(t.Context(), "c", []corpus.ChunkID{e.ID})
			if diff := cmp.Diff([]corpus.Chunk{e.Chunk}, got); err != nil || diff != "" {
				t.Fatalf("chunk %s: %v\n%s", e.ID, err, diff)
			}
		}
		got, err := x.DocumentChunks(t.Context(), "c", d.ID, corpus.Sentence, 7, 5)
		if err != nil || len(got) != 5 || got[0].Ordinal != 7 {
			t.Errorf("sentences from the seventh: %v, %v", got, err)
		}
		if got, err := x.Chunks(t.Context(), "c", []corpus.ChunkID{ges[0].ID, ges[len(ges)-1].ID}); err != nil || len(got) != 0 {
			t.Errorf("chunks of a deleted document: %v, %v", got, err)
		}
		stats, err := x.VectorStats(t.Context(), "c")
		if diff := cmp.Diff(index.VectorStats{Chunks: 80, Spaces: []index.Space{{Name: "words", Dim: 2, Vectors: 80, Complete: true}}}, stats); err != nil || diff != "" {
			t.Errorf("only passages have vectors: %v\n%s", err, diff)
		}
		missing, _, err := x.MissingVectors(t.Context(), "c", "other", "", 1000)
		if err != nil || len(missing) != 80 {
			t.Errorf("%d of 80 passages miss a vector, %v", len(missing), err)
		}
		if err := x.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		require.NoError(t, x.Close())
		x = openAt(t, dir)
	}
}

func TestSearchNestedLevels(t *testing.T) {
	x := openAt(t, t.TempDir())
	d, es := nestedDocument("lights", 40)
	other, oes := nestedDocument("keepers", 3)
	putAll(t, x, []corpus.Document{d, other}, [][]index.Entry{es, oes})
	search := func(q index.Query) []index.Hit {
		t.Helper()
		q.Collection = "c"
		hits, err := x.Search(t.Context(), q)
		require.NoError(t, err)
		return hits
	}
	for _, q := range []index.Query{{Text: "word17 oil"}, {Text: "word17 oil", Space: "words", Vector: []float32{0, 1}}} {
		q.Levels = []corpus.Level{corpus.Sentence}
		if hits := search(q); len(hits) == 0 || hits[0].Chunk.Text != "It burns word17 oil <all> night." || hits[0].Lexical <= 0 || hits[0].Chunk.Parent == "" {
			t.Errorf("the sentence: %+v", hits)
		}
		q.Levels = []corpus.Level{corpus.Section}
		if hits := search(q); len(hits) == 0 || !strings.Contains(hits[0].Chunk.Text, "word17") || hits[0].Chunk.Level != corpus.Section {
			t.Errorf("the section: %+v", hits)
		}
		q.Levels = []corpus.Level{corpus.Section, corpus.Passage, corpus.Sentence}
		found := map[corpus.Level]bool{}
		for _, h := range search(q) {
			found[h.Chunk.Level] = true
		}
		if len(found) != 3 {
			t.Errorf("levels %v", found)
		}
	}
	near := search(index.Query{Space: "words", Vector: []float32{1, 0}, Levels: []corpus.Level{corpus.Sentence}, Documents: []corpus.DocumentID{"keepers"}})
	if len(near) != 10 || near[0].Cosine < 0.99 || !strings.HasPrefix(near[0].Chunk.Text, "Wölfe") && near[0].Chunk.Text != "Nobody answers." {
		t.Errorf("near sentences: %+v", near)
	}
	for _, h := range near {
		if h.Chunk.Document != "keepers" {
			t.Errorf("%s is of another document", h.Chunk.ID)
		}
	}
	if hits := search(index.Query{Text: "unheard", Levels: []corpus.Level{corpus.Sentence, corpus.Section}}); len(hits) != 0 {
		t.Errorf("hits for a word that no text has: %+v", hits)
	}
	seen := map[corpus.ChunkID]bool{}
	for _, h := range search(index.Query{Text: "keeper lamp", Levels: []corpus.Level{corpus.Section}, Limit: 100}) {
		if seen[h.Chunk.ID] {
			t.Errorf("section %s twice", h.Chunk.ID)
		}
		seen[h.Chunk.ID] = true
	}
}

// TestNotNested checks that chunks that are not pieces of each other are stored as they are, with their vectors.
func TestNotNested(t *testing.T) {
	for name, spoil := range map[string]func(es []index.Entry){
		"text": func(es []index.Entry) { es[2].Text = "Another text entirely here!"[:len(es[2].Text)] },
		"no parent": func(es []index.Entry) {
			es[2].Parent = ""
		},
		"unknown parent":  func(es []index.Entry) { es[2].Parent = "nobody" },
		"wrong level":     func(es []index.Entry) { es[2].Parent = es[0].ID },
		"offset":          func(es []index.Entry) { es[2].Start, es[2].End = es[2].Start-5, es[2].End-5 },
		"far offset":      func(es []index.Entry) { es[2].Start, es[2].End = 1<<40, 1<<40+len(es[2].Text) },
		"end":             func(es []index.Entry) { es[2].End++ },
		"title":           func(es []index.Entry) { es[2].Title = "Another" },
		"headings":        func(es []index.Entry) { es[2].Headings = nil },
		"a proposition":   func(es []index.Entry) { es[1].Proposition = "Something else." },
		"negative page":   func(es []index.Entry) { es[1].Pages = []int{-1} },
		"large page":      func(es []index.Entry) { es[1].Pages = []int{maxNumber + 1} },
		"large number":    func(es []index.Entry) { es[0].Ordinal = maxNumber + 1 },
		"section's end":   func(es []index.Entry) { es[0].End++ },
		"negative number": func(es []index.Entry) { es[0].Ordinal = -1 },
		"order":           func(es []index.Entry) { es[2].Ordinal = 99 },
	} {
		x := openAt(t, t.TempDir())
		d, es := nestedDocument("lights", 3)
		spoil(es)
		for i := range es {
			es[i].Space, es[i].Vector = "words", []float32{1, 0}
		}
		putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
		if diff := cmp.Diff([][]index.Entry{sorted(es)}, exportAll(t, x)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: "word1 oil", Levels: []corpus.Level{corpus.Sentence}}); err != nil || len(hits) == 0 {
			t.Errorf("%s: %d sentences, %v", name, len(hits), err)
		}
	}
}

// putEarlier puts a document as earlier versions did: each chunk with its own record, vector and terms.
func putEarlier(t *testing.T, x *Index, d corpus.Document, es []index.Entry) {
	t.Helper()
	for i := range es {
		es[i].Space, es[i].Vector = "words", []float32{0, 1}
	}
	parent := es[0].Parent
	es[0].Parent = "spoilt"
	ch, err := checked(d, es)
	if err != nil || ch.nesting != nil {
		t.Fatalf("nested %v, %v", ch.nesting != nil, err)
	}
	es[0].Parent, ch.entries[0].Parent = parent, parent
	require.NoError(t, x.apply(t.Context(), "put documents", []change{ch}))
}

// convertAll converts an index in turns of a group.
func convertAll(t *testing.T, x *Index) {
	t.Helper()
	var c conversion
	for done := false; !done; {
		var err error
		if done, err = x.convert(t.Context(), &c, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConvert opens a folder of the format before. Its documents must be converted, whether it is the first attempt or the second.
func TestConvert(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	var want [][]index.Entry
	for i := range 30 {
		d, es := nestedDocument(fmt.Sprintf("lights%c", 'A'+i), 20)
		putEarlier(t, x, d, es)
		for k := range es {
			if es[k].Level != corpus.Passage {
				es[k].Space, es[k].Vector = "", nil
			}
		}
		want = append(want, sorted(es))
	}
	require.NoError(t, x.AddToSet(t.Context(), "c", "s", []corpus.DocumentID{"lightsB"}))
	old, oes := nestedDocument("odd?", 2)
	oes[2].Text = strings.ToUpper(oes[2].Text)
	putEarlier(t, x, old, oes)
	stats, err := x.VectorStats(t.Context(), "c")
	if err != nil || stats.Chunks != 31*140-18*7 {
		t.Fatalf("before: %+v, %v", stats, err)
	}
	version, err := x.Version(t.Context(), "c")
	require.NoError(t, err)
	require.NoError(t, x.Close())
	setFormat(t, dir, formatSums)
	interrupted, cancel := context.WithCancel(t.Context())
	x = openAt(t, dir)
	if _, _, err := x.convertGroup(interrupted, "c", "lightsM"); err != nil { // a part
		t.Fatal(err)
	}
	cancel()
	for range 2 {
		convertAll(t, x)
		all := exportAll(t, x)
		if diff := cmp.Diff(append(slices.Clone(want), sorted(oes)), all); diff != "" {
			t.Errorf("documents (-want +got):\n%s", diff)
		}
		stats, err := x.VectorStats(t.Context(), "c")
		if diff := cmp.Diff(index.VectorStats{Chunks: 30*40 + 14, Spaces: []index.Space{{Name: "words", Dim: 2, Vectors: 30*40 + 14, Complete: true}}}, stats); err != nil || diff != "" {
			t.Errorf("after: %v\n%s", err, diff)
		}
		if now, err := x.Version(t.Context(), "c"); err != nil || now <= version {
			t.Errorf("version %d after %d, %v", now, version, err)
		}
		hits, err := x.Search(t.Context(), index.Query{Collection: index.Scope{Collection: "c", Sets: []string{"s"}}.Name(), Text: "word7 oil", Levels: []corpus.Level{corpus.Sentence}})
		if err != nil || len(hits) == 0 || hits[0].Chunk.Document != "lightsB" || !strings.Contains(hits[0].Chunk.Text, "word7") {
			t.Errorf("in the set: %+v, %v", hits, err)
		}
		if err := x.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		require.NoError(t, x.Close())
		x = openAt(t, dir)
	}
	err = x.view(func(tx *txn) error {
		if tx.Bucket(bucketMeta).Get(keyConvert) != nil {
			t.Error("the conversion does not end")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestConvertKeepsSpaces converts documents of which some have vectors of a second embedder already.
func TestConvertKeepsSpaces(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	for i := range 3 {
		d, es := nestedDocument(fmt.Sprintf("lights%c", 'A'+i), 2)
		putEarlier(t, x, d, es)
	}
	missing, _, err := x.MissingVectors(t.Context(), "c", "new", "", 20) // all of the first document, and the sections and passages of the second
	require.NoError(t, err)
	for i, m := range missing {
		v := []float32{0, 1, 0}
		if i == 2 {
			v = nil // known to have none
		}
		require.NoError(t, x.SetVectors(t.Context(), "c", "new", []string{m.Ref}, [][]float32{v}))
	}
	require.NoError(t, x.Close())
	setFormat(t, dir, formatSums)
	for range 2 {
		x = openAt(t, dir)
		convertAll(t, x)
		stats, err := x.VectorStats(t.Context(), "c")
		want := index.VectorStats{Chunks: 12, Spaces: []index.Space{{Name: "new", Dim: 3, Vectors: 8}, {Name: "words", Dim: 2, Vectors: 12, Complete: true}}}
		if diff := cmp.Diff(want, stats); err != nil || diff != "" {
			t.Errorf("after the conversion: %v\n%s", err, diff)
		}
		if missing, _, err := x.MissingVectors(t.Context(), "c", "new", "", 100); err != nil || len(missing) != 4 {
			t.Errorf("%d of 4 passages miss a vector, %v", len(missing), err)
		}
		hits, err := x.Search(t.Context(), index.Query{Collection: "c", Space: "new", Vector: []float32{0, 1, 0}, Limit: 20})
		if err != nil || len(hits) != 7 || hits[0].Cosine < 0.99 {
			t.Errorf("%d of 7 hits, %v", len(hits), err)
		}
		if err := errors.Join(x.Verify(t.Context()), x.Close()); err != nil {
			t.Error(err)
		}
	}
}

func setFormat(t *testing.T, dir, to string) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, fileDocuments), permFile, nil)
	require.NoError(t, err)
	err = updateDB(db, nil, func(tx *txn) error { return tx.Bucket(bucketMeta).Put(keyFormat, []byte(to)) })
	if err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestEraseAfterRepair deletes a document while its lexical index fails. After the repair, a compaction must erase all its chunks.
func TestEraseAfterRepair(t *testing.T) {
	x := openAt(t, t.TempDir())
	d, es := nestedDocument("lights", 2)
	putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
	c, err := x.collection("c")
	require.NoError(t, err)
	dir := x.lexicalDir(c, passages)
	c.lex[passages].Close()
	require.NoError(t, errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, nil, permFile)))
	c.lex[passages] = nil
	if err := x.Delete(t.Context(), "c", []corpus.DocumentID{d.ID}); err == nil {
		t.Fatal("the lexical index works")
	}
	if err := os.Remove(dir); err != nil || !x.repairAll() {
		t.Fatalf("the collection was not repaired: %v", err)
	}
	require.NoError(t, errors.Join(x.Compact(t.Context()), os.RemoveAll(dir+".away")))
	err = x.view(func(tx *txn) error {
		if n := tx.Bucket(bucketChunks).Stats().KeyN; n != 0 {
			t.Errorf("%d of %d chunks are left", n, len(es))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNestedCycle reads a chunk whose record names itself as its parent.
func TestNestedCycle(t *testing.T) {
	x := openAt(t, t.TempDir())
	d, es := nestedDocument("lights", 1)
	putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
	x.write.Lock()
	err := x.update(func(tx *txn) error {
		return tx.Bucket(bucketChunks).Put(rowKey(uint64(len(es)-1)), (&nestedRecord{level: corpus.Sentence, id: "s"}).encode())
	})
	x.write.Unlock()
	require.NoError(t, err)
	if _, _, err := x.Export(t.Context(), "c", "words", "", 10); !errors.Is(err, errDamaged) {
		t.Errorf("a chunk that is its own parent: %v", err)
	}
}

func FuzzDecodeNested(f *testing.F) {
	d, es := nestedDocument("lights", 2)
	ch, err := checked(d, es)
	require.NoError(f, err)
	for i := range es {
		f.Add(ch.nesting.record(&ch, i).encode()[4:])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			return
		}
		r, err := decodeNested(raw)
		if err != nil {
			return
		}
		again, err := decodeNested(r.encode()[4:])
		if err != nil || again.id != r.id || again.parts != r.parts || !bytes.Equal(again.rest, r.rest) || !slices.Equal(again.pages, r.pages) {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}

// TestLargeNestedDocument puts a document that takes several transactions, and replaces it.
func TestLargeNestedDocument(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	d, es := nestedDocument("lights", groupChunks/2+50)
	putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
	if diff := cmp.Diff([][]index.Entry{sorted(es)}, exportAll(t, x)); diff != "" {
		t.Error("the document changed")
	}
	d, es = nestedDocument("lights", 2)
	putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
	if diff := cmp.Diff([][]index.Entry{sorted(es)}, exportAll(t, x)); diff != "" {
		t.Errorf("the document that replaces it (-want +got):\n%s", diff)
	}
	require.NoError(t, x.Compact(t.Context()))
	err := x.view(func(tx *txn) error {
		for _, b := range [][]byte{bucketChunks, bucketIDs} {
			if n := tx.Bucket(b).Stats().KeyN; n != len(es) {
				t.Errorf("%d keys in %s, want %d", n, b, len(es))
			}
		}
		if n := tx.Bucket(bucketGarbage).Stats().KeyN; n != 0 {
			t.Errorf("%d rows of garbage", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
