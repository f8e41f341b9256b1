package eval_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestWriteFailures: an invented answer, a false abstention, a wrong answer and a failed run are named, and neither what is right nor what the set does not judge.
func TestWriteFailures(t *testing.T) {
	set := &eval.Set{Name: "s", Qrels: map[string]map[string]int{"2": {"a": 1}, "3": {"a": 1}}, Questions: []eval.Question{
		{ID: "1", Text: "1", Answers: []string{"1932"}}, {ID: "2", Text: "2"}, {ID: "3", Text: "3"}, {ID: "4", Text: "4", Unanswerable: true},
		{ID: "5", Text: "5", Unanswerable: true}, {ID: "6", Text: "6"}, {ID: "7", Text: "7", Answers: []string{"red"}}}}
	outcomes := map[string]eval.Outcome{"1": outcome("a", "It was opened in 1950.", "a"), "2": outcome("a", silent, ""), "3": outcome("a", "So it is.", "a"),
		"4": outcome("a", silent, ""), "5": outcome("a", "Made up.", "a"), "7": outcome("a", "It is red.", "a")}
	var reports []*eval.ModeReport
	for _, mode := range []event.Mode{event.Direct, event.Agentic} {
		r, err := eval.Ask(t.Context(), set, fixedAsker(outcomes), eval.AskOptions{Mode: mode})
		require.NoError(t, err)
		r.Results[0].Text = strings.Repeat("When was\tit\nopened? ", 9)
		reports = append(reports, r)
		outcomes["2"] = outcome("a", "It is so.", "a")
	}
	var b strings.Builder
	require.NoError(t, eval.WriteFailures(&b, 90, reports...))
	want := `
4 questions failed. --json prints all questions with their answers and scores.
set  question  mode             result                         text
s    1         direct, agentic  wrong                          When was it opened? When …
s    2         direct           abstained                      2
s    5         direct, agentic  answered although unanswerable  5
s    6         direct, agentic  run failed                     6
`
	if got := b.String(); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got %s", got)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 90 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	b.Reset()
	require.NoError(t, eval.WriteFailures(&b, 90, reports[0].WithoutAnswers()))
	if b.Len() > 0 {
		t.Errorf("without failures: %s", &b)
	}
	for i := range 20 {
		reports[0].Results = append(reports[0].Results, eval.AskResult{Query: fmt.Sprint("q", i), Failed: "down"})
	}
	require.NoError(t, eval.WriteFailures(&b, 90, reports[0]))
	if got := b.String(); !strings.HasPrefix(got, "\n24 questions failed; the first 10 lines of 24.") || strings.Count(got, "\n") != 13 {
		t.Errorf("many failures: %s", got)
	}
}
