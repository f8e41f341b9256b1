package analyze_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
)

const (
	simple = "When was the lamp lit?"
	hard   = "Compare the old lamp and the new one."
)

func TestModelLeavesSimpleQuestionsToRules(t *testing.T) {
	m := analyze.NewModel(modeltest.ReplyFunc(func(context.Context, model.Request) (string, error) {
		t.Error("a simple question was asked")
		return "", nil
	}), nil, analyze.Rules{}, analyze.Options{})
	if got, err := m.Analyze(t.Context(), simple); err != nil || got.Complexity != event.Simple || got.By != "rules" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestModel(t *testing.T) {
	long := strings.Repeat("What is the lamp? ", 20)
	for _, c := range []struct {
		name, says string
		want       analyze.Analysis
	}{
		{"parts", `{"complexity": "complex", "questions": ["How bright was the old lamp?", "How bright is the new lamp?"]}`,
			analyze.Analysis{Complexity: event.Complex, Parts: []string{"How bright was the old lamp?", "How bright is the new lamp?"}, By: "qwen"}},
		{"no parts", `{"complexity": "moderate", "questions": []}`, analyze.Analysis{Complexity: event.Moderate, By: "qwen"}},
		{"easier than it looks", `{"complexity": "simple", "questions": ["How old?", "How new?"]}`, analyze.Analysis{Complexity: event.Simple, By: "qwen"}},
		{"one part", `{"complexity": "moderate", "questions": ["How bright was the old lamp?"]}`, analyze.Analysis{Complexity: event.Moderate, By: "qwen"}},
		{"clutter", fmt.Sprintf(`{"complexity": "moderate", "questions": ["1. How\u0000 bright\nwas the old lamp? ", "", "?!", "how bright was the old LAMP", %q, %q, "- Which oil?", "Which wick?", "Which tower?", "Which keeper?"]}`, hard, long),
			analyze.Analysis{Complexity: event.Moderate, Parts: []string{"How bright was the old lamp?", "Which oil?", "Which wick?", "Which tower?"}, By: "qwen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, told := modeltest.RecordTrace(t.Context())
			got, err := analyze.NewModel(modeltest.ReplyFunc(func(_ context.Context, r model.Request) (string, error) {
				if user := r.Messages[1].Text; !strings.HasPrefix(user, "<question tag=") || !strings.Contains(user, ">\n"+hard+"\n</question ") || r.Schema.Name != "analyze" {
					t.Errorf("asked %q", user)
				}
				return c.says, nil
			}), nil, analyze.Rules{}, analyze.Options{}).Analyze(ctx, hard)
			if d := cmp.Diff(c.want, got); d != "" || err != nil || len(*told) != 0 {
				t.Error(d, err, *told)
			}
		})
	}
}

func TestModelFallsBack(t *testing.T) {
	ruled, err := analyze.Rules{}.Analyze(t.Context(), hard)
	require.NoError(t, err)
	hang := func(ctx context.Context, _ model.Request) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	for _, c := range []struct {
		name   string
		says   func(context.Context, model.Request) (string, error)
		within time.Duration
		took   time.Duration
		told   string
	}{
		{"nonsense", func(context.Context, model.Request) (string, error) { return "I am 7741", nil }, time.Hour, 0, "qwen sent an invalid reply"},
		{"a complexity that is none", func(context.Context, model.Request) (string, error) {
			return `{"complexity": "x", "questions": []}`, nil
		}, time.Hour, 0, "qwen sent an invalid reply"},
		{"a failure", func(context.Context, model.Request) (string, error) {
			return "", &model.Error{Model: "qwen", Failure: model.RateLimited, Status: 429}
		}, time.Hour, 0, "qwen is limiting requests (HTTP status 429)"},
		{"slow", hang, time.Hour, 8 * time.Second, "qwen took too long"},
		{"slow, and little time", hang, 16 * time.Second, 2 * time.Second, "qwen took too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				ctx, told := modeltest.RecordTrace(ctx)
				began := time.Now()
				got, err := analyze.NewModel(modeltest.ReplyFunc(c.says), nil, analyze.Rules{}, analyze.Options{}).Analyze(ctx, hard)
				if d := cmp.Diff(ruled, got); d != "" || err != nil || time.Since(began) != c.took {
					t.Error(d, err, time.Since(began))
				}
				if len(*told) != 1 || !strings.HasPrefix((*told)[0], c.told) || !strings.HasSuffix((*told)[0], "| qwen > rules") || strings.Contains((*told)[0], "7741") {
					t.Errorf("told %q", *told)
				}
			})
		})
	}
	ctx, told := modeltest.RecordTrace(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	_, err = analyze.NewModel(modeltest.ReplyFunc(func(ctx context.Context, r model.Request) (string, error) {
		cancel()
		return hang(ctx, r)
	}), nil, analyze.Rules{}, analyze.Options{}).Analyze(ctx, hard)
	if !errors.Is(err, context.Canceled) || len(*told) != 0 {
		t.Errorf("%v, told %q", err, *told)
	}
}
