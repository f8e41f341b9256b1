package beir

import (
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// passages is the number of passages of a task.
const passages = 5

// Task returns a question with the five best passages by BM25, including the gold passage. With elsewhere, it returns the best
// passages of other articles instead.
func (s *Set) Task(q Query, elsewhere bool) model.Task {
	t := model.Task{Question: q.Text, IDF: map[string]float64{}}
	gold := ""
	for id := range q.Relevant {
		gold = id
	}
	k, texts := passages, []string{q.Text}
	if elsewhere {
		k = 200
	}
	found := false
	for _, h := range s.Search(q.Text, k) {
		if len(t.Passages) == passages || elsewhere && h.Chunk.Title == s.Doc(gold).Title {
			continue
		}
		found = found || string(h.Chunk.ID) == gold
		if len(t.Passages) == passages-1 && !found && gold != "" && !elsewhere {
			h.Chunk = s.Doc(gold)
		}
		t.Passages = append(t.Passages, model.Passage{N: len(t.Passages) + 1, Chunk: h.Chunk, Score: h.Score})
		texts = append(texts, h.Chunk.Text)
	}
	st := s.Stats(texts...)
	for w, df := range st.DF {
		t.IDF[w] = lang.IDF(st.Chunks, df)
	}
	return t
}
