package local

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestTryAnswers logs what the tasks of SLUICE_FIT are answered with.
func TestTryAnswers(t *testing.T) {
	spec := os.Getenv("SLUICE_FIT")
	if spec == "" {
		t.Skip("SLUICE_FIT is not set")
	}
	m := New(Options{})
	type tally struct{ n, right, wrong, silent float64 }
	sums := map[string]*tally{}
	out, _ := os.Create(cmp.Or(os.Getenv("SLUICE_TRY"), "/tmp/try.txt"))
	defer out.Close()
	for part := range strings.SplitSeq(spec, ",") {
		tasks, questions, _ := strings.Cut(part, "=")
		for _, x := range load(t, tasks, questions) {
			text, cites := "", 0
			for d, err := range m.Generate(t.Context(), x.task) {
				if err != nil {
					t.Fatal(err)
				}
				text += d.Text
				if d.Cite > 0 {
					cites++
				}
			}
			ok, _ := right(x.question, text)
			for _, key := range []string{x.set, x.set + " " + x.question.Type, x.set + " " + x.question.Language} {
				if sums[key] == nil {
					sums[key] = &tally{}
				}
				s := sums[key]
				s.n++
				switch {
				case cites == 0:
					s.silent++
				case ok:
					s.right++
				default:
					s.wrong++
				}
			}
			if x.set == "dump" && (!ok || !x.has) {
				_, ranked, _, _ := m.rankAll(t.Context(), x.task)
				fmt.Fprintf(out, "## %s %s | %s\n  asked: %s\n  got: (%v) %s\n", x.question.ID, x.question.Type, x.question.Text, x.task.Question, cites > 0, text)
				for _, p := range x.question.Accept {
					fmt.Fprintf(out, "  accept %s\n", p)
				}
				for _, p := range x.question.Reject {
					fmt.Fprintf(out, "  reject %s\n", p)
				}
				for i, c := range ranked[:min(5, len(ranked))] {
					fmt.Fprintf(out, "   %d. %.2f p%.2f [%s | %s] %s\n", i, c.score, c.evid.answerability(), c.heading, c.lead, c.text)
				}
			}
		}
	}
	for key, s := range sums {
		if !strings.HasPrefix(key, "dump_") || !strings.Contains(key, " ") {
			t.Logf("%-24s n=%3.0f right %3.0f wrong %3.0f silent %3.0f", key, s.n, 100*s.right/s.n, 100*s.wrong/s.n, 100*s.silent/s.n)
		}
	}
}
