package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// TestTableHeads cuts tables of many rows. Each passage with rows must begin with the names of the columns, if the table has them, and no row may be missing or
// come twice.
func TestTableHeads(t *testing.T) {
	const rows = 120
	for name, c := range map[string]struct {
		head   string
		rows   int
		repeat bool
	}{
		"long":                 {"Item | Unit | Price 2024 | Supplier", rows, true},
		"head of two rows":     {"Item | Unit | Price we agreed on in 2024 – without tax | Supplier", rows, true},
		"short":                {"Item | Unit | Price 2024 | Supplier", 5, false},
		"figures in the names": {"Item | Unit 1 | Unit 2 | Supplier", rows, true},
		"names of people":      {"Anna Moss | piece | five | Hansen & Sons", rows, false},
		"without names":        {"Article 17 | piece | 4.50 | Hansen", rows, false},
		"names of one word":    {"Item", rows, false},
		"long names":           {strings.Repeat("very long name of a column | ", 9) + "x", rows, false},
	} {
		p := parse.Parsed{Title: "Prices", Blocks: []parse.Block{{Kind: parse.Heading, Level: 1, Text: "Prices"}, {Kind: parse.Paragraph, Text: "All prices are net."}}}
		p.Blocks = append(p.Blocks, parse.Block{Kind: parse.TableRow, Text: c.head})
		for i := range c.rows {
			p.Blocks = append(p.Blocks, parse.Block{Kind: parse.TableRow, Text: fmt.Sprintf("Article %d | piece | %d.50 | Hansen & Sons", 1000+i, i), Tight: true})
		}
		p.Blocks = append(p.Blocks, parse.Block{Kind: parse.TableRow, Text: "Room | Seats"}, parse.Block{Kind: parse.TableRow, Text: "Attic | 12", Tight: true})
		text, chunks := ingest.Cut("d", p)
		checkChunks(t, p, text, chunks)
		var found []string
		heads := 0
		for _, chunk := range chunks {
			if chunk.Level != corpus.Passage {
				continue
			}
			lines := strings.Split(chunk.Text, "\n")
			for i, line := range lines {
				switch {
				case line == c.head:
					heads++
					if i+1 == len(lines) {
						t.Errorf("%s: a passage ends with the names of the columns", name)
					}
				case strings.HasPrefix(line, "Article 1") && strings.Contains(line, "Sons"):
					found = append(found, line)
					if c.repeat && !slices.Contains(lines[:i], c.head) {
						t.Errorf("%s: a passage has a row without the names of the columns: %q", name, lines[0])
					}
				}
			}
		}
		if len(found) < c.rows || len(slices.Compact(found)) != len(found) {
			t.Errorf("%s: %d of %d rows", name, len(found), c.rows)
		}
		if c.repeat != (heads > 1) {
			t.Errorf("%s: the names of the columns come %d times", name, heads)
		}
	}
}
