package wire_test

import (
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// A citation refers to its own sentence, wherever its full stop is.
func TestCitedParts(t *testing.T) {
	const mark = '§' // a citation
	for text, want := range map[string][]string{
		"One. §Two.§":                     {"One.", "Two."},
		"One §. Two §.":                   {"One", "Two"},
		"“One §”. Two.§":                  {"“One", "Two."},
		"**One**§ **Two**§":               {"**One**", "**Two**"},
		"一句§。二句§。":                        {"一句", "二句"},
		"سؤال§؟ جواب§":                    {"سؤال", "جواب"},
		"«Un 🙂» §! Deux§":                 {"«Un 🙂»", "Deux"},
		"One§§":                           {"One", "One"},
		"One §.§ Two":                     {"One", "One ."},
		"  One§":                          {"One"},
		"...One§":                         {"...One"},
		"The pump (new§): 5 bar§, 6 bar§": {"The pump (new", "5 bar", "6 bar"},
	} {
		var s event.State
		s.Apply(event.Event{Body: event.Attributed{Sources: []event.Source{{N: 1, Name: "a.md"}}}})
		for _, r := range text {
			if r == mark {
				s.Apply(event.Event{Body: event.Cited{N: 1}})
			} else {
				s.Apply(event.Event{Body: event.Token{Text: string(r)}})
			}
		}
		units := utf16.Encode([]rune(string(s.Text)))
		var got []string
		for _, p := range wire.CitedParts(&s) {
			got = append(got, string(utf16.Decode(units[p.Start:p.End])))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
