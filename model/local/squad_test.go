package local_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
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

// tally counts the outcomes of questions: off are answerable questions over passages of other articles.
type tally struct{ asked, right, silent, said, trick, trickSilent, off, offSilent float64 }

func holds(got string, answers []string) bool {
	return slices.ContainsFunc(answers, func(a string) bool {
		return strings.Contains(strings.ToLower(got), strings.ToLower(strings.Join(strings.Fields(a), " ")))
	})
}

// measure answers the questions of a set, and each answerable one again over passages of other articles. It counts the halves a and b apart.
func measure(t *testing.T, name string) (halves map[string]*tally) {
	t.Helper()
	halves = map[string]*tally{"a": {}, "b": {}}
	s := beir.Load(t, name)
	m := local.New(local.Options{})
	for i, q := range s.Queries {
		y := halves[eval.HalfOf(q.ID)]
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
		y.off++
		if _, cites := answer(t, m, s.Task(q, true)); len(cites) == 0 {
			y.offSilent++
		}
	}
	for h, y := range halves {
		if y.asked > 0 {
			t.Logf("%s, half %s, answerable: %.3f hold a gold answer, %.3f abstain, %.2f sentences; unanswerable: %.3f abstain; nothing relevant: %.3f abstain",
				name, h, y.right/y.asked, y.silent/y.asked, y.said/y.asked, y.trickSilent/max(1, y.trick), y.offSilent/y.off)
		}
	}
	return halves
}

// TestFloorSQuADOnTuningSet measures answers on reading comprehension, where half of the questions have no answer. The weights of
// the generator are fitted to half a of the set in the folder of evaluation, among others; see TestFit.
func TestFloorSQuADOnTuningSet(t *testing.T) {
	race.Measure(t)
	halves := measure(t, "squad")
	if trick, silent := halves["a"].trick+halves["b"].trick, halves["a"].trickSilent+halves["b"].trickSilent; silent/trick < 0.36 {
		t.Errorf("abstained on %.1f %% of unanswerable questions", 100*silent/trick)
	}
	for h, y := range halves {
		if y.right/y.asked < 0.73 || y.silent/y.asked > 0.14 || y.trickSilent/y.trick < 0.345 || y.offSilent/y.off < 0.62 {
			t.Errorf("answers to half %s got worse", h)
		}
	}
}

// TestFloorXQuAD measures answers on questions and passages in languages other than English, in half b of the sets: the weights are fitted to half a, among
// others.
func TestFloorXQuAD(t *testing.T) {
	race.Measure(t)
	for name, floor := range map[string]struct{ holds, silent, off float64 }{
		"xquad-de": {0.775, 0.08, 0.63}, "xquad-es": {0.805, 0.06, 0.67},
	} {
		y := measure(t, name)["b"]
		if y.right/y.asked < floor.holds || y.silent/y.asked > floor.silent || y.offSilent/y.off < floor.off {
			t.Errorf("answers to %s got worse", name)
		}
	}
}
