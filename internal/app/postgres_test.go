//go:build linux

package app_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// All tests of this package use PostgreSQL if this variable is set. Those of files of the data folder fail then.
func init() {
	if os.Getenv("SLUICE_TEST_STORE") != "postgres" {
		return
	}
	var mu sync.Mutex
	urls := map[string]config.Secret{}
	recordsOf = func(t *testing.T, data string) config.Secret {
		mu.Lock()
		defer mu.Unlock()
		if urls[data] == "" {
			urls[data] = config.Secret(postgrestest.URL(t))
		}
		return urls[data]
	}
}

func TestPostgresWall(t *testing.T) {
	t.Parallel()
	wall(t, t.TempDir(), config.Secret(postgrestest.URL(t)))
}

func TestPostgresManageTenants(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	manageTenants(t, func(cfg *config.Config) { cfg.Store.Records = config.Secret(url) })
	other := config.Store{Data: t.TempDir(), Records: config.Secret(url)} // another server, which has no folders of tenants
	r, err := app.OpenRecords(t.Context(), other)
	require.NoError(t, err)
	defer r.Close()
	db := postgrestest.Open(t, url)
	if _, _, err := db.Part(t.Context(), "sluicecache_acme", "cache", cache.Migrations); err != nil {
		t.Fatal(err)
	}
	names, err := r.TenantNames(t.Context(), nil)
	if err != nil || strings.Join(names, " ") != "default acme" {
		t.Errorf("%v, %v", names, err)
	}
	if err := app.DeleteTenant(t.Context(), config.Config{Store: other}, "acme", nil); err != nil {
		t.Error(err)
	}
	if err := app.DeleteTenant(t.Context(), config.Config{Store: other}, "acme", nil); err == nil {
		t.Error("a tenant is deleted twice")
	}
	if caches, err := db.Schemas(t.Context(), "sluicecache_"); err != nil || len(caches) > 0 {
		t.Errorf("the cached answers %v remain, %v", caches, err)
	}
}

// TestPostgresFolders: the records of a folder are either in its files or in a database.
func TestPostgresFolders(t *testing.T) {
	t.Parallel()
	url := config.Secret(postgrestest.URL(t))
	local, other := t.TempDir(), t.TempDir()
	withURL := func(cfg *config.Config) { cfg.Store.Records = url }
	c := openTenants(t, local, func(cfg *config.Config) { cfg.Store.Records = "" })
	c.close()
	c = openTenants(t, other, withURL)
	c.close()
	for _, name := range []string{"files.db", "sessions.db", "ledger.db", "keys.db", "calls.db"} {
		if _, err := os.Stat(filepath.Join(other, name)); err == nil {
			t.Errorf("the folder of a server with a database has %s", name)
		}
	}
	if _, err := app.OpenRecords(t.Context(), config.Store{Data: local, Records: url}); err == nil || !strings.Contains(err.Error(), "files.db has records of a server without --store") {
		t.Error(err)
	}
	if _, err := app.OpenRecords(t.Context(), config.Store{Data: other}); err == nil || !strings.Contains(err.Error(), "set --store to its URL") {
		t.Error(err)
	}
}

// TestPostgresIsDown: while the database is away, the health check names it, requests for records fail with a code, and questions are refused. Afterwards
// everything works again.
func TestPostgresIsDown(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(t)
	var clock sync.Mutex
	now := time.Now()
	c := openTenants(t, t.TempDir(), func(cfg *config.Config) { cfg.Store.Records = config.Secret(server.URL(t)) })
	c.Default.Now = func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		now = now.Add(time.Minute) // each health check checks
		return now
	}
	ready := func() *httptest.ResponseRecorder { return c.request("default", "GET", "/readyz", "") }
	session := func() *httptest.ResponseRecorder { return c.request("default", "POST", "/v1/rag/sessions", `{}`) }
	if w, s := ready(), session(); w.Code != http.StatusOK || s.Code >= 300 {
		t.Fatalf("%d %s, %d %s", w.Code, w.Body, s.Code, s.Body)
	}
	server.Stop()
	if w := ready(); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "PostgreSQL cannot be reached") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for path, body := range map[string]string{"/v1/rag/sessions": `{}`, "/v1/vector_stores": `{"name":"a"}`} {
		if w := c.request("default", "POST", path, body); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the database cannot be reached") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	server.Start(t)
	if w, s := ready(), session(); w.Code != http.StatusOK || s.Code >= 300 {
		t.Errorf("%d %s, %d %s", w.Code, w.Body, s.Code, s.Body)
	}
}
