package parse_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// TestWrappedLines checks which line breaks of paragraphs are kept, in Markdown and in plain text.
func TestWrappedLines(t *testing.T) {
	const full = "The harbour office is open on every day of the week but Sunday, and the"
	for name, c := range map[string]struct{ in, want string }{
		"prose":            {full + "\noffice of the pilots\nis closed in winter.", full + " office of the pilots is closed in winter."},
		"labels":           {"Rehearsal: Thursday, 3 July, 16:00 to 18:30, at the parish hall of St Vitus\nConcert: Saturday, 5 July", "Rehearsal: Thursday, 3 July, 16:00 to 18:30, at the parish hall of St Vitus\nConcert: Saturday, 5 July"},
		"dashes":           {"Room 1 – Bottles and flasks of pharmacies from the 18th century\nRoom 2 – Lamps", "Room 1 – Bottles and flasks of pharmacies from the 18th century\nRoom 2 – Lamps"},
		"a table":          {"CHARGES per hour            Mon-Thu          Fri-Sun\nGreat Hall                48 pounds        72 pounds\nKitchen                   35 pounds        35 pounds, with the oven", "CHARGES per hour            Mon-Thu          Fri-Sun\nGreat Hall                48 pounds        72 pounds\nKitchen                   35 pounds        35 pounds, with the oven"},
		"dots":             {"Fish and chips ................. 12.80\nMushroom risotto with herbs of the garden (vegetarian) .. 11.40", "Fish and chips ................. 12.80\nMushroom risotto with herbs of the garden (vegetarian) .. 11.40"},
		"prices":           {"Fish and chips with peas and lemon 12.80\nMushroom risotto with herbs of the garden (vegetarian) 11.40 €", "Fish and chips with peas and lemon 12.80\nMushroom risotto with herbs of the garden (vegetarian) 11.40 €"},
		"an address":       {"Harbour office\nQuay Street 3\nPort Ellery", "Harbour office\nQuay Street 3\nPort Ellery"},
		"an ellipsis":      {full + " office ... perhaps\nthe keeper is ill.", full + " office ... perhaps the keeper is ill."},
		"a short line":     {full + "\nNo dogs.\nOpening hours are shown at the door of the office beside the main gate.", full + " No dogs.\nOpening hours are shown at the door of the office beside the main gate."},
		"narrow prose":     {"The harbour office is\nopen in winter.", "The harbour office is open in winter."},
		"a label in prose": {"We thank all helpers of the party in the clubhouse, and especially these,\nwho stayed: Anna, Bert and Carla.", "We thank all helpers of the party in the clubhouse, and especially these, who stayed: Anna, Bert and Carla."},
	} {
		for _, file := range []string{"a.md", "a.txt"} {
			t.Run(name+" "+file, func(t *testing.T) {
				p, err := parse.Parse(t.Context(), file, []byte(c.in), parse.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				var texts []string
				for _, b := range p.Blocks {
					texts = append(texts, b.Text)
				}
				if d := cmp.Diff(c.want, strings.Join(texts, "|")); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// TestMessagesInText has two messages in a text: the subject of each is over its text.
func TestMessagesInText(t *testing.T) {
	const thread = "From: Rosa\nTo: Paul\nSubject: Re: Fwd: The party\n\nThe hall is booked.\n\nVon: Paul\nAn: Rosa\nDatum: 3. Mai\nBetreff: AW: Feier\n\nDanke!\n\nFrom: here\nto: there\n\nFrom: Ada\nReply-To: Bo\nTo: b,\n  c\nSubject: Oil\n prices\n\nForty.\n\nFrom: Ada\nTo: Bo\nDate: 3 May\nSubject: Re:\n\nNo.\n"
	p, err := parse.Parse(t.Context(), "a.txt", []byte(thread), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var headings []string
	for _, b := range p.Blocks {
		if b.Kind == parse.Heading {
			headings = append(headings, b.Text)
		}
	}
	if d := cmp.Diff([]string{"The party", "Feier", "Oil prices", "From: Ada"}, headings); d != "" {
		t.Error(d)
	}
}
