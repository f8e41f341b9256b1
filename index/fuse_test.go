package index_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/index"
)

func TestFuse(t *testing.T) {
	words := index.Candidate{Lexical: 8}
	half := index.Candidate{Lexical: 4, Cosine: 0.5, HasVector: true}
	near := index.Candidate{Cosine: 1, HasVector: true}
	away := index.Candidate{Cosine: -0.5, HasVector: true}
	for _, c := range []struct {
		name string
		in   []index.Candidate
		w    index.Weights
		want []float64
	}{
		{"nothing", nil, index.Weights{}, []float64{}},
		{"both", []index.Candidate{words, half, near, away}, index.Weights{Lexical: 3, Vector: 1}, []float64{0.75, 0.5, 0.25, 0}},
		{"defaults", []index.Candidate{words, near}, index.Weights{}, []float64{0.95, 0.05}},
		{"negative weights", []index.Candidate{words, near}, index.Weights{Lexical: -1, Vector: -1}, []float64{0.95, 0.05}},
		{"words alone", []index.Candidate{words, {Lexical: 2}}, index.Weights{Lexical: 1, Vector: 9}, []float64{1, 0.25}},
		{"vectors alone", []index.Candidate{near, away}, index.Weights{Lexical: 9, Vector: 1}, []float64{1, 0}},
		{"one weight", []index.Candidate{words, half}, index.Weights{Vector: 2}, []float64{0, 0.5}},
		{"rounded cosine", []index.Candidate{{Cosine: 1 + 1e-7, HasVector: true}}, index.Weights{}, []float64{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := index.Fuse(c.in, c.w)
			if d := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-9)); d != "" {
				t.Error(d)
			}
			for _, s := range got {
				if math.IsNaN(s) || s < 0 || s > 1 {
					t.Errorf("score %v", s)
				}
			}
		})
	}
}
