package app_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

// request sends a request to the app's server and returns the reply.
func request(t *testing.T, h http.Handler, method, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func handler(t *testing.T, a *app.App) http.Handler {
	t.Helper()
	require.NoError(t, a.OpenFiles(t.Context()))
	s, err := a.Server("test")
	require.NoError(t, err)
	return s.Handler()
}

func TestBrokenFileDatabase(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	h := handler(t, a)
	if _, err := a.Files().CreateStore(t.Context(), files.StoreParams{ID: "vs_1"}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(a.Config.Store.Data, "files.db"))
	require.NoError(t, err)
	defer db.Close()
	if _, err := db.Exec("DROP TABLE stores; DROP TABLE files"); err != nil {
		t.Fatal(err)
	}
	if _, state := ask(t, a, "Who is the keeper of the Farland lighthouse?"); state.Status != event.Finished || len(state.Sources) == 0 {
		t.Errorf("a question without vector stores: %s, %+v", state.Status, state.Failure)
	}
	for body, want := range map[string]int{
		`{"query":"Who keeps the lighthouse?"}`:                     http.StatusOK,
		`{"query":"Who keeps the lighthouse?","collection":"vs_1"}`: http.StatusBadGateway,
	} {
		status, reply := request(t, h, "POST", "/api/query", body)
		if status != want || want != http.StatusOK && !strings.Contains(reply, string(fault.Index)) {
			t.Errorf("%s: status %d, want %d: %s", body, status, want, reply)
		}
	}
	status, reply := request(t, h, "GET", "/readyz", "")
	var health server.Health
	require.NoError(t, json.Unmarshal([]byte(reply), &health))
	if status != http.StatusServiceUnavailable || health.Parts["store"].Status != server.PartFailed || health.Parts["log"].Status != server.PartOK {
		t.Errorf("readiness: status %d, %+v", status, health)
	}
}
