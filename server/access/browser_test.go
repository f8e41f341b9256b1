package access_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server/access"
)

// login logs in and returns the cookie.
func (s *site) login(key string, headers ...string) *http.Cookie {
	s.t.Helper()
	r := s.expect(200, "POST", "/auth/login", `{"key":"`+key+`"}`, headers...)
	if len(r.Cookies()) != 1 {
		s.t.Fatalf("cookies %v", r.Cookies())
	}
	return r.Cookies()[0]
}

func TestLogin(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	key, id := s.add("alice", nil, auth.Ask, auth.Read)
	c := s.login(key, "Sec-Fetch-Site", "same-origin")
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.MaxAge != 12*3600 || c.Domain != "" || c.Name != "sluice_session" {
		t.Errorf("%+v", c)
	}
	with := []string{"Cookie", c.Name + "=" + c.Value}
	if r := s.expect(200, "GET", "/auth/session", "", with...); strings.TrimSpace(r.body) != `{"tenant":"default","account":"alice","key":"`+id+`","scopes":["ask","read"]}` {
		t.Error(r.body)
	}
	s.expect(200, "GET", "/api/runs", "", with...)
	s.expect(403, "GET", "/metrics", "", with...)
	s.expect(403, "POST", "/auth/logout", "", with...) // without Origin and Sec-Fetch-Site
	r := s.expect(204, "POST", "/auth/logout", "", append(with, "Sec-Fetch-Site", "same-origin")...)
	if len(r.Cookies()) != 1 || r.Cookies()[0].MaxAge >= 0 {
		t.Errorf("the cookie is still there: %v", r.Cookies())
	}
	if r := s.expect(401, "GET", "/api/runs", "", with...); len(r.Cookies()) != 1 {
		t.Error("a cookie of a session that has ended is not removed")
	}
	for body, status := range map[string]int{"": 415, "{": 400, `{"key":1}`: 400, `{}`: 400, `{"key":"x"}`: 401, `{"key":"` + strings.Repeat("x", 5000) + `"}`: 413} {
		s.expect(status, "POST", "/auth/login", body)
	}
}

// TestSessionsEnd with the key, with their time, and with a rotation.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*site, string) error{
		"revoked": func(s *site, id string) error { return s.keys.Revoke(t.Context(), id, s.clock.now()) },
		"rotated": func(s *site, id string) error {
			_, err := auth.Rotate(t.Context(), s.keys, id, s.clock.now(), 0)
			return err
		},
		"12 hours": func(s *site, _ string) error { s.clock.advance(12 * time.Hour); return nil },
	} {
		s := serve(t, access.Options{})
		key, id := s.add("alice", nil, auth.Read)
		c := s.login(key)
		s.expect(200, "GET", "/api/runs", "", "Cookie", c.Name+"="+c.Value)
		require.NoError(t, end(s, id))
		if r := s.do("GET", "/api/runs", "", "Cookie", c.Name+"="+c.Value); r.StatusCode != 401 {
			t.Errorf("%s: %s", name, r.Status)
		}
	}
	s := serve(t, access.Options{})
	key, _ := s.add("alice", func(k *auth.Key) { k.Expires = s.clock.now().Add(time.Hour) }, auth.Read)
	if c := s.login(key); c.MaxAge > 3600 {
		t.Errorf("the session outlives its key: %d s", c.MaxAge)
	}
}

// TestSecureCookies: only a server that the browser reaches on its own machine without TLS may set a cookie without Secure.
func TestSecureCookies(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	key, _ := s.add("alice", nil, auth.Read)
	for _, h := range [][]string{{"X-Forwarded-Proto", "https"}, {"X-Forwarded-Host", "a.example", "X-Forwarded-Proto", "https"}} {
		c := s.login(key, h...)
		if !c.Secure || c.Name != "__Host-sluice_session" {
			t.Errorf("%v: %+v", h, c)
		}
		s.expect(200, "GET", "/api/runs", "", append(h, "Cookie", c.Name+"="+c.Value)...)
		s.expect(401, "GET", "/api/runs", "", append(h, "Cookie", "sluice_session="+c.Value)...) // another host of the domain could have set it
	}
}

// TestCrossSiteRequests of pages that are not allowed, with and without a cookie.
func TestCrossSiteRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{Origins: []string{"https://app.example"}})
	key, _ := s.add("alice", nil, auth.Ask, auth.Read)
	c := s.login(key)
	cookie := []string{"Cookie", c.Name + "=" + c.Value}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for name, h := range map[string][]string{
		"form of another site":  {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		"form of an old one":    {"Origin", "https://evil.example"},
		"opaque origin":         {"Origin", "null"},
		"another port":          {"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"},
		"neither header":        {},
		"allowed page":          {"Origin", "https://app.example", "Sec-Fetch-Site", "cross-site"}, // its requests have a key and no cookie
		"allowed page, old one": {"Origin", "https://app.example"},
	} {
		h = append(h, cookie...)
		if r := s.do("POST", "/api/query", "query=x", append(form, h...)...); r.StatusCode != 403 {
			t.Errorf("%s: %s %s", name, r.Status, r.body)
		}
	}
	s.expect(403, "POST", "/auth/login", `{"key":"`+key+`"}`, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	s.expect(400, "POST", "/api/query", "{}", append(cookie, "Origin", s.url)...)
	s.expect(400, "POST", "/api/query", "{}", append(cookie, "Sec-Fetch-Site", "same-origin")...)
	s.expect(403, "POST", "/api/query", "{}", append(bearer(key), "Origin", "https://evil.example")...)
	s.expect(403, "GET", "/api/runs", "", append(bearer(key), "Origin", "https://evil.example")...)
	s.expect(400, "POST", "/api/query", "{}", bearer(key)...)
}

// TestCORS: a preflight has no key and is answered for the origins of the settings and of live keys. A request with a key is only answered for the
// origins of the settings and of that key.
func TestCORS(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{Origins: []string{"https://app.example"}})
	with, id := s.add("alice", func(k *auth.Key) { k.Origins = []string{"https://own.example"} }, auth.Ask)
	without, _ := s.add("bob", nil, auth.Ask)
	preflight := func(origin string) reply {
		return s.do("OPTIONS", "/api/query/stream", "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,last-event-id,sluice-client", "Sec-Fetch-Site", "cross-site")
	}
	for origin, want := range map[string]bool{"https://app.example": true, "https://own.example": true, "https://evil.example": false, "null": false, "https://app.example.evil": false} {
		r := preflight(origin)
		allowed := r.Header.Get("Access-Control-Allow-Origin") == origin
		if allowed != want || r.StatusCode >= 300 || r.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %s %v", origin, r.Status, r.Header)
		}
		if h := r.Header.Get("Access-Control-Allow-Headers"); want && h != "authorization,content-type,last-event-id,sluice-client" {
			t.Errorf("%s allows the headers %q", origin, h)
		}
	}
	for _, c := range []struct {
		key, origin string
		status      int
	}{
		{with, "https://app.example", 400}, {with, "https://own.example", 400}, {without, "https://app.example", 400},
		{without, "https://own.example", 403}, {with, "https://evil.example", 403},
	} {
		for _, site := range [][]string{{}, {"Sec-Fetch-Site", "cross-site"}} {
			r := s.expect(c.status, "POST", "/api/query/stream", "{}", append(bearer(c.key), append(site, "Origin", c.origin)...)...)
			if c.status == 400 && (r.Header.Get("Access-Control-Allow-Origin") != c.origin || r.Header.Get("Access-Control-Expose-Headers") != exposed ||
				!strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Origin")) {
				t.Errorf("%s: %v", c.origin, r.Header)
			}
		}
	}
	if r := s.expect(401, "GET", "/api/runs", "", "Origin", "https://own.example", "Authorization", "Bearer x"); r.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Error("the page cannot read that its key is wrong")
	}
	require.NoError(t, s.keys.Revoke(t.Context(), id, s.clock.now()))
	if r := preflight("https://own.example"); r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("a revoked key allows an origin")
	}
}

// exposed are the headers of replies that pages of other origins may read.
const exposed = "Sluice-Run-Id, Retry-After, Www-Authenticate, Content-Disposition, Idempotent-Replayed, Retry-After-Ms, X-Should-Retry, " +
	"X-Ratelimit-Limit-Requests, X-Ratelimit-Remaining-Requests, X-Ratelimit-Reset-Requests, " +
	"Request-Id, Anthropic-Ratelimit-Requests-Limit, Anthropic-Ratelimit-Requests-Remaining, Anthropic-Ratelimit-Requests-Reset"
