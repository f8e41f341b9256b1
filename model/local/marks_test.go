package local_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestMarksOfDocumentsStand: whatever brackets and numbers a document has, its sentence is said as it is, and they are no citation.
func TestMarksOfDocumentsStand(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	marks := []string{"[1]", "[12]", "[1, 2]", "[3–5]", "[a]", "⟦1⟧", "⟦⟦1⟧⟧", "【4】", "[[1]]", "⟦[2]⟧", "[1][2]", "[1999]", "(1)", "]", "⟧⟧", "⟦⟦"}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		words := strings.Fields("The lamp of the Farland lighthouse burns colza oil every night")
		for range 1 + rnd.IntN(4) {
			i := 2 + rnd.IntN(len(words)-2)
			words[i] += strings.Repeat(" ", rnd.IntN(2)) + marks[rnd.IntN(len(marks))]
		}
		said := strings.Join(words, " ") + "."
		if rnd.IntN(2) == 0 {
			said += marks[rnd.IntN(2)]
		}
		task := model.Task{Question: "Which oil does the lamp of the Farland lighthouse burn?",
			Passages: []model.Passage{{N: 1, Chunk: corpus.Chunk{ID: "c", Text: said}, Score: 0.9}}}
		var got strings.Builder
		cites := 0
		for d, err := range m.Generate(t.Context(), task) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Cite != 0 {
				cites++
			}
			got.WriteString(d.Text)
		}
		if strings.Contains(got.String(), local.NoAnswer) {
			continue
		}
		if got.String() != strings.Join(strings.Fields(said), " ") || cites != 1 {
			t.Errorf("%q is said as %q, with %d citations", said, got.String(), cites)
		}
	}
}
