package access

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
)

// Paths that need no key, besides those of health checks.
const (
	loginPath    = "/auth/login"
	methodsPath  = "/auth/methods"
	startPath    = "/auth/oidc/start"
	callbackPath = "/auth/oidc/callback"
	logoutPath   = "/auth/oidc/logout"
)

// Login is the body of a login.
type Login struct {
	Key string `json:"key" description:"An API key."`
}

// SessionInfo is who sends a request.
type SessionInfo struct {
	Tenant  string       `json:"tenant"`
	Account string       `json:"account"`
	Key     string       `json:"key,omitempty" description:"Public id of the key, or oidc- and an id of the settings for a login without one. It is missing while the server needs no login."`
	Scopes  []auth.Scope `json:"scopes" description:"What the key permits. The scope admin includes the others."`
	// Collections are set for a key that may only ask.
	Collections []string `json:"collections,omitempty" description:"The collections that questions may search. It is missing if they may search all."`
}

func infoOf(i auth.Identity) SessionInfo {
	return SessionInfo{Tenant: i.Tenant, Account: i.Account, Key: i.Key, Scopes: i.Scopes, Collections: i.Collections}
}

// Routes returns the routes of logins, for browsers. They are the same for all tenants.
func (a *Access) Routes() []server.Route {
	return []server.Route{
		{Method: "POST", Path: loginPath, Scope: server.Open, Serve: a.login, MaxBody: 4 << 10, Summary: "Exchange a key for a session cookie",
			Request: []any{Login{}}, Reply: SessionInfo{}, Faults: []int{400, 401, 403, 415, 429}},
		{Method: "POST", Path: "/auth/logout", Scope: server.AnyKey, Limited: true, Serve: a.logout, Summary: "End the session of the cookie", Status: http.StatusNoContent, Faults: []int{403}},
		{Method: "GET", Path: "/auth/session", Scope: server.AnyKey, Limited: true, Serve: a.session, Summary: "Show who sends the request", Reply: SessionInfo{}},
		{Method: "GET", Path: methodsPath, Scope: server.Open, Serve: a.methods, Summary: "Show how people can log in", Reply: Methods{}},
		{Method: "GET", Path: startPath, Scope: server.Open, Serve: a.start, Summary: "Go to the OpenID provider to log in", Status: http.StatusSeeOther,
			Request: []any{Start{}}, Faults: []int{400, 404}},
		{Method: "GET", Path: callbackPath, Scope: server.Open, Serve: a.callback, Summary: "Come back from the OpenID provider, and get a session cookie",
			Status: http.StatusSeeOther, Faults: []int{404}},
		{Method: "GET", Path: logoutPath, Scope: server.Open, Serve: a.providerLogout, Summary: "Go to the OpenID provider to log out there, and come back",
			Status: http.StatusSeeOther, Request: []any{LoggedOut{}}, Faults: []int{404}},
	}
}

func (a *Access) login(w http.ResponseWriter, r *http.Request) error {
	raw, err := server.ReadJSON(r)
	if err != nil {
		return err
	}
	var body Login
	if json.Unmarshal(raw, &body) != nil || body.Key == "" {
		return fault.Invalid("key", "want a JSON object with a key")
	}
	now := a.o.Now()
	k, err := auth.Authenticate(r.Context(), a.store, body.Key, now)
	if err != nil {
		return a.failed(r, err)
	}
	if err := a.countRequest(w, r, k); err != nil {
		return err
	}
	expires := now.Add(a.o.Session)
	if !k.Expires.IsZero() && k.Expires.Before(expires) {
		expires = k.Expires
	}
	id := auth.NewSecret()
	_, secret, err := auth.Parse(body.Key)
	if err == nil {
		err = a.store.PutSession(r.Context(), auth.Session{Hash: auth.Hash(id), Key: k.ID, Secret: auth.Hash(secret), Expires: expires}, now)
	}
	if errors.Is(err, auth.ErrNotFound) { // the key was rotated or revoked meanwhile
		return a.failed(r, fault.New(fault.Unauthenticated, "the key is not valid"))
	}
	if err != nil {
		return a.unavailable(r.Context(), err)
	}
	http.SetCookie(w, cookie(r, id, max(int(expires.Sub(now)/time.Second), 1)))
	server.ReplyJSON(w, http.StatusOK, infoOf(k.Identity()))
	return nil
}

func (a *Access) logout(w http.ResponseWriter, r *http.Request) error {
	if id := sessionOf(r); id != "" {
		if err := a.store.PutSession(r.Context(), auth.Session{Hash: auth.Hash(id)}, a.o.Now()); err != nil {
			return a.unavailable(r.Context(), err)
		}
		http.SetCookie(w, cookie(r, "", -1))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *Access) session(w http.ResponseWriter, r *http.Request) error {
	i, _ := auth.From(r.Context())
	server.ReplyJSON(w, http.StatusOK, infoOf(i))
	return nil
}

// sessionOf returns the session of a request's cookie.
func sessionOf(r *http.Request) string {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	return c.Value
}

// cookieName returns the name of the session cookie.
func cookieName(r *http.Request) string { return hostName(r, "sluice_session") }

// hostName returns the full name of a cookie. Browsers accept a name with the prefix __Host- only from this host over TLS, so that no other host of the
// domain can set it.
func hostName(r *http.Request, name string) string {
	if server.Loopback(r) {
		return name
	}
	return "__Host-" + name
}

// cookie returns the session cookie. A negative age removes it.
func cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: !server.Loopback(r)}
}
