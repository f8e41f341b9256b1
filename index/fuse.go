package index

import "github.com/sluice-rag/sluice/corpus"

// DefaultWeights suit static word vectors: the lexical score dominates, and vectors order chunks with similar lexical scores. Of
// the weights tried, this is the largest vector weight with which none of the five sets of `sluice eval` gets worse than lexical
// search. Strong embedders deserve a larger one; set it in the query.
var DefaultWeights = Weights{Lexical: 0.95, Vector: 0.05}

// DefaultLimit is the number of hits of a query without a limit, MaxLimit the largest number of hits.
const (
	DefaultLimit = 10
	MaxLimit     = 1000
)

// Candidate is a chunk that lexical or vector search found. Back ends fill in both scores if they know them.
type Candidate struct {
	ID        corpus.ChunkID
	Lexical   float64 // BM25, at least 0; 0: not found by lexical search
	Cosine    float64 // -1..1
	HasVector bool    // whether Cosine is known
}

// Fuse returns the fused score, 0..1, of each candidate of one query:
//
//	w.Lexical · BM25 / largest BM25 of the candidates + w.Vector · max(cosine, 0)
//
// with the weights scaled to a sum of 1. It is a convex combination of scores (Bruch, Gai and Ingber 2023,
// https://doi.org/10.1145/3596512). Each score is normalised from its theoretical minimum, which is that of an unrelated text: the
// minimum of the candidates would change with their number, and ranks alone would lose how well the words match. If no candidate
// has a score of one kind, the other counts alone. Zero weights mean [DefaultWeights]; negative weights count as 0.
func Fuse(candidates []Candidate, w Weights) []float64 {
	if !(w.Lexical > 0 || w.Vector > 0) {
		w = DefaultWeights
	}
	var best float64
	vectors := false
	for _, c := range candidates {
		best = max(best, c.Lexical)
		vectors = vectors || c.HasVector
	}
	w.Lexical, w.Vector = max(w.Lexical, 0), max(w.Vector, 0)
	switch {
	case best == 0:
		w = Weights{Vector: 1}
	case !vectors:
		w = Weights{Lexical: 1}
	}
	out := make([]float64, len(candidates))
	for i, c := range candidates {
		var words, near float64
		if best > 0 {
			words = max(c.Lexical, 0) / best
		}
		if c.HasVector {
			near = min(max(c.Cosine, 0), 1)
		}
		out[i] = (w.Lexical*words + w.Vector*near) / (w.Lexical + w.Vector)
	}
	return out
}

// Following counts the positions in first that are followed by a position in second within window. Both ascend.
func Following(first, second []int, window int) int {
	count, k := 0, 0
	for _, at := range first {
		for k < len(second) && second[k] <= at {
			k++
		}
		if k < len(second) && second[k] <= at+window {
			count++
		}
	}
	return count
}
