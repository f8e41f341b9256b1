package eval_test

import (
	"math"
	"testing"

	"github.com/sluice-rag/sluice/eval"
)

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

func TestMeasures(t *testing.T) {
	judged := map[string]int{"a": 2, "b": 1, "c": 1, "z": 0}
	ranked := []string{"x", "a", "z", "b", "a"}
	ideal := 2 + 1/math.Log2(3) + 1/math.Log2(4)
	near(t, "nDCG@10", eval.NDCG(ranked, judged, 10), (2/math.Log2(3)+1/math.Log2(5))/ideal)
	near(t, "nDCG@2", eval.NDCG(ranked, judged, 2), 2/math.Log2(3)/(2+1/math.Log2(3)))
	near(t, "nDCG of the best", eval.NDCG([]string{"a", "c", "b"}, judged, 10), 1)
	near(t, "recall@5", eval.Recall(ranked, judged, 5), 2.0/3)
	near(t, "recall@1", eval.Recall(ranked, judged, 1), 0)
	near(t, "RR", eval.ReciprocalRank(ranked, judged, 10), 0.5)
	near(t, "RR@1", eval.ReciprocalRank(ranked, judged, 1), 0)
	near(t, "hit@2", eval.Hit(ranked, judged, 2), 1)
	near(t, "hit@1", eval.Hit(ranked, judged, 1), 0)
	near(t, "all@5", eval.AllFound(ranked, judged, 5), 0)
	near(t, "all@3", eval.AllFound([]string{"c", "b", "a"}, judged, 3), 1)
	near(t, "AP", eval.AveragePrecision(ranked, judged, 10), (1.0/2+2.0/4)/3)
	for _, f := range []func([]string, map[string]int, int) float64{eval.NDCG, eval.Recall, eval.ReciprocalRank, eval.Hit,
		eval.AllFound, eval.AveragePrecision} {
		near(t, "nothing judged", f(ranked, nil, 10), 0)
		near(t, "nothing ranked", f(nil, judged, 10), 0)
		near(t, "k of 0", f(ranked, judged, 0), 0)
	}
}
