package access_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	zitadel "github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/oidc"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server/access"
)

const (
	clientID     = "sluice"
	clientSecret = "s3cret-of-the-client"
	person       = "0f3c" // the subject of the only person
)

// provider is an OpenID provider behind an HTTP server, at which one person is logged in already.
type provider struct {
	*storage.Storage
	url     string
	clients map[string]*storage.Client

	mu     sync.Mutex
	key    *rsa.PrivateKey
	kid    string
	user   storage.User
	claims map[string]any // further ones of the user info
	ended  []string       // subjects and clients of logouts
}

func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{clients: map[string]*storage.Client{}, user: storage.User{ID: person, Username: "ada", Password: "pw", Email: "ada@example.org", EmailVerified: true}}
	p.key, p.kid = firstKey(), rand.Text()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	p.url = srv.URL
	p.Storage = storage.NewStorageWithClients(p, p.clients)
	o, err := op.NewProvider(&op.Config{CryptoKey: [32]byte{1}, CodeMethodS256: true}, p, op.StaticIssuer(p.url), op.WithAllowInsecure())
	require.NoError(t, err)
	back := op.AuthCallbackURL(o)
	mux.Handle("/login/username", op.NewIssuerInterceptor(o.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("authRequestID")
		if err := p.CheckUsernamePassword("ada", "pw", id); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, back(r.Context(), id), http.StatusFound)
	}))
	mux.Handle("/", o)
	return p
}

// firstKey is made once, which takes long.
var firstKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// rotate replaces the key that signs.
func (p *provider) rotate(t testing.TB) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.kid = key, rand.Text()
}

// set changes the person.
func (p *provider) set(change func(*provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

type signingKey struct {
	id  string
	key any
}

func (k signingKey) ID() string                                  { return k.id }
func (k signingKey) Key() any                                    { return k.key }
func (k signingKey) Use() string                                 { return "sig" }
func (k signingKey) Algorithm() jose.SignatureAlgorithm          { return jose.RS256 }
func (k signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }

// SigningKey implements [op.Storage].
func (p *provider) SigningKey(context.Context) (op.SigningKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return signingKey{p.kid, p.key}, nil
}

// KeySet implements [op.Storage].
func (p *provider) KeySet(context.Context) ([]op.Key, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []op.Key{signingKey{p.kid, &p.key.PublicKey}}, nil
}

// SignatureAlgorithms implements [op.Storage].
func (p *provider) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

// GetUserByID implements [storage.UserStore].
func (p *provider) GetUserByID(string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.user
	return &u
}

// GetUserByUsername implements [storage.UserStore].
func (p *provider) GetUserByUsername(string) *storage.User { return p.GetUserByID("") }

// ExampleClientID implements [storage.UserStore].
func (p *provider) ExampleClientID() string { return "none" }

// SetUserinfoFromToken implements [op.Storage].
func (p *provider) SetUserinfoFromToken(ctx context.Context, info *zitadel.UserInfo, token, subject, origin string) error {
	err := p.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin)
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, value := range p.claims {
		info.AppendClaims(name, value)
	}
	return err
}

// client is a client of the provider, with the addresses to which it sends browsers after a logout.
type client struct{ *storage.Client }

// PostLogoutRedirectURIs implements [op.Client].
func (c client) PostLogoutRedirectURIs() (out []string) {
	for _, uri := range c.RedirectURIs() {
		out = append(out, strings.Replace(uri, "/callback", "/logout", 1))
	}
	return out
}

// GetClientByClientID implements [op.Storage].
func (p *provider) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	if c, ok := p.clients[id]; ok {
		return client{c}, nil
	}
	return p.Storage.GetClientByClientID(ctx, id)
}

// TerminateSession implements [op.Storage].
func (p *provider) TerminateSession(_ context.Context, user, client string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = append(p.ended, user+" "+client)
	return nil
}

// wire is the connection of the server to the provider, on which replies and requests can be changed.
type wire struct {
	t  testing.TB
	mu sync.Mutex
	// change changes the body of a request or of a reply, by its path. An error breaks the connection.
	change func(path string, request, reply *[]byte) error
	sent   []string // paths of the requests
}

func (w *wire) set(change func(path string, request, reply *[]byte) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change = change
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	change := w.change
	w.sent = append(w.sent, r.URL.Path)
	w.mu.Unlock()
	if change == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	var body, none []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	if err := change(r.URL.Path, &body, &none); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if err := change(r.URL.Path, &none, &reply); err != nil {
		return nil, err
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(reply)), int64(len(reply))
	return res, nil
}

var errBroken = errors.New("the connection broke")

// down is a wire whose other end is unreachable.
func down(string, *[]byte, *[]byte) error { return errBroken }

// token returns a change of the ID token: of its claims, and of how it is signed.
func (p *provider) token(t testing.TB, edit func(claims map[string]any), key func() jose.SigningKey) func(string, *[]byte, *[]byte) error {
	return func(path string, _, body *[]byte) error {
		var reply map[string]any
		if path != "/oauth/token" {
			return nil
		}
		if err := json.Unmarshal(*body, &reply); err != nil {
			return nil //nolint:nilerr // an error of the provider, which is passed on as it is
		}
		raw, _ := reply["id_token"].(string)
		old, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{jose.RS256})
		if err != nil {
			t.Errorf("the reply of the provider: %v", err)
			return err
		}
		var claims map[string]any
		if err := json.Unmarshal(old.UnsafePayloadWithoutVerification(), &claims); err != nil {
			return err
		}
		edit(claims)
		signer, err := jose.NewSigner(key(), nil)
		if err != nil {
			return err
		}
		payload, err := json.Marshal(claims)
		if err != nil {
			return err
		}
		signed, err := signer.Sign(payload)
		if err != nil {
			return err
		}
		if reply["id_token"], err = signed.CompactSerialize(); err != nil {
			return err
		}
		*body, err = json.Marshal(reply)
		return err
	}
}

// own returns the key of the provider.
func (p *provider) own() jose.SigningKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	return jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: p.kid}}
}

// join is a server at which people log in at a provider.
type join struct {
	*site
	provider *provider
	wire     *wire
}

// withProvider returns a server at which people log in. The function change may change its options.
func withProvider(t testing.TB, change func(*oidc.Options, *access.Options)) *join {
	t.Helper()
	p := newProvider(t)
	w := &wire{t: t}
	j := &join{provider: p, wire: w}
	o := oidc.Options{Issuer: p.url, ClientID: clientID, ClientSecret: clientSecret, Scopes: []string{"openid", "profile", "email"}, Name: "Example",
		RoleClaim: "realm.roles", Roles: []auth.Role{{Name: "readers", Tenant: "default", Scopes: []auth.Scope{auth.Read}}},
		Default: auth.Role{Tenant: "default", Scopes: []auth.Scope{auth.Ask}}, Transport: w, Now: func() time.Time { return j.site.clock.now() }}
	a := access.Options{}
	if change != nil {
		change(&o, &a)
	}
	a.OIDC = oidc.New(o)
	j.site = serve(t, a)
	p.clients[clientID] = storage.WebClient(clientID, clientSecret, j.site.url+"/auth/oidc/callback", "https://sluice.example/auth/oidc/callback")
	return j
}

// jar keeps the cookies of a browser with their attributes, which that of package net/http hides.
type jar map[string]*http.Cookie

// browse follows redirects from a path of the server, to the provider and back, until the last reply of the server. The function stop ends it at
// an address.
func (j *join) browse(cookies jar, path string, stop func(*url.URL) bool) (visited []*url.URL, last *http.Response) {
	j.t.Helper()
	at, err := url.Parse(j.site.url + path)
	require.NoError(j.t, err)
	for range 10 {
		visited = append(visited, at)
		ours := strings.HasPrefix(at.String(), j.site.url)
		if stop != nil && stop(at) || ours && !strings.HasPrefix(at.Path, "/auth/") {
			return visited, last
		}
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, at.String(), nil)
		require.NoError(j.t, err)
		if ours {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			for _, c := range cookies {
				r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
			}
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(j.t, err)
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		last = res
		if ours {
			_ = res.Header.Write(j.seen)
			_, _ = j.seen.Write(body)
			for _, c := range res.Cookies() {
				cookies[c.Name] = c
				if c.MaxAge < 0 {
					delete(cookies, c.Name)
				}
			}
		}
		next, err := res.Location()
		if err != nil {
			j.t.Fatalf("%s: %s %s", at, res.Status, body)
		}
		at = next
	}
	j.t.Fatal("too many redirects")
	return nil, nil
}

// logIn logs in and returns the page on which the browser ends, and its cookies.
func (j *join) logIn() (page string, cookies jar) {
	j.t.Helper()
	cookies = jar{}
	visited, _ := j.browse(cookies, "/auth/oidc/start", nil)
	return visited[len(visited)-1].RequestURI(), cookies
}

// begun returns the cookie of the only login that has begun, or nil.
func (c jar) begun() (out *http.Cookie) {
	for name, cookie := range c {
		if strings.HasPrefix(name, "sluice_login_") {
			out = cookie
		}
	}
	return out
}

// header returns the header of a request with cookies.
func (c jar) header() []string {
	var pairs []string
	for cookie := range maps.Values(c) {
		pairs = append(pairs, cookie.Name+"="+cookie.Value)
	}
	return []string{"Cookie", strings.Join(pairs, "; ")}
}

// recorded returns the status of a reply.
func recorded(h http.Handler, headers ...string) int {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/runs", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}
