package app_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/config"
)

// TestHealth: a server is not healthy while it stops, nor where its data folder is gone.
func TestHealth(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	if err := a.OpenFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv, err := a.Server("test")
	if err != nil {
		t.Fatal(err)
	}
	health := func(step, issue string) {
		t.Helper()
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/serverstatus/health", nil))
		want := http.StatusOK
		if issue != "" {
			want = http.StatusServiceUnavailable
		}
		if w.Code != want || !strings.Contains(w.Body.String(), issue) {
			t.Errorf("%s: status %d, want %d with %q: %s", step, w.Code, want, issue, w.Body)
		}
	}
	health("at first", "")
	if left, err := filepath.Glob(filepath.Join(a.Config.Store.Data, "health-*")); len(left) > 0 || err != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
	away := a.Config.Store.Data + "-away"
	rename(t, a.Config.Store.Data, away)
	health("without its folder", "the data folder cannot be written")
	rename(t, away, a.Config.Store.Data)
	health("with its folder again", "")
	if err := a.Engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	health("stopping", "the server is stopping")
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
