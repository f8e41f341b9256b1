package access

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/oidc"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
)

// Methods are the ways to log in.
type Methods struct {
	Key  bool      `json:"key" description:"Whether somebody can log in with a key: the server has one."`
	OIDC *OIDCInfo `json:"oidc,omitempty" description:"The OpenID provider. It is missing if there is none."`
}

// OIDCInfo describes an OpenID provider.
type OIDCInfo struct {
	Name string `json:"name" description:"Name of the provider, for people."`
}

// Start has the parameters of the start of a login at the OpenID provider.
type Start struct {
	To string `query:"to" maxLength:"1024" description:"Path of the page to which the browser returns after the login. The default is /."`
}

// Reasons why a login fails before the provider is asked, besides those of package oidc.
const (
	addressUnknown oidc.Reason = "address" // --public-url is needed
	internal       oidc.Reason = "internal"
)

const (
	maxTo     = 1024
	loginTime = 10 * time.Minute // as long as package oidc accepts an attempt
)

// attempt is the value of the cookie of a login that has begun.
type attempt struct {
	oidc.Attempt
	To string `json:"t"`
}

func (a *Access) methods(w http.ResponseWriter, r *http.Request) error {
	keys, err := a.store.Any(r.Context())
	if err != nil {
		return a.unavailable(r.Context(), err)
	}
	m := Methods{Key: keys}
	if a.o.OIDC != nil {
		m.OIDC = &OIDCInfo{a.o.OIDC.Name()}
	}
	server.ReplyJSON(w, http.StatusOK, m)
	return nil
}

// errNoProvider is the reply of the routes of logins at a provider if there is none.
var errNoProvider = fault.New(fault.NotFound, "this server has no login by OpenID Connect")

func (a *Access) start(w http.ResponseWriter, r *http.Request) error {
	if a.o.OIDC == nil {
		return errNoProvider
	}
	to, err := localPath(r.URL.Query())
	if err != nil {
		return err
	}
	base := a.baseURL(r)
	if base == "" {
		a.o.Logger.Error("a login failed: set --public-url, which is the address to which the OpenID provider sends browsers back")
		return a.failLogin(w, r, addressUnknown)
	}
	begun, address, err := a.o.OIDC.Begin(r.Context(), base+callbackPath)
	if err != nil {
		return a.explain(w, r, err)
	}
	value, err := json.Marshal(attempt{begun, to})
	if err != nil {
		return err
	}
	a.forgetAttempts(w, r)
	http.SetCookie(w, loginCookie(r, begun.State, base64.RawURLEncoding.EncodeToString(value), int(loginTime/time.Second)))
	redirect(w, address)
	return nil
}

func (a *Access) callback(w http.ResponseWriter, r *http.Request) error {
	if a.o.OIDC == nil {
		return errNoProvider
	}
	var begun attempt
	state := r.URL.Query().Get("state")
	if c, err := r.Cookie(loginName(r, state)); err == nil {
		raw, _ := base64.RawURLEncoding.DecodeString(c.Value)
		if json.Unmarshal(raw, &begun) != nil {
			begun = attempt{}
		}
		http.SetCookie(w, loginCookie(r, state, "", -1)) // each attempt counts once
	}
	login, err := a.o.OIDC.Finish(r.Context(), begun.Attempt, r.URL.Query())
	if err != nil {
		return a.explain(w, r, err)
	}
	now := a.o.Now()
	id, expires := auth.NewSecret(), now.Add(a.o.Session)
	if err := a.store.PutSession(r.Context(), auth.Session{Hash: auth.Hash(id), Person: login.Person, Expires: expires}, now); err != nil {
		_ = a.unavailable(r.Context(), err) // logs it
		return a.failLogin(w, r, internal)
	}
	age := max(int(a.o.Session/time.Second), 1)
	http.SetCookie(w, cookie(r, id, age))
	http.SetCookie(w, hintCookie(r, login.IDToken, age))
	to, err := localPath(url.Values{"to": {begun.To}}) // the cookie may have been set by another program on this machine
	if err != nil {
		to = "/"
	}
	redirect(w, to)
	return nil
}

// explain logs why a login failed and sends the browser to the page, which says so.
func (a *Access) explain(w http.ResponseWriter, r *http.Request, err error) error {
	failed, ok := errors.AsType[*oidc.Error](err)
	if !ok {
		return err
	}
	a.o.Logger.Warn("a login at the OpenID provider failed", "address", server.AddressOf(r), "error", failed)
	return a.failLogin(w, r, failed.Reason)
}

// failLogin sends the browser to the page with a reason.
func (a *Access) failLogin(w http.ResponseWriter, _ *http.Request, reason oidc.Reason) error {
	redirect(w, "/?login_error="+string(reason))
	return nil
}

// redirect sends a browser to an address. The reply must not be cached, and the address from which the browser comes must not be sent on, because it can contain a code.
func redirect(w http.ResponseWriter, address string) {
	w.Header().Set("Location", address)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// localPath returns the parameter to, or / without one. It must be a path of this server in every browser: browsers take two slashes, and a
// backslash, for the start of another host, and ignore control characters.
func localPath(query url.Values) (string, error) {
	to := query.Get("to")
	if to == "" {
		return "/", nil
	}
	u, err := url.Parse(to)
	if err != nil || len(to) > maxTo || u.Scheme != "" || u.Host != "" || u.User != nil || to[0] != '/' || strings.HasPrefix(to, "//") ||
		strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) || strings.HasPrefix(u.Path, "/auth/") {
		return "", fault.Invalid("to", "want a path of a page of this server, such as /documents")
	}
	return to, nil
}

// baseURL returns the origin at which the browser of a request reaches this server, or nothing if it is not known.
func (a *Access) baseURL(r *http.Request) string {
	if a.o.PublicURL != "" {
		return a.o.PublicURL
	}
	return server.LocalOrigin(r)
}

// loginPrefix begins the names of the cookies of logins that have begun. The rest is the state of the login, so that several tabs can log in at the
// same time.
const loginPrefix = "sluice_login_"

// maxAttempts is how many logins of one browser can have begun. They are in each of its requests, and proxies limit the size of headers.
const maxAttempts = 5

func loginName(r *http.Request, state string) string { return hostName(r, loginPrefix+state) }

// loginCookie returns the cookie of a login that has begun. Its site is Lax, since the provider sends the browser back from another one.
func loginCookie(r *http.Request, state, value string, age int) *http.Cookie {
	return &http.Cookie{Name: loginName(r, state), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: !server.Loopback(r)}
}

// forgetAttempts removes the cookies of the logins that the browser has begun if there are too many for another one.
func (a *Access) forgetAttempts(w http.ResponseWriter, r *http.Request) {
	var states []string
	for _, c := range r.Cookies() {
		if state, ok := strings.CutPrefix(c.Name, loginName(r, "")); ok {
			states = append(states, state)
		}
	}
	if len(states) >= maxAttempts {
		for _, state := range states {
			http.SetCookie(w, loginCookie(r, state, "", -1))
		}
	}
}
