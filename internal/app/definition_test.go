package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/config"
)

// TestDefinitions asks what things are that many passages name and one defines: in a sentence, in a row, and after a label.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	var rules strings.Builder
	for i := range 60 {
		fmt.Fprintf(&rules, "## Berths, part %d\n\nTo reserve a berth for the tide of day %d, write to the berth office of pier %d. A berth without a bollard costs less than a berth with a bollard. "+
			"A berth whose painter is frayed is closed.\n\n", i, i, i)
	}
	for uri, text := range map[string]string{
		"rules.md":    "# Harbour rules\n\n" + rules.String(),
		"intro.md":    "# Welcome\n\nThe harbour was built in 1902. A berth is a place at the quay for one boat, with water and power. Visitors stay for up to three nights.",
		"glossary.md": "# Words\n\n| word | meaning |\n| --- | --- |\n| anchor | a hook that holds a boat |\n| bollard | an iron post to which boats are tied |\n| fender | a cushion at the side of a boat |\n",
		"notes.md":    "# Notes for guests\n\n- Tide (high): twice a day\n- Painter: the rope at the bow of a dinghy\n- Quiet: after ten in the evening\n",
	} {
		if _, err := a.Ingester.IngestDocuments(t.Context(), "default", []ingest.Source{{URI: uri, Data: []byte(text)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for question, want := range map[string]string{"What is a berth?": "place at the quay", "What is a bollard?": "iron post", "What is a painter?": "rope at the bow"} {
		for _, mode := range []event.Mode{event.Direct, event.Agentic} {
			s := asked(t, a, event.Question{Query: question, Mode: mode, NoCache: true})
			if !strings.Contains(string(s.Text), want) {
				t.Errorf("%s %s: %s", mode, question, s.Text)
			}
		}
	}
}
