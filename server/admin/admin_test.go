package admin_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	keydb "github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/eval/summary"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	ledgerdb "github.com/sluice-rag/sluice/ledger/sqlstore"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/admin"
	"github.com/sluice-rag/sluice/wire/forge"
)

var now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

type site struct {
	*testing.T
	handler http.Handler
	keys    *keydb.Store
}

func newSite(t *testing.T) *site {
	t.Helper()
	keys, err := keydb.Open(t.Context(), filepath.Join(t.TempDir(), "keys.db"))
	require.NoError(t, err)
	book, err := ledgerdb.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := errors.Join(keys.Close(), book.Close()); err != nil {
			t.Error(err)
		}
	})
	for _, to := range []string{"ann", "bob", "cleo"} {
		require.NoError(t, book.Transfer(t.Context(), ledger.Transfer{ID: "to-" + to, From: ledger.Issuer, To: to, Amount: 12_500_000, At: now}))
	}
	prices, err := ledger.ParsePrices([]string{"gpt-* base=0.001 input=0.15"})
	require.NoError(t, err)
	srv, err := server.New(engine.New(nil, engine.Options{}), server.Options{Protocols: []server.Endpoint{{API: forge.API(), StreamPath: "/api/query/stream"}},
		Routes: admin.Routes(admin.Options{Keys: keys, Book: book, Prices: prices, Percent: 60, Evaluations: func() ([]summary.Evaluation, error) { return nil, nil }, Now: func() time.Time { return now }})})
	require.NoError(t, err)
	return &site{t, srv.Handler(), keys}
}

// send sends a request as the administrator of a tenant, and decodes the reply.
func (s *site) send(status int, tenant, method, path, body string, into any) {
	s.Helper()
	ctx := auth.With(s.Context(), auth.Identity{Tenant: tenant, Account: tenant + "-owner", Scopes: []auth.Scope{auth.Admin}})
	r := httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if w.Code != status {
		s.Fatalf("%s %s %s: status %d, want %d: %s", method, path, body, w.Code, status, w.Body)
	}
	if into != nil {
		require.NoError(s, json.Unmarshal(w.Body.Bytes(), into))
	}
}

// secret is a reply with the text of a key.
type secret struct {
	ID      string   `json:"id"`
	Tenant  string   `json:"tenant"`
	Account string   `json:"account"`
	Name    string   `json:"name"`
	Scopes  []string `json:"scopes"`
	Rate    string   `json:"rate"`
	Quota   string   `json:"quota"`
	Origins []string `json:"origins"`
	Expires string   `json:"expires"`
	Text    string   `json:"key"`
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made, rotated secret
	s.send(201, "acme", "POST", "/api/admin/keys", `{"name":"page","scopes":["ask"],"rate":"60/m","quota":"1000/day","origins":["https://a.example"],"expires":"2027-01-01T00:00:00Z"}`, &made)
	want := secret{ID: made.ID, Tenant: "acme", Account: "acme-owner", Name: "page", Scopes: []string{"ask"}, Rate: "60/m", Quota: "1000/day",
		Origins: []string{"https://a.example"}, Expires: "2027-01-01T00:00:00Z", Text: made.Text}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	if _, err := auth.Authenticate(t.Context(), s.keys, made.Text, now); err != nil {
		t.Errorf("the key that was shown: %v", err)
	}
	s.send(201, "other", "POST", "/api/admin/keys", `{"account":"x","scopes":["read","write"]}`, nil)

	var list struct{ Keys []secret }
	s.send(200, "acme", "GET", "/api/admin/keys", "", &list)
	if len(list.Keys) != 1 || list.Keys[0].ID != made.ID {
		t.Errorf("keys of acme: %v", list.Keys)
	}

	for field, body := range map[string]string{"scopes": `{"scopes":["root"]}`, "origins": `{"scopes":["ask"],"origins":["*"]}`, "account": `{"scopes":["ask"],"account":" "}`} {
		var refused struct{ Field, Message string }
		s.send(400, "acme", "POST", "/api/admin/keys", body, &refused)
		if refused.Field != field || !strings.HasPrefix(refused.Message, field+": want") {
			t.Errorf("%s: %+v", field, refused)
		}
	}
	s.send(404, "other", "POST", "/api/admin/keys/"+made.ID+"/rotate", "{}", nil)
	s.send(404, "other", "DELETE", "/api/admin/keys/"+made.ID, "", nil)
	s.send(200, "acme", "POST", "/api/admin/keys/"+made.ID+"/rotate", `{"overlap_seconds":60}`, &rotated)
	for text, at := range map[string]time.Time{made.Text: now.Add(59 * time.Second), rotated.Text: now.Add(time.Hour)} {
		if _, err := auth.Authenticate(t.Context(), s.keys, text, at); err != nil {
			t.Error(err)
		}
	}
	if _, err := auth.Authenticate(t.Context(), s.keys, made.Text, now.Add(61*time.Second)); err == nil {
		t.Error("the old secret outlives the overlap")
	}
	s.send(204, "acme", "DELETE", "/api/admin/keys/"+made.ID, "", nil)
	if _, err := auth.Authenticate(t.Context(), s.keys, rotated.Text, now.Add(time.Hour)); err == nil {
		t.Error("a revoked key is valid")
	}
	s.send(404, "acme", "POST", "/api/admin/keys/"+made.ID+"/rotate", "", nil)
}

func TestInvalidKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for body, field := range map[string]string{
		`{}`: "scope", `{"scopes":[]}`: "scope", `{"scopes":["root"]}`: "scope", `{"scopes":["ask"],"tenant":"acme"}`: "tenant", `{"scopes":["ask"],"rate":"fast"}`: "rate",
		`{"scopes":["ask"],"quota":"1/s"}`: "quota", `{"scopes":["ask"],"origins":["a.example/path"]}`: "origin", `{"scopes":["ask"],"expires":"tomorrow"}`: "expires",
		`{"scopes":["ask"],"account":"platform"}`: "account", `{"scopes":["ask"],"collections":["manuals"]}`: "account",
		`{"scopes":["ask"],"collections":["manuals"],"account":"acme-owner"}`: "account",
	} {
		var failure struct{ Field, Message string }
		s.send(400, "acme", "POST", "/api/admin/keys", body, &failure)
		if !strings.HasPrefix(failure.Field, field) {
			t.Errorf("%s: field %q, want %q: %s", body, failure.Field, field, failure.Message)
		}
	}
	s.send(201, "acme", "POST", "/api/admin/keys", `{"scopes":["ask"],"collections":["manuals"],"account":"site"}`, nil)
	s.send(400, "acme", "POST", "/api/admin/keys/k/rotate", `{"overlap_seconds":-1}`, nil)
	s.send(400, "acme", "POST", "/api/admin/keys/k/rotate", `{"overlap_seconds":2592001}`, nil)
}

func TestAccountsAndPrices(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var all []string
	for next := ""; ; {
		var page admin.AccountList
		s.send(200, "acme", "GET", "/api/admin/accounts?limit=2&after="+next, "", &page)
		for _, a := range page.Accounts {
			all = append(all, a.ID+" "+a.Balance)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"ann 12.50", "bob 12.50", "cleo 12.50", "issuer -37.50"}, all); diff != "" {
		t.Error(diff)
	}
	s.send(400, "acme", "GET", "/api/admin/accounts?limit=0", "", nil)
	var prices admin.PriceList
	s.send(200, "acme", "GET", "/api/admin/prices", "", &prices)
	var evaluations struct{ Evaluations []any }
	s.send(200, "acme", "GET", "/api/admin/evaluations", "", &evaluations)
	if evaluations.Evaluations == nil {
		t.Error("evaluations: null, want an empty list")
	}
	want := admin.PriceList{Percent: 60, Prices: []admin.Price{{Name: "gpt-*", Base: "0.001", Second: "0.00", Input: "0.15", Output: "0.00"}}}
	if diff := cmp.Diff(want, prices); diff != "" {
		t.Error(diff)
	}
}

// TestScope checks that no other scope suffices.
func TestScope(t *testing.T) {
	t.Parallel()
	for _, r := range admin.Routes(admin.Options{Keys: newSite(t).keys}) {
		if r.Scope != auth.Admin {
			t.Errorf("%s %s needs %q", r.Method, r.Path, r.Scope)
		}
	}
}
