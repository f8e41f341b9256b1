package access_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/oidc"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server/access"
)

// TestOpenIDLogin goes the whole way of a browser: to the provider and back, with the roles that it names.
func TestOpenIDLogin(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	j.provider.set(func(p *provider) {
		p.claims = map[string]any{"realm": map[string]any{"roles": []string{"x", "readers"}}}
	})
	j.expect(401, "GET", "/api/runs", "") // there are no keys, but a login is needed
	if r := j.expect(200, "GET", "/auth/methods", ""); strings.TrimSpace(r.body) != `{"key":false,"oidc":{"name":"Example"}}` {
		t.Error(r.body)
	}
	cookies := jar{}
	var begun *http.Cookie
	visited, last := j.browse(cookies, "/auth/oidc/start?to=/documents%3Fq%3D1", func(at *url.URL) bool {
		if at.Path == "/authorize" {
			begun = cookies.begun()
		}
		return false
	})
	if q := visited[1].Query(); q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "" || q.Get("state") == "" ||
		q.Get("scope") != "openid profile email" || q.Get("redirect_uri") != j.site.url+"/auth/oidc/callback" || q.Get("response_type") != "code" {
		t.Errorf("the request to the provider: %s", visited[1])
	}
	if begun == nil || !begun.HttpOnly || begun.SameSite != http.SameSiteLaxMode || begun.MaxAge != 600 || begun.Path != "/" {
		t.Errorf("the cookie of the login: %+v", begun)
	}
	if page := visited[len(visited)-1].RequestURI(); page != "/documents?q=1" {
		t.Errorf("the login ends at %s", page)
	}
	if last.Header.Get("Cache-Control") != "no-store" || last.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the callback: %v", last.Header)
	}
	c := cookies["sluice_session"]
	if len(cookies) != 2 || c == nil || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge != 12*3600 || c.Path != "/" {
		t.Fatalf("cookies: %v", cookies)
	}
	r := j.expect(200, "GET", "/auth/session", "", cookies.header()...)
	var who access.SessionInfo
	if err := json.Unmarshal([]byte(r.body), &who); err != nil || who.Account != "ada@example.org" || who.Tenant != "default" || !slices.Equal(who.Scopes, []auth.Scope{auth.Read}) ||
		!strings.HasPrefix(who.Key, "oidc-") {
		t.Errorf("%v: %s", err, r.body)
	}
	j.expect(200, "GET", "/api/runs", "", cookies.header()...)
	j.expect(403, "GET", "/metrics", "", cookies.header()...)
	j.expect(403, "POST", "/auth/logout", "", cookies.header()...) // a form of another site
	j.expect(204, "POST", "/auth/logout", "", append(cookies.header(), "Sec-Fetch-Site", "same-origin")...)
	j.expect(401, "GET", "/api/runs", "", cookies.header()...)
	for _, secret := range []string{clientSecret, c.Value, begun.Value, visited[3].Query().Get("code")} {
		if secret != "" && strings.Contains(j.logs.String(), secret) {
			t.Error("the log has a secret")
		}
	}
}

// TestOpenIDKeys: keys work beside the login, and each login ends after its time.
func TestOpenIDKeys(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	key, _ := j.add("bob", nil, auth.Read)
	j.expect(200, "GET", "/api/runs", "", bearer(key)...)
	_, cookies := j.logIn()
	j.expect(200, "GET", "/auth/session", "", cookies.header()...)
	j.expect(403, "GET", "/api/runs", "", append(cookies.header(), "Origin", "https://evil.example")...)
	j.clock.advance(12*time.Hour - time.Second)
	j.expect(200, "GET", "/auth/session", "", cookies.header()...)
	j.clock.advance(time.Second)
	j.expect(401, "GET", "/auth/session", "", cookies.header()...)
}

// TestOtherSettingsEndLogins: a login does not outlive the roles under which it began, nor the provider.
func TestOtherSettingsEndLogins(t *testing.T) {
	t.Parallel()
	var same oidc.Options
	j := withProvider(t, func(o *oidc.Options, _ *access.Options) { same = *o })
	_, cookies := j.logIn()
	other := same
	other.Default = auth.Role{Tenant: "default", Scopes: []auth.Scope{auth.Read}}
	for name, c := range map[string]struct {
		client *oidc.Client
		status int
	}{"same": {oidc.New(same), 200}, "other role": {oidc.New(other), 401}, "none": {nil, 401}} {
		a, err := access.New(j.keys, access.Options{Protocols: protocols, OIDC: c.client, Closed: true})
		require.NoError(t, err)
		h := a.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
		w := recorded(h, cookies.header()...)
		if w != c.status {
			t.Errorf("%s: %d, want %d", name, w, c.status)
		}
		a.Close()
	}
}

// TestRefusedTokens: each is signed by the provider, or seems to be, but is not for this login.
func TestRefusedTokens(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ago := func(d time.Duration) int64 { return j.clock.now().Add(-d).Unix() }
	own := j.provider.own
	for name, c := range map[string]struct {
		edit func(map[string]any)
		key  func() jose.SigningKey
		want string
	}{
		"unchanged":         {func(map[string]any) {}, own, "/"},
		"audience":          {func(c map[string]any) { c["aud"] = "other" }, own, "token"},
		"two audiences":     {func(c map[string]any) { c["aud"] = []string{"other", clientID}; delete(c, "azp") }, own, "token"},
		"another party":     {func(c map[string]any) { c["azp"] = "other" }, own, "token"},
		"both of us":        {func(c map[string]any) { c["aud"] = []string{"other", clientID}; c["azp"] = clientID }, own, "/"},
		"issuer":            {func(c map[string]any) { c["iss"] = "https://evil.example" }, own, "token"},
		"expired":           {func(c map[string]any) { c["exp"] = ago(90 * time.Second) }, own, "token"},
		"a clock is slow":   {func(c map[string]any) { c["exp"] = ago(30 * time.Second) }, own, "/"},
		"issued later":      {func(c map[string]any) { c["iat"] = ago(-90 * time.Second) }, own, "token"},
		"a clock is fast":   {func(c map[string]any) { c["iat"] = ago(-30 * time.Second) }, own, "/"},
		"not yet":           {func(c map[string]any) { c["nbf"] = ago(-90 * time.Second) }, own, "token"},
		"nonce":             {func(c map[string]any) { c["nonce"] = "other" }, own, "token"},
		"no nonce":          {func(c map[string]any) { delete(c, "nonce") }, own, "token"},
		"no subject":        {func(c map[string]any) { delete(c, "sub") }, own, "token"},
		"another person":    {func(c map[string]any) { c["sub"] = "other" }, own, "token"}, // the user info is of the first one
		"access token":      {func(c map[string]any) { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" }, own, "token"},
		"key of a stranger": {func(map[string]any) {}, func() jose.SigningKey { return jose.SigningKey{Algorithm: jose.RS256, Key: stranger} }, "token"},
		"secret of the client": {func(map[string]any) {}, func() jose.SigningKey {
			return jose.SigningKey{Algorithm: jose.HS256, Key: []byte(clientSecret + clientSecret)}
		}, "token"},
		"foreign address": {func(c map[string]any) { c["email"] = "root@example.org" }, own, "/"}, // not verified: see below
	} {
		j.wire.set(j.provider.token(t, c.edit, c.key))
		page, cookies := j.logIn()
		want := c.want
		if want != "/" {
			want = "/?login_error=" + want
		}
		if page != want || (cookies["sluice_session"] != nil) != (c.want == "/") {
			t.Errorf("%s: %s %v", name, page, cookies)
		}
		if name == "foreign address" {
			if r := j.expect(200, "GET", "/auth/session", "", cookies.header()...); !strings.Contains(r.body, `"account":"oidc:`+person+`"`) {
				t.Error(r.body) // the provider has verified the address of the user info only
			}
		}
	}
}

// TestWrongReplies of the provider, which may also be unreachable.
func TestWrongReplies(t *testing.T) {
	t.Parallel()
	swap := func(at, old, new string, request bool) func(string, *[]byte, *[]byte) error {
		return func(path string, sent, reply *[]byte) error {
			body := reply
			if request {
				body = sent
			}
			if path == at {
				*body = bytes.ReplaceAll(*body, []byte(old), []byte(new))
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		change func(string, *[]byte, *[]byte) error
		want   string
	}{
		"verifier":     {swap("/oauth/token", "code_verifier=", "code_verifier=x", true), "provider"},
		"no verifier":  {swap("/oauth/token", "code_verifier=", "other=", true), "provider"},
		"no ID token":  {swap("/oauth/token", "id_token", "other", false), "provider"},
		"no JSON":      {swap("/oauth/token", "{", "<script>", false), "provider"},
		"endless":      {swap("/oauth/token", "}", strings.Repeat(" ", 2<<20)+"}", false), "provider"},
		"keys":         {swap("/keys", "keys", "none", false), "token"},
		"other issuer": {swap("/.well-known/openid-configuration", `"issuer":"http`, `"issuer":"https`, false), "provider"},
		"script":       {swap("/.well-known/openid-configuration", `"authorization_endpoint":"http`, `"authorization_endpoint":"javascript`, false), "provider"},
		"user info": {func(path string, _, _ *[]byte) error {
			if path == "/userinfo" {
				return errBroken
			}
			return nil
		}, "provider"},
		"another person": {swap("/userinfo", person, "other", false), "token"},
		"unreachable":    {down, "provider"},
	} {
		j := withProvider(t, nil)
		j.wire.set(c.change)
		if page, cookies := j.logIn(); page != "/?login_error="+c.want || len(cookies) > 0 && cookies["sluice_session"] != nil {
			t.Errorf("%s: %s %v", name, page, cookies)
		}
		if strings.Contains(j.logs.String(), clientSecret) {
			t.Errorf("%s: the log has the secret", name)
		}
	}
}

// TestCallbacks that no login of this browser leads to.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	// begin returns a browser that comes back with the parameters of the provider.
	begin := func() (jar, url.Values) {
		cookies := jar{}
		visited, _ := j.browse(cookies, "/auth/oidc/start", func(at *url.URL) bool {
			return strings.HasPrefix(at.String(), j.site.url) && at.Path == "/auth/oidc/callback"
		})
		return cookies, visited[len(visited)-1].Query()
	}
	back := func(cookies jar, q url.Values) string {
		visited, _ := j.browse(cookies, "/auth/oidc/callback?"+q.Encode(), nil)
		return visited[len(visited)-1].RequestURI()
	}
	for name, c := range map[string]struct {
		change func(jar, url.Values)
		want   string
	}{
		"unchanged":             {func(jar, url.Values) {}, "/"},
		"another browser":       {func(c jar, _ url.Values) { clear(c) }, "expired"},
		"no state":              {func(_ jar, q url.Values) { q.Del("state") }, "expired"},
		"other state":           {func(_ jar, q url.Values) { q.Set("state", "x") }, "expired"},
		"two states":            {func(_ jar, q url.Values) { q.Add("state", "x") }, "expired"},
		"broken cookie":         {func(c jar, _ url.Values) { c.begun().Value = "e30" }, "expired"},
		"no code":               {func(_ jar, q url.Values) { q.Del("code") }, "provider"},
		"other code":            {func(_ jar, q url.Values) { q.Set("code", "x") }, "provider"},
		"another provider":      {func(_ jar, q url.Values) { q.Set("iss", "https://evil.example") }, "token"},
		"this provider":         {func(_ jar, q url.Values) { q.Set("iss", j.provider.url) }, "/"},
		"denied":                {func(_ jar, q url.Values) { q.Set("error", "access_denied") }, "denied"},
		"script":                {func(_ jar, q url.Values) { q.Set("error", "<script>"); q.Set("error_description", "<script>") }, "provider"},
		"denied with a lie":     {func(c jar, q url.Values) { clear(c); q.Set("error", "access_denied") }, "expired"},
		"cookie of a subdomain": {func(c jar, _ url.Values) { c.begun().Name = "__Host-" + c.begun().Name }, "expired"},
	} {
		cookies, q := begin()
		c.change(cookies, q)
		want := c.want
		if want != "/" {
			want = "/?login_error=" + want
		}
		if page := back(cookies, q); page != want || (cookies["sluice_session"] != nil) != (want == "/") {
			t.Errorf("%s: %s %v", name, page, cookies)
		}
	}
	// A callback counts once: without the cookie it is of no login, and with it the provider refuses its code.
	cookies, q := begin()
	old := jar{cookies.begun().Name: cookies.begun()}
	if page := back(cookies, q); page != "/" {
		t.Fatal(page)
	}
	if page := back(cookies, q); page != "/?login_error=expired" {
		t.Errorf("the callback again: %s", page)
	}
	if page := back(old, q); page != "/?login_error=provider" || old["sluice_session"] != nil {
		t.Errorf("the callback again, with its cookie: %s", page)
	}
	// A login takes ten minutes at most.
	cookies, q = begin()
	j.clock.advance(10*time.Minute + time.Second)
	if page := back(cookies, q); page != "/?login_error=expired" {
		t.Errorf("a late callback: %s", page)
	}
}

// TestNoOpenRedirect: the browser returns to this server only.
func TestNoOpenRedirect(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	for _, to := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "\\/evil.example", "/\t/evil.example", "/%0d\n", "javascript:alert(1)", "evil", "@evil.example",
		"/auth/oidc/start", "/auth/logout", "/" + strings.Repeat("x", 2000), "/é"} {
		j.expect(400, "GET", "/auth/oidc/start?to="+url.QueryEscape(to), "")
	}
	for _, to := range []string{"/", "/runs/1?a=b#c", "/sessions/a%2Fb"} {
		visited, _ := j.browse(jar{}, "/auth/oidc/start?to="+url.QueryEscape(to), nil)
		if last := visited[len(visited)-1]; !strings.HasPrefix(last.String(), j.site.url+"/") || last.String() != j.site.url+to {
			t.Errorf("%s leads to %s", to, last)
		}
	}
}

// TestProviderReturns: the server starts without the provider, says so, and recovers. New keys of the provider are found.
func TestProviderReturns(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	j.wire.set(down)
	for range 3 {
		if page, _ := j.logIn(); page != "/?login_error=provider" {
			t.Fatal(page)
		}
	}
	j.wire.mu.Lock()
	if len(j.wire.sent) != 1 { // the second and third did not wait for a provider that is down
		t.Errorf("requests: %q", j.wire.sent)
	}
	j.wire.mu.Unlock()
	j.expect(200, "GET", "/healthz", "")
	j.wire.set(nil)
	j.clock.advance(3 * time.Second)
	for range 2 {
		if page, _ := j.logIn(); page != "/" {
			t.Fatal(page)
		}
		j.provider.rotate(t)
	}
}

// TestRoles of people, and their accounts.
func TestRoles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options func(*oidc.Options)
		person  func(*provider)
		want    string // account, tenant and scopes, or the reason
	}{
		"none, refused": {func(o *oidc.Options) { o.Default = auth.Role{} }, nil, "role"},
		"another role, refused": {func(o *oidc.Options) { o.Default = auth.Role{} },
			func(p *provider) { p.claims = map[string]any{"realm": map[string]any{"roles": []string{"Readers"}}} }, "role"},
		"not verified":            {nil, func(p *provider) { p.user.EmailVerified = false }, "oidc:" + person + " default ask"},
		"verified":                {nil, nil, "ada@example.org default ask"},
		"no scope of the address": {func(o *oidc.Options) { o.Scopes = []string{"openid"} }, nil, "oidc:" + person + " default ask"},
		"claim":                   {func(o *oidc.Options) { o.Account = "preferred_username" }, nil, "ada default ask"},
		"claim of the owner":      {func(o *oidc.Options) { o.Account = "preferred_username" }, func(p *provider) { p.user.Username = "owner" }, "account"},
		"claim of the ledger":     {func(o *oidc.Options) { o.Account = "preferred_username" }, func(p *provider) { p.user.Username = "platform" }, "account"},
		"no such claim":           {func(o *oidc.Options) { o.Account = "upn" }, nil, "account"},
		"tenant": {func(o *oidc.Options) {
			o.RoleClaim, o.Roles = "groups", []auth.Role{{Name: "b", Tenant: "acme", Scopes: []auth.Scope{auth.Ask}}, {Name: "c", Tenant: "other", Scopes: []auth.Scope{auth.Admin}},
				{Name: "a", Tenant: "acme", Scopes: []auth.Scope{auth.Ask, auth.Write}}}
		}, func(p *provider) { p.claims = map[string]any{"groups": []string{"a", "b", "c"}} }, "ada@example.org acme ask,write"},
	} {
		j := withProvider(t, func(o *oidc.Options, _ *access.Options) {
			if c.options != nil {
				c.options(o)
			}
		})
		if c.person != nil {
			j.provider.set(c.person)
		}
		page, cookies := j.logIn()
		if page != "/" {
			if page != "/?login_error="+c.want || len(cookies) > 0 {
				t.Errorf("%s: %s, want %s", name, page, c.want)
			}
			continue
		}
		var who struct {
			Account, Tenant string
			Scopes          []string
		}
		r := j.expect(200, "GET", "/auth/session", "", cookies.header()...)
		if err := json.Unmarshal([]byte(r.body), &who); err != nil || who.Account+" "+who.Tenant+" "+strings.Join(who.Scopes, ",") != c.want {
			t.Errorf("%s: %v %s, want %s", name, err, r.body, c.want)
		}
	}
}

// TestPublicURL: the provider sends browsers back to the address of the settings, or to this machine.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	j := withProvider(t, nil)
	start := func(j *join, host string, headers ...string) (*url.URL, *http.Response) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, j.site.url+"/auth/oidc/start", nil)
		require.NoError(t, err)
		r.Host = host
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		defer res.Body.Close()
		at, err := res.Location()
		if err != nil {
			t.Fatalf("%s: %v", res.Status, err)
		}
		return at, res
	}
	for host, want := range map[string]string{"localhost:1234": "http://localhost:1234", "[::1]:9": "http://[::1]:9", "127.0.0.1": "http://127.0.0.1"} {
		if at, _ := start(j, host); at.Query().Get("redirect_uri") != want+"/auth/oidc/callback" {
			t.Errorf("%s: %s", host, at)
		}
	}
	for _, host := range []string{"evil.example", "10.0.0.1:80"} {
		if at, _ := start(j, host); at.RequestURI() != "/?login_error=address" {
			t.Errorf("%s: %s", host, at)
		}
	}
	j = withProvider(t, func(_ *oidc.Options, a *access.Options) { a.PublicURL = "https://sluice.example" })
	at, res := start(j, "sluice.example", "X-Forwarded-Proto", "https")
	if at.Query().Get("redirect_uri") != "https://sluice.example/auth/oidc/callback" {
		t.Error(at)
	}
	if c := res.Cookies(); len(c) != 1 || !strings.HasPrefix(c[0].Name, "__Host-sluice_login_") || !c[0].Secure || c[0].Domain != "" {
		t.Errorf("%v", c)
	}
}

// TestWithoutProvider: the routes are there, but lead nowhere.
func TestWithoutProvider(t *testing.T) {
	t.Parallel()
	s := serve(t, access.Options{})
	s.expect(404, "GET", "/auth/oidc/start", "")
	s.expect(404, "GET", "/auth/oidc/callback?code=x&state=y", "")
	s.expect(404, "GET", "/auth/oidc/logout", "")
	if r := s.expect(200, "GET", "/auth/methods", ""); strings.TrimSpace(r.body) != `{"key":false}` {
		t.Error(r.body)
	}
	s.add("alice", nil, auth.Ask)
	if r := s.expect(200, "GET", "/auth/methods", ""); strings.TrimSpace(r.body) != `{"key":true}` {
		t.Error(r.body)
	}
}
