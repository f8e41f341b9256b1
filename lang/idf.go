package lang

import "math"

// IDF is the inverse document frequency of BM25, ln(1 + (n-df+0.5)/(df+0.5)), for a term that df of n passages contain. It is
// at least 0. With n = 0, it is 1 for every term.
func IDF(n, df int) float64 {
	if n <= 0 {
		return 1
	}
	df = max(0, min(df, n))
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}
