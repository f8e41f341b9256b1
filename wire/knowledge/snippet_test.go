package knowledge_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// TestSnippetsBeginWithWhatIsCited: the snippet of a long passage begins with the cited sentence, if it is known.
func TestSnippetsBeginWithWhatIsCited(t *testing.T) {
	t.Parallel()
	fill := strings.Repeat("é", 300)
	for name, c := range map[string]struct {
		text, starts, ends string
		at                 int
	}{
		"short":       {"One. Two.", "One.", "Two.", 5},
		"unknown":     {fill + fill, "é", "é…", 0},
		"in the long": {fill + " Two." + fill, "…Two.é", "é", 601},
		"cut":         {fill + " Two." + fill + fill, "…Two.é", "é…", 601},
		"in a letter": {fill + fill, "…éé", "é", 401},
		"outside":     {fill + fill, "é", "é…", 1 << 40},
		"before":      {fill + fill, "é", "é…", -7},
	} {
		log := wiretest.LogOf(append(started(`{"input":"x"}`), event.GenerationStarted{}, event.Token{Text: "Two."},
			event.Cited{N: 1, Chunk: "c", Source: &event.Source{N: 1, Document: "d", Text: c.text, Quote: c.at}})...)
		var got string
		for _, it := range knowledge.ResponseOf(log).Output {
			if it.Type == knowledge.ItemMessage {
				got = it.Content[0].Annotations[0].Snippet
			}
		}
		if !strings.HasPrefix(got, c.starts) || !strings.HasSuffix(got, c.ends) || len([]rune(got)) > 400 || strings.Contains(got, "\ufffd") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
