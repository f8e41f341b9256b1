package lang_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

// TestTableHeads checks which first rows, before a slash, have the names of the columns of the others.
func TestTableHeads(t *testing.T) {
	for rows, want := range map[string]bool{
		"Name | Price / Lamp | 4.90":                                                  true,
		"Article | 1-99 | 100+ / CB-1 | 0.48 | 0.41":                                  true,
		"Article | 1-99 | 100+ / CB-1 | 0.48 | on request":                            true,
		"Ticket | Zone 1 | Zone 2 / Adults | 2.40 | 3.60":                             true,
		"Seat | 1st class | 2nd class / Aisle | 24 | 12":                              true,
		"Prodotto | 1a scelta | 2a scelta / Kiwi | 2 € | 1":                           true,
		"Fee | 2024 | 2025 / Adults | 5 | 6":                                          true,
		"Name | Mon 2 | Tue 3 | Wed 4 / Ada | night | off | late":                     true,
		"Name | Mon 2 | Tue 3 / Ada | night | off":                                    false,
		"Gold | 12 months | 24 months / Silver | 6 months | 12 months":                false,
		"Mon | 9-12 | 13-17 / Tue | 9-12 | 13-17":                                     false,
		"Mon | 9-12 | 14-18 / Tue | closed | closed / Wed | 8-12 | 13-16":             false,
		"Lamp | EUR 12 / Bell | CHF 14":                                               false,
		"Team 1 | Anna / Team 2 | Ben":                                                false,
		"Anna | Room 3 / Ben | Hall":                                                  false,
		"Flour | 500 g | shelf / Milk | 2 dl | fridge":                                false,
		"Anna | Lime Street 12 | Osterby / Ben | Market 94 | Lunden":                  false,
		"Anna | 555-1234 | 555-9876 / Ben | none | n/a":                               false,
		"Score | 3-1 | 2-0 / Other | won | lost":                                      false,
		"Feil | Tel 0555 123 / Holm | 0555 124":                                       false,
		"Lamp | 1-2 / Bell | 3":                                                       false,
		"12 | 13 / 14 | 15":                                                           false,
		"1-99 | 100+ / 0.48 | 0.41":                                                   false,
		"Article | 1-99 | 100+ / CB-1":                                                false,
		strings.Repeat("a ", 9) + " | 1-99 | 100+ / CB-1 | 0.48 | 0.41":               false,
		"Article | Zone 1 | Zone 2 | " + strings.Repeat("a ", 9) + " / A | 1 | 2 | 3": false,
	} {
		first, rest, _ := strings.Cut(rows, " / ")
		var under [][]string
		for row := range strings.SplitSeq(rest, " / ") {
			under = append(under, lang.TableCells(row))
		}
		if got := lang.IsTableHeadOver(lang.TableCells(first), under); got != want {
			t.Errorf("%s: %v", rows, got)
		}
	}
}
