package confidence_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/confidence"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// answered returns the state of a run whose answer cites the first of two sources.
func answered() event.State {
	var s event.State
	s.Query, s.Stop, s.Answerability = "When was the mill built?", event.StopEnd, 0.8
	s.Analysis = &event.QueryAnalyzed{Complexity: event.Simple}
	s.Check = &event.Verified{Confidence: 1, By: "rules", Claims: []event.Claim{{Text: "Ada Brook built it in 1898.", Verdict: event.Supported}}}
	s.Sources = []event.Source{{N: 1, Document: "a", Score: 0.9, Cited: true}, {N: 2, Document: "b", Score: 0.4, Text: "Ada Brook was a miller."}}
	return s
}

// TestRead checks each feature.
func TestRead(t *testing.T) {
	t.Parallel()
	base := confidence.Features{confidence.Answerability: 0.8, confidence.Grade: 0.9, confidence.Lead: 0.5, confidence.Agreement: 2.0 / 3}
	with := func(change func(*confidence.Features)) confidence.Features {
		f := base
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		change func(*event.State)
		want   confidence.Features
	}{
		"plain":       {func(*event.State) {}, base},
		"no estimate": {func(s *event.State) { s.Answerability = 0 }, with(func(f *confidence.Features) { f[confidence.Answerability], f[confidence.Unestimated] = 0.5, 1 })},
		"model": {func(s *event.State) {
			s.Answerability, s.Generation = 0, &event.GenerationStarted{Model: "gpt-oss"}
		}, with(func(f *confidence.Features) { f[confidence.Answerability], f[confidence.Written] = 0.5, 1 })},
		"list": {func(s *event.State) { s.Answerability, s.Check.By = 0, event.ByTitles }, with(func(f *confidence.Features) { f[confidence.Answerability], f[confidence.Listed] = 0.5, 1 })},
		"several claims, one unsupported": {func(s *event.State) {
			s.Check.Claims, s.Check.Confidence, s.Check.Flagged = append(s.Check.Claims, event.Claim{}), 0.5, true
		}, with(func(f *confidence.Features) {
			f[confidence.Several], f[confidence.Unsupported], f[confidence.Contradicted] = 0.5, 0.5, 1
		})},
		"complex": {func(s *event.State) { s.Analysis.Complexity = event.Complex }, with(func(f *confidence.Features) { f[confidence.Complex] = 1 })},
		"no date": {func(s *event.State) {
			s.Query, s.Check.Claims[0].Text = "Wann wurde die Mühle gebaut?", "Ada Brook hat sie gebaut."
		}, with(func(f *confidence.Features) { f[confidence.Missing], f[confidence.Agreement] = 1, 0.5 })},
		"same document":     {func(s *event.State) { s.Sources[1].Document = "a" }, with(func(f *confidence.Features) { f[confidence.Agreement] = 0 })},
		"another is better": {func(s *event.State) { s.Sources[1].Score = 1 }, with(func(f *confidence.Features) { f[confidence.Lead] = 0 })},
		"not a number":      {func(s *event.State) { s.Answerability = math.NaN() }, with(func(f *confidence.Features) { f[confidence.Answerability] = 0 })},
	} {
		s := answered()
		c.change(&s)
		got, ok := confidence.Read(&s)
		if diff := cmp.Diff(c.want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" || !ok {
			t.Errorf("%s: %v (-want +got):\n%s", name, ok, diff)
		}
		if p := confidence.Estimate(&s); p <= 0 || p >= 1 {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestNoEstimate checks that runs without an answer that cites something have the confidence 0.
func TestNoEstimate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*event.State){
		"abstention":   func(s *event.State) { s.Sources[0].Cited = false },
		"not verified": func(s *event.State) { s.Check = nil },
		"failed":       func(s *event.State) { s.Failure = &event.RunFailed{} },
	} {
		s := answered()
		change(&s)
		if p := confidence.Estimate(&s); p != 0 {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestBetterEvidence checks that the built-in weights never lower the confidence for better evidence, and that the estimate depends on it.
func TestBetterEvidence(t *testing.T) {
	t.Parallel()
	better := map[int]float64{confidence.Answerability: 1, confidence.Grade: 1, confidence.Lead: 1, confidence.Agreement: 1, confidence.Missing: -1,
		confidence.Several: -1, confidence.Complex: -1, confidence.Unsupported: -1, confidence.Contradicted: -1, confidence.Listed: 1}
	c := confidence.BuiltIn()
	for i, sign := range better {
		if c.Weights[i]*sign < 0 {
			t.Errorf("%s has the weight %v", confidence.Names[i], c.Weights[i])
		}
	}
	sure, unsure := answered(), answered()
	unsure.Answerability = 0.3
	if a, b := confidence.Estimate(&sure), confidence.Estimate(&unsure); a < b+0.1 {
		t.Errorf("answerability 0.8: %v, 0.3: %v", a, b)
	}
}

// TestFit checks that the weights of a known model are found again, that a feature without samples keeps its weight, and that one with the wrong
// sign gets none.
func TestFit(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	truth := confidence.Calibration{Bias: -1, Weights: confidence.Features{confidence.Answerability: 3, confidence.Grade: -2, confidence.Complex: -1}}
	prior := confidence.Calibration{Weights: confidence.Features{confidence.Written: 0.7}}
	var samples []confidence.Sample
	for range 20_000 {
		f := confidence.Features{confidence.Answerability: rng.Float64(), confidence.Grade: rng.Float64(), confidence.Complex: float64(rng.IntN(2))}
		samples = append(samples, confidence.Sample{Features: f, Right: rng.Float64() < truth.Probability(f), Weight: 1})
	}
	got := confidence.Fit(samples, prior)
	near := func(i int, want float64) {
		if math.Abs(got.Weights[i]-want) > 0.2 {
			t.Errorf("%s: %v, want %v", confidence.Names[i], got.Weights[i], want)
		}
	}
	near(confidence.Answerability, 2.8) // without the other feature, the estimate is a little flatter
	near(confidence.Complex, -0.95)
	if got.Weights[confidence.Written] != 0.7 || got.Weights[confidence.Grade] != 0 {
		t.Errorf("%+v", got)
	}
}

// TestJSON checks that calibrations are read as they were written, and that unknown and missing features are errors.
func TestJSON(t *testing.T) {
	t.Parallel()
	want := confidence.BuiltIn()
	data, err := json.Marshal(want)
	require.NoError(t, err)
	var got confidence.Calibration
	if err := json.Unmarshal(data, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for bad, says := range map[string]string{strings.Replace(string(data), `"lead"`, `"luck"`, 1): "lead", strings.Replace(string(data), `"lead"`, `"luck":1,"lead"`, 1): "features"} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
