package eval

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/eval/paraphrase"
)

// CacheRate counts how often pairs of questions of one kind were judged to be the same.
type CacheRate struct {
	Kind  string  `json:"kind"`
	Same  bool    `json:"same"` // true: paraphrases, false: near misses
	Cases int     `json:"cases"`
	Hits  int     `json:"hits"`
	Rate  float64 `json:"rate"`
	Low   float64 `json:"low"` // 95 % interval
	High  float64 `json:"high"`
}

// CachePair is a wrongly judged pair of questions.
type CachePair struct {
	Kind     string `json:"kind"`
	Question string `json:"question"`
	Other    string `json:"other"`
}

// CacheReport measures how well a cache distinguishes paraphrases from near misses.
type CacheReport struct {
	Set       string      `json:"set"`
	Questions int         `json:"questions"`
	TrueHits  CacheRate   `json:"true_hits"`  // of all paraphrases
	FalseHits CacheRate   `json:"false_hits"` // of all near misses
	Kinds     []CacheRate `json:"kinds"`
	Wrong     []CachePair `json:"wrong"`  // near misses that hit, at most maxPairs
	Missed    []CachePair `json:"missed"` // paraphrases that missed, at most maxPairs
}

const (
	maxPairs    = 1000     // listed pairs of each kind
	maxQuestion = 32 << 10 // bytes of a question; longer ones are left out
)

// Cache generates paraphrases of each question of a set (politeness, order, contractions, synonyms) and near misses (another number,
// name or year, a negation), and asks same whether a cache would serve the answer to one for the other. One goroutine calls same. The
// intervals are Wilson's (1927), as if cases were independent. The error is that of ctx.
func Cache(ctx context.Context, set *Set, same func(question, other string) bool) (*CacheReport, error) {
	var questions []string
	for _, q := range set.Questions {
		if len(q.Text) <= maxQuestion {
			questions = append(questions, q.Text)
		}
	}
	r := &CacheReport{Set: set.Name, Questions: len(questions)}
	cases := paraphrase.Cases(questions, seed)
	served := make(map[[2]string]bool, len(cases))
	for _, c := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hit := same(c.Question, c.Other)
		served[[2]string{c.Question, c.Other}] = hit
		list := &r.Missed
		if !c.Same {
			list = &r.Wrong
		}
		if hit != c.Same && len(*list) < maxPairs {
			*list = append(*list, CachePair{c.Kind, c.Question, c.Other})
		}
	}
	rates := paraphrase.Rates(func(a, b string) bool { return served[[2]string{a, b}] }, cases)
	for _, rate := range rates {
		c := CacheRate{Kind: rate.Kind, Same: rate.Same, Cases: rate.Cases, Hits: rate.Hits, Rate: rate.Share()}
		c.Low, c.High = wilson(rate.Hits, rate.Cases)
		r.Kinds = append(r.Kinds, c)
	}
	sums := r.Kinds[len(r.Kinds)-2:]
	r.TrueHits, r.FalseHits, r.Kinds = sums[0], sums[1], r.Kinds[:len(r.Kinds)-2]
	return r, nil
}

// wilson returns the 95 % confidence interval of a share (Wilson 1927, https://doi.org/10.1080/01621459.1927.10502953).
func wilson(part, whole int) (low, high float64) {
	if whole == 0 {
		return 0, 0
	}
	const z = 1.959964
	n, p := float64(whole), float64(part)/float64(whole)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high = max(middle-half, 0), min(middle+half, 1)
	if part == 0 { // avoid rounding errors
		low = 0
	}
	if part == whole {
		high = 1
	}
	return low, high
}

// WriteCache writes a line for each set.
func WriteCache(w io.Writer, reports ...*CacheReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tquestions\tparaphrases\ttrue hits\t95 % interval\tnear misses\tfalse hits\t95 % interval\t")
	for _, r := range reports {
		fmt.Fprintf(t, "%s\t%d\t%d\t%.4f\t%.3f–%.3f\t%d\t%.4f\t%.4f–%.4f\t\n", r.Set, r.Questions, r.TrueHits.Cases, r.TrueHits.Rate, r.TrueHits.Low,
			r.TrueHits.High, r.FalseHits.Cases, r.FalseHits.Rate, r.FalseHits.Low, r.FalseHits.High)
	}
	return t.Flush()
}

// WriteCacheKinds writes a line for each kind of pair over all sets.
func WriteCacheKinds(w io.Writer, reports ...*CacheReport) error {
	var kinds []CacheRate
	place := map[[2]any]int{}
	for _, r := range reports {
		for _, k := range r.Kinds {
			id := [2]any{k.Kind, k.Same}
			at, ok := place[id]
			if !ok {
				at = len(kinds)
				place[id] = at
				kinds = append(kinds, CacheRate{Kind: k.Kind, Same: k.Same})
			}
			kinds[at].Cases += k.Cases
			kinds[at].Hits += k.Hits
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "all sets\tkind\tcases\thits\trate\t")
	for _, same := range []bool{true, false} {
		sort := "near miss"
		if same {
			sort = "paraphrase"
		}
		for _, k := range kinds {
			if k.Same == same {
				fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.4f\t\n", sort, k.Kind, k.Cases, k.Hits, share(k.Hits, k.Cases))
			}
		}
	}
	return t.Flush()
}
