package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const graphPassages = 100_000

// benchName returns a name of two words for a number.
func benchName(n uint64) string { return fmt.Sprintf("Ka%d Lo%d", n%997, n) }

// graphIndex returns an index in which each passage is about its own name, and mentions ten other names with Zipf's distribution and one
// name that all passages mention.
func graphIndex(b *testing.B) *embedded.Index {
	x, err := embedded.Open(b.Context(), b.TempDir(), embedded.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { _ = x.Close() })
	r := rand.New(rand.NewPCG(4, 4))
	z := rand.NewZipf(r, 1.05, 16, graphPassages-1)
	words := rand.NewZipf(r, 1.1, 8, 60_000)
	var docs []corpus.Document
	var entries [][]index.Entry
	for i := range graphPassages {
		title := benchName(uint64(i))
		e := index.Entry{Mentions: []corpus.Mention{{Name: title, Kind: corpus.Subject}, {Name: "Everywhere", Kind: corpus.Named}}}
		var s strings.Builder
		for range 10 {
			name := benchName(z.Uint64())
			e.Mentions = append(e.Mentions, corpus.Mention{Name: name, Kind: corpus.Named})
			e.Relations = append(e.Relations, corpus.Relation{From: title, To: name, Predicate: fmt.Sprintf("was w%dx by", words.Uint64())})
			fmt.Fprintf(&s, "It was w%dx w%dx by %s. ", words.Uint64(), words.Uint64(), name)
		}
		id := fmt.Sprintf("d%06d", i)
		e.Chunk = corpus.Chunk{ID: corpus.ChunkID(id), Level: corpus.Passage, Title: title, Text: s.String()}
		docs = append(docs, corpus.Document{ID: corpus.DocumentID(id), Collection: "c", Title: title})
		entries = append(entries, []index.Entry{e})
	}
	require.NoError(b, x.Put(b.Context(), docs, entries))
	return x
}

func BenchmarkGraph(b *testing.B) {
	x := graphIndex(b)
	r := rand.New(rand.NewPCG(5, 5))
	walk := func(chunks int, entities func() []string) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				w := index.WalkQuery{Collection: "c", Entities: entities(), Question: fmt.Sprintf("Who was w%dx by w%dx?", r.IntN(100), r.IntN(2000))}
				for range chunks {
					w.Chunks = append(w.Chunks, corpus.ChunkID(fmt.Sprintf("d%06d", r.IntN(graphPassages))))
				}
				got, err := x.Walk(b.Context(), w)
				if err != nil || len(got) == 0 {
					b.Fatal(got, err)
				}
			}
		}
	}
	name := func() []string { return []string{benchName(r.Uint64N(graphPassages))} }
	b.Run("walk", walk(5, name))
	b.Run("walk/hub", walk(0, func() []string { return []string{"Everywhere"} }))
	b.Run("entities", func(b *testing.B) {
		for b.Loop() {
			q := fmt.Sprintf("Who was the mother of the w5x of %s that %s went to see Everywhere?", name()[0], name()[0])
			if got, err := x.Entities(b.Context(), "c", q); err != nil || len(got) != 3 {
				b.Fatal(got, err)
			}
		}
	})
	b.Run("mentioned", func(b *testing.B) {
		for b.Loop() {
			id := corpus.ChunkID(fmt.Sprintf("d%06d", r.IntN(graphPassages)))
			if got, err := x.EntitiesOf(b.Context(), "c", []corpus.ChunkID{id}); err != nil || len(got[0]) < 3 {
				b.Fatal(got, err)
			}
		}
	})
}
