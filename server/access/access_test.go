package access_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server/access"
)

const question = `{"query":"why?"}`

func TestWithoutKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	s.expect(200, "GET", "/auth/session", "", bearer("anything")...)
	if r := s.expect(200, "GET", "/auth/session", ""); !strings.Contains(r.body, `"account":"owner"`) {
		t.Error(r.body)
	}
	s.expect(200, "GET", "/metrics", "")
	s.expect(403, "POST", "/api/query", question, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	s.expect(403, "POST", "/api/query", question, "Origin", "https://evil.example")
}

// TestClosed: a server that began with keys needs one for ever, also if the database is emptied before the first request.
func TestClosed(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{Closed: true})
	s.expect(401, "GET", "/api/runs", "")
	s.expect(200, "GET", "/healthz", "")
	key, _ := s.add("alice", nil, auth.Read)
	s.expect(200, "GET", "/api/runs", "", bearer(key)...)
}

// TestKeysLost: a running server whose first key is lost before the next request does not open again.
func TestKeysLost(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	s.expect(200, "GET", "/api/runs", "")
	s.add("alice", nil, auth.Read)
	db, err := sql.Open("sqlite", s.path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "DELETE FROM keys")
	require.NoError(t, errors.Join(err, db.Close()))
	s.expect(401, "GET", "/api/runs", "")
}

// TestEveryRouteNeedsAKey: as soon as a key was added, and also after it was revoked.
func TestEveryRouteNeedsAKey(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	key, id := s.add("alice", nil, auth.Admin)
	for range 2 {
		for _, path := range []string{"/", "/docs/", "/openapi.json", "/metrics", "/api/runs", "/v1/files", "/auth/session", "/none", "/healthz/", "//healthz"} {
			r := s.expect(401, "GET", path, "")
			if r.Header.Get("WWW-Authenticate") != `Bearer realm="sluice"` {
				t.Errorf("%s: %q", path, r.Header.Get("WWW-Authenticate"))
			}
		}
		s.expect(200, "GET", "/healthz", "")
		s.expect(200, "HEAD", "/readyz", "")
		s.expect(401, "POST", "/healthz", "{}")
		s.expect(401, "GET", "/auth/login", "")
		require.NoError(t, s.keys.Revoke(t.Context(), id, s.clock.now()))
	}
	if r := s.expect(401, "GET", "/api/runs", "", bearer(key)...); r.Code != "UNAUTHENTICATED" || !strings.Contains(r.body, "revoked") {
		t.Error(r.body)
	}
}

// TestKeysInHeaders checks the headers and that errors have the form of the protocol of the path.
func TestKeysInHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	key, _ := s.add("alice", nil, auth.Read)
	for _, headers := range [][]string{bearer(key), {"Authorization", "bearer " + key}, {"X-API-Key", key}, {"Authorization", "Basic eDp5", "X-API-Key", key},
		{"Authorization", "Bearer", "X-API-Key", key}, {"Authorization", "Bearer  ", "X-API-Key", key}} {
		s.expect(200, "GET", "/api/runs", "", headers...)
	}
	for _, headers := range [][]string{bearer(key + "x"), {"X-API-Key", "x"}, {"Authorization", "Bearer x", "X-API-Key", key}} {
		r := s.expect(401, "GET", "/v1/responses", "", headers...)
		if !strings.Contains(r.body, `"detail"`) || !strings.Contains(r.Header.Get("WWW-Authenticate"), "invalid_token") {
			t.Errorf("%s: %s", r.Header.Get("WWW-Authenticate"), r.body)
		}
		if r = s.expect(401, "GET", "/api/runs", "", headers...); strings.Contains(r.body, `"detail"`) {
			t.Error(r.body)
		}
	}
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/runs", nil)
		require.NoError(t, err)
		req.Header[name] = []string{"Bearer " + key, "Bearer " + key}
		res, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != 400 || !strings.Contains(string(body), name+": want one header") {
			t.Errorf("two headers %s: %s %s", name, res.Status, body)
		}
	}
}

// TestScopes: a key can do what its scopes permit, and a refusal names the scope that it lacks.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	keys := map[auth.Scope]string{}
	for _, scope := range []auth.Scope{auth.Ask, auth.Read, auth.Write, auth.Admin} {
		keys[scope], _ = s.add("alice", nil, scope)
	}
	run := s.ask(keys[auth.Ask], "why?")
	for _, c := range []struct {
		method, path, body string
		needs              auth.Scope
		also               auth.Scope // suffices too
	}{
		{"POST", "/api/query", "{", auth.Ask, ""}, {"POST", "/v1/responses", "{", auth.Ask, ""}, {"GET", "/api/runs", "", auth.Read, ""},
		{"GET", "/api/runs/" + string(run), "", auth.Read, auth.Ask}, {"GET", "/metrics", "", auth.Admin, ""}, {"GET", "/v1/responses", "", auth.Read, ""},
		{"POST", "/v1/vector_stores", "{", auth.Write, ""}, {"DELETE", "/v1/responses/none", "", auth.Write, ""}, {"GET", "/openapi.json", "", "", ""},
	} {
		for scope, key := range keys {
			r := s.do(c.method, c.path, c.body, bearer(key)...)
			permitted := c.needs == "" || scope == c.needs || scope == c.also || scope == auth.Admin
			if (r.StatusCode != http.StatusForbidden) != permitted {
				t.Errorf("%s with %s: %s %s", c.path, scope, r.Status, r.body)
			}
			if !permitted && !strings.Contains(r.body, "lacks the scope "+string(c.needs)) {
				t.Errorf("%s with %s: %s", c.path, scope, r.body)
			}
		}
	}
}

// TestOwnRuns: a key with the scope ask reads and cancels the runs of its account, and no others.
func TestOwnRuns(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	alice, _ := s.add("alice", nil, auth.Ask)
	laptop, _ := s.add("alice", nil, auth.Ask)
	bob, _ := s.add("bob", nil, auth.Ask)
	write, _ := s.add("carol", nil, auth.Write)
	const unknown = "run_01jb00000000000000000000aa"
	first, second := s.ask(alice, "why?"), s.ask(alice, "how?")
	for _, run := range []string{string(first), string(second)} {
		for _, path := range []string{"/api/runs/" + run, "/runs/" + run + "/stream", "/v1/responses/" + run, "/v1/responses/" + run + "?stream=true"} {
			s.expect(200, "HEAD", path, "", bearer(laptop)...)
		}
		for path, method := range map[string]string{"/api/runs/%s": "GET", "/runs/%s/stream": "GET", "/v1/responses/%s": "GET", "/v1/responses/%s?stream=true": "GET",
			"/runs/%s/cancel": "POST", "/v1/responses/%s/cancel": "POST"} {
			foreign, none := s.expect(404, method, fmt.Sprintf(path, run), "", bearer(bob)...), s.expect(404, method, fmt.Sprintf(path, unknown), "", bearer(bob)...)
			if foreign.body != none.body {
				t.Errorf("%s: the run of another account has the reply %s, an unknown one %s", path, foreign.body, none.body)
			}
		}
		s.expect(404, "POST", "/api/query/stream", "", "X-API-Key", bob, "Sluice-Run-Id", run)
		s.expect(404, "POST", "/v1/responses", `{"input":"and?","previous_response_id":"`+run+`"}`, "X-API-Key", bob)
	}
	s.expect(202, "POST", "/runs/"+string(first)+"/cancel", "", bearer(laptop)...)
	s.expect(202, "POST", "/runs/"+string(second)+"/cancel", "", bearer(write)...)
	for _, run := range []string{string(first), string(second)} {
		s.expect(200, "GET", "/runs/"+run+"/stream", "", bearer(laptop)...) // to its end
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	limited, _ := s.add("alice", func(k *auth.Key) { k.Rate = auth.Limit{N: 3, Unit: "m"} }, auth.Read)
	other, _ := s.add("alice", nil, auth.Read)
	for range 2 {
		for range 3 {
			s.expect(200, "GET", "/api/runs", "", bearer(limited)...)
		}
		r := s.expect(429, "GET", "/api/runs", "", bearer(limited)...)
		if r.Header.Get("Retry-After") != "20" || r.Header.Get("Retry-After-Ms") != "20000" || r.Header.Get("X-Should-Retry") != "" || r.Code != "OVERLOADED" || !strings.Contains(r.body, "3/m") {
			t.Errorf("%q: %s", r.Header.Get("Retry-After"), r.body)
		}
		s.expect(200, "GET", "/api/runs", "", bearer(other)...)
		s.clock.advance(time.Minute)
	}
	for _, status := range []int{200, 200, 200, 429} {
		s.expect(status, "POST", "/auth/login", `{"key":"`+limited+`"}`)
	}
}

// TestQuota: questions count, and other requests and invalid questions do not.
func TestQuota(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	s.clock.at = time.Date(2026, 5, 4, 22, 0, 0, 0, time.UTC)
	key, _ := s.add("alice", func(k *auth.Key) { k.Quota = auth.Limit{N: 2, Unit: "day"} }, auth.Ask, auth.Read)
	run := s.ask(key, "1")
	s.ask(key, "2")
	for range 3 {
		s.expect(200, "HEAD", "/runs/"+string(run)+"/stream", "", bearer(key)...)
		s.expect(400, "POST", "/api/query", `{}`, bearer(key)...)
	}
	r := s.expect(429, "POST", "/api/query", question, bearer(key)...)
	if r.Code != "QUOTA_EXCEEDED" || r.Header.Get("X-Should-Retry") != "false" || r.Header.Get("Retry-After") != "7200" || !strings.Contains(r.body, "2 questions a day; the next begins at 2026-05-05T00:00:00Z") {
		t.Errorf("%q: %s", r.Header.Get("Retry-After"), r.body)
	}
	s.clock.advance(2 * time.Hour)
	s.ask(key, "3")
}

// TestWrongKeys: the failures of an address are logged up to a limit. The replies stay the same, because clients may share an address.
func TestWrongKeys(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	key, id := s.add("alice", nil, auth.Read)
	wrong := auth.Text(id, auth.NewSecret())
	for range 5 {
		s.expect(401, "GET", "/api/runs", "", bearer(wrong)...)
		if r := s.expect(401, "POST", "/auth/login", `{"key":"`+wrong+`"}`); r.Header.Get("Retry-After") != "" {
			t.Error("Retry-After before the limit")
		}
	}
	for range 3 {
		for _, r := range []reply{s.expect(401, "GET", "/api/runs", "", bearer(wrong)...), s.expect(401, "POST", "/auth/login", `{"key":"`+wrong+`"}`)} {
			if r.Header.Get("Retry-After") != "6" || r.Code != "UNAUTHENTICATED" || !strings.Contains(r.body, "the key is not valid") {
				t.Errorf("retry after %q: %s", r.Header.Get("Retry-After"), r.body)
			}
		}
	}
	s.expect(200, "GET", "/api/runs", "", bearer(key)...)
	s.expect(401, "GET", "/api/runs", "")
	s.clock.advance(6 * time.Second)
	s.expect(401, "GET", "/api/runs", "", bearer(wrong)...)
	if n := strings.Count(s.logs.String(), "request refused"); n != 11 {
		t.Errorf("%d failures are in the log", n)
	}
}

// TestEndedSessions: a browser whose session has ended is no attacker.
func TestEndedSessions(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	key, _ := s.add("alice", nil, auth.Read)
	c := s.login(key)
	s.clock.advance(13 * time.Hour)
	for range 30 {
		r := s.expect(401, "GET", "/api/runs", "", "Cookie", c.Name+"="+c.Value)
		if len(r.Cookies()) != 1 || r.Cookies()[0].MaxAge >= 0 || !strings.Contains(r.body, "log in again") || r.Header.Get("Retry-After") != "" {
			t.Fatalf("%v: %s", r.Header, r.body)
		}
	}
	if r := s.expect(401, "GET", "/api/runs", "", bearer("wrong")...); r.Header.Get("Retry-After") != "" {
		t.Error("ended sessions count as wrong keys")
	}
	if n := strings.Count(s.logs.String(), "request refused"); n != 1 {
		t.Errorf("%d failures are in the log", n)
	}
}

// TestLastUse is recorded in the background: requests do not wait while another process has the database locked.
func TestLastUse(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	key, id := s.add("alice", nil, auth.Read)
	db, err := sql.Open("sqlite", "file:"+s.path+"?_txlock=immediate")
	require.NoError(t, err)
	defer db.Close()
	lock, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	began := time.Now()
	for range 10 {
		s.expect(200, "GET", "/api/runs", "", bearer(key)...)
		s.clock.advance(time.Minute)
	}
	if waited := time.Since(began); waited > 5*time.Second {
		t.Errorf("requests waited %s", waited)
	}
	require.NoError(t, lock.Rollback())
	s.access.Close()
	s.expect(200, "GET", "/api/runs", "", bearer(key)...)
	s.access.Close()
	if c, err := s.keys.Key(t.Context(), id); err != nil || !c.Used.Equal(s.clock.now().UTC().Truncate(time.Microsecond)) {
		t.Errorf("last used %s, %v; now %s", c.Used, err, s.clock.now())
	}
}

func TestLocalToken(t *testing.T) {
	t.Parallel()
	token := auth.Text(auth.NewID(), auth.NewSecret())
	s := serve(t, access.Options{LocalToken: token})
	s.add("alice", nil, auth.Read)
	if r := s.expect(200, "GET", "/auth/session", "", bearer(token)...); !strings.Contains(r.body, `"key":"local"`) {
		t.Error(r.body)
	}
	s.expect(200, "GET", "/metrics", "", bearer(token)...)
	s.expect(401, "GET", "/metrics", "", bearer(auth.Text(auth.NewID(), auth.NewSecret()))...)
	s.expect(401, "POST", "/auth/login", `{"key":"`+token+`"}`)
	if r := s.expect(200, "GET", "/healthz", "", "Sluice-Challenge", "abc"); r.Header.Get("Sluice-Proof") != auth.Proof(token, "abc") {
		t.Errorf("proof %q", r.Header.Get("Sluice-Proof"))
	}
	if r := s.expect(200, "GET", "/healthz", ""); r.Header.Get("Sluice-Proof") != "" {
		t.Error("a proof without a challenge")
	}
}

// TestNoSecrets: after all failures, no secret is in a reply or in the log.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	token := auth.Text(auth.NewID(), auth.NewSecret())
	s := serve(t, access.Options{LocalToken: token})
	valid, id := s.add("alice", nil, auth.Ask)
	revoked, revokedID := s.add("alice", nil, auth.Ask)
	expired, _ := s.add("alice", func(k *auth.Key) { k.Expires = s.clock.now().Add(time.Second) }, auth.Ask)
	rotated, rotatedID := s.add("alice", nil, auth.Ask)
	if _, err := auth.Rotate(t.Context(), s.keys, rotatedID, s.clock.now(), 0); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.keys.Revoke(t.Context(), revokedID, s.clock.now()))
	s.clock.advance(time.Second)
	wrong := auth.Text(id, auth.NewSecret())
	texts := []string{valid, revoked, expired, rotated, wrong, token, valid[:60], "sluice_my-password"}
	for _, text := range texts {
		for _, h := range [][]string{bearer(text), {"X-API-Key", text}, {"Cookie", "sluice_session=" + text}} {
			s.do("GET", "/metrics", "", h...)
			s.do("POST", "/api/query", "{", append(h, "Origin", "https://evil.example")...)
			s.do("POST", "/none", "{", h...)
		}
		s.do("POST", "/auth/login", `{"key":"`+text+`"`)
		s.do("POST", "/auth/login", `{"key":"`+text+`"}`)
		s.do("POST", "/auth/login", `{"key":["`+text+`"]}`)
		s.clock.advance(time.Minute)
	}
	for _, text := range texts {
		secret := strings.TrimPrefix(text, "sluice_")
		if _, sec, err := auth.Parse(text); err == nil {
			secret = sec
		}
		for name, out := range map[string]string{"log": s.logs.String(), "replies": s.seen.String()} {
			if strings.Contains(out, secret) {
				t.Errorf("the %s has the secret of %s", name, text)
			}
		}
	}
	if !strings.Contains(s.logs.String(), "request refused") {
		t.Error("the log has no failures")
	}
}

// TestStoreFails: without its database the server refuses requests, and does not open.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	key, _ := s.add("alice", nil, auth.Read)
	require.NoError(t, s.keys.Close())
	c := []string{"Cookie", "sluice_session=x"}
	for _, headers := range [][]string{bearer(key), c, bearer(key)} {
		if r := s.expect(503, "GET", "/api/runs", "", headers...); r.Code != "UNAVAILABLE" || !strings.Contains(r.body, "key database") {
			t.Error(r.body)
		}
	}
	s.expect(503, "POST", "/auth/login", `{"key":"`+key+`"}`)
	s.expect(401, "GET", "/api/runs", "")
	s.expect(200, "GET", "/healthz", "")
	if n := strings.Count(s.logs.String(), "the key database failed"); n == 0 || n > 3 {
		t.Errorf("the failure is %d times in the log", n)
	}
}

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ip             string
		keys, insecure bool
		ok             bool
	}{
		{"127.0.0.1", false, false, true}, {"127.9.9.9", false, false, true}, {"::1", false, false, true}, {"0.0.0.0", false, false, false}, {"::", false, false, false},
		{"192.0.2.1", false, false, false}, {"0.0.0.0", true, false, true}, {"0.0.0.0", false, true, true},
	} {
		if err := access.CheckListen(&net.TCPAddr{IP: net.ParseIP(c.ip), Port: 80}, c.keys, c.insecure); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// BenchmarkHandler measures what authentication adds to a request.
func BenchmarkHandler(b *testing.B) {
	keys, err := sqlstore.Open(b.Context(), b.TempDir()+"/keys.db")
	require.NoError(b, err)
	defer keys.Close()
	a, err := access.New(keys, access.Options{Protocols: protocols})
	require.NoError(b, err)
	h := a.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	text := ""
	for i := range 1000 {
		k := auth.Key{Tenant: "default", Account: fmt.Sprint("a", i), Scopes: []auth.Scope{auth.Ask}, Rate: auth.Limit{N: 1_000_000, Unit: "s"}}
		if text, _, err = auth.Create(context.Background(), keys, k, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/api/runs", nil)
	r.Header.Set("Authorization", "Bearer "+text)
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}
