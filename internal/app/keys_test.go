package app_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// openOperations are the operations that need no key, adminOnly those that need the scope admin, which is also that of routes without a scope, and
// tenantsOnly those that need the scope tenants.
var (
	openOperations = []string{"GET /.well-known/agent-card.json", "GET /healthz", "GET /readyz", "POST /auth/login", "GET /auth/methods", "GET /auth/oidc/start", "GET /auth/oidc/callback", "GET /auth/oidc/logout"}
	adminOnly      = []string{"GET /api/admin/accounts", "GET /api/admin/prices", "GET /api/admin/evaluations", "GET /api/admin/keys", "POST /api/admin/keys", "POST /api/admin/keys/{id}/rotate", "DELETE /api/admin/keys/{id}"}
	tenantsOnly    = []string{"GET /api/admin/tenants", "POST /api/admin/tenants", "GET /api/admin/tenants/{name}", "DELETE /api/admin/tenants/{name}", "POST /api/ingestions"}
)

// TestEveryRouteNeedsAKey walks the document of all routes. Without a key, only the open ones reply. A key with all scopes but the one that
// the document names is refused.
func TestEveryRouteNeedsAKey(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	shared, err := app.OpenShared(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, shared.OpenAccess(t.Context(), "", false))
	tenants, err := app.OpenTenants(t.Context(), shared, "test", "test")
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := errors.Join(tenants.Close(), shared.Close()); err != nil {
			t.Error(err)
		}
	})
	handler := tenants.Front(shared.Access.Handler).Handler()
	request := func(key, operation string) *httptest.ResponseRecorder {
		method, path, _ := strings.Cut(operation, " ")
		r := httptest.NewRequest(method, path, nil)
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	var document struct {
		Paths map[string]map[string]struct {
			Description string
			Security    []map[string]any
			Responses   map[string]any
		}
		Components struct{ SecuritySchemes map[string]any }
	}
	if err := json.Unmarshal(request("", "GET /openapi.json").Body.Bytes(), &document); err != nil || len(document.Components.SecuritySchemes) != 3 {
		t.Fatalf("%v, %v", err, document.Components)
	}
	keys, err := (&app.Records{Data: cfg.Store.Data}).Keys(t.Context())
	require.NoError(t, err)
	defer keys.Close()
	without := map[auth.Scope]string{} // keys that lack one scope
	for _, lacks := range auth.Scopes() {
		has := slices.DeleteFunc(auth.Scopes(), func(s auth.Scope) bool { return s == lacks || s == auth.Admin && lacks != auth.Tenants })
		if without[lacks], _, err = auth.Create(t.Context(), keys, auth.Key{Tenant: "default", Account: "a", Scopes: has}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for path, operations := range document.Paths {
		for method, o := range operations {
			n++
			operation := strings.ToUpper(method) + " " + path
			if slices.Contains(openOperations, operation) {
				if w := request("", operation); w.Code == http.StatusUnauthorized || len(o.Security) > 0 {
					t.Errorf("%s needs a key: %d", operation, w.Code)
				}
				continue
			}
			if w := request("", operation); w.Code != http.StatusUnauthorized || len(o.Security) != 3 || o.Responses["401"] == nil {
				t.Errorf("%s needs no key: %d", operation, w.Code)
			}
			text, needs := strings.CutPrefix(o.Description, "Needs the scope ")
			text, _, _ = strings.Cut(text, ".")
			if !needs || strings.Contains(text, " or ") { // any key; or one of two scopes, which depends on the account of the run or session
				continue
			}
			scope := auth.Scope(text)
			if w := request(without[scope], operation); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "lacks the scope "+string(scope)) || o.Responses["403"] == nil {
				t.Errorf("%s without %q: %d %s", operation, scope, w.Code, w.Body)
			}
			if scope == auth.Admin && !slices.Contains(adminOnly, operation) {
				t.Errorf("%s declares no scope", operation)
			}
			if (scope == auth.Tenants) != slices.Contains(tenantsOnly, operation) {
				t.Errorf("%s needs the scope %s", operation, scope)
			}
		}
	}
	if n < 30 {
		t.Errorf("the document has only %d operations", n)
	}
}

// TestReadyWithoutKeys: a server that has lost its keys is not ready, and says what to do.
func TestReadyWithoutKeys(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := openSecured(t, data)
	c.Default.Now = ticking(2 * time.Second)
	c.key("default")
	ready := func(status int, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		if w.Code != status || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, want %d and %s: %s", w.Code, status, want, w.Body)
		}
	}
	ready(200, `"keys":{"status":"ok"}`)
	db, err := sql.Open("sqlite", filepath.Join(data, "keys.db"))
	require.NoError(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "DELETE FROM keys"); err != nil {
		t.Fatal(err)
	}
	ready(503, "restore keys.db from a backup")
	if _, err := db.ExecContext(t.Context(), "DROP TABLE keys"); err != nil {
		t.Fatal(err)
	}
	ready(503, "the key database cannot be read")
}
