package eventlogtest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestRandomLog(t *testing.T) {
	kinds := map[event.Kind]int{}
	ends := map[event.Kind]map[event.Kind]bool{} // what stands before each kind of end
	runs := map[event.RunID]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 1600 {
		n := i % 60
		if i == 0 {
			n = 4000
		}
		es := eventlogtest.RandomLog(rng, n)
		require.NoError(t, event.CheckLog(es, true))
		runs[eventlogtest.ID(es)] = true
		for i, e := range es {
			kinds[e.Body.Kind()]++
			line, err := event.AppendJSON(nil, e)
			require.NoError(t, err)
			back, err := event.ParseJSON(line)
			require.NoError(t, err)
			if !cmp.Equal(e, back) {
				t.Fatalf("read back (-want +got):\n%s", cmp.Diff(e, back))
			}
			if event.Terminal(e.Body) {
				if ends[e.Body.Kind()] == nil {
					ends[e.Body.Kind()] = map[event.Kind]bool{}
				}
				ends[e.Body.Kind()][es[i-1].Body.Kind()] = true
			}
		}
	}
	if len(kinds) != 21 {
		t.Errorf("%d kinds of 21: %v", len(kinds), kinds)
	}
	if n := len(ends[event.KindRunFailed]); n != 19 {
		t.Errorf("failures stand after %d kinds of 19: %v", n, ends[event.KindRunFailed])
	}
	if len(runs) != 1600 {
		t.Errorf("%d ids for 1600 runs", len(runs))
	}
}
