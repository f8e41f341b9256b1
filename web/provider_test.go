package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// provider is an OpenID provider at which one person is logged in already.
type provider struct {
	*storage.Storage
	clients map[string]*storage.Client
}

// providerClient is a client with the addresses to which the provider sends browsers after a logout.
type providerClient struct {
	*storage.Client
	loggedOut []string
}

// PostLogoutRedirectURIs implements [op.Client].
func (c providerClient) PostLogoutRedirectURIs() []string { return c.loggedOut }

// GetClientByClientID implements [op.Storage].
func (p *provider) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	c := p.clients[id]
	if c == nil {
		return nil, errors.New("no such client")
	}
	return providerClient{c, []string{strings.TrimSuffix(c.RedirectURIs()[0], "callback") + "logout"}}, nil
}

// newProvider returns the provider and its URL.
func newProvider(t *testing.T) (*provider, string) {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := &provider{clients: map[string]*storage.Client{}}
	p.Storage = storage.NewStorageWithClients(storage.NewUserStore(server.URL), p.clients)
	o, err := op.NewProvider(&op.Config{CryptoKey: [32]byte{1}, CodeMethodS256: true}, p, op.StaticIssuer(server.URL), op.WithAllowInsecure())
	require.NoError(t, err)
	back := op.AuthCallbackURL(o)
	mux.Handle("/login/username", op.NewIssuerInterceptor(o.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("authRequestID")
		if err := p.CheckUsernamePassword("test-user2", "verysecure", id); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, back(r.Context(), id), http.StatusFound)
	}))
	mux.Handle("/", o)
	return p, server.URL
}
