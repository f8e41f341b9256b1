package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

// BenchmarkScoped searches parts of a collection. Compare the times with those of the whole collection.
func BenchmarkScoped(b *testing.B) {
	x, questions := benchIndex(b)
	ctx := context.Background()
	for set, every := range map[string]int{"hundredth": 100, "half": 2, "all": 1} {
		var ids []corpus.DocumentID
		for i := 0; i < benchPassages; i += every {
			ids = append(ids, corpus.DocumentID(fmt.Sprintf("doc%06d", i)))
		}
		if err := x.AddToSet(ctx, "c", set, ids); err != nil {
			b.Fatal(err)
		}
	}
	one := index.Scope{Collection: "c", Documents: []corpus.DocumentID{"doc000777"}}.Name()
	v := randomVector(rand.New(rand.NewPCG(3, 3)))
	scopes := []struct{ name, collection string }{{"whole", "c"}, {"all", setOf("all")}, {"half", setOf("half")}, {"hundredth", setOf("hundredth")}, {"one", one}}
	for _, kind := range []string{"lexical", "vector", "hybrid"} {
		for _, s := range scopes {
			b.Run(kind+"/"+s.name, func(b *testing.B) {
				i := 0
				for b.Loop() {
					q := index.Query{Collection: s.collection}
					if kind != "vector" {
						q.Text = questions[i%len(questions)]
					}
					if kind != "lexical" {
						q.Vector = v
					}
					i++
					if _, err := x.Search(ctx, q); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	// What the first search after a change to the set costs: half of the change, which waits for the disk, is not counted.
	for _, set := range []string{"all", "half", "hundredth"} {
		b.Run("changed/"+set, func(b *testing.B) {
			id := []corpus.DocumentID{"doc000000"}
			for b.Loop() {
				b.StopTimer()
				if err := errors.Join(x.RemoveFromSet(ctx, "c", set, id), x.AddToSet(ctx, "c", set, id)); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := x.Search(ctx, index.Query{Collection: setOf(set), Text: questions[0]}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func setOf(name string) string { return index.Scope{Collection: "c", Sets: []string{name}}.Name() }

// BenchmarkLargeSet adds a million documents to a set, most of which do not exist yet, and reads the set as after a restart.
func BenchmarkLargeSet(b *testing.B) {
	dir, all := b.TempDir(), b
	x := open(all, dir)
	passages, questions := benchText(b, 2000)
	benchPut(b, x, passages)
	ctx := context.Background()
	ids := make([]corpus.DocumentID, 1_000_000)
	for i := range ids {
		ids[i] = corpus.DocumentID(fmt.Sprintf("doc%06d", i))
	}
	b.Run("join", func(b *testing.B) {
		for b.Loop() {
			if err := errors.Join(x.DeleteSet(ctx, "c", "s"), x.AddToSet(ctx, "c", "s", ids)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			if err := x.Close(); err != nil {
				b.Fatal(err)
			}
			x = open(all, dir)
			if _, err := x.Search(ctx, index.Query{Collection: "c", Text: questions[0]}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if hits, err := x.Search(ctx, index.Query{Collection: setOf("s"), Text: questions[0]}); err != nil || len(hits) == 0 {
				b.Fatal(hits, err)
			}
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.Search(ctx, index.Query{Collection: setOf("s"), Text: questions[0]}); err != nil {
				b.Fatal(err)
			}
		}
	})
	_ = x.Close()
}
