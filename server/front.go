package server

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/server/delivery"
)

// Tenants finds the servers of tenants. It is safe for concurrent use.
type Tenants interface {
	// Acquire returns the handler of a tenant. The caller calls release at the end of its request. The error is the reply.
	Acquire(ctx context.Context, tenant string) (h http.Handler, release func(), err error)
	// Drain rejects new questions of all tenants and waits for their runs, which it cancels when ctx ends.
	Drain(ctx context.Context) error
	// Metrics returns the metrics of the process and of all tenants that are open.
	Metrics() prometheus.Gatherer
}

// Front serves several tenants, each by its own [Server]: a request goes to the server of the tenant of [auth.From]. A request
// without an identity is one of [auth.Local].
type Front struct {
	main    *Server
	tenants Tenants
	metrics http.Handler
	handler http.Handler
}

// NewFront returns a front. The server main is that of [auth.DefaultTenant]: it also serves what belongs to the process, such as
// health checks. The function authenticate wraps the handler; it may be nil.
func NewFront(main *Server, t Tenants, authenticate func(http.Handler) http.Handler) *Front {
	f := &Front{main: main, tenants: t}
	f.metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		promhttp.HandlerFor(t.Metrics(), promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
	f.handler = http.HandlerFunc(f.dispatch)
	if authenticate != nil {
		f.handler = authenticate(f.handler)
	}
	return f
}

// Handler returns the handler of all routes of all tenants.
func (f *Front) Handler() http.Handler { return f.handler }

// Patterns returns the routes of each tenant: see [Server.Patterns].
func (f *Front) Patterns() []string { return f.main.Patterns() }

// Serve is [Server.Serve] for all tenants.
func (f *Front) Serve(ctx context.Context, l net.Listener) error {
	return f.main.serve(ctx, l, f.handler, f.tenants.Drain)
}

// ServeMetrics serves the metrics of the process and of all tenants without a key, at the path /metrics, until ctx ends. It closes l.
func (f *Front) ServeMetrics(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", f.metrics)
	return f.main.serve(ctx, l, mux, func(context.Context) error { return nil })
}

// dispatch passes a request to its tenant.
func (f *Front) dispatch(w http.ResponseWriter, r *http.Request) {
	id, ok := auth.From(r.Context())
	if !ok {
		id = auth.Local()
	}
	path := "/" + strings.TrimLeft(r.URL.Path, "/")
	switch {
	case path == "/metrics" && id.Key == "" && id.Permits(auth.Admin) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		f.metrics.ServeHTTP(w, r)
		return
	case id.Tenant == auth.DefaultTenant || ofProcess(path):
		f.main.handler.ServeHTTP(w, r)
		return
	}
	h, release, err := f.tenants.Acquire(r.Context(), id.Tenant)
	if err != nil {
		if r.Context().Err() != nil {
			return // nobody reads a reply
		}
		f.main.setDeadlines(w, r)
		f.main.defaultHandler().forPath(r).replyError(w, err)
		return
	}
	defer delivery.AtEnd(r.Context(), release)
	h.ServeHTTP(w, r)
}

// TenantsPath is the path of the routes about all tenants. The default tenant serves them, whatever the tenant of the sender.
const TenantsPath = "/api/admin/tenants"

// ofProcess reports whether a path is the same for all tenants.
func ofProcess(path string) bool {
	return path == TenantsPath || strings.HasPrefix(path, TenantsPath+"/") || path == "/healthz" || path == "/readyz" || path == "/openapi.json" || path == schemasPath || strings.HasPrefix(path, schemasPath+"/") || path == "/docs" || strings.HasPrefix(path, docsURL.Path)
}
