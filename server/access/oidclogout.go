package access

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"time"

	"github.com/sluice-rag/sluice/server"
)

// LoggedOut has the parameters of the return from a logout at the OpenID provider.
type LoggedOut struct {
	State string `query:"state" description:"What the server sent to the provider."`
}

// Cookies of the logout at the OpenID provider. Browsers send them to its route only.
const (
	hintName  = "sluice_id_token"     // ID token of the login
	stateName = "sluice_logout_state" // of a logout that has begun
)

// maxHint is the size of the largest ID token that is kept, in bytes. Browsers accept cookies of 4096 bytes, with name and attributes.
const maxHint = 3500

// logoutTime is how long a person can take to confirm a logout at the provider.
const logoutTime = 10 * time.Minute

// providerLogout sends the browser to the provider, which logs the person out there and sends the browser back to the same route with a state. A
// browser that has not logged in, or has not begun a logout, goes to the page.
func (a *Access) providerLogout(w http.ResponseWriter, r *http.Request) error {
	if a.o.OIDC == nil {
		return errNoProvider
	}
	if begun, err := r.Cookie(pathName(r, stateName)); err == nil {
		http.SetCookie(w, logoutCookie(r, stateName, "", -1, http.SameSiteLaxMode))
		if subtle.ConstantTimeCompare([]byte(begun.Value), []byte(r.URL.Query().Get("state"))) == 1 {
			redirect(w, "/?signed_out=provider")
			return nil
		}
	}
	address := ""
	if hint, err := r.Cookie(pathName(r, hintName)); err == nil {
		http.SetCookie(w, hintCookie(r, "", -1))
		address = a.beginLogout(w, r, hint.Value)
	}
	if address == "" {
		address = "/"
	}
	redirect(w, address)
	return nil
}

// beginLogout returns the address of the provider at which the browser logs out, or nothing if there is none.
func (a *Access) beginLogout(w http.ResponseWriter, r *http.Request, idToken string) string {
	base := a.baseURL(r)
	if base == "" {
		return ""
	}
	state := rand.Text()
	address, err := a.o.OIDC.LogoutURL(r.Context(), idToken, base+logoutPath, state)
	if err != nil {
		a.o.Logger.Warn("a logout at the OpenID provider failed; the session of this server has ended", "address", server.AddressOf(r), "error", err)
		return ""
	}
	if address != "" {
		http.SetCookie(w, logoutCookie(r, stateName, state, int(logoutTime/time.Second), http.SameSiteLaxMode))
	}
	return address
}

// hintCookie returns the cookie with the ID token of a login, which the logout at the provider needs. It is empty if the token is too large.
func hintCookie(r *http.Request, idToken string, age int) *http.Cookie {
	if len(idToken) > maxHint {
		idToken = ""
	}
	return logoutCookie(r, hintName, idToken, age, http.SameSiteStrictMode)
}

func logoutCookie(r *http.Request, name, value string, age int, site http.SameSite) *http.Cookie {
	return &http.Cookie{Name: pathName(r, name), Value: value, Path: logoutPath, MaxAge: age, HttpOnly: true, SameSite: site, Secure: !server.Loopback(r)}
}

// pathName returns the full name of a cookie of one path. Such a cookie cannot have the prefix __Host-.
func pathName(r *http.Request, name string) string {
	if server.Loopback(r) {
		return name
	}
	return "__Secure-" + name
}
