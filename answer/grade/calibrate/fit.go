// Package calibrate fits and evaluates the calibrations of [grade.Coverage] on judged passages.
package calibrate

import (
	"errors"
	"math"

	"github.com/sluice-rag/sluice/answer/grade"
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
	rounds = 50
	ridge  = 1e-4 // keeps weights finite if the signals separate the samples perfectly
	n      = len(grade.Signals{})
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
	w := make([]float64, n+1)
	for range rounds {
		var gradient [n + 1]float64
		var hessian [n + 1][n + 1]float64
		for _, s := range samples {
			x := row(s.Signals, used)
			z := 0.0
			for i := range x {
				z += w[i] * x[i]
			}
			p := 1 / (1 + math.Exp(-z))
			y := 0.0
			if s.Relevant {
				y = 1
			}
			for i := range x {
				gradient[i] += s.Weight * (p - y) * x[i]
				for k := range i + 1 {
					hessian[i][k] += s.Weight * p * (1 - p) * x[i] * x[k]
				}
			}
		}
		for i := range w {
			if i < n {
				gradient[i] += ridge * w[i]
			}
			hessian[i][i] += ridge
			for k := range i {
				hessian[k][i] = hessian[i][k]
			}
		}
		step, moved := solve(hessian, gradient), 0.0
		for i := range w {
			if used[i] {
				w[i] -= step[i]
				moved = max(moved, math.Abs(step[i]))
			}
		}
		if moved < 1e-6 {
			break
		}
	}
	return w
}

func row(s grade.Signals, used []bool) (x [n + 1]float64) {
	for i := range n {
		if used[i] {
			x[i] = s[i]
		}
	}
	x[n] = 1
	return x
}

// solve returns x of a·x = b by Gaussian elimination; a is positive definite.
func solve(a [n + 1][n + 1]float64, b [n + 1]float64) [n + 1]float64 {
	for i := range b {
		for k := i + 1; k < len(b); k++ {
			f := a[k][i] / a[i][i]
			for j := i; j < len(b); j++ {
				a[k][j] -= f * a[i][j]
			}
			b[k] -= f * b[i]
		}
	}
	for i := len(b) - 1; i >= 0; i-- {
		for k := i + 1; k < len(b); k++ {
			b[i] -= a[i][k] * b[k]
		}
		b[i] /= a[i][i]
	}
	return b
}
