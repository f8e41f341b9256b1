package local_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestMessageFields asks about a text that holds messages. The fields of their heads only answer questions about the messages.
func TestMessageFields(t *testing.T) {
	m := local.New(local.Options{})
	mail := chunk("Boathouse key", nil, "From: Rowing Club Ferring <office@ferring.example>\nTo: members@ferring.example\nDate: Tue, 1 Apr 2031 18:00:00 +0200\n\n"+
		"Dear members, the key of the boathouse now hangs behind the bar.\n\nVon: Ines Vogt\nGesendet: Montag, 31. März 2031 09:12\nAn: Rowing Club Ferring\nBetreff: Schlüssel\n\nHello, where does the key hang?")
	trip := chunk("Trip", nil, "From: Porto\nTo: Lisbon\nDate: 3 May 2031\n\nTickets are at the desk.")
	mail.N, mail.Score, trip.N, trip.Score = 1, 0.8, 1, 0.8
	for _, c := range []struct{ question, want, not string }{
		{"Who is the chair of the Rowing Club Ferring?", "", "From:"},
		{"When does the Rowing Club Ferring open?", "", "Date:"},
		{"Wann war Ines Vogt im Rowing Club Ferring?", "", "Gesendet:"},
		{"Who wrote to the members of the Rowing Club Ferring?", "office@ferring.example", ""},
		{"What is the e-mail address of the Rowing Club Ferring?", "office@ferring.example", ""},
		{"Wann wurde die Nachricht gesendet?", "31. März 2031", ""},
	} {
		got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{mail}})
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s %q", c.question, got)
		}
	}
	if got, _ := answer(t, m, model.Task{Question: "What is the date?", Passages: []model.Passage{trip}}); !strings.Contains(got, "3 May") {
		t.Errorf("trip: %q", got)
	}
}

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
