package local_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/text"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// taskOf gives a question with the five best passages by BM25, the gold one among them; where elsewhere is set, with the
// best passages of other articles.
func taskOf(s *beir.Set, q beir.Query, elsewhere bool) model.Task {
	t := model.Task{Question: q.Text, IDF: map[string]float64{}}
	gold := ""
	for id := range q.Relevant {
		gold = id
	}
	k, texts := 5, []string{q.Text}
	if elsewhere {
		k = 200
	}
	found := false
	for _, h := range s.Search(q.Text, k) {
		if len(t.Passages) == 5 || elsewhere && h.Chunk.Title == s.Doc(gold).Title {
			continue
		}
		found = found || string(h.Chunk.ID) == gold
		if len(t.Passages) == 4 && !found && gold != "" && !elsewhere {
			h.Chunk = s.Doc(gold)
		}
		t.Passages = append(t.Passages, model.Passage{N: len(t.Passages) + 1, Chunk: h.Chunk, Score: h.Score})
		texts = append(texts, h.Chunk.Text)
	}
	st := s.Stats(texts...)
	for w, df := range st.DF {
		t.IDF[w] = text.IDF(st.Chunks, df)
	}
	return t
}

func answer(t testing.TB, m *local.Model, task model.Task) (string, []int) {
	t.Helper()
	var b strings.Builder
	var cites []int
	for d, err := range m.Generate(context.Background(), task) {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(d.Text)
		if d.Cite != 0 {
			cites = append(cites, d.Cite)
		}
	}
	return b.String(), cites
}

// TestSQuAD measures answers on reading comprehension and holds them to a floor. The even half of the questions served to fit
// the weights; the odd half is logged beside the whole.
func TestSQuAD(t *testing.T) {
	s := beir.Load(t, "squad")
	m := local.New(local.Options{})
	var oddAsked, oddRight, asked, right, silent, said, trick, trickSilent, off, offSilent float64
	for i, q := range s.Sample(150) {
		got, cites := answer(t, m, taskOf(s, q, false))
		if !q.Answerable {
			trick++
			if len(cites) == 0 {
				trickSilent++
			}
			continue
		}
		if _, cites := answer(t, m, taskOf(s, q, true)); len(cites) == 0 {
			offSilent++
		}
		off++
		asked++
		oddAsked += float64(i % 2)
		if len(cites) == 0 {
			silent++
		}
		said += float64(len(cites))
		for _, a := range q.Answers {
			if strings.Contains(strings.ToLower(got), strings.ToLower(strings.Join(strings.Fields(a), " "))) {
				right++
				oddRight += float64(i % 2)
				break
			}
		}
		if os.Getenv("SLUICE_SHOW") != "" && i%60 == 0 {
			t.Logf("%s\n   %q\n   %s %v", q.Text, q.Answers, got, cites)
		}
	}
	t.Logf("answerable: %.1f %% hold a gold answer, %.1f %% said nothing, %.2f sentences; trick questions: %.1f %% said nothing; nothing relevant: %.1f %%",
		100*right/asked, 100*silent/asked, said/asked, 100*trickSilent/trick, 100*offSilent/off)
	t.Logf("questions that no weight was fitted to: %.1f %% hold a gold answer", 100*oddRight/max(1, oddAsked))
	if right/asked < 0.65 || silent/asked > 0.16 || offSilent/off < 0.75 {
		t.Error("answers got worse")
	}
}
