package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// endingContext is a context that ends at the nth call of Err. It calls do before that.
type endingContext struct {
	context.Context
	n   int
	do  func()
	end error
}

func (s *endingContext) Err() error {
	if s.n--; s.n > 0 {
		return nil
	}
	if s.n == 0 {
		s.do()
	}
	return s.end
}

// rowsIn counts the keys of some buckets of documents.db, to check that an interrupted Put leaves none.
func rowsIn(t *testing.T, dir string) string {
	t.Helper()
	db, err := bolt.Open(filepath.Join(dir, "documents.db"), 0o600, nil)
	require.NoError(t, err)
	defer db.Close()
	out := ""
	err = db.View(func(tx *bolt.Tx) error {
		for _, name := range []string{"documents", "ids", "chunks", "mentions", "vectors", "garbage"} {
			out += fmt.Sprintf("%s %d ", name, tx.Bucket([]byte(name)).Stats().KeyN)
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

// TestLargePutInterrupted replaces a document by one that needs several transactions. A crash or the end of the context interrupts each of
// them. The old document must stay complete, and nothing of the new one may be left.
func TestLargePutInterrupted(t *testing.T) {
	const n = 3000 // passages, and as many sentences
	cuts := 0
	for at := 3; ; at++ {
		dir, crashed := t.TempDir(), t.TempDir()
		x := open(t, dir)
		require.NoError(t, put(t.Context(), x, "large", "apple", 3))
		d, es := document("large", "pear", n)
		for i := range es {
			es[i].ID += "/new"
		}
		ctx := &endingContext{Context: t.Context(), n: at, end: context.Canceled, do: func() {
			if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
				t.Error(err)
			}
		}}
		err := x.Put(ctx, []corpus.Document{d}, [][]index.Entry{es})
		if err == nil {
			if p := count(t, x, "pear", corpus.Passage); p != index.MaxLimit { // a search returns no more
				t.Errorf("%d passages", p)
			}
			compactAndClose(t, x)
			if got, want := rowsIn(t, dir), fmt.Sprintf("documents 1 ids %d chunks %[1]d mentions %d vectors %[1]d garbage 0 ", 2*n, n); got != want {
				t.Errorf("put: %s, not %s", got, want)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cuts++
		for what, dir := range map[string]string{"stopped": dir, "crashed": crashed} {
			if what == "stopped" {
				closeIndex(t, x)
			}
			y := open(t, dir)
			a, p := count(t, y, "apple", corpus.Passage), count(t, y, "pear", corpus.Passage)
			census, err := y.VectorStats(t.Context(), "c")
			if a != 3 || p != 0 || err != nil || census.Chunks != 6 || census.Spaces[0].Vectors != 6 {
				t.Errorf("%s at %d: %d and %d passages, %+v, %v", what, at, a, p, census, err)
			}
			compactAndClose(t, y)
			if got, want := rowsIn(t, dir), "documents 1 ids 6 chunks 6 mentions 3 vectors 6 garbage 0 "; got != want {
				t.Errorf("%s at %d: %s, not %s", what, at, got, want)
			}
			if found := holding(t, dir, "pear"); found != nil {
				t.Errorf("%s at %d: %v", what, at, found)
			}
		}
	}
	if cuts < 2 {
		t.Errorf("interrupted at %d places", cuts)
	}
}

// TestLargePutRejected puts a large document whose last chunk id belongs to another document. Nothing of it may be stored.
func TestLargePutRejected(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	require.NoError(t, put(t.Context(), x, "small", "apple", 3))
	d, es := document("large", "pear", 600)
	_, small := document("small", "apple", 3)
	es[len(es)-1].ID = small[len(small)-1].ID
	err := x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es})
	if fault.CodeOf(err) != fault.Conflict {
		t.Errorf("%v", err)
	}
	require.NoError(t, put(t.Context(), x, "next", "plum", 2))
	compactAndClose(t, x)
	if got, want := rowsIn(t, dir), "documents 2 ids 10 chunks 10 mentions 5 vectors 10 garbage 0 "; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if found := holding(t, dir, "pear"); found != nil {
		t.Error(found)
	}
}

// TestLargePutWithOutdatedLexicalIndex puts a document that is indexed in several batches, and replaces the lexical indexes by their
// earlier state or deletes them. They must be updated or rebuilt.
func TestLargePutWithOutdatedLexicalIndex(t *testing.T) {
	const n = 600
	words := 130
	if race.Enabled {
		words = 10 // one batch
	}
	dir, before := t.TempDir(), t.TempDir()
	lexical := filepath.Join(dir, "lexical")
	x := open(t, dir)
	require.NoError(t, errors.Join(put(t.Context(), x, "large", "apple", 3), put(t.Context(), x, "small", "apple", 3), x.Close(),
		os.CopyFS(before, os.DirFS(lexical))))
	check := func(what string, x *embedded.Index) {
		t.Helper()
		s, err := x.Terms(t.Context(), "c", []string{"apple", "pear", "filler"})
		if err != nil || s.DF["apple"] != 3 || s.DF["pear"] != n || s.DF["filler"] != n || s.Chunks != n+3 {
			t.Errorf("%s: terms %v, %v", what, s, err)
		}
		wantNamed(t, x, "Title large", n)
	}
	x = open(t, dir)
	d, es := document("large", "pear "+strings.Repeat("filler ", words), n)
	for i := range es {
		es[i].ID += "/new"
	}
	require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	check("put", x)
	for what, with := range map[string]string{"outdated": before, "missing": t.TempDir()} {
		require.NoError(t, errors.Join(x.Close(), os.RemoveAll(lexical), os.CopyFS(lexical, os.DirFS(with))))
		x = open(t, dir)
		check(what, x)
	}
}
