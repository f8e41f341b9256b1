package eval_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func answersOf(confidence float64, right, wrong int) (out []eval.AskResult) {
	for i := range right + wrong {
		out = append(out, eval.AskResult{Confidence: confidence, Right: new(i < right)})
	}
	return out
}

// TestCalibrate compares the report with values computed by hand.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	first := &eval.ModeReport{Results: append(answersOf(0.8, 6, 2), answersOf(0.82, 2, 0)...)}
	second := &eval.ModeReport{Results: append(append(answersOf(0.2, 0, 5), answersOf(0.7, 3, 2)...), eval.AskResult{Confidence: 0.9},
		eval.AskResult{Right: new(false), Abstained: true}, eval.AskResult{Right: new(false), Failed: "timeout"})}
	got := eval.Calibrate("all", first, second)
	var summary [][4]float64
	for _, b := range got.Bins {
		summary = append(summary, [4]float64{float64(b.From), float64(b.Answers), b.Confidence, b.Right})
		if b.Low >= b.Right && b.Right > 0 || b.High <= b.Right && b.Right < 1 {
			t.Errorf("%+v", b)
		}
	}
	want := [][4]float64{{20, 5, 0.2, 0}, {70, 5, 0.7, 0.6}, {80, 10, 0.804, 0.8}}
	if diff := cmp.Diff(want, summary, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" || got.Answers != 20 || got.Abstained != 1 {
		t.Errorf("%d answers, %d abstentions (-want +got):\n%s", got.Answers, got.Abstained, diff)
	}
	if ece := (5*0.2 + 5*0.1 + 10*0.004) / 20; math.Abs(got.ECE-ece) > 1e-9 {
		t.Errorf("ECE %v, want %v", got.ECE, ece)
	}
	// 11 right answers: 3 at 70, 6 at 80, 2 at 82. 9 wrong ones: 5 at 20, 2 at 70, 2 at 80.
	if auc := (3*(5+1) + 6*(7+1) + 2*9) / 99.0; math.Abs(got.AUC-auc) > 1e-9 {
		t.Errorf("AUC %v, want %v", got.AUC, auc)
	}
	if eval.Calibrate("none", &eval.ModeReport{Results: []eval.AskResult{{Confidence: 0.9}, {Right: new(false), Abstained: true}}}) != nil {
		t.Error("a report without known answers")
	}
}

// TestRisk compares the shares of wrong answers by coverage with values computed by hand. Answers of equal confidence count by their mean,
// whatever their order is.
func TestRisk(t *testing.T) {
	t.Parallel()
	answers := append(answersOf(0.9, 2, 0), answersOf(0.5, 1, 3)...) // wrong: 0, 0, then 3/4 each
	for range 2 {
		got := eval.Calibrate("set", &eval.ModeReport{Results: answers})
		want := []eval.RiskPoint{{0.1, 0.9, 0}, {0.2, 0.9, 0}, {0.3, 0.9, 0}, {0.4, 0.9, 0}, {0.5, 0.5, 0.75 / 3}, {0.6, 0.5, 1.5 / 4}, {0.7, 0.5, 1.5 / 4},
			{0.8, 0.5, 2.25 / 5}, {0.9, 0.5, 2.25 / 5}, {1, 0.5, 0.5}}
		if diff := cmp.Diff(want, got.Risk, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if area := (0.75/3 + 1.5/4 + 2.25/5 + 0.5) / 6; math.Abs(got.AURC-area) > 1e-9 {
			t.Errorf("area %v, want %v", got.AURC, area)
		}
		slices.Reverse(answers)
	}
}

// TestWriteReliability checks that the diagrams are well-formed and have a point for each range and each coverage, and the tables a line for
// each range and for the set.
func TestWriteReliability(t *testing.T) {
	t.Parallel()
	r := eval.Calibrate("a <set>", &eval.ModeReport{Results: append(answersOf(0.8, 6, 2), answersOf(0.2, 0, 5)...)})
	var svg, table bytes.Buffer
	require.NoError(t, eval.WriteReliability(&svg, r))
	require.NoError(t, eval.WriteCalibration(&table, r))
	points := 0
	for dec := xml.NewDecoder(bytes.NewReader(svg.Bytes())); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			points++
		}
	}
	if points != 2+10 || strings.Count(table.String(), "\n") != 3+4 || !strings.Contains(table.String(), "75.0 %") {
		t.Errorf("%d points\n%s", points, &table)
	}
}
