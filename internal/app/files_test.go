package app_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestHealth checks that a server is unhealthy while it stops and if its data folder is gone.
func TestHealth(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	a.Now = ticking(2 * time.Second)
	require.NoError(t, a.OpenFiles(t.Context()))
	srv, err := a.Server("test")
	require.NoError(t, err)
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
	require.NoError(t, a.Engine.Close(t.Context()))
	health("stopping", "the server is stopping")
}

// ticking returns a clock that advances by step at each reading.
func ticking(step time.Duration) func() time.Time {
	var ticks atomic.Int64
	return func() time.Time { return time.Unix(0, ticks.Add(int64(step))) }
}

// TestHealthChecksAreBounded requests the health in a loop: the parts are checked once per second, and only changes are logged.
func TestHealthChecksAreBounded(t *testing.T) {
	t.Parallel()
	a, logged := open(t, func(*config.Config) {})
	now := time.Unix(0, 0)
	a.Now = func() time.Time { return now }
	h := handler(t, a)
	folder, away := a.Config.Store.Data, a.Config.Store.Data+"-away"
	for _, step := range []struct {
		name            string
		pass            time.Duration
		from, to        string
		status          int
		failed, passing int // lines of the log so far
	}{
		{name: "at first", status: http.StatusOK},
		{name: "the folder is gone", from: folder, to: away, status: http.StatusOK},
		{name: "a second later", pass: time.Second, status: http.StatusServiceUnavailable, failed: 1},
		{name: "two seconds later", pass: time.Second, status: http.StatusServiceUnavailable, failed: 1},
		{name: "the folder is back", from: away, to: folder, status: http.StatusServiceUnavailable, failed: 1},
		{name: "a second after that", pass: time.Second, status: http.StatusOK, failed: 1, passing: 1},
		{name: "gone again", pass: time.Second, from: folder, to: away, status: http.StatusServiceUnavailable, failed: 2, passing: 1},
		{name: "back again", pass: time.Second, from: away, to: folder, status: http.StatusOK, failed: 2, passing: 2},
	} {
		now = now.Add(step.pass)
		if step.from != "" {
			rename(t, step.from, step.to)
		}
		for range 3 {
			if status, reply := request(t, h, "GET", "/readyz", ""); status != step.status {
				t.Errorf("%s: status %d, want %d: %s", step.name, status, step.status, reply)
			}
		}
		failed, passing := strings.Count(logged.String(), "health check failed"), strings.Count(logged.String(), "health check passes again")
		if failed != step.failed || passing != step.passing {
			t.Errorf("%s: %d failures and %d recoveries are logged, want %d and %d", step.name, failed, passing, step.failed, step.passing)
		}
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.Rename(from, to))
}
