package display_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
)

// final renders a completed answer without colours.
func final(s client.Snapshot, width int) string {
	s.Run, s.Status, s.Answer = "run_01m7zx4drpa1c8xf4kwj438n29", client.Completed, client.Completed
	var lines []string
	for line := range strings.SplitSeq(ansi.Strip(display.NewPanel().Final(&s, width, nil)), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.Join(lines, "\n")
}

// TestLayout covers corrections of the Markdown renderer's output. No text is lost.
func TestLayout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		width int
		want  string
	}{
		"tabs are blanks, also in the middle": {"```go\nif x {\n\treturn\t1\n\t\ta\n}\n```", 40, "  if x {\n      return  1\n          a\n  }\n"},
		"tabs outside of code":                {"a\tb", 40, "a   b\n"},
		"code keeps its margin where it is broken": {"```\n" + strings.Repeat("0123456789", 4) + "\n```\nabc", 30,
			"  " + strings.Repeat("0123456789", 2) + "01234567\n  890123456789\n\nabc\n"},
		"code in a list":                   {"- a\n\n  ```\n  x := \"" + strings.Repeat("y", 12) + "\"\n  ```\n", 20, "yyyyyyyyyy"},
		"a list's line of wide characters": {"2. Then two black balls are hoisted 🎈🎈.", 40, "🎈🎈."},
		"a table as wide as it must be":    {"| a | b |\n|---|---|\n| c | d |", 200, " a │ b\n───┼───\n c │ d\n"},
		"a table that is fitted":           {"| a | b |\n|---|---|\n| c | one two three |", 16, " c │ one two\n   │ three\n"},
		"lines of a list hang":             {"- one two three\n  - four five six\n", 12, "• one two\n  three\n  • four\n    five six\n"},
		"also of a numbered one":           {"10. one two three", 12, "10. one two\n    three\n"},
		"quotes keep their bars":           {"> one two three\n> > four five six", 12, "│ one two\n│ three\n│\n│ │ four\n│ │ five six\n"},
		"a long word is broken":            {"a " + strings.Repeat("b", 25), 12, "a\nbbbbbbbbbbbb\nbbbbbbbbbbbb\nb\n"},
		"no line is wide beyond reason":    {strings.Repeat("word ", 60), 200, strings.TrimSpace(strings.Repeat("word ", 20)) + "\n"},
	} {
		if got := final(client.Snapshot{Text: test.text}, test.width); !strings.Contains(got, test.want) {
			t.Errorf("%s: want\n%s\nin\n%s", name, test.want, got)
		}
	}
}

// TestSources: the passage of a source does not repeat its heading, and the id of a run is complete if the terminal is wide enough.
func TestSources(t *testing.T) {
	t.Parallel()
	s := client.Snapshot{Text: "140 metres ⟦⟦1⟧⟧", Citations: []client.Citation{
		{N: 1, Title: "Harbour handbook", Heading: "Piers", Snippet: "Harbour handbook Piers The north pier is long."},
		{N: 2, Title: "Tides", Heading: "Tides", Snippet: "Tides\n\nTides rise."},
		{N: 3, Title: "Wind", Heading: "Wind", File: "docs/wind.md", Pages: []int{4, 5}, Quote: "It blows.", Snippet: "Windy days. It blows."},
		{N: 4, Title: "Long", Quote: strings.Repeat("word ", 200)},
	}}
	got := final(s, 100)
	for _, want := range []string{"[1] Harbour handbook › Piers\n    “The north pier is long.”", "[2] Tides\n    “Tides rise.”", "[3] docs/wind.md, pp. 4–5\n    “It blows.”", "[4] Long\n    “" + strings.TrimSpace(strings.Repeat("word ", 18))} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	s.Steps = []client.Step{{Kind: client.Search, Detail: "Looking for passages about “" + strings.Repeat("word ", 30) + "”: 8 found", Status: client.Completed}}
	if got := final(s, 60); !strings.Contains(got, "…”: 8 found\n") {
		t.Errorf("the result of a long step is cut off:\n%s", got)
	}
	for _, width := range []int{30, 40, 41, 44, 80} {
		if got := final(s, width); !strings.Contains(got, "run_01m7zx4drpa1c8xf4kwj438n29") {
			t.Errorf("at %d columns:\n%s", width, got)
		}
	}
}
