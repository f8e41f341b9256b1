// Package logistic fits logistic regressions.
package logistic

import "math"

// Sample is one observation.
type Sample struct {
	X      []float64 // features; all samples have the same number
	Y      bool      // outcome
	Weight float64   // 0: ignored
}

// maxRounds is the maximum number of Newton steps. A handful suffices unless the features separate the outcomes.
const maxRounds = 50

// P returns the probability of the outcome: 1/(1+exp(-w·x)).
func P(w, x []float64) float64 {
	z := 0.0
	for i := range x {
		z += w[i] * x[i]
	}
	return 1 / (1 + math.Exp(-z))
}

// Fit returns the weights of the features by Newton's method: the maximum likelihood with the penalty ridge/2·|w-prior|². A feature that is
// 0 in all samples keeps the weight of the prior, which has the length of X. The ridge is above 0.
func Fit(samples []Sample, prior []float64, ridge float64) []float64 {
	n := len(prior)
	w := append([]float64(nil), prior...)
	for range maxRounds {
		gradient, hessian := make([]float64, n), make([][]float64, n)
		for i := range hessian {
			hessian[i] = make([]float64, n)
		}
		for _, s := range samples {
			p, y := P(w, s.X), 0.0
			if s.Y {
				y = 1
			}
			for i := range n {
				gradient[i] += s.Weight * (p - y) * s.X[i]
				for k := range i + 1 {
					hessian[i][k] += s.Weight * p * (1 - p) * s.X[i] * s.X[k]
				}
			}
		}
		for i := range n {
			gradient[i] += ridge * (w[i] - prior[i])
			hessian[i][i] += ridge
			for k := range i {
				hessian[k][i] = hessian[i][k]
			}
		}
		step, moved := solve(hessian, gradient), 0.0
		for i := range w {
			w[i] -= step[i]
			moved = max(moved, math.Abs(step[i]))
		}
		if moved < 1e-6 {
			break
		}
	}
	return w
}

// solve returns x of a·x = b by Gaussian elimination; a is positive definite. It changes its arguments.
func solve(a [][]float64, b []float64) []float64 {
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
