package calling_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/answer/agent/calling"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/model/modeltest/llama"
	"github.com/sluice-rag/sluice/model/openai"
)

// roomy is a model of which it is thought that the tools fit into its context: the tiny one has a token for most letters, and a
// template that leaves tools out. It may write little, since it never ends by itself within a text.
type roomy struct{ *openai.Chat }

func (roomy) Limits(context.Context) model.Limits { return model.Limits{Context: 16384, Output: 160} }

// TestLlamaOfNoSense has llama.cpp plan by a tiny model that is held to calling a tool and fills its arguments with a story that
// has no end: the rules plan, and the run is told why.
func TestLlamaOfNoSense(t *testing.T) {
	t.Parallel()
	chat := newLlama(t, llama.Tiny(t))
	ctx, told := modeltest.RecordTrace(t.Context())
	plan, err := calling.New(roomy{chat}, nil, &ruled{}, calling.Options{Timeout: time.Minute}).Next(ctx, view())
	if want := []string{"sluice-tiny sent no answer: the answer has no text and calls no tool | sluice-tiny > rules"}; err != nil || plan.By != "rules" || !slices.Equal(*told, want) {
		t.Errorf("%+v, %v, told %q", plan, err, *told)
	}
}

// TestLlamaOfSense has a real model plan, where a variable names one: what it calls can be carried out.
func TestLlamaOfSense(t *testing.T) {
	t.Parallel()
	chat := newLlama(t, llama.Named(t, llama.ChatVariable))
	ctx, told := modeltest.RecordTrace(t.Context())
	plan, err := calling.New(chat, nil, &ruled{}, calling.Options{Timeout: time.Minute}).Next(ctx, view())
	if err != nil || plan.By != chat.Name() || len(plan.Actions) == 0 {
		t.Errorf("%+v, %v, told %q", plan, err, *told)
	}
}

func newLlama(t *testing.T, file string) *openai.Chat {
	t.Helper()
	s := llama.Start(t, file, llama.Options{})
	chat, err := openai.New(openai.Options{URL: s.URL, Stall: time.Minute})
	require.NoError(t, err)
	return chat
}
