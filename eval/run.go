package eval

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// SearchFunc returns the ids of at most limit documents for a query, best first. Calls may run concurrently.
type SearchFunc func(ctx context.Context, query string, limit int) ([]string, error)

// Options configure [Run]. The zero value works.
type Options struct {
	Name    string           // shown in the report
	Depth   int              // number of documents per search; 0: 100
	Workers int              // concurrent questions; 0: number of processors
	Now     func() time.Time // nil: time.Now
}

// Scores holds the measures of a query, or their means over queries.
type Scores struct {
	NDCG10   float64 `json:"ndcg_10"`
	Recall5  float64 `json:"recall_5"`
	Recall10 float64 `json:"recall_10"`
	Recall   float64 `json:"recall"` // at the depth of the search
	MRR10    float64 `json:"mrr_10"`
	Hit1     float64 `json:"hit_1"`
	Hit5     float64 `json:"hit_5"`
	All5     float64 `json:"all_5"` // every relevant document among the first five
	All10    float64 `json:"all_10"`
	MAP      float64 `json:"map"` // at the depth of the search
}

// Result is the result of one query.
type Result struct {
	Query  string        `json:"query"`
	Ranked []string      `json:"ranked"` // the first ten
	Took   time.Duration `json:"took_ns"`
	Scores
}

// Report holds the results of one kind of search on a set. As in trec_eval, queries without a relevant document are left out.
type Report struct {
	Set     string        `json:"set"`
	Name    string        `json:"name"`
	Depth   int           `json:"depth"`
	Mean    Scores        `json:"mean"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	Results []Result      `json:"results"` // in the order of the set's questions
}

// Run searches for every question of a set that has a relevant document. It stops at the first error.
func Run(ctx context.Context, set *Set, search SearchFunc, opts Options) (*Report, error) {
	if opts.Depth <= 0 {
		opts.Depth = 100
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	var questions []Question
	for _, q := range set.Questions {
		if set.Relevant(q.ID) > 0 {
			questions = append(questions, q)
		}
	}
	if len(questions) == 0 {
		return nil, fmt.Errorf("run %s: no query has a relevant document", set.Name)
	}
	results := make([]Result, len(questions))
	err := parallel(ctx, opts.Workers, len(questions), func(ctx context.Context, i int) error {
		q := questions[i]
		start := opts.Now()
		ranked, err := search(ctx, q.Text, opts.Depth)
		if err != nil {
			return fmt.Errorf("run %s: query %.100q: %w", set.Name, q.ID, err)
		}
		results[i] = judge(q.ID, ranked, set.Qrels[q.ID], opts.Depth)
		results[i].Took = opts.Now().Sub(start)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return summary(set.Name, opts, results), nil
}

func judge(query string, ranked []string, judged map[string]int, depth int) Result {
	return Result{Query: query, Ranked: slices.Clone(ranked[:min(10, len(ranked))]), Scores: Scores{
		NDCG10:   NDCG(ranked, judged, 10),
		Recall5:  Recall(ranked, judged, 5),
		Recall10: Recall(ranked, judged, 10),
		Recall:   Recall(ranked, judged, depth),
		MRR10:    ReciprocalRank(ranked, judged, 10),
		Hit1:     Hit(ranked, judged, 1),
		Hit5:     Hit(ranked, judged, 5),
		All5:     AllFound(ranked, judged, 5),
		All10:    AllFound(ranked, judged, 10),
		MAP:      AveragePrecision(ranked, judged, depth),
	}}
}

// fields lists the measures in the order of the table.
func (s *Scores) fields() []*float64 {
	return []*float64{&s.NDCG10, &s.Recall5, &s.Recall10, &s.Recall, &s.MRR10, &s.Hit1, &s.Hit5, &s.All5, &s.All10, &s.MAP}
}

func summary(set string, opts Options, results []Result) *Report {
	r := &Report{Set: set, Name: opts.Name, Depth: opts.Depth, Results: results}
	took := make([]time.Duration, len(results))
	mean := r.Mean.fields()
	for i := range results {
		took[i] = results[i].Took
		for k, f := range results[i].fields() {
			*mean[k] += *f / float64(len(results))
		}
	}
	slices.Sort(took)
	r.P50, r.P99 = took[len(took)/2], took[len(took)*99/100]
	return r
}

// WriteTable writes a table with a line for each report.
func WriteTable(w io.Writer, reports ...*Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tname\tqueries\tnDCG@10\tR@5\tR@10\tR@100\tMRR@10\thit@1\thit@5\tall@5\tall@10\tMAP\tp50 ms\tp99 ms\t")
	for _, r := range reports {
		fmt.Fprintf(t, "%s\t%s\t%d\t", r.Set, r.Name, len(r.Results))
		for _, f := range r.Mean.fields() {
			fmt.Fprintf(t, "%.4f\t", *f)
		}
		fmt.Fprintf(t, "%.2f\t%.2f\t\n", r.P50.Seconds()*1000, r.P99.Seconds()*1000)
	}
	return t.Flush()
}
