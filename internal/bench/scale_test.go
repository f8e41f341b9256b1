package bench

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestScaleTable(t *testing.T) {
	r := &scaleReport{Share: 0.1, Rate: 20, Late: 200, Shared: 1}
	for _, readers := range [][3]int{{60, 50, 150}, {70, 50, 130}, {50, 40, 200}} {
		for i, name := range []string{groupAlone, groupShared, "3 servers"} {
			r.Groups = append(r.Groups, groupResult{Name: name, Servers: 1 + i/2*2, Readers: readers[i], P50: 1, P99: 150})
		}
	}
	var out strings.Builder
	require.NoError(t, r.writeTable(&out))
	// The ratios of the turns are 3, 2.6 and 5, and 2.5, 1.86 and 4.
	if want := "3 servers serve 3.00 times as many readers as " + groupShared + ", and 2.50 times as many as " + groupAlone; !strings.Contains(out.String(), want) {
		t.Errorf("want %s in\n%s", want, out.String())
	}
	// A group that served nobody has no ratio.
	r.Groups[0].Readers = 0
	out.Reset()
	if err := r.writeTable(&out); err != nil || strings.Contains(out.String(), "Inf") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
