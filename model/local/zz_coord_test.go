package local

import (
	"fmt"
	"os"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/internal/text"
	"github.com/sluice-rag/sluice/model"
)

func TestZZCoord(t *testing.T) {
	m := New(Options{})
	ps := []string{"Timetable\n\nThe last ferry to the island leaves at 21:40 on weekdays. On Sundays the ferry stays in the harbour.", "Tickets\n\nA return ticket costs 14 euros. Children under six travel free of charge."}
	for _, idf := range []int{0, 3, 1000} {
		for _, qs := range []string{"When does the last ferry to the island leave on weekdays?", "How much is a return ticket?", "How much does a return ticket cost?"} {
			task := model.Task{Question: qs}
			if idf > 0 {
				task.IDF = map[string]float64{}
				for _, w := range text.Words(qs) {
					task.IDF[text.Stem(w.Text)] = text.IDF(idf, 1)
				}
			}
			for i, p := range ps {
				task.Passages = append(task.Passages, model.Passage{N: i + 1, Score: 0.9, Chunk: corpus.Chunk{Document: "d", Title: "The ferry", Level: corpus.Passage, Text: p}})
			}
			q, all, readings, err := m.rankAll(t.Context(), task)
			if err != nil {
				t.Fatal(err)
			}
			d := q.doubts(all[0], readings)
			fmt.Fprintf(os.Stderr, "%d %s -> %q\n  %+v\n  answers %.3f relates %.3f plain %v\n", idf, qs, all[0].text, d, d.answers(), d.relates(), q.plain)
		}
	}
}
