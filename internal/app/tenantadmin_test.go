package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/server/admin"
)

// operator sends requests with one key.
type operator struct {
	*city
	text string
}

// as returns the operator with a new key.
func (c *city) as(tenant string, scopes ...auth.Scope) operator {
	c.Helper()
	text, _, err := auth.Create(c.Context(), c.keys, auth.Key{Tenant: tenant, Account: "op", Scopes: scopes}, time.Now())
	require.NoError(c, err)
	return operator{c, text}
}

func (o operator) do(ctx context.Context, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if o.text != "" {
		r.Header.Set("Authorization", "Bearer "+o.text)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, r)
	return w
}

// send sends a request and decodes the reply, which must have the status.
func (o operator) send(status int, method, path, body string, into any) {
	o.Helper()
	w := o.do(o.Context(), method, path, body)
	if w.Code != status {
		o.Fatalf("%s %s %s: status %d, want %d: %s", method, path, body, w.Code, status, w.Body)
	}
	if into != nil {
		require.NoError(o, json.Unmarshal(w.Body.Bytes(), into))
	}
}

// names returns the tenants of a list, with * for those that are open and ! for that of the operator.
func (o operator) names() (out []string) {
	o.Helper()
	for next := ""; ; {
		var page admin.TenantList
		o.send(200, "GET", "/api/admin/tenants?limit=2&after="+next, "", &page)
		for _, t := range page.Tenants {
			out = append(out, t.Name+map[bool]string{true: "*"}[t.Open]+map[bool]string{true: "!"}[t.Own])
		}
		if next = page.Next; next == "" {
			return out
		}
	}
}

// TestManageTenants creates, lists and deletes tenants with a key of one of them.
func TestManageTenants(t *testing.T) {
	t.Parallel()
	manageTenants(t, nil)
}

func manageTenants(t *testing.T, change func(*config.Config)) {
	data := t.TempDir()
	c := openSecuredWith(t, data, change)
	ops := c.as("ops", auth.Tenants)
	if diff := cmp.Diff([]string{"default*", "ops!"}, ops.names()); diff != "" {
		t.Error(diff)
	}
	var first, again struct{ Tenant, Account, Key string }
	ops.send(201, "POST", "/api/admin/tenants", `{"tenant":"acme","account":"alice"}`, &first)
	alice := operator{c, first.Key}
	if first.Tenant != "acme" || first.Account != "alice" {
		t.Errorf("%+v", first)
	}
	alice.send(201, "POST", "/api/admin/keys", `{"scopes":["ask","read","write","admin"]}`, nil)
	if diff := cmp.Diff([]string{"default*", "acme*", "ops!"}, ops.names()); diff != "" {
		t.Error(diff)
	}
	var one admin.Tenant
	ops.send(200, "GET", "/api/admin/tenants/acme", "", &one)
	if time.Since(one.Created) > time.Minute || one.Keys != 2 || one.Bytes < 1000 || !one.Open || one.Live != 0 || one.Own {
		t.Errorf("%+v", one)
	}
	login := alice.do(t.Context(), "POST", "/auth/login", `{"key":"`+alice.text+`"}`)
	cookie := []string{"Cookie", login.Header().Get("Set-Cookie"), "Sec-Fetch-Site", "same-origin"}
	if w := (operator{city: c}).do(t.Context(), "GET", "/auth/session", "", cookie...); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, refused := range []struct {
		status             int
		method, path, body string
		want               string
	}{
		{409, "POST", "", `{"tenant":"acme"}`, "there already is a tenant acme"},
		{409, "POST", "", `{"tenant":"default"}`, "there already is a tenant"},
		{409, "POST", "", `{"tenant":"ops"}`, "there already is a tenant"},
		{400, "POST", "", `{"tenant":"../x"}`, `"field":"tenant"`},
		{400, "POST", "", `{}`, `"field":"tenant"`},
		{400, "POST", "", `{"tenant":"x","scopes":["admin","tenants"]}`, `"field":"scopes"`},
		{400, "POST", "", `{"tenant":"x","scopes":[]}`, `"field":"scopes"`},
		{400, "POST", "", `{"tenant":"x","expires":"soon"}`, `"field":"expires"`},
		{400, "POST", "", `{"tenant":"x","account":"platform"}`, `"field":"account"`},
		{400, "GET", "?limit=0", "", `"field":"limit"`},
		{404, "GET", "/x", "", "no such tenant"},
		{404, "DELETE", "/x?confirm=x", "", "there is no tenant x"},
		{400, "DELETE", "/..%2Facme?confirm=../acme", "", `"field":"tenant"`},
		{400, "DELETE", "/acme", "", `"field":"confirm"`},
		{400, "DELETE", "/acme?confirm=Acme", "", `"field":"confirm"`},
		{409, "DELETE", "/ops?confirm=ops", "", "logged in to this tenant"},
		{409, "DELETE", "/default?confirm=default", "", "default tenant cannot be deleted"},
	} {
		if w := ops.do(t.Context(), refused.method, "/api/admin/tenants"+refused.path, refused.body); w.Code != refused.status || !strings.Contains(w.Body.String(), refused.want) {
			t.Errorf("%s %s %s: %d, want %d and %s: %s", refused.method, refused.path, refused.body, w.Code, refused.status, refused.want, w.Body)
		}
	}
	ops.send(204, "DELETE", "/api/admin/tenants/acme?confirm=acme", "", nil)
	if _, err := os.Stat(app.Folder(data, "acme")); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
	alice.send(401, "GET", "/api/runs", "", nil)
	if w := (operator{city: c}).do(t.Context(), "GET", "/auth/session", "", cookie...); w.Code != 401 {
		t.Errorf("the login goes on: %d %s", w.Code, w.Body)
	}
	if diff := cmp.Diff([]string{"default*", "ops!"}, ops.names()); diff != "" {
		t.Error(diff)
	}
	ops.send(404, "DELETE", "/api/admin/tenants/acme?confirm=acme", "", nil)
	ops.send(201, "POST", "/api/admin/tenants", `{"tenant":"acme","scopes":["read"]}`, &again)
	operator{c, again.Key}.send(200, "GET", "/api/runs", "", nil)
	alice.send(401, "GET", "/api/runs", "", nil)
}

// TestTenantsWithoutKeys: the user of a server without keys sees the tenants, but would be locked out by the first key of another tenant.
func TestTenantsWithoutKeys(t *testing.T) {
	t.Parallel()
	c := openSecured(t, t.TempDir())
	nobody := operator{city: c}
	if diff := cmp.Diff([]string{"default*!"}, nobody.names()); diff != "" {
		t.Error(diff)
	}
	nobody.send(409, "POST", "/api/admin/tenants", `{"tenant":"acme"}`, nil)
	nobody.send(201, "POST", "/api/admin/keys", `{"scopes":["admin","tenants"]}`, nil)
	nobody.send(401, "GET", "/api/admin/tenants", "", nil)
}

// TestDeleteUnusedTenant: a tenant without a folder has only keys. It is deleted even if no tenant has a folder.
func TestDeleteUnusedTenant(t *testing.T) {
	t.Parallel()
	c := openSecured(t, t.TempDir())
	ops := c.as("default", auth.Tenants)
	ops.send(201, "POST", "/api/admin/tenants", `{"tenant":"unused"}`, nil)
	ops.send(204, "DELETE", "/api/admin/tenants/unused?confirm=unused", "", nil)
	if diff := cmp.Diff([]string{"default*!"}, ops.names()); diff != "" {
		t.Error(diff)
	}
}

// TestTenantsPath: no form of the path of the tenants leads to other routes of the default tenant, which serves that path for all.
func TestTenantsPath(t *testing.T) {
	t.Parallel()
	c := openSecured(t, t.TempDir())
	c.account = "default-account"
	c.reply(200, "default", "GET", "/api/runs", "") // makes the key that must not be seen
	acme := c.as("acme", tenantScopes...)
	for _, path := range []string{"/api/admin/tenants/../keys", "/api/admin/tenants/%2e%2e/keys", "/api/admin/tenants%2F..%2Fkeys", "/api/admin/tenants/..%2fkeys", "//api/admin/tenants/../keys",
		"/api/admin/tenants//../keys", "/api%2Fadmin%2Ftenants%2F..%2Fkeys", "/api/admin/tenants/"} {
		for _, method := range []string{"GET", "POST"} {
			w := acme.do(t.Context(), method, path, "")
			if w.Code == 200 || strings.Contains(w.Body.String(), "default-account") {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
}

// TestDeleteBusyTenant: a reader of a live run gets its end, and the room of the tenant is free for another one.
func TestDeleteBusyTenant(t *testing.T) {
	t.Parallel()
	silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
	c, shared := openCity(t, t.TempDir(), func(cfg *config.Config) {
		withModel(silent)(cfg)
		cfg.Tenants.MaxOpenTenants = 1
	}, func(s *app.Shared) error { return s.OpenAccess(t.Context(), "", false) })
	c.secure(shared)
	ops := c.as("default", auth.Tenants)
	c.upload("acme", "f", victimText)
	c.reply(http.StatusOK, "acme", "POST", "/v1/vector_stores", `{"id":"s","name":"s","file_ids":["f"]}`)
	replied := make(chan *httptest.ResponseRecorder)
	go func() {
		replied <- c.request("acme", "POST", "/api/query/stream", `{"query":"Who keeps the lighthouse of Farland?","collection":"s"}`)
	}()
	silent.Wait(t, generating)
	var one admin.Tenant
	if ops.send(200, "GET", "/api/admin/tenants/acme", "", &one); one.Live != 1 {
		t.Errorf("%+v", one)
	}
	ops.send(204, "DELETE", "/api/admin/tenants/acme?confirm=acme", "", nil)
	if w := <-replied; !strings.Contains(w.Body.String(), "CANCELLED") {
		t.Errorf("the reader: %d %s", w.Code, w.Body)
	}
	c.reply(200, "beta", "GET", "/api/runs", "")
	if diff := cmp.Diff([]string{"default*!", "beta*"}, ops.names()); diff != "" {
		t.Error(diff)
	}
}

// TestDeleteWaitsForRequests: while a request does not end, the tenant is not deleted, but serves no further requests.
func TestDeleteWaitsForRequests(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := openSecured(t, data)
	ops := c.as("default", auth.Tenants)
	_, release, err := c.Acquire(t.Context(), "acme")
	require.NoError(t, err)
	const path = "/api/admin/tenants/acme?confirm=acme"
	waiting, leave := context.WithCancel(t.Context())
	deleted := make(chan *httptest.ResponseRecorder)
	go func() { deleted <- ops.do(waiting, "DELETE", path, "") }()
	for slices.Contains(ops.names(), "acme*") {
		<-time.After(5 * time.Millisecond)
	}
	leave()
	if w := <-deleted; w.Code != 409 || !strings.Contains(w.Body.String(), "delete it again") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	done := make(chan error)
	go func() { // waits until the tenant is closed, and then opens it
		_, release, err := c.Acquire(t.Context(), "acme")
		if err == nil {
			release()
		}
		done <- err
	}()
	release()
	if err := <-done; err != nil {
		t.Errorf("the tenant that was not deleted: %v", err)
	}
	ops.send(204, "DELETE", path, "", nil)
	if _, err := os.Stat(app.Folder(data, "acme")); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
}

// TestConcurrentDeletions creates, uses and deletes a tenant at once.
func TestConcurrentDeletions(t *testing.T) {
	t.Parallel()
	c := openSecured(t, t.TempDir())
	ops := c.as("default", auth.Tenants)
	for i := range 5 {
		var first struct{ Key string }
		ops.send(201, "POST", "/api/admin/tenants", `{"tenant":"acme"}`, &first)
		user := operator{c, first.Key}
		if i > 0 { // the tenant is closed the first time
			user.send(200, "GET", "/api/runs", "", nil)
		}
		replies := make(chan string)
		for n := range 12 {
			go func() {
				method, path, want, by := "GET", "/api/runs", "200 401", user
				switch n % 4 {
				case 0:
					method, path, want, by = "DELETE", "/api/admin/tenants/acme?confirm=acme", "204 404", ops
				case 1:
					path, want, by = "/api/admin/tenants", "200", ops
				}
				w := by.do(c.Context(), method, path, "")
				if !strings.Contains(want, fmt.Sprint(w.Code)) {
					replies <- fmt.Sprintf("%s %s: %d %s", method, path, w.Code, w.Body)
				}
				replies <- ""
			}()
		}
		for range 12 {
			if got := <-replies; got != "" {
				t.Error(got)
			}
		}
		w := ops.do(t.Context(), "DELETE", "/api/admin/tenants/acme?confirm=acme", "")
		if w.Code != 204 && w.Code != 404 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}
