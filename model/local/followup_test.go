package local_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestFollowUps answers questions with and without the turns before them, which decide between two sentences.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	passage := func(n int, document corpus.DocumentID, text string) model.Passage {
		return model.Passage{N: n, Score: 0.8, Chunk: corpus.Chunk{ID: corpus.ChunkID(document), Document: document, Text: text}}
	}
	trip := passage(1, "trip", "The school trip to the salt works of Lunden is on 7 May. In case of rain the trip goes on, since the workshop has a roof.")
	guide := passage(1, "guide", "The guided tour of the mill takes one hour. Tickets of the mill cost 4 euros.")
	castle := passage(2, "castle", "Tickets of the castle cost 9 euros.")
	for _, c := range []struct {
		name, asked, question, last string
		passages                    []model.Passage
		alone, want                 string
	}{
		{"the last answer said it already", "And in case of rain?", "When is the school trip to the salt works of Lunden in case of rain?",
			"The school trip to the salt works of Lunden is on 7 May.", []model.Passage{trip}, "7 May", "In case of rain the trip goes on"},
		{"the document of the last answer", "", "What do tickets cost?", "The guided tour of the mill takes one hour.",
			[]model.Passage{castle, guide}, "9 euros", "4 euros"},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := model.Task{Question: c.question, Passages: c.passages}
			if got, _ := answer(t, m, task); !strings.Contains(got, c.alone) {
				t.Errorf("without the conversation: got %q, want %s", got, c.alone)
			}
			task.Asked, task.History = c.asked, []model.Message{{Role: model.User, Text: "?"}, {Role: model.Assistant, Text: c.last}}
			if got, _ := answer(t, m, task); !strings.Contains(got, c.want) || strings.Contains(got, c.alone) {
				t.Errorf("after %q: got %q, want %s", c.last, got, c.want)
			}
		})
	}
}
