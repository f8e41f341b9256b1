// Package calibrate fits and evaluates the calibrations of [grade.Coverage] on judged passages.
package calibrate

import (
	"errors"
	"math"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/internal/logistic"
)

// Sample is a passage that was retrieved for a question.
type Sample struct {
	Signals  grade.Signals
	Relevant bool
	Foreign  bool    // retrieved from documents without anything relevant to the question
	Weight   float64 // 0: ignored
}

// Balance sets the weights of the samples so that the relevant ones have half of the total weight, and irrelevant ones
// from relevant and from foreign documents a quarter each; if one of these two is missing, the other has a half. The odds
// among the top twenty passages of a search would mislead, because often only one of several relevant ones was judged.
func Balance(samples []Sample) {
	var count [3]float64
	for _, s := range samples {
		count[s.kind()]++
	}
	weight := [3]float64{0.5, 0.25, 0.25}
	if count[beside] == 0 || count[foreign] == 0 {
		weight[beside], weight[foreign] = 0.5, 0.5
	}
	for i := range samples {
		k := samples[i].kind()
		samples[i].Weight = weight[k] / count[k]
	}
}

const (
	relevant = iota
	beside
	foreign
)

func (s Sample) kind() int {
	switch {
	case s.Relevant:
		return relevant
	case s.Foreign:
		return foreign
	}
	return beside
}

const (
	ridge = 1e-4 // keeps weights finite if the signals separate the samples perfectly
	n     = len(grade.Signals{})
)

// Fit returns the maximum likelihood calibration: logistic regression by Newton's method. No signal is evidence against a
// passage, so signals whose weight would be negative are left out. Without vectors, [grade.Cosine] is left out too. It is
// an error if no sample is relevant, or all are.
func Fit(samples []Sample, space string) (grade.Calibration, error) {
	var some, others bool
	for _, s := range samples {
		some = some || s.Relevant && s.Weight > 0
		others = others || !s.Relevant && s.Weight > 0
	}
	if !some || !others {
		return grade.Calibration{}, errors.New("fit: passages that are relevant and such that are not are needed")
	}
	used := make([]bool, n+1)
	for i := range used {
		used[i] = i != grade.Cosine || space != ""
	}
	for {
		w := newton(samples, used)
		lowest := -1
		for i := range n {
			if used[i] && w[i] < 0 && (lowest < 0 || w[i] < w[lowest]) {
				lowest = i
			}
		}
		if lowest < 0 {
			c := grade.Calibration{Space: space, Bias: round(w[n])}
			for i := range n {
				c.Weights[i] = round(w[i])
			}
			return c, nil
		}
		used[lowest] = false
	}
}

func round(x float64) float64 { return math.Round(x*100) / 100 }

// newton returns the weights of the used signals, followed by the bias.
func newton(samples []Sample, used []bool) []float64 {
	rows := make([]logistic.Sample, len(samples))
	for i, s := range samples {
		rows[i] = logistic.Sample{X: row(s.Signals, used), Y: s.Relevant, Weight: s.Weight}
	}
	return logistic.Fit(rows, make([]float64, n+1), ridge)
}

// row returns the used signals, 0 for the others, and 1 for the bias.
func row(s grade.Signals, used []bool) []float64 {
	x := make([]float64, n+1)
	for i := range n {
		if used[i] {
			x[i] = s[i]
		}
	}
	x[n] = 1
	return x
}
