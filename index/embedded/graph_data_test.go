package embedded_test

import (
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// fill indexes a public collection, each document as one passage with its mentions.
func fill(t *testing.T, x *embedded.Index, s *beir.Set) {
	t.Helper()
	var docs []corpus.Document
	var entries [][]index.Entry
	for _, c := range s.Docs {
		found, err := entities.Rules{}.Extract(t.Context(), []corpus.Chunk{c}, nil)
		require.NoError(t, err)
		docs = append(docs, corpus.Document{ID: c.Document, Collection: "c", Title: c.Title})
		entries = append(entries, []index.Entry{{Chunk: c, Mentions: found[0].Mentions, Relations: found[0].Relations}})
	}
	require.NoError(t, x.Put(t.Context(), docs, entries))
}

// TestFloorWalkOnTuningSets compares the recall of the first eight hits of a search, on multi-hop questions, with the recall of its
// first four hits and the first four hits of a walk from them. The rules for entities were developed with these sets.
func TestFloorWalkOnTuningSets(t *testing.T) {
	race.Measure(t)
	for _, c := range []struct {
		name  string
		least float64 // share of gold passages
	}{{"hotpotqa", 0.90}, {"musique", 0.72}} {
		t.Run(c.name, func(t *testing.T) {
			s := beir.Load(t, c.name)
			x := open(t, t.TempDir())
			fill(t, x, s)
			var gold, searched, walked float64
			for _, q := range s.Queries {
				hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: q.Text, Limit: 8})
				require.NoError(t, err)
				w := index.WalkQuery{Collection: "c", Question: q.Text, Limit: 4}
				es, err := x.Entities(t.Context(), "c", q.Text)
				require.NoError(t, err)
				for _, e := range es {
					w.Entities = append(w.Entities, e.Name)
				}
				for i, h := range hits {
					if q.Relevant[string(h.Chunk.ID)] > 0 {
						searched++
						if i < 4 {
							walked++
						}
					}
					if i < 4 {
						w.Chunks = append(w.Chunks, h.Chunk.ID)
					}
				}
				got, err := x.Walk(t.Context(), w)
				require.NoError(t, err)
				for _, r := range got {
					if q.Relevant[string(r.Chunk.ID)] > 0 {
						walked++
					}
				}
				for _, grade := range q.Relevant {
					if grade > 0 {
						gold++
					}
				}
			}
			t.Logf("of %.0f passages a search finds %.3f, with a walk %.3f", gold, searched/gold, walked/gold)
			if walked/gold < c.least || walked < searched {
				t.Errorf("a search and a walk find %.3f of the passages, less than %.2f or than the %.3f of a search", walked/gold, c.least, searched/gold)
			}
		})
	}
}
