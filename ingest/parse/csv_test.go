package parse_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// TestCSVWithText reads a table that a spreadsheet has exported, with titles over it and notes under it.
func TestCSVWithText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a title and notes": {"Ferry to Osterby;;\nStop;Days;First\nPier;Mon–Fri;07:20\nOsterby;Mon–Fri;08:01\n;;\nBicycles: 4, without charge;;\n",
			"# Ferry to Osterby\nStop | Days | First\nPier | Mon–Fri | 07:20\nOsterby | Mon–Fri | 08:01\nBicycles: 4, without charge"},
		"a title without separators": {"Ferry to Osterby, Lunden, Farland\nStop;Days\nPier;Mon\nQuay;Tue\n", "# Ferry to Osterby, Lunden, Farland\nStop | Days\nPier | Mon\nQuay | Tue"},
		"one column":                 {"Stop\nPier\n\nOsterby\n", "Stop\nPier\nOsterby"},
		"only a table":               {"Stop,Days\nPier,Mon\nQuay,\n", "Stop | Days\nPier | Mon\nQuay |"},
	} {
		p, err := parse.Parse(t.Context(), "a.csv", []byte(c.text), parse.Limits{})
		var got []string
		for _, b := range p.Blocks {
			text := b.Text
			if b.Kind == parse.Heading {
				text = "# " + text
			}
			got = append(got, text)
		}
		if d := cmp.Diff(c.want, strings.Join(got, "\n")); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}
