package eval_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestCache(t *testing.T) {
	set := &eval.Set{Name: "s", Questions: []eval.Question{
		{ID: "1", Text: "When was the north lock of Rotterdam opened in 1932?"},
		{ID: "2", Text: "What is the largest harbour of Belgium?"},
		{ID: "3", Text: strings.Repeat("very long ", 10_000)},
	}}
	all := func(string, string) bool { return true }
	bold, err := eval.Cache(t.Context(), set, all)
	require.NoError(t, err)
	shy, err := eval.Cache(t.Context(), set, func(string, string) bool { return false })
	require.NoError(t, err)
	if bold.Questions != 2 || bold.TrueHits.Rate != 1 || bold.FalseHits.Rate != 1 || bold.FalseHits.Cases < 5 || bold.TrueHits.Cases < 3 {
		t.Errorf("where all are the same: %+v %+v", bold.TrueHits, bold.FalseHits)
	}
	if shy.TrueHits.Rate != 0 || shy.FalseHits.Rate != 0 || shy.FalseHits.Low != 0 || shy.FalseHits.High <= 0 || shy.FalseHits.High > 0.5 {
		t.Errorf("where none are: %+v %+v", shy.TrueHits, shy.FalseHits)
	}
	if len(bold.Wrong) != bold.FalseHits.Cases || len(bold.Missed) > 0 || len(shy.Missed) != shy.TrueHits.Cases || len(shy.Wrong) > 0 {
		t.Errorf("listed %d and %d, %d and %d", len(bold.Wrong), len(bold.Missed), len(shy.Wrong), len(shy.Missed))
	}
	sum := 0
	for _, k := range bold.Kinds {
		if k.Same {
			sum += k.Cases
		}
	}
	if sum != bold.TrueHits.Cases {
		t.Errorf("kinds have %d paraphrases, all have %d", sum, bold.TrueHits.Cases)
	}
	again, err := eval.Cache(t.Context(), set, all)
	if err != nil || cmp.Diff(bold, again) != "" {
		t.Errorf("another report the second time: %v %s", err, cmp.Diff(bold, again))
	}
	var b strings.Builder
	if err := eval.WriteCache(&b, bold, shy); err != nil || strings.Count(b.String(), "\n") != 3 {
		t.Errorf("%s %v", &b, err)
	}
	b.Reset()
	if err := eval.WriteCacheKinds(&b, bold, shy); err != nil || !strings.Contains(b.String(), "near miss ") || !strings.Contains(b.String(), "0.5000") {
		t.Errorf("%s %v", &b, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := eval.Cache(ctx, set, all); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if r, err := eval.Cache(t.Context(), &eval.Set{}, all); err != nil || r.TrueHits.Cases+r.FalseHits.Cases > 0 {
		t.Errorf("without questions: %+v, %v", r, err)
	}
}
