package corpus_test

import (
	"testing"

	"github.com/sluice-rag/sluice/corpus"
)

func TestChunkID(t *testing.T) {
	seen := map[corpus.ChunkID]bool{}
	first, _, _, _ := corpus.NewChunkID("doc_1", corpus.Section, 0, "").Place()
	for _, d := range []corpus.DocumentID{"doc_1", "doc_2", ""} {
		for _, l := range []corpus.Level{corpus.Section, corpus.Passage, corpus.Sentence} {
			for _, n := range []int{0, 1, 31, 32, 200_000, 1<<31 - 1} {
				for _, text := range []string{"", "one", "two"} {
					id := corpus.NewChunkID(d, l, n, text)
					document, level, ordinal, ok := id.Place()
					if !ok || level != l || ordinal != n || seen[id] || (document == first) != (d == "doc_1") {
						t.Errorf("%q of %s %d: %q %s %d %v, seen %v", id, l, n, document, level, ordinal, ok, seen[id])
					}
					seen[id] = true
				}
			}
		}
	}
	id := string(corpus.NewChunkID("doc_1", corpus.Sentence, 7, "text"))
	for _, other := range []string{"", "c_", "c_0123456789abcdef", id[:len(id)-1], "d" + id[1:], id + "=", id + "A", id + "\n", "doc_1/L2/3", id[:14] + "AAAA/___________"} {
		if _, _, _, ok := corpus.ChunkID(other).Place(); ok {
			t.Errorf("%q has a place", other)
		}
	}
}
