package eval

import (
	"math"
	"math/rand/v2"
)

// randomised gives the share of random sign changes of d whose sum is at least as far from 0 as sum.
func randomised(d []float64, sum float64) float64 {
	r := rand.New(rand.NewPCG(1, 2))
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
