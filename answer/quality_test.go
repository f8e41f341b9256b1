package answer_test

import (
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

// TestFloorToolsOnTuningSet measures, on multi-hop questions, the recall of agentic mode in the first five documents, which must be
// higher than that of one search. The rules of the planner were developed with the multi-hop sets of the data folder.
func TestFloorToolsOnTuningSet(t *testing.T) {
	race.Measure(t)
	set := beir.LoadSet(t, "musique")
	ix, err := embedded.Open(t.Context(), t.TempDir(), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	l := local.New(local.Options{})
	var sources []ingest.Source
	for _, d := range set.Docs {
		sources = append(sources, ingest.Source{URI: d.ID, Name: "document.txt", Title: d.Title, Data: []byte(d.Text)})
	}
	if _, err := ingest.New(ix, l, ingest.Options{}).IngestDocuments(t.Context(), corpus.DefaultCollection, sources, nil); err != nil {
		t.Fatal(err)
	}
	docs, err := ix.Documents(t.Context(), corpus.DefaultCollection, "", 0)
	require.NoError(t, err)
	ids := map[corpus.DocumentID]string{}
	for _, d := range docs {
		ids[d.ID] = d.URI
	}
	p := library()
	p.Index, p.Generator = ix, speaking()
	recall := map[event.Mode]float64{}
	for _, q := range set.Questions {
		for _, mode := range []event.Mode{event.Direct, event.Agentic} {
			s := event.Fold(runIn(t, t.Context(), mode, p, eventlog.NewMemory(), q.Text))
			var ranked []string
			for _, o := range s.Rerank.Outputs {
				cs, err := ix.Chunks(t.Context(), corpus.DefaultCollection, []corpus.ChunkID{o.Chunk})
				if err != nil || len(cs) != 1 {
					t.Fatal(cs, err)
				}
				ranked = append(ranked, ids[cs[0].Document])
			}
			recall[mode] += eval.Recall(ranked, set.Qrels[q.ID], 5) / float64(len(set.Questions))
		}
	}
	t.Logf("recall of five: %.3f direct, %.3f agentic", recall[event.Direct], recall[event.Agentic])
	if recall[event.Agentic] < 0.55 || recall[event.Agentic] < recall[event.Direct]+0.05 {
		t.Error("tools do not earn their keep")
	}
}
