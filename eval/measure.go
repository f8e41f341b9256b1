package eval

import "math"

// NDCG is the discounted cumulative gain of the first k of a ranking, divided by that of the best ranking there could be
// (Järvelin and Kekäläinen 2002, with the linear gains of trec_eval): DCG = Σ grade(i) / log2(i+1) for ranks i from 1.
// It is 0 where nothing is judged relevant. A document ranked twice counts once, at its first place.
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

// Recall is the share of the relevant documents that stand among the first k of a ranking; 0 where there are none.
func Recall(ranked []string, judged map[string]int, k int) float64 {
	total := relevant(judged)
	if total == 0 {
		return 0
	}
	found := 0
	each(ranked, k, judged, func(int, int) { found++ })
	return float64(found) / float64(total)
}

// ReciprocalRank is 1 / the rank of the first relevant document among the first k, and 0 where none is. Its mean over
// queries is MRR@k (Voorhees 1999).
func ReciprocalRank(ranked []string, judged map[string]int, k int) float64 {
	var rr float64
	each(ranked, k, judged, func(rank, _ int) {
		if rr == 0 {
			rr = 1 / float64(rank)
		}
	})
	return rr
}

// Hit is 1 if a relevant document stands among the first k, and 0 otherwise. Its mean over queries is hit@k.
func Hit(ranked []string, judged map[string]int, k int) float64 {
	if ReciprocalRank(ranked, judged, k) > 0 {
		return 1
	}
	return 0
}

// AllFound is 1 if every relevant document stands among the first k: what a question of several hops needs.
func AllFound(ranked []string, judged map[string]int, k int) float64 {
	if Recall(ranked, judged, k) == 1 {
		return 1
	}
	return 0
}

// AveragePrecision is the mean, over the relevant documents, of the precision at their rank, those not among the first k
// counting 0 (Buckley and Voorhees 2000). Its mean over queries is MAP@k.
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
