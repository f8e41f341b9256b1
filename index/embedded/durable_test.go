package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// document returns a document with n passages and n sentences that all contain its id as a word. The passages are about its title and
// mention the beginning of the text.
func document(id, text string, n int) (corpus.Document, []index.Entry) {
	d := corpus.Document{ID: corpus.DocumentID(id), Collection: "c", Title: "Title " + id}
	var es []index.Entry
	for i := range n {
		for _, l := range []corpus.Level{corpus.Passage, corpus.Sentence} {
			es = append(es, index.Entry{Vector: []float32{1, float32(i)}, Chunk: corpus.Chunk{
				ID: corpus.ChunkID(fmt.Sprintf("%s/%s/%d", id, l, i)), Document: d.ID, Level: l, Ordinal: i,
				Title: d.Title, Text: text}})
			if l == corpus.Passage {
				name := "Name " + text[:min(60, len(text))]
				es[len(es)-1].Mentions = []corpus.Mention{{Name: d.Title, Kind: corpus.Subject}, {Name: name, Kind: corpus.Named}}
				es[len(es)-1].Relations = []corpus.Relation{{From: d.Title, To: name, Predicate: "is not " + name}}
			}
		}
	}
	return d, es
}

func put(ctx context.Context, x index.Writer, id, text string, n int) error {
	d, es := document(id, text, n)
	return x.Put(ctx, []corpus.Document{d}, [][]index.Entry{es})
}

// nested returns the document as the ingestion makes it: the passages are pieces of a section, the sentences are those passages, and the ids are computed.
func nested(id, text string, n int) (corpus.Document, []index.Entry) {
	d, es := document(id, text, n)
	section := index.Entry{Chunk: corpus.Chunk{Document: d.ID, Level: corpus.Section, Title: d.Title, Text: strings.Repeat(text+"\n", n)}}
	section.End = len(section.Text)
	section.ID = corpus.NewChunkID(d.ID, corpus.Section, 0, section.Text)
	parent := section.ID
	for i := range es {
		e := &es[i]
		e.ID, e.Parent = corpus.NewChunkID(d.ID, e.Level, e.Ordinal, e.Text), parent
		if e.Start = e.Ordinal * (len(text) + 1); e.Level == corpus.Passage {
			parent = e.ID
		} else {
			parent, e.Vector = section.ID, nil
		}
		e.End = e.Start + len(text)
	}
	return d, append([]index.Entry{section}, es...)
}

// putRange puts the documents of the numbers from, from+1, … to-1 at once. The odd ones have computed ids.
func putRange(t *testing.T, x index.Writer, id string, from, to int, text string, n int) {
	t.Helper()
	var docs []corpus.Document
	var entries [][]index.Entry
	for i := from; i < to; i++ {
		made := document
		if i%2 == 1 {
			made = nested
		}
		d, es := made(fmt.Sprintf("%s%d", id, i), text, n)
		docs, entries = append(docs, d), append(entries, es)
	}
	require.NoError(t, x.Put(t.Context(), docs, entries))
}

func open(t testing.TB, dir string) *embedded.Index {
	t.Helper()
	x, err := embedded.Open(t.Context(), dir, embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func closeIndex(t *testing.T, x *embedded.Index) {
	t.Helper()
	require.NoError(t, x.Close())
}

func compactAndClose(t *testing.T, x *embedded.Index) {
	t.Helper()
	require.NoError(t, x.Compact(t.Context()))
	closeIndex(t, x)
}

func count(t *testing.T, x index.Reader, text string, level corpus.Level) int {
	t.Helper()
	hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: text, Limit: 1000, Levels: []corpus.Level{level}})
	require.NoError(t, err)
	return len(hits)
}

// wantNamed checks how many passages mention an entity.
func wantNamed(t *testing.T, x index.Graph, name string, n int) {
	t.Helper()
	es, err := x.Entities(t.Context(), "c", name)
	if n == 0 && err == nil && len(es) == 0 {
		return
	}
	if err != nil || len(es) != 1 || es[0].Chunks != n {
		t.Errorf("%q: %+v, %v; %d passages name it", name, es, err, n)
	}
}

// holding lists the files under dir that contain any of the words, in any case.
func holding(t *testing.T, dir string, words ...string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a merge in the background has removed it
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, w := range words {
			if bytes.Contains(bytes.ToLower(b), []byte(strings.ToLower(w))) {
				files = append(files, path+" holds "+w)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	require.NoError(t, err)
	return files
}

func TestCompactErasesDeletedText(t *testing.T) {
	words := []string{"Xylomarkerqq", "Zebramarkervv", "vanishing-id"}
	for _, reopen := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopen=%v", reopen), func(t *testing.T) {
			dir := t.TempDir()
			x := open(t, dir)
			ctx := t.Context()
			for i := range 4 {
				putRange(t, x, "kept", 5*i, 5*i+5, "words that stay", 2)
			}
			require.NoError(t, errors.Join(put(ctx, x, "vanishing-id", "Xylomarkerqq "+strings.Repeat("long text ", 2000), 3),
				put(ctx, x, "kept3", "Zebramarkervv here", 1)))
			if len(holding(t, dir, words...)) == 0 {
				t.Fatal("the markers were never there")
			}
			if reopen {
				closeIndex(t, x)
				x = open(t, dir)
			}
			require.NoError(t, errors.Join(x.Delete(ctx, "c", []corpus.DocumentID{"vanishing-id"}),
				put(ctx, x, "kept3", "something else", 1)))
			require.NoError(t, x.Compact(ctx))
			if files := holding(t, dir, words...); files != nil {
				t.Errorf("after Compact: %v", files)
			}
			if n := count(t, x, "stay", corpus.Passage); n != 38 {
				t.Errorf("%d of 38 passages after Compact", n)
			}
			require.NoError(t, errors.Join(put(ctx, x, "vanishing-id", "Xylomarkerqq again", 1),
				x.Delete(ctx, "c", []corpus.DocumentID{"vanishing-id"}), x.Compact(ctx)))
			if files := holding(t, dir, words...); files != nil {
				t.Errorf("after the second Compact: %v", files)
			}
			closeIndex(t, x)
			if files := holding(t, dir, words...); files != nil {
				t.Errorf("after Close: %v", files)
			}
			x = open(t, dir)
			if n := count(t, x, "stay", corpus.Sentence); n != 38 {
				t.Errorf("%d of 38 sentences after reopening", n)
			}
		})
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := embedded.Open(t.Context(), dir, embedded.Options{LockTimeout: time.Millisecond})
	if fault.CodeOf(err) != fault.Conflict {
		t.Errorf("second Open: %v", err)
	}
}

func TestClosed(t *testing.T) {
	x := open(t, t.TempDir())
	closeIndex(t, x)
	closeIndex(t, x)
	if _, err := x.Search(t.Context(), index.Query{Text: "a"}); err == nil {
		t.Error("search after Close")
	}
	if err := put(t.Context(), x, "a", "b", 1); err == nil {
		t.Error("put after Close")
	}
}

// TestOpenCancelled opens an index with a cancelled context. The error must be that of the context, and the folder must be unlocked.
func TestOpenCancelled(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	require.NoError(t, errors.Join(put(t.Context(), x, "a", "apple", 3), x.Close()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedded.Open(ctx, dir, embedded.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	x = open(t, dir)
	wantNamed(t, x, "Title a", 3)
}

// TestDamagedMentions damages the mentions of passages. Walks must fail, and searches must work.
func TestDamagedMentions(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	require.NoError(t, put(t.Context(), x, "a", "apple", 2))
	closeIndex(t, x)
	db, err := bolt.Open(filepath.Join(dir, "documents.db"), 0o600, nil)
	require.NoError(t, err)
	err = db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("mentions"))
		k, v := b.Cursor().First()
		v = bytes.Clone(v)
		v[len(v)-1] ^= 1
		return errors.Join(b.Put(bytes.Clone(k), v), withoutSums(tx, "4"))
	})
	require.NoError(t, errors.Join(err, db.Close()))
	x = open(t, dir)
	if n := count(t, x, "apple", corpus.Passage); n != 2 {
		t.Errorf("%d of 2 passages", n)
	}
	_, err1 := x.Walk(t.Context(), index.WalkQuery{Collection: "c", Chunks: []corpus.ChunkID{"a/L2/0"}})
	_, err2 := x.EntitiesOf(t.Context(), "c", []corpus.ChunkID{"a/L2/0"})
	_, err3 := x.Entities(t.Context(), "c", "Name Apple")
	for _, err := range []error{err1, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "documents.db") || !strings.Contains(err.Error(), "mentions") {
			t.Errorf("error %v", err)
		}
	}
}

// TestKilled repeatedly kills a process that writes and compacts. Every document must be complete or absent in every part of the index.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("EMBEDDED_TEST_WRITE"); dir != "" {
		writeForever(dir)
		return
	}
	dir := t.TempDir()
	rounds := 6
	if race.Enabled || testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "EMBEDDED_TEST_WRITE="+dir, fmt.Sprintf("EMBEDDED_TEST_ROUND=%d", round))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		// One byte a document: the kill falls at another place of a write in each round.
		b := make([]byte, 1)
		for range 3 + 2*round {
			if _, err := out.Read(b); err != nil {
				t.Fatal(err)
			}
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		whole(t, dir)
	}
}

func writeForever(dir string) {
	x, err := embedded.Open(context.Background(), dir, embedded.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		id := fmt.Sprintf("doc%d", i%7)
		made := document
		if i%2 == 1 { // doc0 … doc6 alternate between both kinds, because 7 is odd
			made = nested
		}
		d, es := made(id, fmt.Sprintf("steady mark%sx v%sx%d", id, os.Getenv("EMBEDDED_TEST_ROUND"), i), 40)
		if err := x.Put(context.Background(), []corpus.Document{d}, [][]index.Entry{es}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		err := turn(x, i, corpus.DocumentID(id))
		if i%4 == 3 {
			err = errors.Join(err, x.Compact(context.Background()))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(".")
	}
}

// turn alternately adds documents to a set and removes them.
func turn(x *embedded.Index, i int, id corpus.DocumentID) error {
	ids := []corpus.DocumentID{id, "never"}
	if i/7%2 == 0 {
		return x.AddToSet(context.Background(), "c", "s", ids)
	}
	return x.RemoveFromSet(context.Background(), "c", "s", ids[:1])
}

func whole(t *testing.T, dir string) {
	t.Helper()
	x := open(t, dir)
	defer closeIndex(t, x)
	inSet(t, x)
	docs, err := x.Documents(t.Context(), "c", "", 0)
	require.NoError(t, err)
	if len(docs) == 0 {
		t.Fatal("no documents at all")
	}
	for _, level := range []corpus.Level{corpus.Passage, corpus.Sentence} {
		if n := count(t, x, "steady", level); n != 40*len(docs) {
			t.Errorf("%d documents but %d chunks of %v found by words", len(docs), n, level)
		}
		for _, d := range docs {
			hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: "mark" + string(d.ID) + "x",
				Vector: []float32{1, 0}, Limit: 1000, Levels: []corpus.Level{level}})
			require.NoError(t, err)
			own := 0
			texts := map[string]bool{}
			for _, h := range hits {
				if h.Chunk.Document == d.ID {
					own++
					texts[h.Chunk.Text] = true
					if h.Lexical == 0 || h.Cosine == 0 {
						t.Errorf("%s: lexical %v, cosine %v", h.Chunk.ID, h.Lexical, h.Cosine)
					}
				}
			}
			if own != 40 || len(texts) != 1 {
				t.Errorf("%s at %v: %d chunks of %d versions", d.ID, level, own, len(texts))
			}
			for text := range texts {
				wantNamed(t, x, "Name "+text, 40)
			}
			wantNamed(t, x, d.Title, 40)
		}
	}
}

// inSet checks that a search in the set finds exactly its listed documents.
func inSet(t *testing.T, x *embedded.Index) {
	t.Helper()
	scope := index.Scope{Collection: "c", Sets: []string{"s"}}.Name()
	docs, err := x.Documents(t.Context(), scope, "", 0)
	require.NoError(t, err)
	for _, q := range []index.Query{{Text: "steady"}, {Vector: []float32{1, 0}}} {
		q.Collection, q.Limit = scope, 1000
		hits, err := x.Search(t.Context(), q)
		if err != nil || len(hits) != 40*len(docs) {
			t.Errorf("%d documents in the set but %d passages found, %v", len(docs), len(hits), err)
		}
	}
}

// TestOutdatedLexicalIndex replaces lexical indexes by earlier states, as crashes leave them: without the last change, without several
// changes, or missing.
func TestOutdatedLexicalIndex(t *testing.T) {
	for behind := range 4 {
		t.Run(fmt.Sprint(behind), func(t *testing.T) {
			dir, kept := t.TempDir(), t.TempDir()
			lexical := filepath.Join(dir, "lexical")
			for i := range 4 {
				x := open(t, dir)
				require.NoError(t, errors.Join(put(t.Context(), x, fmt.Sprintf("d%d", i), "apple", 3), x.Close()))
				if i == 3-behind {
					require.NoError(t, os.CopyFS(kept, os.DirFS(lexical)))
				}
			}
			x := open(t, dir)
			d, es := document("d3", "pear", 2)
			d2, es2 := document("d9", "apple", 1)
			require.NoError(t, errors.Join(x.Put(t.Context(), []corpus.Document{d, d2}, [][]index.Entry{es, es2}), x.Close(),
				os.RemoveAll(lexical)))
			require.NoError(t, os.CopyFS(lexical, os.DirFS(kept)))
			x = open(t, dir)
			for _, level := range []corpus.Level{corpus.Passage, corpus.Sentence} {
				if a, p := count(t, x, "apple", level), count(t, x, "pear", level); a != 10 || p != 2 {
					t.Errorf("%d and %d of 10 and 2 at %v", a, p, level)
				}
			}
			if s, err := x.Terms(t.Context(), "c", []string{"apple", "pear"}); err != nil || s.DF["apple"] != 10 || s.DF["pear"] != 2 {
				t.Errorf("terms %v, %v", s, err)
			}
			wantNamed(t, x, "Name Apple", 10)
			wantNamed(t, x, "Name Pear", 2)
			wantNamed(t, x, "Title d3", 2)
		})
	}
}
