package app_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// asked asks a question and returns the state of its run.
func asked(t *testing.T, a *app.App, q event.Question) event.State {
	t.Helper()
	run, err := a.Engine.Ask(t.Context(), q, engine.Caller{})
	require.NoError(t, err)
	var s event.State
	for batch, err := range a.Engine.Events(t.Context(), run, 0) {
		require.NoError(t, err)
		for _, e := range batch {
			s.Apply(e)
		}
	}
	return s
}

// TestModelIsChosenByName checks that the requested model is tried first and the others take over. An unknown name selects the default model.
func TestModelIsChosenByName(t *testing.T) {
	t.Parallel()
	first, second := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Ada Brook is the keeper ⟦1⟧."}}), modeltest.NewOpenAI(t, modeltest.Script{Fail: modeltest.Refuse, Status: 401})
	a, _ := open(t, func(c *config.Config) {
		c.Models.ModelURL, c.Models.ModelName, c.Models.Judge = []string{first.URL, second.URL}, []string{"first", "second"}, []string{"none"}
	})
	for name, want := range map[string]struct{ shown, wrote string }{
		"": {"first", "first"}, "first": {"first", "first"}, "second": {"first", "first"}, "third": {"first", "first"},
		app.Extractive: {"sluice-extractive", ""}, "sluice-extractive": {"sluice-extractive", ""},
	} {
		s := asked(t, a, event.Question{Query: question, Mode: event.Direct, Model: name, NoCache: true})
		wrote := ""
		for _, u := range s.Usage {
			if u.Step == "generate" {
				wrote = u.Model
			}
		}
		if s.Generation.Model != want.shown || wrote != want.wrote || !strings.Contains(string(s.Text), "Ada Brook") {
			t.Errorf("%q: %s is said to write, %s wrote %q", name, s.Generation.Model, wrote, s.Text)
		}
	}
}

// TestFollowUpIsRewrittenByModel checks that the model gets the conversation and its self-contained question is used.
func TestFollowUpIsRewrittenByModel(t *testing.T) {
	t.Parallel()
	server := modeltest.NewOpenAI(t, modeltest.Script{Next: func(_ int, request []byte) modeltest.Script {
		if strings.Contains(string(request), "json_schema") && strings.Contains(string(request), "standing alone") {
			return modeltest.Script{Tokens: []string{`{"question": "What does the lamp of the Farland lighthouse burn?"}`}}
		}
		if !strings.Contains(string(request), "turn by=") {
			return helpful(0, request)
		}
		return modeltest.Script{Tokens: []string{"It burns rapeseed oil ⟦1⟧."}}
	}})
	a, _ := open(t, func(c *config.Config) { c.Models.ModelURL, c.Models.ModelName = []string{server.URL}, []string{"m"} })
	s := asked(t, a, event.Question{Query: "And its lamp, what does it burn?", Mode: event.Direct, History: []event.Message{
		{Role: event.RoleUser, Text: "Where is the Farland lighthouse?"}, {Role: event.RoleAssistant, Text: "On Skarholm."}}})
	if s.Analysis.Standalone != "What does the lamp of the Farland lighthouse burn?" || string(s.Text) != "It burns rapeseed oil." {
		t.Errorf("%q: %q, %v", s.Analysis.Standalone, s.Text, s.Warnings)
	}
}
