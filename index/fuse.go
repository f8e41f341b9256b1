package index

import "github.com/sluice-rag/sluice/corpus"

// DefaultWeights suit static word vectors: words lead, and vectors decide between what words find alike. On the five sets
// that `sluice eval` knows they are the greatest share of vectors, of those tried, with which none falls behind words alone. A strong
// embedder deserves more; whoever chooses one sets the weights of its queries.
var DefaultWeights = Weights{Lexical: 0.95, Vector: 0.05}

// DefaultLimit is the number of hits of a query that names none, MaxLimit the most that a query gets.
const (
	DefaultLimit = 10
	MaxLimit     = 1000
)

// Candidate is a chunk that one of the two searches found. A back end that knows the other score of it too gives both.
type Candidate struct {
	ID        corpus.ChunkID
	Lexical   float64 // BM25, at least 0; 0: not found by words
	Cosine    float64 // -1..1
	HasVector bool    // whether Cosine is known
}

// Fuse gives the fused score, 0..1, of each candidate of one query:
//
//	w.Lexical · BM25 / greatest BM25 of the candidates + w.Vector · max(cosine, 0)
//
// with the weights scaled to add up to 1. It is a convex combination of scores (Bruch, Gai and Ingber 2023,
// https://doi.org/10.1145/3596512), each normalised from its theoretical least, which for both is what an unrelated text
// gets; ranks alone would throw away how sure the words are, and the least of the candidates changes with how many there
// are. Where no candidate has a score of one kind, the other counts alone. Zero weights mean [DefaultWeights], negative
// ones 0.
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
