package lang

import "math"

// Term is a word that carries meaning: as written, lower-cased, and its stem.
type Term struct{ Word, Stem string }

// Unique gives the terms of s whose stems differ, in the order in which they first stand there. Stop words are left out,
// unless there is nothing else.
func Unique(s string) []Term {
	words := Words(s)
	seen := make(map[string]struct{}, len(words))
	var out []Term
	add := func(w string) {
		stem := Stem(w)
		if _, ok := seen[stem]; !ok {
			seen[stem] = struct{}{}
			out = append(out, Term{w, stem})
		}
	}
	for _, w := range words {
		if !Stop(w.Text) {
			add(w.Text)
		}
	}
	if len(out) == 0 {
		for _, w := range words {
			add(w.Text)
		}
	}
	return out
}

// Set gives the stems of the terms of s.
func Set(s string) map[string]struct{} {
	terms := Terms(s)
	m := make(map[string]struct{}, len(terms))
	for _, t := range terms {
		m[t] = struct{}{}
	}
	return m
}

// IDF is the inverse document frequency of BM25, ln(1 + (n-df+0.5)/(df+0.5)), for a term that df of n passages hold; it is
// never below 0. Where nothing is known, n being 0, every term weighs 1.
func IDF(n, df int) float64 {
	if n <= 0 {
		return 1
	}
	df = max(0, min(df, n))
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}
