package eval

import "math"

// NDCG returns the discounted cumulative gain of the first k documents of a ranking, divided by that of the ideal ranking (Järvelin
// and Kekäläinen 2002, with the linear gains of trec_eval): DCG = Σ grade(i) / log2(i+1) for ranks i from 1. It is 0 if no document
// is relevant. A document that occurs twice counts at its first rank.
func NDCG(ranked []string, judged map[string]int, k int) float64 {
	counts := map[int]int{}
	highest := 0
	for _, g := range judged {
		counts[g]++
		highest = max(highest, g)
	}
	var ideal float64
	for rank, g := 1, highest; g > 0; g-- {
		for range counts[g] {
			if rank > k {
				break
			}
			ideal += float64(g) / math.Log2(float64(rank)+1)
			rank++
		}
	}
	if ideal == 0 {
		return 0
	}
	var dcg float64
	each(ranked, k, judged, func(rank, grade int) { dcg += float64(grade) / math.Log2(float64(rank)+1) })
	return dcg / ideal
}

// Recall returns the share of the relevant documents that are among the first k of a ranking, or 0 without relevant documents.
func Recall(ranked []string, judged map[string]int, k int) float64 {
	total := relevant(judged)
	if total == 0 {
		return 0
	}
	found := 0
	each(ranked, k, judged, func(int, int) { found++ })
	return float64(found) / float64(total)
}

// ReciprocalRank returns 1 / rank of the first relevant document among the first k, or 0 if there is none. Its mean over queries is
// MRR@k (Voorhees 1999).
func ReciprocalRank(ranked []string, judged map[string]int, k int) float64 {
	var rr float64
	each(ranked, k, judged, func(rank, _ int) {
		if rr == 0 {
			rr = 1 / float64(rank)
		}
	})
	return rr
}

// Hit returns 1 if a relevant document is among the first k, and 0 otherwise. Its mean over queries is hit@k.
func Hit(ranked []string, judged map[string]int, k int) float64 {
	if ReciprocalRank(ranked, judged, k) > 0 {
		return 1
	}
	return 0
}

// AllFound returns 1 if all relevant documents are among the first k, as multi-hop questions need, and 0 otherwise.
func AllFound(ranked []string, judged map[string]int, k int) float64 {
	if Recall(ranked, judged, k) == 1 {
		return 1
	}
	return 0
}

// AveragePrecision returns the mean of the precisions at the ranks of the relevant documents; those not among the first k count 0
// (Buckley and Voorhees 2000). Its mean over queries is MAP@k.
func AveragePrecision(ranked []string, judged map[string]int, k int) float64 {
	total := relevant(judged)
	if total == 0 {
		return 0
	}
	var sum float64
	found := 0
	each(ranked, k, judged, func(rank, _ int) {
		found++
		sum += float64(found) / float64(rank)
	})
	return sum / float64(total)
}

func relevant(judged map[string]int) int {
	n := 0
	for _, g := range judged {
		if g > 0 {
			n++
		}
	}
	return n
}

// each calls do with the ranks, from 1, and grades of the relevant documents among the first k.
func each(ranked []string, k int, judged map[string]int, do func(rank, grade int)) {
	seen := map[string]bool{}
	for i, id := range ranked {
		if i >= k {
			return
		}
		if g := judged[id]; g > 0 && !seen[id] {
			seen[id] = true
			do(i+1, g)
		}
	}
}
