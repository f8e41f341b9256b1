package a2a_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire/a2a"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// TestQuoteOfUncitedSource checks that a source has a quote only if it is cited.
func TestQuoteOfUncitedSource(t *testing.T) {
	t.Parallel()
	for _, cited := range []bool{true, false} {
		sources := wiretest.Sources()[:1]
		sources[0].Cited, sources[0].QuoteEnd = cited, 0
		log := wiretest.LogOf(append(wiretest.Written(), event.Verified{By: "rules"}, event.Attributed{By: "rules", Sources: sources}, event.RunFinished{})...)
		var out strings.Builder
		for _, f := range wiretest.Project(a2a.Protocol{}.New(), wiretest.Single(log)) {
			out.Write(f.Data)
		}
		if got := strings.Contains(out.String(), `"quote":"`); got != cited {
			t.Errorf("cited %v: a quote %v", cited, got)
		}
	}
}
