package rerank

import (
	"math/rand/v2"
	"testing"

	"github.com/viterin/vek/vek32"
)

func random(r *rand.Rand, n, dim int) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, dim)
		for k := range out[i] {
			out[i][k] = r.Float32() - 0.5
		}
		vek32.DivNumber_Inplace(out[i], vek32.Norm(out[i]))
	}
	return out
}

// BenchmarkLateInteraction is a question of 32 tokens against 20 passages of 200 tokens, in 384 dimensions.
func BenchmarkLateInteraction(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	asked := random(r, 32, 384)
	passages := make([][][]float32, 20)
	for i := range passages {
		passages[i] = random(r, 200, 384)
	}
	b.Run("vek32", func(b *testing.B) {
		for b.Loop() {
			for _, p := range passages {
				lateInteraction(asked, p)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			for _, p := range passages {
				for _, q := range asked {
					best := 0.0
					for _, v := range p {
						best = max(best, dot(q, v))
					}
				}
			}
		}
	})
}
