package embedded_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const pageSize = 8 << 10 // of documents.db

// damages change the content of a file in one way each, at random places. A nil result deletes the file.
var damages = map[string]func(b []byte, r *rand.Rand) []byte{
	"missing":   func([]byte, *rand.Rand) []byte { return nil },
	"empty":     func([]byte, *rand.Rand) []byte { return []byte{} },
	"truncated": func(b []byte, r *rand.Rand) []byte { return b[:r.IntN(len(b))] },
	"one bit": func(b []byte, r *rand.Rand) []byte {
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		return b
	},
	"many bits": func(b []byte, r *rand.Rand) []byte {
		for i := r.IntN(200); i < len(b); i += 1 + r.IntN(400) {
			b[i] ^= 1 << r.IntN(8)
		}
		return b
	},
	"zeroed block": func(b []byte, r *rand.Rand) []byte {
		at := r.IntN(len(b))
		clear(b[at:min(len(b), at+1+r.IntN(8192))])
		return b
	},
	"scribbled block": func(b []byte, r *rand.Rand) []byte {
		for at, n := r.IntN(len(b)), 1+r.IntN(600); n > 0 && at < len(b); at, n = at+1, n-1 {
			b[at] = byte(r.Uint32())
		}
		return b
	},
	"swapped pages": func(b []byte, r *rand.Rand) []byte {
		if n := len(b) / pageSize; n > 1 {
			swap(b, r.IntN(n), r.IntN(n))
		}
		return b
	},
	"noise": func([]byte, *rand.Rand) []byte { return bytes.Repeat([]byte("noise"), 5000) },
}

// damagedIndex creates an index of 30 documents, with several segments and free pages.
func damagedIndex(t *testing.T) (dir string, files []string) {
	dir = t.TempDir()
	x := open(t, dir)
	for i := range 3 {
		putRange(t, x, "d", 10*i, 10*i+10, "apple "+strings.Repeat("filler ", 100), 1)
	}
	putRange(t, x, "gone", 0, 3, "plum", 2)
	require.NoError(t, errors.Join(x.Delete(t.Context(), "c", []corpus.DocumentID{"gone0", "gone1", "gone2"}),
		x.AddToSet(t.Context(), "c", "s", []corpus.DocumentID{"d1", "d2"})))
	closeIndex(t, x)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "LOCK" {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	require.NoError(t, err)
	return dir, files
}

// TestDamaged damages the files of an index in many ways. Either opening or searching fails with an error that names the file, or
// everything is found. Nothing may be missing without an error.
func TestDamaged(t *testing.T) {
	good, files := damagedIndex(t)
	seeds := 3
	if race.Enabled || testing.Short() {
		seeds = 1
	}
	variants := 0
	for name, damage := range damages {
		for _, rel := range files {
			whole, err := os.ReadFile(filepath.Join(good, rel))
			require.NoError(t, err)
			n := seeds
			if rel == "documents.db" {
				n = 6 * seeds
			}
			if name == "missing" || name == "empty" || name == "noise" {
				n = 1
			}
			for seed := range n {
				variants++
				t.Run(fmt.Sprintf("%s/%s/%d", rel, name, seed), func(t *testing.T) {
					b := damage(bytes.Clone(whole), rand.New(rand.NewPCG(uint64(seed), uint64(len(rel)))))
					if bytes.Equal(b, whole) {
						t.Skip("nothing was damaged")
					}
					dir := t.TempDir()
					require.NoError(t, os.CopyFS(dir, os.DirFS(good)))
					path := filepath.Join(dir, rel)
					require.NoError(t, os.Remove(path))
					if b != nil {
						require.NoError(t, os.WriteFile(path, b, 0o600))
					}
					err := readsAll(t, dir)
					switch {
					case err == nil:
					case strings.HasPrefix(rel, "lexical"):
						t.Fatalf("not rebuilt: %v", err)
					case !strings.Contains(err.Error(), "documents.db"):
						t.Errorf("the error names no file: %v", err)
					}
				})
			}
		}
	}
	if variants < 100 && seeds > 1 {
		t.Errorf("only %d variants", variants)
	}
}

// TestSwappedPages exchanges every two pages of documents.db that are in use.
func TestSwappedPages(t *testing.T) {
	if race.Enabled || testing.Short() {
		t.Skip("hundreds of pairs: TestDamaged exchanges some")
	}
	good, _ := damagedIndex(t)
	whole, err := os.ReadFile(filepath.Join(good, "documents.db"))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "x")
	for i := range len(bytes.TrimRight(whole, "\x00")) / pageSize { // the rest of the file is free
		for k := range i {
			require.NoError(t, errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(good)),
				os.WriteFile(filepath.Join(dir, "documents.db"), swap(bytes.Clone(whole), i, k), 0o600)))
			if err := readsAll(t, dir); err != nil && !strings.Contains(err.Error(), "documents.db") {
				t.Errorf("pages %d and %d: the error names no file: %v", i, k, err)
			}
		}
	}
}

// swap exchanges two pages. Like a write to the wrong place, it keeps the number of the place in bbolt's page header.
func swap(b []byte, i, k int) []byte {
	one, other := b[pageSize*i:][:pageSize], b[pageSize*k:][:pageSize]
	page := bytes.Clone(one)
	copy(one, other)
	copy(other, page)
	binary.NativeEndian.PutUint64(one, uint64(i))
	binary.NativeEndian.PutUint64(other, uint64(k))
	return b
}

// readsAll reads the index of damagedIndex in several ways. The test fails if anything is missing without an error.
func readsAll(t *testing.T, dir string) error {
	x, err := embedded.Open(t.Context(), dir, embedded.Options{})
	if err != nil {
		return err
	}
	defer x.Close()
	ctx := t.Context()
	hits, err := x.Search(ctx, index.Query{Collection: "c", Text: "apple", Vector: []float32{1, 0}, Limit: 1000})
	if err != nil {
		return err
	}
	if len(hits) != 30 {
		t.Fatalf("%d of 30 hits and no error", len(hits))
	}
	reached, err := x.Walk(ctx, index.WalkQuery{Collection: "c", Chunks: []corpus.ChunkID{hits[0].Chunk.ID}, Limit: 100})
	if err != nil {
		return err
	}
	if len(reached) != 29 {
		t.Fatalf("%d of 29 reached and no error", len(reached))
	}
	docs, err := x.Documents(ctx, "c", "", 0)
	if err != nil {
		return err
	}
	members, err := x.Documents(ctx, scopeS, "", 0)
	if err != nil {
		return err
	}
	if len(docs) != 30 || len(members) != 2 {
		t.Fatalf("%d of 30 documents, %d of 2 of the set and no error", len(docs), len(members))
	}
	for _, h := range hits {
		chunks, err := x.Chunks(ctx, "c", []corpus.ChunkID{h.Chunk.ID})
		if err != nil {
			return err
		}
		if len(chunks) != 1 {
			t.Fatalf("chunk %s is missing and no error", h.Chunk.ID)
		}
	}
	return nil
}

// TestLexicalDamagedWhileOpen damages the segments of an open index. Verify must find it, Health must report it, and the index must rebuild them.
func TestLexicalDamagedWhileOpen(t *testing.T) {
	dir, _ := damagedIndex(t)
	synctest.Test(t, func(t *testing.T) {
		x, err := embedded.Open(t.Context(), dir, embedded.Options{})
		require.NoError(t, err)
		defer func() { _ = x.Close() }() // after a failure, so that synctest shows it
		if n := count(t, x, "apple", corpus.Passage); n != 30 {
			t.Fatalf("%d of 30 passages", n)
		}
		segments, err := filepath.Glob(filepath.Join(dir, "lexical", "*", "*.seg"))
		if err != nil || len(segments) == 0 {
			t.Fatal(segments, err)
		}
		for _, path := range segments {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if errors.Is(err, os.ErrNotExist) {
				continue // merged meanwhile; the segment that it went into is listed, or the check below fails
			}
			require.NoError(t, err)
			if _, err := f.WriteAt(bytes.Repeat([]byte{0x5a}, 300), 20); err != nil {
				t.Fatal(err)
			}
			_ = f.Close()
		}
		if err := x.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), ".seg") {
			t.Errorf("the check returns %v", err)
		}
		if x.Health() == nil {
			t.Error("healthy")
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if err := x.Health(); err != nil {
			t.Errorf("not rebuilt: %v", err)
		}
		if n := count(t, x, "apple", corpus.Passage); n != 30 {
			t.Errorf("%d of 30 passages", n)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDamagedWhileOpen damages documents.db of an open index. Damaged parts must be reported as errors, also by Health, and nothing may
// be missing without an error.
func TestDamagedWhileOpen(t *testing.T) {
	good, _ := damagedIndex(t)
	found := 0
	defer func() {
		if found < 10 {
			t.Errorf("damage was found for %d of 20 seeds", found)
		}
	}()
	for seed := range 20 {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(dir, os.DirFS(good)))
		x := open(t, dir)
		var ids []corpus.ChunkID
		hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: "apple", Limit: 1000})
		require.NoError(t, err)
		for _, h := range hits {
			ids = append(ids, h.Chunk.ID)
		}
		read := func() error {
			hits, err1 := x.Search(t.Context(), index.Query{Collection: "c", Text: "apple", Limit: 1000})
			chunks, err2 := x.Chunks(t.Context(), "c", ids)
			docs, err3 := x.Documents(t.Context(), "c", "", 0)
			if err1 == nil && len(hits) != 30 || err2 == nil && len(chunks) != 30 || err3 == nil && len(docs) != 30 {
				t.Errorf("seed %d: %d hits, %d chunks and %d documents of 30 and no error", seed, len(hits), len(chunks), len(docs))
			}
			return errors.Join(err1, err2, err3)
		}
		require.NoError(t, errors.Join(read(), x.Health()))
		f, err := os.OpenFile(filepath.Join(dir, "documents.db"), os.O_RDWR, 0)
		require.NoError(t, err)
		info, err := f.Stat()
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		for page := int64(2); page < info.Size()/pageSize; page++ {
			if r.IntN(4) > 0 {
				continue
			}
			if _, err := f.WriteAt(bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(pageSize)), page*pageSize); err != nil {
				t.Fatal(err)
			}
		}
		_ = f.Close()
		err = read()
		if verr := x.Verify(t.Context()); verr == nil && err == nil {
			// Only pages were damaged that the newest state does not use. The next open may find them.
			closeIndex(t, x)
			var damaged error
			if x, damaged = embedded.Open(t.Context(), dir, embedded.Options{}); damaged != nil {
				if !strings.Contains(damaged.Error(), "documents.db") {
					t.Errorf("seed %d: %v", seed, damaged)
				}
				continue
			}
			if err := read(); err != nil {
				t.Errorf("seed %d: the damage is not found: %v", seed, err)
			}
			closeIndex(t, x)
			continue
		}
		found++
		if h := x.Health(); h == nil || err != nil && !strings.Contains(err.Error(), "documents.db") {
			t.Errorf("seed %d: health %v after error %v", seed, h, err)
		}
	}
}
