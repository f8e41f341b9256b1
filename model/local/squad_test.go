package local_test

import (
	"context"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

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

// tally counts what became of questions.
type tally struct{ asked, right, silent, said, trick, trickSilent, off, offSilent float64 }

// half parts the questions by a hash of their id: weights are averages of those fitted to either, which TestFitting judges by the other.
func half(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32()>>7) % 2
}

func holds(got string, answers []string) bool {
	return slices.ContainsFunc(answers, func(a string) bool {
		return strings.Contains(strings.ToLower(got), strings.ToLower(strings.Join(strings.Fields(a), " ")))
	})
}

// TestSQuAD measures answers on reading comprehension, half of whose questions have none, and holds them to floors.
func TestSQuAD(t *testing.T) {
	s := beir.Load(t, "squad")
	m := local.New(local.Options{})
	var halves [2]tally
	for i, q := range s.Sample(150) {
		y := &halves[half(q.ID)]
		got, cites := answer(t, m, s.Task(q, false))
		silent := 0.0
		if len(cites) == 0 {
			silent = 1
		}
		if os.Getenv("SLUICE_SHOW") != "" && i%60 == 0 {
			t.Logf("%s\n   %q\n   %s %v", q.Text, q.Answers, got, cites)
		}
		if !q.Answerable {
			y.trick++
			y.trickSilent += silent
			continue
		}
		y.asked++
		y.silent += silent
		y.said += float64(len(cites))
		if holds(got, q.Answers) {
			y.right++
		}
		if beir.Race && i%4 != 0 {
			continue
		}
		y.off++
		if _, cites := answer(t, m, s.Task(q, true)); len(cites) == 0 {
			y.offSilent++
		}
	}
	trick, trickSilent := halves[0].trick+halves[1].trick, halves[0].trickSilent+halves[1].trickSilent
	if !beir.Race && !testing.Short() && trickSilent/trick < 0.405 {
		t.Errorf("silent on %.1f %% of unanswerable questions", 100*trickSilent/trick)
	}
	for h, y := range halves {
		t.Logf("half %d, answerable: %.1f %% hold a gold answer, %.1f %% said nothing, %.2f sentences; unanswerable: %.1f %% said nothing; nothing relevant: %.1f %%",
			h, 100*y.right/y.asked, 100*y.silent/y.asked, y.said/y.asked, 100*y.trickSilent/y.trick, 100*y.offSilent/y.off)
		if beir.Race || testing.Short() {
			continue // a sample says too little
		}
		if y.right/y.asked < 0.73 || y.silent/y.asked > 0.14 || y.trickSilent/y.trick < 0.385 || y.offSilent/y.off < 0.77 {
			t.Errorf("answers to half %d got worse", h)
		}
	}
}
