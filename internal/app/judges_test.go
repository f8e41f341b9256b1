package app_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// TestRunNamesJudge checks that events name the second model of a chain if it judged.
func TestRunNamesJudge(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]modeltest.Script{
		"401": {Fail: modeltest.Refuse, Status: 401}, "404": {Fail: modeltest.Refuse, Status: 404},
		"503": {Fail: modeltest.Refuse}, "cut": {Tokens: []string{"{"}, Fail: modeltest.Cut, After: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := modeltest.NewOpenAI(t, fails), modeltest.NewOpenAI(t, modeltest.Script{Next: helpful})
			a, _ := open(t, func(c *config.Config) {
				c.Models.ModelURL, c.Models.ModelName = []string{first.URL, second.URL}, []string{"first", "second"}
			})
			_, st := ask(t, a, question)
			if by := []string{st.Analysis.By, st.Grades[0].By, st.Check.By}; by[0] != "second" || by[1] != "second" || by[2] != "second" {
				t.Errorf("analysed, graded and verified by %q", by)
			}
		})
	}
}

// TestUnknownEmbedderName checks that the error for a server that is down, and whose model is not configured, says what to do.
func TestUnknownEmbedderName(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Models.EmbedURL = "http://127.0.0.1:1/v1"
	_, err := app.OpenModels(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "embed-name") {
		t.Errorf("got %v", err)
	}
	cfg.Models.EmbedName = "m"
	if _, err := app.OpenModels(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("with a name: %v", err)
	}
}
