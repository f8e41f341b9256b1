package embedded_test

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestVersionGrowsWithEachChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *embedded.Index {
		x, err := embedded.Open(t.Context(), dir, embedded.Options{})
		require.NoError(t, err)
		return x
	}
	x := open()
	last := uint64(0)
	version := func(collection string) uint64 {
		t.Helper()
		v, err := x.Version(t.Context(), collection)
		require.NoError(t, err)
		return v
	}
	if v := version("none"); v != 0 {
		t.Errorf("a collection that there is not has version %d", v)
	}
	put := func(id, hash, text string) {
		t.Helper()
		doc := corpus.Document{ID: corpus.DocumentID(id), Collection: "a", Hash: hash}
		chunk := corpus.Chunk{ID: corpus.ChunkID("c-" + id), Document: doc.ID, Level: corpus.Passage, Text: text}
		require.NoError(t, x.Put(t.Context(), []corpus.Document{doc}, [][]index.Entry{{{Chunk: chunk, Space: "s", Vector: []float32{1, 0}}}}))
	}
	for _, step := range []struct {
		name  string
		grows bool
		do    func()
	}{
		{"put", true, func() { put("1", "h1", "gold") }},
		{"another", true, func() { put("2", "h2", "silver") }},
		{"in its place", true, func() { put("2", "h3", "copper") }},
		{"vectors of another space", false, func() {
			missing, _, err := x.MissingVectors(t.Context(), "a", "other", "", 1)
			if err != nil || len(missing) != 1 {
				t.Fatal(missing, err)
			}
			require.NoError(t, x.SetVectors(t.Context(), "a", "other", []string{missing[0].Ref}, [][]float32{{1}}))
		}},
		{"reopened", false, func() {
			require.NoError(t, x.Close())
			x = open()
		}},
		{"deleted", true, func() {
			require.NoError(t, x.Delete(t.Context(), "a", []corpus.DocumentID{"1"}))
		}},
		{"made anew", true, func() {
			require.NoError(t, errors.Join(x.Close(), os.RemoveAll(dir)))
			x = open()
			put("2", "h3", "copper")
		}},
	} {
		step.do()
		v := version("a")
		if grew := v > last; grew != step.grows || v < last {
			t.Errorf("%s: version %d after %d", step.name, v, last)
		}
		last = v
	}
	got, err := x.Hashes(t.Context(), "a", []corpus.DocumentID{"1", "2", ""})
	if want := map[corpus.DocumentID]string{"2": "h3"}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("hashes %v, %v, want %v", got, err, want)
	}
	if v := version("b"); v != 0 {
		t.Errorf("another collection has version %d", v)
	}
	require.NoError(t, x.Close())
	if _, err := x.Version(t.Context(), "a"); err == nil {
		t.Error("a closed index has a version")
	}
}
