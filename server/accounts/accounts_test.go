package accounts_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/ledger/sqlstore"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/accounts"
	"github.com/sluice-rag/sluice/wire/forge"
)

var now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// site serves a ledger in which ann paid for two answers.
type site struct {
	t       *testing.T
	handler http.Handler
	store   *sqlstore.Store
}

func newSite(t *testing.T) *site {
	t.Helper()
	ctx := t.Context()
	store, err := sqlstore.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	require.NoError(t, store.Transfer(ctx, ledger.Transfer{ID: "t1", From: ledger.Issuer, To: "ann", Amount: 12_500_000, At: now, Note: "=HYPERLINK(1)"}))
	for i, run := range []event.RunID{"r1", "r2"} {
		s := ledger.Settle(1_000_001, 60, "ann", []event.Source{{Document: "d", Contributor: "bob", Weight: 1}})
		s.Duration = 1500
		c := ledger.Charge{Run: run, Account: "ann", At: now.Add(time.Duration(i) * 24 * time.Hour), Settlement: s, Model: "m", Collection: "c", Input: 10, Output: 5, Cached: i == 1}
		require.NoError(t, store.Hold(ctx, run, "ann", 2_000_000, c.At))
		if _, err := store.Post(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	e := engine.New(nil, engine.Options{})
	srv, err := server.New(e, server.Options{Protocols: []server.Endpoint{{API: forge.API(), StreamPath: "/api/query/stream"}}, Routes: accounts.Routes(store)})
	require.NoError(t, err)
	return &site{t, srv.Handler(), store}
}

// get requests a path as a caller.
func (s *site) get(path string, caller *auth.Identity, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	ctx := s.t.Context()
	if caller != nil {
		ctx = auth.With(ctx, *caller)
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if len(header) > 0 {
		r.Header.Set(header[0], header[1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func as(account string, scopes ...auth.Scope) *auth.Identity {
	return &auth.Identity{Tenant: auth.DefaultTenant, Account: account, Key: "k", Scopes: scopes}
}

func TestWhoSeesWhat(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	unknown := s.get("/api/accounts/nobody", as("boss", auth.Admin)).Body.String()
	for _, c := range []struct {
		path   string
		caller *auth.Identity
		status int
	}{
		{"/api/accounts/ann", as("ann", auth.Ask), 200},
		{"/api/accounts/ann", as("boss", auth.Admin), 200},
		{"/api/accounts/platform", as("boss", auth.Admin), 200},
		{"/api/accounts/new", as("new", auth.Ask), 200},
		{"/api/accounts/ann", as("bob", auth.Ask, auth.Read, auth.Write), 404},
		{"/api/accounts/nobody", as("bob", auth.Ask, auth.Read, auth.Write), 404},
		{"/api/accounts/platform", as("bob", auth.Read), 404},
		{"/api/accounts/ann", nil, 404},
		{"/api/accounts/ann/statement", as("ann"), 200},
		{"/api/accounts/ann/statement", as("bob", auth.Read), 404},
		{"/api/accounts/nobody/statement", as("boss", auth.Admin), 404},
		{"/api/usage?account=ann", as("ann"), 200},
		{"/api/usage?account=ann", as("bob", auth.Read), 404},
		{"/api/usage?account=nobody", as("bob", auth.Read), 404},
		{"/api/usage?account=nobody", as("boss", auth.Admin), 404},
		{"/api/usage", nil, 404},
	} {
		w := s.get(c.path, c.caller)
		if w.Code != c.status || c.status == 404 && w.Body.String() != unknown {
			t.Errorf("%s as %+v: %d %s", c.path, c.caller, w.Code, w.Body)
		}
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	require.NoError(t, s.store.Hold(t.Context(), "r3", "ann", 500_000, now))
	want := `{"account":"ann","balance":"10.499998","held":"0.50","available":"9.999998"}` + "\n"
	if got := s.get("/api/accounts/ann", as("ann")).Body.String(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestStatement(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var kinds, balances []string
	for path := "/api/accounts/ann/statement?limit=2"; path != ""; {
		var page accounts.Statement
		w := s.get(path, as("ann"))
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		for _, e := range page.Entries {
			kinds, balances = append(kinds, string(e.Kind)), append(balances, e.Balance)
		}
		if path = ""; page.Next != "" {
			path = "/api/accounts/ann/statement?limit=2&before=" + page.Next
		}
	}
	if diff := cmp.Diff([]string{"charge", "hold", "charge", "hold", "credit"}, kinds); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"10.499998", "11.499999", "11.499999", "12.50", "12.50"}, balances); diff != "" {
		t.Error(diff)
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "before=-1": "before", "before=x": "before", "format=xml": "format"} {
		w := s.get("/api/accounts/ann/statement?"+query, as("ann"))
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestStatementAsCSV(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := s.get("/api/accounts/ann/statement?limit=3", as("ann"), "Accept", "text/csv")
	want := `transfer,time,kind,run_id,amount,held,balance,note
charge_r2,2026-02-01T12:00:00Z,charge,r2,-1.000001,-2.00,10.499998,
hold_r2,2026-02-01T12:00:00Z,hold,r2,0.00,2.00,11.499999,
charge_r1,2026-01-31T12:00:00Z,charge,r1,-1.000001,-2.00,11.499999,
`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Header().Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Error(diff, w.Header())
	}
	link, _, _ := strings.Cut(strings.TrimPrefix(w.Header().Get("Link"), "<"), ">")
	w = s.get(link+"&format=csv", as("ann"))
	if body, err := io.ReadAll(w.Body); err != nil || !strings.HasSuffix(string(body), ",12.50,'=HYPERLINK(1)\n") {
		t.Errorf("page %s: %v %s", link, err, body)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for query, want := range map[string]string{
		"by=day":                           `{"usage":[{"day":"2026-01-31","runs":1,"cached_runs":0,"input_tokens":10,"output_tokens":5,"duration_ms":1500,"fee":"1.000001","distributed":"0.60"},{"day":"2026-02-01","runs":1,"cached_runs":1,"input_tokens":10,"output_tokens":5,"duration_ms":1500,"fee":"1.000001","distributed":"0.60"}]}`,
		"by=model,collection":              `{"usage":[{"model":"m","collection":"c","runs":2,"cached_runs":1,"input_tokens":20,"output_tokens":10,"duration_ms":3000,"fee":"2.000002","distributed":"1.20"}]}`,
		"from=2026-02-01":                  `{"usage":[{"runs":1,"cached_runs":1,"input_tokens":10,"output_tokens":5,"duration_ms":1500,"fee":"1.000001","distributed":"0.60"}]}`,
		"to=2026-01-31T12:00:00Z&by=day":   `{"usage":[]}`,
		"account=ann&to=2026-02-01&by=day": `{"usage":[{"day":"2026-01-31","runs":1,"cached_runs":0,"input_tokens":10,"output_tokens":5,"duration_ms":1500,"fee":"1.000001","distributed":"0.60"}]}`,
	} {
		for _, caller := range []*auth.Identity{as("ann"), as("boss", auth.Admin)} {
			if got := strings.TrimSpace(s.get("/api/usage?"+query, caller).Body.String()); got != want {
				t.Errorf("%s as %s: %s", query, caller.Account, cmp.Diff(want, got))
			}
		}
	}
	if got := s.get("/api/usage?by=day", as("bob", auth.Read)).Body.String(); got != `{"usage":[]}`+"\n" {
		t.Errorf("bob's own usage: %s", got)
	}
	for query, field := range map[string]string{"from=yesterday": "from", "to=2026-13-01": "to", "by=hour": "by", "from=0001-01-01": "from"} {
		w := s.get("/api/usage?"+query, as("ann"))
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
