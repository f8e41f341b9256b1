package eval

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	xansi "github.com/charmbracelet/x/ansi"

	"github.com/sluice-rag/sluice/lang"
)

// The failures of a question.
const (
	runFailed = "run failed"
	invented  = "answered although unanswerable"
	abstained = "abstained"
	wrong     = "wrong"
)

// failure returns how a question failed. It is empty if it did not, or if the set does not say which answers are right.
func (a AskResult) failure() string {
	refused, unanswerable := a.Scores["abstention_recall"]
	switch {
	case a.Failed != "":
		return runFailed
	case unanswerable && refused == 0:
		return invented
	case unanswerable:
		return ""
	case a.Scores["false_abstention"] == 1:
		return abstained
	case a.Right != nil && !*a.Right:
		return wrong
	}
	return ""
}

// failedQuestion is a question that failed in the same way in some modes.
type failedQuestion struct {
	set, id, text, how string
	modes              []string
}

// failedQuestions returns the questions that failed, in the order of the reports.
func failedQuestions(reports []*ModeReport) (all []*failedQuestion, questions int) {
	type key struct{ set, id, how string }
	seen, failed := map[key]*failedQuestion{}, map[key]bool{}
	for _, r := range reports {
		for _, a := range r.Results {
			how := a.failure()
			if how == "" {
				continue
			}
			failed[key{r.Set, a.Query, ""}] = true
			k := key{r.Set, a.Query, how}
			if seen[k] == nil {
				seen[k] = &failedQuestion{set: r.Set, id: a.Query, text: a.Text, how: how}
				all = append(all, seen[k])
			}
			seen[k].modes = append(seen[k].modes, string(r.Mode))
		}
	}
	return all, len(failed)
}

// maxFailures is the maximum number of lines of [WriteFailures], and minText the minimum width of a question in them.
const maxFailures, minText = 10, 20

// WriteFailures writes the first questions that failed in the reports of sets: runs that failed, wrong answers, abstentions although there is an answer, and
// answers although there is none. Lines are cut to a width in columns. It writes nothing if no question failed.
func WriteFailures(w io.Writer, width int, reports ...*ModeReport) error {
	all, questions := failedQuestions(reports)
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{"set", "question", "mode", "result"}}
	for _, f := range all[:min(len(all), maxFailures)] {
		rows = append(rows, []string{oneLine(f.set), oneLine(f.id), strings.Join(f.modes, ", "), f.how})
	}
	before := 0 // width of the columns before the text
	for i := range rows[0] {
		widest := slices.MaxFunc(rows, func(a, b []string) int {
			return cmp.Compare(utf8.RuneCountInString(a[i]), utf8.RuneCountInString(b[i]))
		})
		before += utf8.RuneCountInString(widest[i]) + 2
	}
	noun := "questions"
	if questions == 1 {
		noun = "question"
	}
	fmt.Fprintf(w, "\n%d %s failed", questions, noun)
	if len(all) > maxFailures {
		fmt.Fprintf(w, "; the first %d lines of %d", maxFailures, len(all))
	}
	fmt.Fprintln(w, ". --json prints all questions with their answers and scores.")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, row := range rows {
		text := "text"
		if i > 0 {
			text = xansi.Truncate(oneLine(all[i-1].text), max(width-before, minText), "…")
		}
		fmt.Fprintf(t, "%s\t%s\n", strings.Join(row, "\t"), text)
	}
	return t.Flush()
}

// oneLine returns printable text without line breaks and tabs.
func oneLine(text string) string { return strings.Join(strings.Fields(lang.Clean(text)), " ") }
