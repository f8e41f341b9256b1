package lang

import "math"

// assumed is the number of passages without the term that [IDF] adds. In a collection of few passages, a word of the question that none has would otherwise weigh
// several times as much as one that a single passage has, and nothing would answer the question.
const assumed = 50

// IDF is the inverse document frequency of BM25, ln(1 + (n-df+0.5)/(df+0.5)), for a term that df of n passages contain, with 50 passages added to n. It is
// greater than 0. With n = 0, it is 1 for every term.
func IDF(n, df int) float64 {
	if n <= 0 {
		return 1
	}
	df = max(0, min(df, n))
	return math.Log(1 + (float64(n+assumed-df)+0.5)/(float64(df)+0.5))
}
