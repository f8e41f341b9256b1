package local_test

import (
	"sort"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// gathered returns a question with eight passages that include all gold ones, as an agent finds them with a search for each step.
func gathered(s *beir.Set, q beir.Query) model.Task {
	t := model.Task{Question: q.Text, IDF: map[string]float64{}}
	var gold []string
	for id := range q.Relevant {
		gold = append(gold, id)
	}
	sort.Strings(gold)
	texts := []string{q.Text}
	for _, id := range gold {
		t.Passages = append(t.Passages, model.Passage{Chunk: s.Doc(id), Score: 0.9})
	}
	for _, h := range s.Search(q.Text, 8) {
		if len(t.Passages) < 8 && q.Relevant[string(h.Chunk.ID)] == 0 {
			t.Passages = append(t.Passages, model.Passage{Chunk: h.Chunk, Score: 0.9 * h.Score})
		}
	}
	for i := range t.Passages {
		t.Passages[i].N = i + 1
		texts = append(texts, t.Passages[i].Chunk.Title+"\n"+t.Passages[i].Chunk.Text)
	}
	st := s.Stats(texts...)
	for w, df := range st.DF {
		t.IDF[w] = lang.IDF(st.Chunks, df)
	}
	return t
}

// TestFloorHopsOnTuningSets measures answers in passages that do not name the subject of the question. The rules for such
// questions were developed with these sets; the data folder has no other set of multi-hop questions.
func TestFloorHopsOnTuningSets(t *testing.T) {
	race.Measure(t)
	m := local.New(local.Options{})
	for name, floor := range map[string]struct{ holds, silent float64 }{
		"hotpotqa": {0.55, 0.1}, "2wiki": {0, 0.15}, "musique": {0.2, 0.35},
	} {
		s := beir.Load(t, name)
		var asked, silent, factual, right, said float64
		for _, q := range s.Queries {
			got, cites := answer(t, m, gathered(s, q))
			asked++
			if len(cites) == 0 {
				silent++
			}
			said += float64(len(cites))
			if len(q.Answers) == 0 || q.Answers[0] == "yes" || q.Answers[0] == "no" {
				continue
			}
			factual++
			if holds(got, q.Answers) {
				right++
			}
		}
		t.Logf("%s: %.1f %% of %.0f said nothing, %.1f sentences; of %.0f facts %.1f %% hold a gold answer", name,
			100*silent/asked, asked, said/asked, factual, 100*right/max(1, factual))
		if silent/asked > floor.silent || factual > 0 && right/factual < floor.holds {
			t.Error("answers to questions in several steps got worse")
		}
	}
}
