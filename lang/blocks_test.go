package lang_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

func TestTableHeads(t *testing.T) {
	for rows, want := range map[string]bool{
		"Name | Price / Lamp | 4.90":                          true,
		"Article | 1-99 | 100+ / CB-1 | 0.48 | 0.41":          true,
		"Article | 1-99 | 100+ / CB-1 | 0.48 | on request":    true,
		"Ticket | Zone 1 | Zone 2 / Adults | 2.40 | 3.60":     true,
		"Prodotto | 1a scelta | 2a scelta / Kiwi | 2 € | 1":   true,
		"Fee | 2024 | 2025 / Adults | 5 | 6":                  true,
		"Gold | 12 months | 24 GB / Silver | 6 months | 2 GB": false,
		"Mon | 9-12 | 13-17 / Tue | 9-12 | 13-17":             false,
		"Lamp | EUR 12 / Bell | EUR 14.50":                    false,
		"Team 1 | Anna / Team 2 | Ben":                        false,
		"Anna | Room 3 / Ben | Hall":                          false,
		"Feil | Tel 0555 123 / Holm | 0555 124":               false,
		"Lamp | 1-2 / Bell | 3":                               false,
		"12 | 13 / 14 | 15":                                   false,
	} {
		first, next, _ := strings.Cut(rows, " / ")
		if got := lang.IsTableHeadOver(lang.TableCells(first), lang.TableCells(next)); got != want {
			t.Errorf("%s: %v", rows, got)
		}
	}
}
