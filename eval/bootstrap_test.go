package eval_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/internal/tools/race"
)

var none = math.NaN()

func TestIntervals(t *testing.T) {
	half := make([]float64, 100)
	for i := range half {
		half[i] = float64(i % 2)
	}
	e := eval.Intervals(half)[0]
	near(t, "mean", e.Mean, 0.5)
	// The mean of 100 fair coins has a standard error of 0.05: the interval is about 1.96 of them to each side.
	if e.N != 100 || math.Abs(e.Low-0.402) > 0.015 || math.Abs(e.High-0.598) > 0.015 {
		t.Errorf("coins: %+v", e)
	}
	uneven := make([]float64, 50) // so that hardly two samples have one mean
	for i := range uneven {
		uneven[i] = math.Sin(float64(i * i))
	}
	if d := cmp.Diff(eval.Intervals(uneven), eval.Intervals(uneven)); d != "" {
		t.Errorf("another interval the second time: %s", d)
	}
}

func TestIntervalsWithoutValues(t *testing.T) {
	got := eval.Intervals([]float64{none, 1, 1, none}, []float64{none, none, none, none}, []float64{0, 0.25, 0.5, 0.25})
	if want := (eval.Estimate{Mean: 1, Low: 1, High: 1, N: 2}); got[0] != want {
		t.Errorf("where some have it: %+v", got[0])
	}
	if got[1] != (eval.Estimate{}) {
		t.Errorf("where none has it: %+v", got[1])
	}
	if e := got[2]; e.Mean != 0.25 || e.Low >= e.Mean || e.High <= e.Mean || e.Low < 0 || e.High > 0.5 {
		t.Errorf("where all have it: %+v", e)
	}
	if got := eval.Intervals(nil, nil); got[0] != (eval.Estimate{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestFloorCoverage draws samples of questions from a population whose mean and difference are known. About 95 % of the intervals
// must contain them.
func TestFloorCoverage(t *testing.T) {
	race.Measure(t)
	const samples = 60
	r := rand.New(rand.NewPCG(7, 7))
	means, differences := 0, 0
	for range samples {
		a, b := make([]float64, 40), make([]float64, 40)
		for q := range a {
			hard := r.Float64() // shared by both: what pairing takes out
			a[q] = hard * hard
			b[q] = math.Min(a[q]+0.1*r.Float64(), 2)
		}
		if e := eval.Intervals(a)[0]; e.Low <= 1.0/3 && 1.0/3 <= e.High {
			means++
		}
		d := eval.Differences([][]float64{a}, [][]float64{b})[0]
		if d.Low <= 0.05 && 0.05 <= d.High {
			differences++
		}
		if d.High-d.Low > 0.04 {
			t.Fatalf("the interval of a difference is as wide as if nothing was paired: %+v", d)
		}
	}
	for name, n := range map[string]int{"means": means, "differences": differences} {
		if covered := float64(n) / float64(samples); covered < 0.85 || covered == 1 {
			t.Errorf("%s: %.3f of the intervals contain the true value, want about 0.95", name, covered)
		}
	}
}

func TestDifferences(t *testing.T) {
	a := []float64{0, 0, 0, 0, 0, 0, 1, none, 1, none}
	b := []float64{1, 1, 1, 1, 1, 0, 0, none, none, 1}
	d := eval.Differences([][]float64{a, a, {none, none}}, [][]float64{b, a, {none, none}})
	near(t, "difference", d[0].Mean, 6.0/8-2.0/8)
	if got := d[0]; got.Wins != 5 || got.Losses != 1 || got.Ties != 1 || got.N != 7 || got.Low > got.Mean || got.High < got.Mean {
		t.Errorf("%+v", got)
	}
	if got := d[1]; got.Mean != 0 || got.P != 1 || got.Low != 0 || got.High != 0 || got.Ties != 8 {
		t.Errorf("with itself: %+v", got)
	}
	if got := d[2]; got.N != 0 || got.P != 1 || got.Mean != 0 {
		t.Errorf("of nothing: %+v", got)
	}
	// Six of seven exchanges that count: the two-sided sign test says 2·(C(6,0)+…)/2^6 for 6 wins of 6.
	won := eval.Differences([][]float64{{0, 0, 0, 0, 0, 0}}, [][]float64{{1, 1, 1, 1, 1, 1}})[0]
	if want := 2.0 / 64; math.Abs(won.P-want) > 0.006 {
		t.Errorf("p of six wins of six: %v, want about %v", won.P, want)
	}
}
