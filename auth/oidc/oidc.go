// Package oidc lets people log in at an OpenID provider, by the authorization code flow with PKCE: https://openid.net/specs/openid-connect-core-1_0.html
// and RFC 7636. It also lets them log out there: https://openid.net/specs/openid-connect-rpinitiated-1_0.html. The package keeps no token of the provider.
package oidc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sluice-rag/sluice/auth"
)

// Options configures a [Client]. Issuer and ClientID are needed, and Roles or Default, or else everyone is refused.
type Options struct {
	Issuer       string // URL of the provider, exactly as in its tokens
	ClientID     string
	ClientSecret string   // empty: a public client
	Scopes       []string // of the authorization request, openid among them
	Name         string   // of the provider, for people; default: its host

	Account   string      // claim with the account; default: email if the provider verified it, or else sub
	RoleClaim string      // claim whose values are the names of roles; objects are entered by dots, as in realm_access.roles
	Roles     []auth.Role // in order of precedence: see [auth.Grant]
	Default   auth.Role   // of people who have none of the roles; without scopes they are refused

	Transport http.RoundTripper // default: [http.DefaultTransport]
	Now       func() time.Time
}

// Client is a client of a provider. It is safe for concurrent use.
type Client struct {
	o    Options
	id   string
	name string
	http *http.Client

	mu     sync.Mutex // held while the provider is discovered
	found  *provider
	failed time.Time // of the last attempt
	err    error
}

// provider is what the provider publishes about itself.
type provider struct {
	*oidc.Provider
	config   oauth2.Config // without a redirect URL
	verifier *oidc.IDTokenVerifier
	namesIss bool   // the provider adds its issuer to the parameters of the callback: RFC 9207
	logout   string // URL at which browsers log out; empty: none
}

// Limits of requests to the provider, and of a login.
const (
	requestTimeout = 10 * time.Second
	maxReply       = 1 << 20
	retryAfter     = 2 * time.Second // after a failed discovery
	skew           = time.Minute     // between the clocks of the provider and of this server
	attemptTime    = 10 * time.Minute
)

// New returns a client. It sends no request: the provider may be unreachable until somebody logs in.
func New(o Options) *Client {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	c := &Client{o: o, name: o.Name, http: &http.Client{Timeout: requestTimeout, Transport: bounded{o.Transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if u, err := url.Parse(o.Issuer); err == nil && c.name == "" {
		c.name = u.Host
	}
	settings, _ := json.Marshal([]any{o.Issuer, o.ClientID, o.Account, o.RoleClaim, o.Roles, o.Default}) // texts
	sum := sha256.Sum256(settings)
	c.id = "oidc-" + hex.EncodeToString(sum[:5])
	return c
}

// bounded limits the size of replies.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxReply)
	}
	return res, err
}

// ID returns the Key of the identities of people who log in. It changes with the settings that decide who may do what, so that logins under other
// settings can be told apart.
func (c *Client) ID() string { return c.id }

// Name returns the name of the provider, for people.
func (c *Client) Name() string { return c.name }

// Reason is why somebody cannot log in. It is safe to show.
type Reason string

// The reasons.
const (
	Denied   Reason = "denied"   // by the person or the provider
	Expired  Reason = "expired"  // the login was not begun in this browser, or has taken too long
	Provider Reason = "provider" // the provider is unreachable, or its reply is wrong
	Token    Reason = "token"    // the ID token is not valid
	Account  Reason = "account"  // the claims hold no account that is permitted
	NoRole   Reason = "role"     // the person has no role
)

// Error is a login that failed. The text of the cause is for the log.
type Error struct {
	Reason Reason
	Cause  error
}

// Error implements error. It holds at most 300 bytes of the cause, which can quote the provider.
func (e *Error) Error() string { return fmt.Sprintf("login: %s: %.300s", e.Reason, e.Cause.Error()) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func refuse(r Reason, format string, args ...any) error {
	return &Error{r, fmt.Errorf(format, args...)}
}

// Attempt is a login that has begun. The browser keeps it until the callback, out of reach of scripts and of other sites.
type Attempt struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	Redirect string    `json:"r"` // URL of the callback
	Begun    time.Time `json:"b"`
}

// Begin begins a login and returns the URL of the provider to which the browser goes. The provider sends it back to the URL redirect.
func (c *Client) Begin(ctx context.Context, redirect string) (Attempt, string, error) {
	p, err := c.discover(ctx)
	if err != nil {
		return Attempt{}, "", err
	}
	a := Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Begun: c.o.Now()}
	config := p.config
	config.RedirectURL = redirect
	return a, config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Login is a login that has succeeded.
type Login struct {
	Person  auth.Identity
	IDToken string // in its serialized form, for [Client.LogoutURL]
}

// Finish returns who has logged in. The query is that of the callback. Errors are of the type [Error].
func (c *Client) Finish(ctx context.Context, a Attempt, query url.Values) (Login, error) {
	code, err := c.checkCallback(a, query)
	if err != nil {
		return Login{}, err
	}
	p, err := c.discover(ctx)
	if err != nil {
		return Login{}, err
	}
	if iss, sent := query["iss"]; (sent || p.namesIss) && !slices.Equal(iss, []string{c.o.Issuer}) {
		return Login{}, refuse(Token, "the callback is of another provider")
	}
	ctx = oidc.ClientContext(ctx, c.http)
	config := p.config
	config.RedirectURL = a.Redirect
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok { // its text has the whole reply
			err = fmt.Errorf("status %d, error %.40q", r.Response.StatusCode, r.ErrorCode)
		}
		return Login{}, refuse(Provider, "exchange the code: %w", err)
	}
	claims, err := c.verify(ctx, p, token, a.Nonce)
	if err == nil {
		err = c.addUserInfo(ctx, p, token, claims)
	}
	if err != nil {
		return Login{}, err
	}
	who, err := c.identify(claims)
	if err != nil {
		return Login{}, err
	}
	return Login{Person: who, IDToken: idToken(token)}, nil
}

// LogoutURL returns the URL of the provider at which the browser of a person logs out, or an empty text if the provider has none. The provider sends
// the browser back to the URL redirect, with the state. An empty idToken means that it is not known: the provider may then ask the person.
func (c *Client) LogoutURL(ctx context.Context, idToken, redirect, state string) (string, error) {
	p, err := c.discover(ctx)
	if err != nil || p.logout == "" {
		return "", err
	}
	u, err := url.Parse(p.logout)
	if err != nil {
		return "", refuse(Provider, "parse the end_session_endpoint: %w", err)
	}
	q := u.Query()
	q.Set("client_id", c.o.ClientID)
	q.Set("post_logout_redirect_uri", redirect)
	q.Set("state", state)
	if idToken != "" {
		q.Set("id_token_hint", idToken)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// checkCallback returns the code of a callback that belongs to an attempt.
func (c *Client) checkCallback(a Attempt, query url.Values) (code string, err error) {
	for _, name := range []string{"state", "code", "error"} {
		if len(query[name]) > 1 {
			return "", refuse(Expired, "the callback has several parameters %s", name)
		}
	}
	state := query.Get("state")
	if age := c.o.Now().Sub(a.Begun); a.State == "" || age > attemptTime || age < -skew {
		return "", refuse(Expired, "the browser has begun no login, or it has taken too long")
	}
	if subtle.ConstantTimeCompare([]byte(state), []byte(a.State)) != 1 {
		return "", refuse(Expired, "the state of the callback is not that of the browser")
	}
	switch text := query.Get("error"); text {
	case "":
	case "access_denied":
		return "", refuse(Denied, "the provider denied the login")
	default:
		return "", refuse(Provider, "the provider replied with the error %.40q", text)
	}
	if code = query.Get("code"); code == "" {
		return "", refuse(Provider, "the callback has no code")
	}
	return code, nil
}

// discover returns the provider. After a failure, it waits before it tries again.
func (c *Client) discover(ctx context.Context) (*provider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found != nil {
		return c.found, nil
	}
	now := c.o.Now()
	if c.err != nil && now.Sub(c.failed) < retryAfter {
		return nil, c.err
	}
	// Others wait for the result, so it must not depend on the patience of one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	p, err := c.fetch(oidc.ClientContext(ctx, c.http))
	if err != nil {
		c.err, c.failed = refuse(Provider, "discover %s: %w", c.o.Issuer, err), now
		return nil, c.err
	}
	c.found, c.err = p, nil
	return p, nil
}

func (c *Client) fetch(ctx context.Context) (*provider, error) {
	p, err := oidc.NewProvider(ctx, c.o.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		JWKS     string   `json:"jwks_uri"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		NamesIss bool     `json:"authorization_response_iss_parameter_supported"`
		Logout   string   `json:"end_session_endpoint"`
	}
	if err := p.Claims(&more); err != nil {
		return nil, err
	}
	e := p.Endpoint()
	for name, address := range map[string]string{"authorization_endpoint": e.AuthURL, "token_endpoint": e.TokenURL, "jwks_uri": more.JWKS, "userinfo_endpoint": p.UserInfoEndpoint(),
		"end_session_endpoint": more.Logout} {
		u, err := url.Parse(address)
		switch {
		case address == "" && (name == "userinfo_endpoint" || name == "end_session_endpoint"):
		case err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || strings.HasPrefix(c.o.Issuer, "https:")):
			return nil, fmt.Errorf("%s is not an https address", name)
		}
	}
	// Trying both ways, as package oauth2 does by default, would send a code twice.
	e.AuthStyle = oauth2.AuthStyleInHeader
	if c.o.ClientSecret == "" || len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		e.AuthStyle = oauth2.AuthStyleInParams
	}
	return &provider{Provider: p, namesIss: more.NamesIss, logout: more.Logout,
		config:   oauth2.Config{ClientID: c.o.ClientID, ClientSecret: c.o.ClientSecret, Endpoint: e, Scopes: c.o.Scopes},
		verifier: p.Verifier(&oidc.Config{ClientID: c.o.ClientID, Now: func() time.Time { return c.o.Now().Add(-skew) }})}, nil
}

func idToken(token *oauth2.Token) string {
	raw, _ := token.Extra("id_token").(string)
	return raw
}

// verify checks the ID token of a reply and returns its claims: https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
func (c *Client) verify(ctx context.Context, p *provider, token *oauth2.Token, nonce string) (map[string]any, error) {
	raw := idToken(token)
	if raw == "" {
		return nil, refuse(Provider, "the reply has no ID token")
	}
	id, err := p.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, refuse(Token, "%w", err)
	}
	var claims map[string]any
	var checked struct {
		Party  string  `json:"azp"`
		Before float64 `json:"nbf"` // seconds
	}
	if err := errors.Join(id.Claims(&claims), id.Claims(&checked)); err != nil {
		return nil, refuse(Token, "%w", err)
	}
	latest := c.o.Now().Add(skew)
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		return nil, refuse(Token, "the nonce is not that of the login")
	case id.IssuedAt.After(latest) || checked.Before > float64(latest.Unix()):
		return nil, refuse(Token, "the token is of the future")
	case checked.Party != "" && checked.Party != c.o.ClientID || checked.Party == "" && len(id.Audience) > 1:
		return nil, refuse(Token, "the token was issued to another party")
	case id.Subject == "":
		return nil, refuse(Token, "the token has no subject")
	case id.AccessTokenHash != "" && id.VerifyAccessToken(token.AccessToken) != nil:
		return nil, refuse(Token, "the access token is not that of the ID token")
	}
	return claims, nil
}

// addUserInfo adds the claims that the provider returns for the access token. Many have the scopes profile and email only there.
func (c *Client) addUserInfo(ctx context.Context, p *provider, token *oauth2.Token, claims map[string]any) error {
	if p.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return refuse(Provider, "get the user info: %w", err)
	}
	var more map[string]any
	if err := info.Claims(&more); err != nil {
		return refuse(Provider, "get the user info: %w", err)
	}
	if info.Subject != claims["sub"] { // https://openid.net/specs/openid-connect-core-1_0.html#UserInfoResponse
		return refuse(Token, "the user info is about another person")
	}
	if claims["email"] != nil { // what was verified is the other address
		delete(more, "email_verified")
	}
	for name, value := range more {
		if _, signed := claims[name]; !signed {
			claims[name] = value
		}
	}
	return nil
}
