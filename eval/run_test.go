package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

func TestRunAndCompare(t *testing.T) {
	set := &eval.Set{Name: "s", Qrels: map[string]map[string]int{"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}},
		Questions: []eval.Question{{ID: "q1", Text: "1"}, {ID: "q2", Text: "2"}, {ID: "q3", Text: "3"}}}
	fixed := func(ids ...string) eval.SearchFunc {
		return func(context.Context, string, int) ([]string, error) { return ids, nil }
	}
	a, err := eval.Run(t.Context(), set, fixed("x", "a"), eval.Options{Name: "one"})
	require.NoError(t, err)
	b, err := eval.Run(t.Context(), set, fixed("a", "b"), eval.Options{Name: "two", Workers: 9})
	require.NoError(t, err)
	if len(a.Results) != 2 || a.Results[0].Query != "q1" || a.Mean.MRR10 != 0.25 || b.Mean.MRR10 != 0.75 {
		t.Errorf("reports %+v and %+v", a, b)
	}
	c, err := eval.Compare(a, b)
	if err != nil || c.Wins != 2 || c.Losses != 0 || c.Difference <= 0 || c.P < 0.4 || c.P > 0.6 {
		t.Errorf("comparison %+v, %v", c, err)
	}
	if c, err := eval.Compare(a, a); err != nil || c.P != 1 || c.Ties != 2 {
		t.Errorf("comparison with itself %+v, %v", c, err)
	}
	if _, err := eval.Compare(a, &eval.Report{Set: "other"}); err == nil {
		t.Error("comparison of different sets")
	}
	var table strings.Builder
	if err := eval.WriteTable(&table, a, b); err != nil || strings.Count(table.String(), "\n") != 3 {
		t.Errorf("table %q, %v", &table, err)
	}
	var back eval.Report
	if raw, err := json.Marshal(a); err != nil || json.Unmarshal(raw, &back) != nil || back.Mean != a.Mean {
		t.Errorf("JSON does not come back: %v", err)
	}
}

func TestRunFails(t *testing.T) {
	set := &eval.Set{Name: "s", Questions: []eval.Question{{ID: "q"}}, Qrels: map[string]map[string]int{"q": {"a": 1}}}
	bad := errors.New("bad")
	if _, err := eval.Run(t.Context(), set, func(context.Context, string, int) ([]string, error) { return nil, bad }, eval.Options{}); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := eval.Run(ctx, set, nil, eval.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := eval.Run(t.Context(), &eval.Set{}, nil, eval.Options{}); err == nil {
		t.Error("no error without questions")
	}
}

// TestFloorSearchOnTuningSets measures lexical and hybrid search on the sets that the constants of the index were chosen with. A thousandth is less than one
// question of any set.
func TestFloorSearchOnTuningSets(t *testing.T) {
	search(t, 0.002, map[string]float64{"scifact": 0.725, "squad": 0.885, "hotpotqa": 0.815, "musique": 0.585, "2wiki": 0.75})
}

// TestFloorSearch measures lexical and hybrid search on sets in languages that nothing was fitted to. The floors are the figures
// measured on 2026-11-22 less 0.02.
func TestFloorSearch(t *testing.T) {
	search(t, 0.01, map[string]float64{"xquad-de": 0.914, "xquad-es": 0.935, "xquad-zh": 0.933})
}

// search measures nDCG@10 of each set. Lexical search must reach the floor, and vectors may cost at most loss.
func search(t *testing.T, loss float64, floors map[string]float64) {
	race.Measure(t)
	x, err := embedded.Open(t.Context(), t.TempDir(), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Close() })
	e := local.New(local.Options{})
	for name, floor := range floors {
		t.Run(name, func(t *testing.T) {
			set := beir.LoadSet(t, name)
			require.NoError(t, eval.IndexSet(t.Context(), set, eval.PassageIndexer(x, name, e)))
			var reports []*eval.Report
			for _, w := range []struct {
				name string
				way  eval.SearchOptions
			}{{"lexical", eval.SearchOptions{Lexical: true}}, {"vector", eval.SearchOptions{Vector: true}}, {"hybrid", eval.SearchOptions{Lexical: true, Vector: true}}} {
				r, err := eval.Run(t.Context(), set, eval.IndexSearcher(x, name, e, w.way), eval.Options{Name: w.name})
				require.NoError(t, err)
				reports = append(reports, r)
			}
			var table strings.Builder
			require.NoError(t, eval.WriteTable(&table, reports...))
			t.Log("\n" + table.String())
			lexical, hybrid := reports[0].Mean.NDCG10, reports[2].Mean.NDCG10
			if lexical < floor || hybrid < lexical-loss {
				t.Errorf("nDCG@10: lexical %.4f (at least %.4f), hybrid %.4f", lexical, floor, hybrid)
			}
		})
	}
}
