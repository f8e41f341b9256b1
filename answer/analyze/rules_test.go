package analyze_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/event"
)

var _ analyze.Analyzer = analyze.Rules{}

func TestRules(t *testing.T) {
	for q, want := range map[string]event.Complexity{
		"":                                      event.Simple,
		"\xff\x00":                              event.Simple,
		"When was the lighthouse lit?":          event.Simple,
		"How does the oil affect the lamp?":     event.Moderate,
		"Compare the old lamp and the new one.": event.Moderate,
		"Who lit the lamp that stood where the tower is now?":                                                                                  event.Moderate,
		strings.Repeat("Why does the lamp differ and fail? ", 90):                                                                              event.Complex,
		"How did the two keepers differ in their work, and which of them stayed longer, or was it the one that came after the storm that did?": event.Complex,
	} {
		got, err := analyze.Rules{}.Analyze(context.Background(), q)
		if err != nil || got.Complexity != want || got.By != "rules" || got.Parts != nil {
			t.Errorf("%.60q: %+v, %v, want %s", q, got, err, want)
		}
	}
}
