package embedded_test

import (
	"fmt"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestHeadings checks that a passage whose heading is the subject of the question is found before passages that repeat the word.
func TestHeadings(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	d := corpus.Document{ID: "d", Collection: "c", Title: "Concepts"}
	var es []index.Entry
	add := func(heading, text string) {
		es = append(es, index.Entry{Chunk: corpus.Chunk{ID: corpus.ChunkID(fmt.Sprint(len(es))), Document: d.ID, Level: corpus.Passage,
			Ordinal: len(es), Title: d.Title, Headings: []string{heading}, Text: text}})
	}
	for i := range 30 {
		add(fmt.Sprint("Limits of part ", i), "A run is stored with its log. Each run has a key, and a run that ends is kept.")
	}
	add("Run", "A run is the processing of one question.")
	require.NoError(t, x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}))
	hits, err := x.Search(t.Context(), index.Query{Collection: "c", Text: "What is a run?"})
	require.NoError(t, err)
	if len(hits) == 0 || hits[0].Chunk.Heading() != "Run" {
		t.Errorf("the first of %d hits is not the section with the heading", len(hits))
	}
}
