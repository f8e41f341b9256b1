package selfquery_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/selfquery"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
)

func TestModel(t *testing.T) {
	t.Parallel()
	const question = "What did Ada Brook write last year about tides?"
	now := func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	ruled, err := selfquery.Rules{}.Extract(t.Context(), question)
	require.NoError(t, err)
	object := func(creator, from, to, query string) string {
		return `{"creator":"` + creator + `","publisher":"","title":"","type":"","language":"","from":"` + from + `","to":"` + to + `","query":"` + query + `"}`
	}
	for name, c := range map[string]struct {
		says  string
		want  selfquery.Filter
		fails bool
	}{
		"conditions":       {object("Ada Brook", "2025-01-01", "2025-12-31", "tides"), selfquery.Filter{Creator: "Ada Brook", From: "2025-01-01", To: "2025-12-31", Query: "tides", By: "qwen"}, false},
		"none":             {object("", "", "", "something else"), selfquery.Filter{Query: question, By: "qwen"}, false},
		"invented name":    {object("Jane Doe", "2025-01-01", "", "tides"), selfquery.Filter{From: "2025-01-01", Query: "tides", By: "qwen"}, false},
		"nothing left":     {object("Ada Brook", "", "", "the"), selfquery.Filter{Creator: "Ada Brook", Query: question, By: "qwen"}, false},
		"not a date":       {object("", "last year", "", "tides"), ruled, true},
		"a range reversed": {object("", "2025-01-01", "2024-01-01", "tides"), ruled, true},
		"not JSON":         {"I cannot", ruled, true},
	} {
		ctx, told := modeltest.RecordTrace(t.Context())
		got, err := selfquery.NewModel(modeltest.ReplyFunc(func(_ context.Context, r model.Request) (string, error) {
			if !strings.Contains(r.Messages[0].Text, "Today is 2026-03-04.") || !strings.Contains(r.Messages[1].Text, question) || r.Schema.Name != "conditions" {
				t.Errorf("asked %+v", r)
			}
			return c.says, nil
		}), nil, selfquery.Rules{}, selfquery.Options{Now: now}).Extract(ctx, question)
		if d := cmp.Diff(c.want, got); d != "" || err != nil || (len(*told) > 0) != c.fails {
			t.Errorf("%s: %v, %v (-want +got):\n%s", name, err, *told, d)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := selfquery.NewModel(modeltest.ReplyFunc(func(ctx context.Context, _ model.Request) (string, error) { return "", ctx.Err() }), nil,
		selfquery.Rules{}, selfquery.Options{}).Extract(ctx, question); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
