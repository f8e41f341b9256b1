package eval

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"
)

// Comparison compares the nDCG@10 of a and b query by query.
type Comparison struct {
	Set        string  `json:"set"`
	A          string  `json:"a"`
	B          string  `json:"b"`
	Difference float64 `json:"difference"` // mean of b − a
	Wins       int     `json:"wins"`       // queries for which b is better
	Losses     int     `json:"losses"`
	Ties       int     `json:"ties"`
	P          float64 `json:"p"` // two-sided
}

// trials is the number of random exchanges of [Compare], and of samples of a bootstrap.
const trials = 10000

// seed seeds all random numbers, so that measurements are repeatable.
const seed = 1

// Compare compares two reports on the same queries by Fisher's randomisation test (Smucker, Allan and Carterette 2007,
// https://doi.org/10.1145/1321440.1321528): P is the share of random exchanges of a and b with at least as large a mean difference.
func Compare(a, b *Report) (Comparison, error) {
	c := Comparison{Set: a.Set, A: a.Name, B: b.Name}
	if a.Set != b.Set || len(a.Results) != len(b.Results) || len(a.Results) == 0 {
		return c, errors.New("compare: the reports have different queries")
	}
	d := make([]float64, len(a.Results))
	for i := range d {
		if a.Results[i].Query != b.Results[i].Query {
			return c, errors.New("compare: the reports have different queries")
		}
		d[i] = b.Results[i].NDCG10 - a.Results[i].NDCG10
		c.Difference += d[i]
		switch {
		case d[i] > 0:
			c.Wins++
		case d[i] < 0:
			c.Losses++
		default:
			c.Ties++
		}
	}
	c.P = randomised(d, c.Difference)
	c.Difference /= float64(len(d))
	return c, nil
}

// randomised returns the share of random sign changes of d whose sum is at least as far from 0 as sum.
func randomised(d []float64, sum float64) float64 {
	r := rand.New(rand.NewPCG(seed, 2))
	extreme := 0
	for range trials {
		var s float64
		var bits uint64
		for i, v := range d {
			if i&63 == 0 {
				bits = r.Uint64()
			}
			if bits&1 == 1 {
				v = -v
			}
			bits >>= 1
			s += v
		}
		if math.Abs(s) >= math.Abs(sum)-1e-12 {
			extreme++
		}
	}
	return float64(extreme) / trials
}

// WriteComparisons writes a table with a line for each comparison.
func WriteComparisons(w io.Writer, comparisons ...Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tcompared\tnDCG@10\twins\tlosses\tties\tp\t")
	for _, c := range comparisons {
		fmt.Fprintf(t, "%s\t%s to %s\t%+.4f\t%d\t%d\t%d\t%.4f\t\n", c.Set, c.A, c.B, c.Difference, c.Wins, c.Losses, c.Ties, c.P)
	}
	return t.Flush()
}
