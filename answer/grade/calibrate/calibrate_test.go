package calibrate_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/grade/calibrate"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// drawn gives samples whose chance of being relevant is what a calibration says.
func drawn(c grade.Calibration, n int) []calibrate.Sample {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]calibrate.Sample, n)
	for i := range out {
		for k := range out[i].Signals {
			out[i].Signals[k] = rng.Float64()
		}
		out[i].Relevant, out[i].Weight = rng.Float64() < c.Score(out[i].Signals), 1
	}
	return out
}

func scores(c grade.Calibration, samples []calibrate.Sample) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = c.Score(s.Signals)
	}
	return out
}

// TestFit finds the weights that samples were drawn with.
func TestFit(t *testing.T) {
	truth := grade.Calibration{Space: "s", Bias: -4, Weights: grade.Signals{grade.Cover: 3, grade.Close: 4, grade.Cosine: 2}}
	samples := drawn(truth, 20000)
	got, err := calibrate.Fit(samples, "s")
	require.NoError(t, err)
	for i, want := range truth.Weights {
		if math.Abs(got.Weights[i]-want) > 0.3 {
			t.Errorf("%s weighs %v, want %v", grade.SignalNames[i], got.Weights[i], want)
		}
	}
	against := truth
	against.Weights[grade.Titled] = -3
	if got, err := calibrate.Fit(drawn(against, 5000), "s"); err != nil || got.Weights[grade.Titled] != 0 || got.Weights[grade.Cover] < 2 {
		t.Errorf("a signal that speaks against passages: %+v, %v", got, err)
	}
	words, err := calibrate.Fit(samples, "")
	if err != nil || words.Weights[grade.Cosine] != 0 || words.Weights[grade.Cover] < 2 {
		t.Errorf("without vectors %+v, %v", words, err)
	}
	r := calibrate.Measure(samples, scores(truth, samples))
	off := truth
	off.Bias += 2
	if worse := calibrate.Measure(samples, scores(off, samples)); r.ECE > 0.02 || worse.ECE < 0.1 || worse.Brier <= r.Brier {
		t.Errorf("errors %v and %v", r.ECE, worse.ECE)
	}
}

func TestFitNeedsBothKinds(t *testing.T) {
	one := []calibrate.Sample{{Relevant: true, Weight: 1}}
	for _, samples := range [][]calibrate.Sample{nil, one, {{Weight: 1}}, append(one, calibrate.Sample{})} {
		if got, err := calibrate.Fit(samples, ""); err == nil {
			t.Errorf("%v of %v", got, samples)
		}
	}
	// What signals part altogether still has an end.
	got, err := calibrate.Fit([]calibrate.Sample{{Signals: grade.Signals{1}, Relevant: true, Weight: 1}, {Weight: 1}}, "")
	if err != nil || !(got.Weights[0] > 1 && got.Weights[0] < 1000) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestBalance(t *testing.T) {
	samples := []calibrate.Sample{{Relevant: true}, {}, {}, {}, {Foreign: true}, {Foreign: true}}
	calibrate.Balance(samples)
	for i, want := range []float64{0.5, 0.25 / 3, 0.25 / 3, 0.25 / 3, 0.125, 0.125} {
		if math.Abs(samples[i].Weight-want) > 1e-9 {
			t.Errorf("sample %d weighs %v", i, samples[i].Weight)
		}
	}
	samples = samples[:4]
	if calibrate.Balance(samples); samples[1].Weight*6 != 1 {
		t.Errorf("%v", samples[1].Weight)
	}
}

func TestMeasure(t *testing.T) {
	samples := []calibrate.Sample{{Relevant: true, Weight: 1}, {Relevant: true, Weight: 1}, {Weight: 1}, {Weight: 1}}
	r := calibrate.Measure(samples, []float64{1, 0.5, 0.5, 0})
	if math.Abs(r.Brier-0.125) > 1e-9 || r.ECE != 0 {
		t.Errorf("Brier %v, error %v", r.Brier, r.ECE)
	}
	if c, a := r.Thresholds[0], r.Thresholds[1]; c.Precision != 1 || c.Recall != 0.5 || a.Precision != 2.0/3 || a.Recall != 1 {
		t.Errorf("%+v", r.Thresholds)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || strings.Count(b.String(), "\n") != 11 || !strings.Contains(b.String(), "Brier 0.125") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	if empty := calibrate.Measure(nil, nil); empty.ECE != 0 || empty.Brier != 0 {
		t.Errorf("%+v", empty)
	}
}
