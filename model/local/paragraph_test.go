package local_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestOpenParagraphs asks about paragraphs that begin in lower case. The end of a sentence is no answer, but the text after a salutation is one.
func TestOpenParagraphs(t *testing.T) {
	m := local.New(local.Options{})
	for _, c := range []struct{ name, question, text, want string }{
		{"parties", "Wer ist von der Betriebsvereinbarung ausgenommen?", "Zwischen der Feinmechanik Moll GmbH, Industriestraße 2, 78628 Rottweil, vertreten durch die Geschäftsführung,\n\n" +
			"und dem Betriebsrat der Feinmechanik Moll GmbH\n\nwird folgende Betriebsvereinbarung geschlossen.\n", ""},
		{"salutation", "Wann ist der Ofen gekommen?", "Liebe Mitglieder,\n\nder Ofen ist am Montag gekommen.\n", "der Ofen ist am Montag gekommen."},
		{"after a sentence", "What is the code of the padlock?", "Thank you all for your help with the new trailer last week.\n\nthe code of the padlock is 4471.\n", "the code of the padlock is 4471."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := chunk("Text", nil, c.text)
			p.N, p.Score = 1, 0.8
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{p}})
			if c.want == "" && strings.Contains(got, "wird folgende") || c.want != "" && got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}
