// Package access authenticates requests: by API keys, by the session cookies of browsers, or not at all while no key exists. It is the handler in
// front of all others, so it also decides which web pages may send requests, and how many.
package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/cors"
	"golang.org/x/time/rate"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/oidc"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
)

// Options configures an [Access]. The zero value of each field except Protocols is a usable default.
type Options struct {
	Protocols []server.Endpoint // their forms of errors; the first one is the default
	Forms     server.Forms      // forms of errors of other paths
	Origins   []string          // of other pages that may send requests, besides those of keys
	// LocalToken is accepted as a key for everything in the default tenant. It is for commands on the same machine. Empty: none.
	LocalToken string
	Closed     bool          // every request needs a key, even if the store has none
	Session    time.Duration // lifetime of a login; default 12 h
	// OIDC is the provider at which people log in without a key; nil: none. Every request needs a login then, as with Closed.
	OIDC *oidc.Client
	// PublicURL is the origin at which browsers reach the server, for the URL to which the provider sends them back. Empty: the host of the
	// request, if it is this machine.
	PublicURL string
	Rates     auth.Rates   // counts requests of keys; default: in memory
	Logger    *slog.Logger // default: no logs
	Now       func() time.Time
}

// Access authenticates requests. It is safe for concurrent use.
type Access struct {
	store    auth.Store
	o        Options
	replies  server.Options
	local    []byte // hash of the local token; nil: none
	guard    *http.CrossOriginProtection
	cors     *cors.Cors
	keys     *lru.Cache[string, *keyState]
	failures buckets        // by address
	closed   atomic.Bool    // a key was added, so every request needs one
	broken   rate.Sometimes // when failures of the store are logged
	uses     chan struct{}  // semaphore of the last uses that are being written
	work     sync.WaitGroup // writes last uses
}

// Limits of memory, and of attempts with wrong keys: a valid key passes in any case, since nobody can guess it, and a wrong one gets the same
// reply, because clients behind one proxy share an address. The limit keeps clients that fail from filling the log.
const (
	maxKeys      = 10_000
	maxAddresses = 10_000
	failEvery    = 6 * time.Second
	failBurst    = 10
)

// localKey is the id of the local token.
const localKey = "local"

// New returns an Access to the keys of a store.
func New(store auth.Store, o Options) (*Access, error) {
	if len(o.Protocols) == 0 {
		return nil, errors.New("make access: no protocol")
	}
	for _, origin := range o.Origins {
		if err := auth.CheckOrigin(origin); err != nil {
			return nil, fmt.Errorf("make access: %w", err)
		}
	}
	if o.Session <= 0 {
		o.Session = 12 * time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	keys, err := lru.New[string, *keyState](maxKeys)
	if err != nil {
		return nil, err
	}
	failures, err := newBuckets(maxAddresses)
	if err != nil {
		return nil, err
	}
	if o.Rates == nil {
		if o.Rates, err = newBuckets(maxKeys); err != nil {
			return nil, err
		}
	}
	a := &Access{store: store, o: o, guard: http.NewCrossOriginProtection(), keys: keys, failures: failures,
		broken: rate.Sometimes{Interval: time.Second}, uses: make(chan struct{}, maxUses),
		replies: server.Options{Protocols: o.Protocols, Forms: o.Forms, Logger: o.Logger, BodyTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}}
	a.closed.Store(o.Closed || o.OIDC != nil)
	if o.LocalToken != "" {
		a.local = auth.Hash(o.LocalToken)
	}
	a.cors = cors.New(cors.Options{
		AllowOriginVaryRequestFunc: func(r *http.Request, origin string) (bool, []string) {
			return !sameOrigin(r) && a.someoneAllows(r.Context(), origin), nil
		},
		AllowedMethods: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"},
		AllowedHeaders: []string{"*"}, // requests from other origins have no cookies, so their headers give them no rights
		ExposedHeaders: []string{"Sluice-Run-Id", "Retry-After", "WWW-Authenticate", "Content-Disposition", "Idempotent-Replayed", "Retry-After-Ms", "X-Should-Retry",
			"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests",
			"Request-Id", "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
		MaxAge: 600,
	})
	return a, nil
}

// Close waits until the last uses of keys are written. Call it after the last request, and before the store is closed.
func (a *Access) Close() { a.work.Wait() }

// Handler returns a handler that authenticates each request and passes it to next with an [auth.Identity] in its context. Without any key
// in the store it is [auth.Local], unless people log in without one. On paths that need no key, a request without a valid key has an identity of the default tenant without
// scopes. Refused requests get the error in the form of the protocol of their path.
func (a *Access) Handler(next http.Handler) http.Handler {
	return a.cors.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := a.admit(w, r)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		if challenge := r.Header.Get(auth.HeaderChallenge); challenge != "" && a.local != nil && r.URL.Path == "/healthz" {
			w.Header().Set(auth.HeaderProof, auth.Proof(a.o.LocalToken, challenge))
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	}))
}

// caller is who sends a request, and how it was authenticated.
type caller struct {
	auth.Identity
	key    auth.Key // zero: none, or a login without a key
	cookie bool     // browsers send it by themselves
}

// admit returns the context for the handler of a request. It may set headers of the reply.
func (a *Access) admit(w http.ResponseWriter, r *http.Request) (context.Context, error) {
	by, err := a.identify(r)
	if err != nil {
		return nil, err
	}
	if err := a.checkOrigin(r, by); err != nil {
		return nil, err
	}
	ctx := auth.With(r.Context(), by.Identity)
	ctx = auth.WithCheck(ctx, func(ctx context.Context) error {
		_, err := a.identify(r.WithContext(ctx))
		return err
	})
	if by.key.ID == "" {
		return ctx, nil
	}
	if err := a.countRequest(w, r, by.key); err != nil {
		return nil, err
	}
	if by.key.Quota.N > 0 {
		now := a.o.Now()
		ctx = auth.WithQuota(ctx, func(ctx context.Context, n int) error { return a.countQuestions(ctx, by.key, n, now) })
	}
	return ctx, nil
}

// open reports whether a request needs no key.
func open(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", server.AgentCardPath, methodsPath, startPath, callbackPath, logoutPath:
		return r.Method == http.MethodGet || r.Method == http.MethodHead
	case loginPath:
		return r.Method == http.MethodPost
	}
	return false
}

// KeyRequired reports whether requests need a key or a login. The error has a code.
func (a *Access) KeyRequired(ctx context.Context) (bool, error) {
	if a.closed.Load() {
		return true, nil
	}
	exist, err := a.store.Any(ctx)
	if err != nil {
		return false, a.unavailable(ctx, err)
	}
	if exist {
		a.closed.Store(true)
	}
	return exist, nil
}

// identify returns who sends a request: by its key, or else its cookie.
func (a *Access) identify(r *http.Request) (caller, error) {
	ctx, now := r.Context(), a.o.Now()
	if open(r) {
		return caller{Identity: auth.Identity{Tenant: auth.DefaultTenant}}, nil
	}
	required, err := a.KeyRequired(ctx)
	if err != nil {
		return caller{}, err
	}
	text, err := keyOf(r)
	if text != "" && a.local != nil && subtle.ConstantTimeCompare(auth.Hash(text), a.local) == 1 {
		i := auth.Local()
		i.Key = localKey
		return caller{Identity: i}, nil
	}
	if !required {
		return caller{Identity: auth.Local()}, nil
	}
	if err != nil {
		return caller{}, err
	}
	if text != "" {
		k, err := auth.Authenticate(ctx, a.store, text, now)
		if err != nil {
			return caller{}, a.failed(r, err)
		}
		return caller{Identity: k.Identity(), key: k}, nil
	}
	session := sessionOf(r)
	if session == "" {
		return caller{}, fault.New(fault.Unauthenticated, "a key is required: send it as Authorization: Bearer KEY, or as X-API-Key")
	}
	who, k, err := a.store.Session(ctx, auth.Hash(session), now)
	if errors.Is(err, auth.ErrNotFound) || err == nil && k.ID == "" && (a.o.OIDC == nil || who.Key != a.o.OIDC.ID()) { // or the settings were others
		return caller{}, fault.New(fault.Unauthenticated, "the session has ended: log in again")
	}
	if err != nil {
		return caller{}, a.unavailable(ctx, err)
	}
	if err := k.Live(now); err != nil {
		return caller{}, err
	}
	return caller{Identity: who, key: k, cookie: true}, nil
}

// keyOf returns the key of a request. Authorization of other schemes is for proxies. Several keys are an error, because a proxy might check one
// and the server another.
func keyOf(r *http.Request) (string, error) {
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		if len(r.Header.Values(name)) > 1 {
			return "", fault.Invalid(name, "want one header, not several")
		}
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); token != "" && strings.EqualFold(scheme, "Bearer") {
		return token, nil
	}
	return r.Header.Get("X-Api-Key"), nil
}

// unavailable returns the error for a failure of the store. The log has the cause, at most once per second.
func (a *Access) unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	a.broken.Do(func() { a.o.Logger.Error("the key database failed", "error", err) })
	return fault.Wrap(fault.Unavailable, err, "keys cannot be checked, because the key database of the server failed; try again later")
}

// failed returns the error for a wrong key. The first failures of an address are logged; later ones are not, and are told how long to wait.
func (a *Access) failed(r *http.Request, err error) error {
	reason := fault.Public(err)
	if reason.Code != fault.Unauthenticated {
		return a.unavailable(r.Context(), err)
	}
	address := server.AddressOf(r)
	if wait := a.failures.take(address, failEvery, failBurst, a.o.Now()); wait > 0 {
		return &auth.LimitError{Fault: reason, After: wait}
	}
	a.o.Logger.Info("request refused", "address", address, "reason", reason.Message)
	return err
}

// refuse replies with an error.
func (a *Access) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if fault.Public(err).Code == fault.Unauthenticated {
		challenge := `Bearer realm="sluice"`
		if key, _ := keyOf(r); key != "" {
			challenge += `, error="invalid_token"` // https://www.rfc-editor.org/rfc/rfc6750#section-3.1
		} else if sessionOf(r) != "" {
			http.SetCookie(w, cookie(r, "", -1))
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	server.Refuse(w, r, a.replies, err)
}

// someoneAllows reports whether the settings or any live key allow an origin.
func (a *Access) someoneAllows(ctx context.Context, origin string) bool {
	if slices.Contains(a.o.Origins, origin) {
		return true
	}
	if auth.CheckOrigin(origin) != nil {
		return false
	}
	allowed, err := a.store.AllowsOrigin(ctx, origin, a.o.Now())
	if err != nil {
		a.o.Logger.Error("could not read the origins of keys", "error", err)
	}
	return allowed
}

// sameOrigin reports whether a request with the header Origin comes from a page of this server.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
		u, err := url.Parse(r.Header.Get("Origin"))
		return err == nil && u.Host == r.Host
	}
	return false
}

// checkOrigin refuses requests of web pages that may not send them. Pages of other origins may if the settings or the key allow them, and the key
// is not a cookie. Browsers add cookies by themselves, so a request with a cookie that changes something has to prove where it comes from.
func (a *Access) checkOrigin(r *http.Request, by caller) error {
	refused := &fault.Error{Code: fault.InvalidRequest, Field: "Origin", Message: "Origin: requests of pages of other sites are rejected; start the server with --allow-origin ORIGIN to permit one"}
	if by.key.ID != "" {
		refused.Code, refused.Message = fault.Forbidden, "Origin: this key does not allow requests of this page"
	}
	origin := r.Header.Get("Origin")
	foreign := origin != "" && !sameOrigin(r)
	if foreign && !by.cookie && (slices.Contains(a.o.Origins, origin) || slices.Contains(by.key.Origins, origin)) {
		return nil
	}
	if a.guard.Check(r) != nil || foreign && by.Key != "" {
		return server.Forbid(refused)
	}
	if by.cookie && !safe(r.Method) && origin == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		return fault.New(fault.Forbidden, "a request with a cookie needs the header Origin or Sec-Fetch-Site, which browsers send; programs use a key")
	}
	return nil
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// Loopback reports whether only the same machine reaches an address.
func Loopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// CheckListen returns an error if a server without keys would be open to others. A server that has keys, or was started with --insecure, may listen on
// any address.
func CheckListen(addr net.Addr, keys, insecure bool) error {
	if keys || insecure || Loopback(addr) {
		return nil
	}
	return fmt.Errorf("listen on %s: everybody who reaches this address could read and change everything, because there is no key; "+
		"add one with \"sluice keys add\", listen on 127.0.0.1, or confirm it with --insecure", addr)
}
