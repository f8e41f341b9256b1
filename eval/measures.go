package eval

import (
	"maps"
	"math"
	"slices"
)

// Kind is the kind of a [Measure].
type Kind string

// The kinds.
const (
	OfRetrieval Kind = "retrieval"
	OfAnswers   Kind = "answers"
	OfCitations Kind = "citations"
)

// Measure describes a measure of a question. The value of a set is the mean over the questions that have the measure.
type Measure struct {
	Key     string // in Scores and in JSON
	Name    string // in tables and plots
	Kind    Kind
	Lower   bool // less is better
	Leading bool // shown in overviews, plots and comparisons of groups
}

// Measures returns the measures of [Ask], in the order of its tables.
func Measures() []Measure {
	return []Measure{
		{Key: "ndcg_10", Name: "nDCG@10", Kind: OfRetrieval, Leading: true},
		{Key: "recall_2", Name: "R@2", Kind: OfRetrieval},
		{Key: "recall_5", Name: "R@5", Kind: OfRetrieval, Leading: true},
		{Key: "recall_10", Name: "R@10", Kind: OfRetrieval},
		{Key: "mrr_10", Name: "MRR@10", Kind: OfRetrieval},
		{Key: "map_10", Name: "MAP@10", Kind: OfRetrieval},
		{Key: "hit_1", Name: "hit@1", Kind: OfRetrieval},
		{Key: "hit_5", Name: "hit@5", Kind: OfRetrieval},
		{Key: "all_5", Name: "all@5", Kind: OfRetrieval},
		{Key: "all_8", Name: "all@8", Kind: OfRetrieval, Leading: true},
		{Key: "all_10", Name: "all@10", Kind: OfRetrieval},
		{Key: "right", Name: "right", Kind: OfAnswers, Leading: true},
		{Key: "wrong", Name: "wrong", Kind: OfAnswers, Lower: true, Leading: true},
		{Key: "exact", Name: "EM", Kind: OfAnswers},
		{Key: "f1", Name: "F1", Kind: OfAnswers},
		{Key: "holds", Name: "holds gold", Kind: OfAnswers, Leading: true},
		{Key: "abstention_recall", Name: "abst. R", Kind: OfAnswers, Leading: true},
		{Key: "abstention_precision", Name: "abst. P", Kind: OfAnswers},
		{Key: "false_abstention", Name: "false abst.", Kind: OfAnswers, Lower: true, Leading: true},
		{Key: "citation_recall", Name: "citation R", Kind: OfCitations, Leading: true},
		{Key: "citation_precision", Name: "citation P", Kind: OfCitations, Leading: true},
		{Key: "citation_gold", Name: "cites gold", Kind: OfCitations},
		{Key: "gold_cited", Name: "gold cited", Kind: OfCitations},
		{Key: "weight_gold", Name: "weight on gold", Kind: OfCitations},
	}
}

// ranking adds the measures of retrieval.
func (a *AskResult) ranking(ranked []string, judged map[string]int) {
	s := a.Scores
	s["ndcg_10"] = NDCG(ranked, judged, 10)
	s["recall_2"], s["recall_5"], s["recall_10"] = Recall(ranked, judged, 2), Recall(ranked, judged, 5), Recall(ranked, judged, 10)
	s["mrr_10"], s["map_10"] = ReciprocalRank(ranked, judged, 10), AveragePrecision(ranked, judged, 10)
	s["hit_1"], s["hit_5"] = Hit(ranked, judged, 1), Hit(ranked, judged, 5)
	s["all_5"], s["all_8"], s["all_10"] = AllFound(ranked, judged, 5), AllFound(ranked, judged, 8), AllFound(ranked, judged, 10)
}

// answering adds the measures of answers. refuses reports that the set has unanswerable questions.
func (a *AskResult) answering(text string, q Question, answerable, refuses bool) {
	if a.Abstained {
		text = ""
	}
	switch {
	case q.Unanswerable:
		a.Scores["abstention_recall"] = one(a.Abstained)
		a.Scores["exact"], a.Scores["f1"] = ExactMatch(text, nil), F1(text, nil)
	case answerable:
		a.Scores["false_abstention"] = one(a.Abstained)
	}
	if refuses && a.Abstained && (answerable || q.Unanswerable) {
		a.Scores["abstention_precision"] = one(q.Unanswerable)
	}
	if q.judges() && !q.Unanswerable {
		right := !a.Abstained && a.Failed == "" && q.Right(text)
		a.Scores["right"], a.Scores["wrong"] = one(right), one(!right && !a.Abstained)
	}
	if len(q.Answers) > 0 && !q.Unanswerable {
		a.Scores["exact"], a.Scores["f1"], a.Scores["holds"] = ExactMatch(text, q.Answers), F1(text, q.Answers), ContainsGold(text, q.Answers)
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Row holds the measures of a group of questions.
type Row struct {
	Group     string              `json:"group,omitempty"` // empty: all questions of the set
	Questions int                 `json:"questions"`
	Measures  map[string]Estimate `json:"measures"` // by key; only measures that a question has
}

// The groups that fields of a question define. Values of its type are groups too.
const (
	Answerable = "answerable"
	MultiHop   = "multi-hop"
)

// maxGroups is the maximum number of groups in a report; the last ones by name are left out.
const maxGroups = 40

// groups returns the names of all groups that do not contain all questions.
func groups(results []AskResult) []string {
	count := map[string]int{}
	for _, a := range results {
		for _, g := range a.Groups {
			count[g]++
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n == len(results) })
	names := slices.Sorted(maps.Keys(count))
	return names[:min(len(names), maxGroups)]
}

// in returns the results of a group.
func in(results []AskResult, group string) []AskResult {
	if group == "" {
		return results
	}
	var out []AskResult
	for _, a := range results {
		if slices.Contains(a.Groups, group) {
			out = append(out, a)
		}
	}
	return out
}

// column returns the values of a measure, NaN for questions without it.
func column(results []AskResult, key string) []float64 {
	out := make([]float64, len(results))
	for i, a := range results {
		v, ok := a.Scores[key]
		if !ok {
			v = math.NaN()
		}
		out[i] = v
	}
	return out
}

// rows estimates the measures of all results and of each group.
func rows(results []AskResult) []Row {
	var out []Row
	for _, g := range append([]string{""}, groups(results)...) {
		some := in(results, g)
		row := Row{Group: g, Questions: len(some), Measures: map[string]Estimate{}}
		measures := Measures()
		columns := make([][]float64, len(measures))
		for i, m := range measures {
			columns[i] = column(some, m.Key)
		}
		for i, e := range Intervals(columns...) {
			if e.N > 0 {
				row.Measures[measures[i].Key] = e
			}
		}
		if row.Measures["abstention_recall"].N == 0 {
			delete(row.Measures, "abstention_precision") // the group has no unanswerable question
		}
		out = append(out, row)
	}
	return out
}
