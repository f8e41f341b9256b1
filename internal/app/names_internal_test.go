package app

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestNamesOfModelsAtStart checks that the first run has the name that the server tells for its model, and that a hold is the most of all prices
// while the name is not known.
func TestNamesOfModelsAtStart(t *testing.T) {
	t.Parallel()
	tell := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-tell
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"fake-1","object":"model"}]}`)
	}))
	t.Cleanup(srv.Close)
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	cfg.Models.Model, cfg.Models.ModelURL = []string{config.KindOpenAI}, []string{srv.URL + "/v1"}
	s, err := OpenShared(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	if names := s.Models.writers(); names != nil {
		t.Errorf("writers before the server told its name: %v", names)
	}
	close(tell)
	s.background.Wait()
	if w := s.Models.describe(t.Context(), event.Question{}); w.Model != "fake-1" || len(s.Models.writers()) != 2 {
		t.Errorf("the writer is %+v, writers %v", w, s.Models.writers())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
