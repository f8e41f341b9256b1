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
		"notes over the table":       {"Boxes,,2031,\n# prices without VAT,,,\nArticle,Size,1-99,100+\nA-1,small,0.48,0.41\n", "Boxes |  | 2031\n# prices without VAT |  |\n\nArticle | Size | 1-99 | 100+\nA-1 | small | 0.48 | 0.41"},
		"a wide row of data":         {"Item,Count\nLamp,4\nChair,12,,blue,hall 2\nSofa,1\n", "Item | Count\nLamp | 4\nChair | 12 |  | blue | hall 2\nSofa | 1"},
		"an address without quotes":  {"Name,Address\nBerg,Quay 4\nVogt,Harbour Street 4, back yard, Lunden\n", "Name | Address\nBerg | Quay 4\nVogt | Harbour Street 4 | back yard | Lunden"},
		"too many rows for notes":    {"a,1,,\nb,2,,\nc,3,,\nd,4,,\ne,5,,\nf,g,h,i\n", "a | 1\nb | 2\nc | 3\nd | 4\ne | 5\nf | g | h | i"},
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
			if b.Kind == parse.TableRow && !b.Tight && len(got) > 0 && strings.Contains(got[len(got)-1], " |") {
				text = "\n" + text // another table
			}
			got = append(got, text)
		}
		if d := cmp.Diff(c.want, strings.Join(got, "\n")); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}
