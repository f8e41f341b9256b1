package lang_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

func TestDefinitionSubject(t *testing.T) {
	for q, want := range map[string]string{
		"What is a cursor?":                           "cursor",
		"what are slow readers":                       "slow reader",
		"What does confidence mean?":                  "confid",
		"What does \"reply time\" mean in the offer?": "repli time",
		"Define grace period":                         "grace period",
		"Who is Ada Lovelace?":                        "ada lovelac",
		"What is kept of a run?":                      "",
		"What is the capital city of Peru?":           "",
		"How is a run cancelled?":                     "",
		"What is it?":                                 "",
		"What is " + strings.Repeat("a ", 500) + "?":  "",
	} {
		if got := strings.Join(lang.DefinitionSubject(q), " "); got != want {
			t.Errorf("%s: %q, want %q", q, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	for line, want := range map[string]bool{
		"grace period | how long a run goes on": true,
		"- **Grace period**: how long":          true,
		"The grace periods – how long":          true,
		"grace period (of a run): how long":     true,
		"Grace period of a run: how long":       false,
		"grace | period":                        false,
		"Grace period":                          false,
		"grace period:":                         false,
		"":                                      false,
	} {
		if got := lang.Labels(line, []string{"grace", "period"}); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestDefines(t *testing.T) {
	for s, want := range map[string]bool{
		"A run is one question being answered.":               true,
		"The runs are what people ask.":                       true,
		"Run means going fast.":                               true,
		"About a question is a run, R: it is read.":           true,
		"Runs are dropped in segments.":                       false,
		"A finished run is kept for a day.":                   false,
		"It is a run.":                                        false,
		"What the server takes is a run that somebody reads.": false,
		"Run": false,
		"":    false,
	} {
		if got := lang.Defines(s, []string{"run"}); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}
