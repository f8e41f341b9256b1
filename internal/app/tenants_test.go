package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	keydb "github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/output"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// recordsOf returns the URL of the database for the records of a data folder; empty: files in the folder.
var recordsOf = func(*testing.T, string) config.Secret { return "" }

// city is a server of tenants under test.
type city struct {
	*testing.T
	*app.Tenants
	handler http.Handler
	routes  []string
	account string            // of requests
	keys    *keydb.Store      // nil: requests have an identity without a key
	secrets map[string]string // texts of the keys, by tenant and account
	logged  *output.Buffer
	close   func()
}

// tenantScopes are all scopes of an administrator of one tenant.
var tenantScopes = []auth.Scope{auth.Ask, auth.Read, auth.Write, auth.Admin}

// openTenants opens the tenants of a folder until close is called or the test ends.
func openTenants(t *testing.T, data string, change func(*config.Config)) *city {
	t.Helper()
	c, _ := openCity(t, data, change, func(*app.Shared) error { return nil })
	return c
}

// openSecured is openTenants with a server that requires keys.
func openSecured(t *testing.T, data string) *city {
	t.Helper()
	return openSecuredWith(t, data, nil)
}

func openSecuredWith(t *testing.T, data string, change func(*config.Config)) *city {
	t.Helper()
	c, shared := openCity(t, data, change, func(s *app.Shared) error { return s.OpenAccess(t.Context(), "", false) })
	c.secure(shared)
	return c
}

func openCity(t *testing.T, data string, change func(*config.Config), prepare func(*app.Shared) error) (*city, *app.Shared) {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data, cfg.Store.Records, cfg.Runs.QueueWait = data, recordsOf(t, data), 5*time.Minute // the machine may be busy
	if change != nil {
		change(&cfg)
	}
	c := &city{T: t, account: "ada", logged: &output.Buffer{}}
	shared, err := app.OpenShared(t.Context(), cfg, slog.New(slog.NewJSONHandler(c.logged, nil)))
	require.NoError(t, err)
	require.NoError(t, prepare(shared))
	if c.Tenants, err = app.OpenTenants(t.Context(), shared, "test", "test"); err != nil {
		t.Fatal(err)
	}
	front := c.Front(nil)
	c.handler, c.routes = front.Handler(), front.Patterns()
	c.close = sync.OnceFunc(func() {
		if err := c.Tenants.Close(); err != nil {
			t.Error(err)
		}
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		c.close()
		if t.Failed() {
			t.Logf("the log of the server:\n%s", c.logged)
		}
	})
	return c, shared
}

// secure lets the server authenticate requests, and request send keys.
func (c *city) secure(shared *app.Shared) {
	c.Helper()
	records, err := app.OpenRecords(c.Context(), shared.Config.Store)
	if err == nil {
		c.keys, err = records.Keys(c.Context())
	}
	require.NoError(c, err)
	c.Cleanup(func() {
		if err := c.keys.Close(); err != nil {
			c.Error(err)
		}
		records.Close()
	})
	c.secrets = map[string]string{}
	c.handler = c.Front(shared.Access.Handler).Handler()
}

// key returns the text of a key for a tenant and the account of the city.
func (c *city) key(tenant string) string {
	c.Helper()
	id := tenant + "/" + c.account
	if c.secrets[id] == "" {
		text, _, err := auth.Create(c.Context(), c.keys, auth.Key{Tenant: tenant, Account: c.account, Name: "test", Scopes: tenantScopes}, time.Now())
		require.NoError(c, err)
		c.secrets[id] = text
	}
	return c.secrets[id]
}

// request sends a request as a tenant, or without an identity if it is empty. Headers are pairs of a name and a value.
func (c *city) request(tenant, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	c.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if c.keys != nil {
		r.Header.Set("Authorization", "Bearer "+c.key(tenant))
	} else if tenant != "" {
		r = r.WithContext(auth.With(r.Context(), auth.Identity{Tenant: tenant, Account: c.account, Key: "k1", Scopes: tenantScopes}))
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return w
}

// reply sends a request and decodes the JSON of the reply, which must have the status.
func (c *city) reply(status int, tenant, method, path, body string, headers ...string) (out map[string]any) {
	c.Helper()
	w := c.request(tenant, method, path, body, headers...)
	if w.Code != status {
		c.Fatalf("%s: %s %s: status %d, want %d: %s", tenant, method, path, w.Code, status, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// upload uploads a text as a file and waits until it is indexed.
func (c *city) upload(tenant, id, text string) {
	c.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("id", id) // a buffer takes everything
	part, err := w.CreateFormFile("file", id+".md")
	require.NoError(c, err)
	_, _ = part.Write([]byte(text))
	_ = w.Close()
	c.reply(http.StatusOK, tenant, "POST", "/v1/files", form.String(), "Content-Type", w.FormDataContentType())
	c.indexed(tenant, id)
}

func (c *city) indexed(tenant, id string) {
	c.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
		task := c.reply(http.StatusOK, tenant, "GET", "/v1/tasks/upload-"+id, "")
		if task["status"] == "completed" {
			return
		}
		if task["status"] == "failed" || time.Now().After(deadline) {
			c.Fatalf("%s: %v", tenant, task)
		}
	}
}

// answer asks a question and returns the run and the text of its answer.
func (c *city) answer(tenant, collection, question string) (run, text string) {
	c.Helper()
	out := c.reply(http.StatusOK, tenant, "POST", "/api/query", fmt.Sprintf(`{"query":%q,"collection":%q}`, question, collection))
	return out["run_id"].(string), fmt.Sprint(out["answer"])
}

func farland(keeper string) string {
	return "# Farland\n\nThe lighthouse of Farland is kept by " + keeper + ".\n"
}

const whoKeeps = "Who keeps the lighthouse of Farland?"

// TestTenantsAreOpenedAndClosed lets many more tenants ask than may be open at once. Each finds its own data after it was closed.
func TestTenantsAreOpenedAndClosed(t *testing.T) {
	t.Parallel()
	const most, tenants = 3, 12
	c := openTenants(t, t.TempDir(), func(c *config.Config) { c.Tenants.MaxOpenTenants = most })
	runs := map[string]string{}
	var mu sync.Mutex
	each := func(do func(name, keeper string)) {
		var all sync.WaitGroup
		for i := range tenants {
			all.Go(func() { do(fmt.Sprintf("t-%d", i), fmt.Sprintf("Keeper%c Brook", 'a'+i)) })
		}
		all.Wait()
	}
	each(func(name, keeper string) {
		c.upload(name, "f1", farland(keeper))
		c.reply(http.StatusOK, name, "POST", "/v1/vector_stores", `{"id":"vs1","name":"all","file_ids":["f1"]}`)
		run, text := c.answer(name, "vs1", whoKeeps)
		if !strings.Contains(text, keeper) {
			t.Errorf("%s: %s", name, text)
		}
		mu.Lock()
		runs[name] = run
		mu.Unlock()
	})
	each(func(name, keeper string) {
		detail := c.reply(http.StatusOK, name, "GET", "/api/runs/"+runs[name], "")
		if text, _ := json.Marshal(detail); !bytes.Contains(text, []byte(keeper)) {
			t.Errorf("%s: %s", name, text)
		}
	})
	metrics := c.request("", "GET", "/metrics", "").Body.String()
	var open int
	if _, after, ok := strings.Cut(metrics, "\nsluice_tenants_open "); !ok {
		t.Error("no metric of the open tenants")
	} else if _, err := fmt.Sscan(after, &open); err != nil || open > most+1 {
		t.Errorf("%d tenants are open: %v", open, err)
	}
	c.close()
	for name := range runs {
		if _, err := os.Stat(filepath.Join(app.Folder(c.Default.Config.Store.Data, name), "unfinished")); !os.IsNotExist(err) {
			t.Errorf("%s is marked as unfinished: %v", name, err)
		}
	}
}

// TestTenantIsOpenedOnce sends concurrent first requests.
func TestTenantIsOpenedOnce(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { c.reply(http.StatusOK, "acme", "GET", "/api/runs", "") })
	}
	all.Wait()
	if m := c.request("", "GET", "/metrics", "").Body.String(); !strings.Contains(m, "\nsluice_tenant_opens_total{result=\"ok\"} 1\n") {
		t.Error("the tenant was not opened once")
	}
}

// TestDamagedTenant checks that a tenant whose data cannot be opened does not affect others.
func TestDamagedTenant(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	index := filepath.Join(app.Folder(c.Default.Config.Store.Data, "acme"), "index")
	require.NoError(t, os.MkdirAll(index, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(index, "documents.db"), bytes.Repeat([]byte("damage"), 1000), 0o600))
	for range 2 {
		w := c.request("acme", "GET", "/v1/files", "")
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the data of this tenant cannot be opened") || strings.Contains(w.Body.String(), index) {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		for _, other := range []string{"", "beta"} {
			c.reply(http.StatusOK, other, "GET", "/v1/files", "")
		}
	}
	c.reply(http.StatusOK, "acme", "GET", "/healthz", "")
	if !strings.Contains(c.logged.String(), index) {
		t.Error("the log does not name the damaged folder")
	}
	for _, name := range []string{"../acme", "ACME", "", "con"} {
		if w := c.requestAs(auth.Identity{Tenant: name, Key: "k"}); w.Code != http.StatusBadRequest {
			t.Errorf("tenant %q: status %d: %s", name, w.Code, w.Body)
		}
	}
}

func (c *city) requestAs(id auth.Identity) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/api/runs", nil)
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), id)))
	return w
}

// TestRecoversTenants starts with the folder of a process that was killed while a tenant answered a question and indexed a file.
func TestRecoversTenants(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := openTenants(t, data, nil)
	first.upload("acme", "f1", farland("Ada Brook"))
	first.upload("aaa", "f1", farland("Ada Brook"))
	first.close()
	// A worker that had not looked for the next task yet leaves the mark of unfinished work.
	for range 20 {
		if _, err := os.Stat(filepath.Join(app.Folder(data, "aaa"), "unfinished")); os.IsNotExist(err) {
			break
		}
		again := openTenants(t, data, nil)
		again.reply(http.StatusOK, "aaa", "GET", "/api/runs", "")
		again.close()
	}
	folder := app.Folder(data, "acme")
	interrupt(t, data, folder)

	c := openTenants(t, data, nil)
	c.Start()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(c.logged.String(), `"interrupted runs`); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no run was recovered")
		}
	}
	if m := c.request("", "GET", "/metrics", "").Body.String(); strings.Contains(m, `tenant="aaa"`) {
		t.Error("a tenant without unfinished work was opened")
	}
	detail := c.reply(http.StatusOK, "acme", "GET", "/api/runs/run_interrupted", "")
	if detail["status"] != "failed" {
		t.Errorf("%v", detail)
	}
}

// TestRetainsInClosedTenants checks that the limits of age apply to tenants that nobody uses.
func TestRetainsInClosedTenants(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first := openTenants(t, data, nil)
	for _, name := range []string{"acme", "beta"} {
		first.reply(http.StatusOK, name, "GET", "/api/runs", "")
	}
	first.close()
	writeRun(t, data, "acme", event.RunFailed{Code: fault.Internal, Message: "it failed"})
	c := openTenants(t, data, func(c *config.Config) {
		c.Keep.KeepRunsAge = time.Minute
		c.Tenants.MaxOpenTenants = 1
	})
	c.Retain(t.Context())
	c.reply(http.StatusNotFound, "acme", "GET", "/api/runs/run_interrupted", "")
}

// interrupt puts the folder of a tenant into the state after a kill during a run.
func interrupt(t *testing.T, data, folder string) {
	t.Helper()
	writeRun(t, data, filepath.Base(folder))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "unfinished"), nil, 0o600))
}

// writeRun writes a run that began an hour ago into the log of a tenant. Its last event is end.
func writeRun(t *testing.T, data, tenant string, end ...event.Body) {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data = data
	log, err := app.OpenLog(filepath.Join(app.Folder(data, tenant), "runs"), cfg, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	q := event.Question{Query: "why?"}
	q.SetDefaults()
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	bodies := append([]event.Body{event.RunStarted{Run: "run_interrupted", Protocol: "forge", Question: q}}, end...)
	for i, body := range bodies {
		require.NoError(t, log.Append(t.Context(), "run_interrupted", event.Event{Seq: event.Seq(i + 1), At: at, Body: body}))
	}
	require.NoError(t, log.Close())
}

// TestBusyTenantStaysOpen checks that a tenant with a live run or a reader is not closed for another one.
func TestBusyTenantStaysOpen(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), func(c *config.Config) {
		c.Tenants.MaxOpenTenants = 1
		c.Runs.QueueWait = 50 * time.Millisecond
	})
	_, release, err := c.Acquire(t.Context(), "acme")
	require.NoError(t, err)
	if w := c.request("beta", "GET", "/api/runs", ""); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "too many tenants") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	c.reply(http.StatusOK, "acme", "GET", "/api/runs", "")
	release()
	for deadline := time.Now().Add(time.Minute); c.request("beta", "GET", "/api/runs", "").Code != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("the idle tenant is not closed")
		}
	}
}

// TestTenantsDrain checks that a stopping server opens no tenant and answers for those that are open.
func TestTenantsDrain(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	c.reply(http.StatusOK, "acme", "GET", "/api/runs", "")
	require.NoError(t, c.Drain(t.Context()))
	c.reply(http.StatusOK, "acme", "GET", "/api/runs", "")
	for _, tenant := range []string{"acme", "", "beta"} {
		if w := c.request(tenant, "POST", "/api/query", `{"query":"why?"}`); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%q: status %d: %s", tenant, w.Code, w.Body)
		}
	}
}

// TestMetricsOfTenants checks which metrics each request sees.
func TestMetricsOfTenants(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	c.upload("acme", "f1", farland("Ada Brook"))
	c.upload("beta", "f1", farland("Bea Brook"))
	c.reply(http.StatusOK, "default", "GET", "/api/runs", "")
	all := c.request("", "GET", "/metrics", "").Body.String()
	for _, want := range []string{`tenant="default"`, `tenant="acme"`, `tenant="beta"`, "go_goroutines ", "process_open_fds "} {
		if !strings.Contains(all, want) {
			t.Errorf("the metrics of the process lack %s", want)
		}
	}
	for tenant, others := range map[string][]string{"acme": {"beta", "default"}, "default": {"acme", "beta"}} {
		own := c.request(tenant, "GET", "/metrics", "").Body.String()
		if !strings.Contains(own, "sluice_http_requests_total{") || !strings.Contains(own, `tenant="`+tenant+`"`) || strings.Contains(own, "go_goroutines") {
			t.Errorf("%s: %s", tenant, own)
		}
		for _, other := range others {
			if strings.Contains(own, other) {
				t.Errorf("the metrics of %s name %s", tenant, other)
			}
		}
	}
}

// TestListTenants checks that other folders are ignored.
func TestListTenants(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if names, err := app.ListTenants(data); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
	for _, name := range []string{"acme", "beta", "Other", "lost+found", "default", ".deleted"} {
		require.NoError(t, os.MkdirAll(filepath.Join(data, "tenants", name), 0o700))
	}
	if names, err := app.ListTenants(data); err != nil || strings.Join(names, " ") != "acme beta" {
		t.Errorf("%v, %v", names, err)
	}
}
