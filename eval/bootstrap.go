package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Estimate is a mean over questions with its 95 % confidence interval.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"` // questions that have the measure
}

// Difference compares the means of a and b on the same questions.
type Difference struct {
	Estimate         // of mean(b) − mean(a); N counts the questions that have the measure in both
	Wins     int     `json:"wins"` // questions for which b is larger
	Losses   int     `json:"losses"`
	Ties     int     `json:"ties"`
	P        float64 `json:"p"` // two-sided
}

// Intervals returns the mean of each column. All columns have the same questions; NaN means that a question does not have the measure.
// The interval is that of the percentile bootstrap (Efron and Tibshirani 1993, chapter 13) with 10,000 samples and a fixed seed. The
// estimate of a column without values is zero.
func Intervals(columns ...[]float64) []Estimate {
	out := make([]Estimate, len(columns))
	means := resampled(columns)
	for c, column := range columns {
		out[c].Mean, out[c].N = mean(column)
		out[c].Low, out[c].High = middle(means[c])
	}
	return out
}

// Differences compares each column b[i] with a[i], which has the same questions. The interval is that of the paired bootstrap, which
// draws the same questions for both (Efron and Tibshirani 1993). P is that of Fisher's randomisation test (Smucker, Allan and
// Carterette 2007): the share of random exchanges of values, question by question, with at least as large a difference of the means.
func Differences(a, b [][]float64) []Difference {
	out := make([]Difference, len(a))
	means := resampled(append(slices.Clone(a), b...))
	for i := range a {
		d := &out[i]
		for q := range a[i] {
			switch x, y := a[i][q], b[i][q]; {
			case math.IsNaN(x) || math.IsNaN(y):
				continue
			case y > x:
				d.Wins++
			case y < x:
				d.Losses++
			default:
				d.Ties++
			}
			d.N++
		}
		ma, na := mean(a[i])
		mb, nb := mean(b[i])
		d.P = 1
		if na == 0 || nb == 0 {
			continue
		}
		d.Mean = mb - ma
		apart := make([]float64, 0, trials)
		for t := range means[i] {
			if v := means[len(a)+i][t] - means[i][t]; !math.IsNaN(v) {
				apart = append(apart, v)
			}
		}
		d.Low, d.High = middle(apart)
		d.P = exchanged(a[i], b[i], d.Mean)
	}
	return out
}

// mean returns the mean of the values that are not NaN, and their number. The mean of no values is 0.
func mean(values []float64) (m float64, n int) {
	for _, v := range values {
		if !math.IsNaN(v) {
			m += v
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return m / float64(n), n
}

// resampled returns the mean of each column over each sample of questions. It is NaN if the sample has no value. The result is nil for a
// column without values.
func resampled(columns [][]float64) [][]float64 {
	out := make([][]float64, len(columns))
	var used []int // columns with values
	for c, column := range columns {
		if _, n := mean(column); n > 0 {
			used = append(used, c)
			out[c] = make([]float64, trials)
		}
	}
	if len(used) == 0 {
		return out
	}
	// Each row has the values of a question and a 1 for each that exists, so that the loop needs no branch.
	n, width := len(columns[used[0]]), 2*len(used)
	rows := make([]float64, n*width)
	for i, c := range used {
		for q, v := range columns[c] {
			if !math.IsNaN(v) {
				rows[q*width+2*i], rows[q*width+2*i+1] = v, 1
			}
		}
	}
	r := rand.New(rand.NewPCG(seed, 3))
	sums := make([]float64, width)
	for t := range trials {
		clear(sums)
		for range n {
			row := rows[r.IntN(n)*width:][:width]
			for i := range sums {
				sums[i] += row[i]
			}
		}
		for i, c := range used {
			out[c][t] = sums[2*i] / sums[2*i+1] // 0/0 is NaN
		}
	}
	return out
}

// middle returns the bounds of the middle 95 % of the values, without NaN. It sorts the values.
func middle(values []float64) (low, high float64) {
	slices.Sort(values) // NaN comes first
	for len(values) > 0 && math.IsNaN(values[0]) {
		values = values[1:]
	}
	if len(values) == 0 {
		return 0, 0
	}
	last := float64(len(values) - 1)
	return values[int(math.Floor(0.025*last))], values[int(math.Ceil(0.975*last))]
}

// exchanged returns the share of random exchanges of a and b, question by question, whose means differ by at least apart.
func exchanged(a, b []float64, apart float64) float64 {
	// An exchange changes the sign of the difference between the sums and counts of both sides.
	type difference struct{ sum, count float64 } // of b − a
	var differences []difference
	var total, n float64
	for q := range a {
		x, y := a[q], b[q]
		var t difference
		if !math.IsNaN(x) {
			t.sum, t.count = t.sum-x, t.count-1
			total, n = total+x, n+1
		}
		if !math.IsNaN(y) {
			t.sum, t.count = t.sum+y, t.count+1
			total, n = total+y, n+1
		}
		if t.sum != 0 || t.count != 0 {
			differences = append(differences, t)
		}
	}
	r := rand.New(rand.NewPCG(seed, 2))
	extreme, valid := 0, 0
	for range trials {
		var sum, count float64
		var bits uint64
		for i, t := range differences {
			if i&63 == 0 {
				bits = r.Uint64()
			}
			if bits&1 == 1 {
				sum, count = sum-t.sum, count-t.count
			} else {
				sum, count = sum+t.sum, count+t.count
			}
			bits >>= 1
		}
		na, nb := (n-count)/2, (n+count)/2
		if na <= 0 || nb <= 0 {
			continue
		}
		valid++
		if math.Abs((total+sum)/2/nb-(total-sum)/2/na) >= math.Abs(apart)-1e-12 {
			extreme++
		}
	}
	return float64(extreme+1) / float64(valid+1) // the measurement is one of the exchanges, so p is never 0 (Phipson and Smyth 2010)
}
