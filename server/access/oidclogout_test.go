package access_test

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluice-rag/sluice/auth/oidc"
	"github.com/sluice-rag/sluice/server/access"
)

// TestLogoutAtProvider goes the whole way of a browser that logs out: here, at the provider, and back.
func TestLogoutAtProvider(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	_, cookies := j.logIn()
	hint := cookies["sluice_id_token"]
	if hint == nil || !hint.HttpOnly || hint.SameSite != http.SameSiteStrictMode || hint.Path != "/auth/oidc/logout" || hint.MaxAge != 12*3600 {
		t.Fatalf("the cookie with the ID token: %+v", hint)
	}
	j.expect(204, "POST", "/auth/logout", "", append(cookies.header(), "Sec-Fetch-Site", "same-origin")...)
	var state *http.Cookie
	visited, _ := j.browse(cookies, "/auth/oidc/logout", func(at *url.URL) bool {
		if at.Path == "/end_session" {
			state = cookies["sluice_logout_state"]
		}
		return false
	})
	if q := visited[1].Query(); visited[1].Path != "/end_session" || q.Get("id_token_hint") != hint.Value || q.Get("client_id") != clientID ||
		q.Get("post_logout_redirect_uri") != j.site.url+"/auth/oidc/logout" || q.Get("state") == "" {
		t.Errorf("the request to the provider: %s", visited[1])
	}
	if state == nil || !state.HttpOnly || state.SameSite != http.SameSiteLaxMode || state.Path != "/auth/oidc/logout" {
		t.Errorf("the cookie of the logout: %+v", state)
	}
	if page := visited[len(visited)-1].RequestURI(); page != "/?signed_out=provider" || cookies["sluice_id_token"] != nil || cookies["sluice_logout_state"] != nil {
		t.Errorf("the logout ends at %s with %v", page, cookies)
	}
	if want := []string{person + " " + clientID}; !slices.Equal(j.provider.ended, want) {
		t.Errorf("the provider has ended %q, want %q", j.provider.ended, want)
	}
	if strings.Contains(j.logs.String(), hint.Value) {
		t.Error("the log has the ID token")
	}
}

// TestLogoutsOfNobody: browsers that have not logged in, or not begun a logout, go to the page.
func TestLogoutsOfNobody(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	other := &http.Cookie{Name: "sluice_logout_state", Value: "x"}
	for path, cookies := range map[string]jar{"/auth/oidc/logout": {}, "/auth/oidc/logout?state=x": {}, "/auth/oidc/logout?state=y": {other.Name: other}} {
		visited, _ := j.browse(cookies, path, nil)
		if len(visited) != 2 || visited[1].RequestURI() != "/" {
			t.Errorf("%s leads to %v", path, visited)
		}
	}
	if len(j.provider.ended) > 0 {
		t.Errorf("the provider has ended %q", j.provider.ended)
	}
}

// TestLogoutWithoutEndpoint of the provider, or with one that is not known again after a restart.
func TestLogoutWithoutEndpoint(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	j.wire.set(func(_ string, _, reply *[]byte) error {
		*reply = bytes.ReplaceAll(*reply, []byte("end_session_endpoint"), []byte("other"))
		return nil
	})
	_, cookies := j.logIn()
	visited, _ := j.browse(cookies, "/auth/oidc/logout", nil)
	if len(visited) != 2 || visited[1].RequestURI() != "/" || cookies["sluice_id_token"] != nil {
		t.Errorf("without an endpoint: %v, %v", visited, cookies)
	}
	j = withProvider(t, nil)
	j.wire.set(down)
	visited, _ = j.browse(jar{hintName: {Name: hintName, Value: "x"}}, "/auth/oidc/logout", nil)
	if len(visited) != 2 || visited[1].RequestURI() != "/" || !strings.Contains(j.logs.String(), "logout at the OpenID provider failed") {
		t.Errorf("unreachable: %v\n%s", visited, j.logs)
	}
}

const hintName = "sluice_id_token"

// TestLargeIDTokens are not kept, since browsers refuse large cookies. The logout at the provider works without.
func TestLargeIDTokens(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	j.wire.set(j.provider.token(t, func(c map[string]any) { c["groups"] = strings.Repeat("g", 5000) }, func() jose.SigningKey { return j.provider.own() }))
	_, cookies := j.logIn()
	if c := cookies[hintName]; c == nil || c.Value != "" {
		t.Fatalf("%+v", c)
	}
	visited, _ := j.browse(cookies, "/auth/oidc/logout", nil)
	if q := visited[1].Query(); q.Has("id_token_hint") || q.Get("client_id") != clientID || visited[len(visited)-1].RequestURI() != "/?signed_out=provider" {
		t.Errorf("%v", visited)
	}
}

// TestLogoutEndpoint must have an address to which a browser can be sent without danger.
func TestLogoutEndpoint(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	j.wire.set(func(_ string, _, reply *[]byte) error {
		*reply = bytes.ReplaceAll(*reply, []byte(`"end_session_endpoint":"http`), []byte(`"end_session_endpoint":"javascript`))
		return nil
	})
	if page, _ := j.logIn(); page != "/?login_error=provider" {
		t.Error(page)
	}
}

// TestSecureHint: over TLS, the cookie with the ID token is only sent over TLS.
func TestSecureHint(t *testing.T) {
	t.Parallel()
	j := withProvider(t, func(_ *oidc.Options, a *access.Options) { a.PublicURL = "https://sluice.example" })
	r := j.do("GET", "/auth/oidc/logout", "", "X-Forwarded-Proto", "https", "Cookie", "__Secure-sluice_id_token=x")
	if c := r.Cookies(); len(c) != 2 || !c[0].Secure || c[0].MaxAge >= 0 || !c[1].Secure || c[1].Name != "__Secure-sluice_logout_state" {
		t.Errorf("%v", c)
	}
	if at, _ := r.Location(); at == nil || at.Query().Get("post_logout_redirect_uri") != "https://sluice.example/auth/oidc/logout" {
		t.Error(at)
	}
}

// TestLoginsAtTheSameTime: two tabs of a browser begin a login before either ends. Many that do not end are forgotten.
func TestLoginsAtTheSameTime(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	cookies := jar{}
	begin := func() *url.URL {
		visited, _ := j.browse(cookies, "/auth/oidc/start?to=/documents", func(at *url.URL) bool {
			return strings.HasPrefix(at.String(), j.site.url) && at.Path == "/auth/oidc/callback"
		})
		return visited[len(visited)-1]
	}
	first, second := begin(), begin()
	for _, callback := range []*url.URL{first, second} {
		if visited, _ := j.browse(cookies, callback.RequestURI(), nil); visited[len(visited)-1].RequestURI() != "/documents" {
			t.Errorf("a tab ends at %v", visited)
		}
	}
	if cookies.begun() != nil {
		t.Errorf("cookies are left: %v", cookies)
	}
	for range 20 {
		begin()
	}
	if len(cookies) > 5+2 { // and those of the login above
		t.Errorf("%d cookies", len(cookies))
	}
}
