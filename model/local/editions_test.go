package local_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestEditions answers from the newest of several editions of a document, unless the question names one.
func TestEditions(t *testing.T) {
	m := local.New(local.Options{})
	for _, c := range []struct{ name, question, title, old, recent, want string }{
		{"a table", "What does the tandem cost?", "Bicycle prices %", "Bicycle | Price (€)\nTandem | 19.00\nTrailer | 4.00\n", "Bicycle | Price (€)\nTandem | 22.00\nTrailer | 5.00\n", "22.00"},
		{"a year that the question names", "What did the tandem cost in 2031?", "Bicycle prices %", "Bicycle | Price (€)\nTandem | 19.00\nTrailer | 4.00\n", "Bicycle | Price (€)\nTandem | 22.00\nTrailer | 5.00\n", "19.00"},
		{"a year, against a better row", "price of a tandem for a day 2031", "Bicycles %", "For a day:\n\nTandem: 19.00 €\nTrailer: 4.00 €\n", "Bicycle | Price for a day\nTandem | 22.00 €\nTrailer | 5.00 €\n", "19.00"},
		{"a sentence", "How long may a book be borrowed?", "library-rules-%.txt", "A book may be borrowed for 21 days.", "A book may be borrowed for 28 days.", "28 days"},
		{"another document of the next year", "How long may a book be borrowed?", "% rules", "A book may be borrowed for 21 days.", "A reader has a card. It costs 3 euros.", "21 days"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, recent := chunk(strings.ReplaceAll(c.title, "%", "2031"), nil, c.old), chunk(strings.ReplaceAll(c.title, "%", "2032"), nil, c.recent)
			old.N, old.Score, recent.N, recent.Score = 1, 0.9, 2, 0.8
			if got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{old, recent}}); !strings.Contains(got, c.want) {
				t.Errorf("%q has no %q", got, c.want)
			}
		})
	}
}
