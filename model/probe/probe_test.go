package probe_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/model/openai"
	"github.com/sluice-rag/sluice/model/probe"
)

func TestChat(t *testing.T) {
	t.Parallel()
	able := modeltest.Script{Context: 8192, Next: func(n int, request []byte) modeltest.Script {
		var r struct {
			Tools  []any `json:"tools"`
			Format any   `json:"response_format"`
		}
		if err := json.Unmarshal(request, &r); err != nil {
			t.Error(err)
		}
		switch {
		case r.Tools != nil:
			return modeltest.Script{Calls: []modeltest.ScriptCall{{ID: "1", Name: "water_level", Input: `{"gate":"North"}`}}}
		case r.Format != nil:
			return modeltest.Script{Tokens: []string{`{"metres":`, `3,"open":true}`}}
		}
		return modeltest.Script{Reasoning: []string{"Easy."}, Tokens: []string{"1", " 2", " 3"}}
	}}
	for _, c := range []struct {
		name   string
		script modeltest.Script
		want   probe.Abilities
		fails  bool
	}{
		{"able", able, probe.Abilities{
			Stream: true, Tools: true, JSON: true, Usage: true, Reasoning: true, Context: 8192, Tokenizer: "estimate",
		}, false},
		{"poor", modeltest.Script{Tokens: []string{"1 2 3"}, NoUsage: true}, probe.Abilities{Tokenizer: "estimate"}, false},
		{"down", modeltest.Script{Fail: modeltest.Refuse}, probe.Abilities{Tokenizer: "estimate"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, err := openai.New(openai.Options{URL: modeltest.NewOpenAI(t, c.script).URL})
			require.NoError(t, err)
			told := 0
			ctx := model.WithTrace(t.Context(), &model.Trace{Used: func(string, model.Usage) { told++ }})
			got := probe.Chat(ctx, m)
			if (got.Err != nil) != c.fails {
				t.Errorf("the error is %v", got.Err)
			}
			if (got.FirstToken > 0) == c.fails {
				t.Errorf("the first token came after %v", got.FirstToken)
			}
			if (told > 0) == c.fails {
				t.Errorf("the trace around was told of %d requests", told)
			}
			got.Err, got.FirstToken = nil, 0
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	m, err := openai.New(openai.Options{URL: modeltest.NewOpenAI(t, modeltest.Script{}).URL})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	end()
	if got := probe.Chat(ctx, m); got.Err == nil {
		t.Error("it asked under a context that has ended")
	}
}

func TestEmbedder(t *testing.T) {
	t.Parallel()
	e, err := openai.NewEmbedder(t.Context(), openai.EmbedOptions{URL: modeltest.NewOpenAI(t, modeltest.Script{Dim: 48}).URL})
	require.NoError(t, err)
	got := probe.Embedder(t.Context(), e)
	if got.Took <= 0 {
		t.Error("it took no time")
	}
	got.Took = 0
	if diff := cmp.Diff(probe.EmbedAbilities{Space: "test-model", Dim: 48}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
