package app_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
)

func TestTitler(t *testing.T) {
	t.Parallel()
	titler := func(by, url string) func(context.Context, string, string) (string, string, error) {
		cfg := config.Default()
		cfg.Models.SessionTitles = by
		if url != "" {
			cfg.Models.ModelURL, cfg.Models.ModelName = []string{url}, []string{"m"}
		}
		models, err := app.OpenModels(t.Context(), cfg, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		return models.Titler(cfg.Models, slog.New(slog.DiscardHandler))
	}
	for says, want := range map[string]string{
		`{"title": " \"Building of the\n Farland\u0000 lighthouse.\""}`: "Building of the Farland lighthouse",
		`{"title": "…"}`: "",
		`{"title": "` + strings.Repeat("long ", 50) + `"}`: "",
		"no JSON": "",
	} {
		server := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{says}})
		title, by, err := titler("model", server.URL)(t.Context(), "When was the Farland lighthouse built?", strings.Repeat("In 1871. ", 10_000))
		if title != want || (err == nil) != (want != "") || want != "" && by != "m" {
			t.Errorf("%.40q: %q by %q, %v", says, title, by, err)
		}
	}
	if titler("rules", "http://127.0.0.1:1") != nil || titler("model", "") != nil {
		t.Error("a model names conversations, although none is set to")
	}
}
