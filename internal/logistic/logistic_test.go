package logistic_test

import (
	"math"
	"testing"

	"github.com/sluice-rag/sluice/internal/logistic"
)

// TestFit compares the weights with the log odds of a table: of 4 outcomes without the feature 1 is true, of 4 with it 3 are.
func TestFit(t *testing.T) {
	t.Parallel()
	var samples []logistic.Sample
	for i := range 4 {
		samples = append(samples, logistic.Sample{X: []float64{0, 0, 1}, Y: i == 0, Weight: 1}, logistic.Sample{X: []float64{1, 0, 1}, Y: i != 0, Weight: 1})
	}
	w := logistic.Fit(samples, []float64{0, 0.5, 0}, 1e-9)
	for i, want := range []float64{2 * math.Log(3), 0.5, -math.Log(3)} {
		if math.Abs(w[i]-want) > 1e-6 {
			t.Errorf("weight %d: %v, want %v", i, w[i], want)
		}
	}
	if p := logistic.P(w, []float64{1, 0, 1}); math.Abs(p-0.75) > 1e-6 {
		t.Errorf("probability %v", p)
	}
	near := logistic.Fit(samples, []float64{0, 0.5, 0}, 1e9) // the penalty outweighs the samples
	if math.Abs(near[0]) > 1e-6 {
		t.Errorf("with a strong prior: %v", near)
	}
}
