// Package server serves the engine over HTTP: it has the routes and their limits, and streams that can be resumed. The
// protocols of package wire define the requests, events and replies.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/server/delivery"
	"github.com/sluice-rag/sluice/session"
)

// Options configures a server. The zero value of each field except Protocols is a usable default.
type Options struct {
	Protocols    []Endpoint           // protocols; the first one is the default
	Routes       []Route              // additional routes
	Forms        Forms                // of the errors of paths that are those of no protocol
	Described    []Description        // streams of Routes that are those of no protocol, for the documents that describe the protocols
	MaxBody      int64                // limit of a request body in bytes; default 1 MiB
	MaxQuery     int                  // limit of a question in bytes; default 32 KiB
	Heartbeat    time.Duration        // time without a frame before a heartbeat; default 15 s, and at most 4 s before the first token
	BodyTimeout  time.Duration        // time to receive a request body; default 30 s
	WriteTimeout time.Duration        // time in which a client must read something; default 30 s
	Drain        time.Duration        // time that Serve waits for runs when it stops; default 30 s
	StreamWriter delivery.WriterMode  // what writes streams; default [delivery.Auto]
	Logger       *slog.Logger         // default: no logs
	Registry     *prometheus.Registry // registry of the metrics that /metrics shows; default: a new one
	Tenant       string               // label of the server's metrics; empty: no label, and the registry also gets those of the process
	AllowHosts   []string             // host names, besides localhost, that requests to a loopback address may have
	Version      string               // shown in the OpenAPI document
	Instance     string               // shown by the health check; default: random
	// Page returns the origin of the pages of documents for the sender of a request, such as http://localhost:8000, or nothing if it is not known. May be
	// nil: answers do not link to such pages.
	Page func(r *http.Request) string
	// Parts returns the state of the parts of the server by name. /readyz shows them, and replies 503 if one is starting or
	// has failed. May be nil.
	Parts func(ctx context.Context) map[string]Part
	// Progress returns the progress of the start. /readyz shows it, with status 503. The start is over if Progress or its
	// result is nil.
	Progress func(ctx context.Context) *Progress
	// Live returns the number of live runs that the health checks show; default: those of the engine.
	Live func() int
	// Accept is called before each question. Its error is the reply. May be nil.
	Accept func(ctx context.Context, collection string) error
	// Sessions asks the questions that belong to a session. If it is nil, the session of a question is only logged.
	Sessions *session.Service
	// OwnModel returns a context in which a question is answered by a model of the provider, openai or anthropic, that the caller's key
	// pays. The name of the model may be empty. May be nil: such keys are refused.
	OwnModel func(ctx context.Context, provider, key, name string) (context.Context, error)
	// Task writes texts beside answers; see [Endpoint.TaskModel]. May be nil: the questions are answered.
	Task Task
	// Keys holds the values of the header Idempotency-Key, with the runs of their requests, for 24 hours. Servers that share runs need a shared
	// store. Default: 100,000 values in memory.
	Keys forrst.IdempotencyStore
}

// Forms has functions that return the JSON object of an error, by the path of the requests.
type Forms map[string]func(f *fault.Error) any

// Server serves an engine.
type Server struct {
	o        Options
	engine   *engine.Engine
	metrics  *metrics
	handler  http.Handler
	instance string
	draining atomic.Bool
	streams  *delivery.Hub
	patterns []string      // of the routes
	decoding chan struct{} // semaphore of large questions that are being decoded
}

// maxHeader limits the header of a request, in bytes.
const maxHeader = 32 << 10

// New returns a server of the engine. The caller closes the engine, or calls Serve.
func New(e *engine.Engine, o Options) (*Server, error) {
	setDefault(&o.MaxBody, 1<<20)
	setDefault(&o.MaxQuery, 32<<10)
	setDefault(&o.Heartbeat, 15*time.Second)
	setDefault(&o.BodyTimeout, 30*time.Second)
	setDefault(&o.WriteTimeout, 30*time.Second)
	setDefault(&o.Drain, 30*time.Second)
	setDefault(&o.StreamWriter, delivery.Auto)
	setDefault(&o.Version, "devel")
	setDefault(&o.Instance, rand.Text())
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Live == nil {
		o.Live = e.Live
	}
	if o.Keys == nil {
		o.Keys = forrst.NewMemoryIdempotency()
	}
	if len(o.Protocols) == 0 {
		return nil, errors.New("make server: no protocol")
	}
	reg := prometheus.Registerer(o.Registry)
	if o.Tenant != "" {
		reg = prometheus.WrapRegistererWith(prometheus.Labels{"tenant": o.Tenant}, reg)
	} else if err := ProcessMetrics(reg); err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	m, err := newMetrics(reg, e)
	if err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	streams, err := delivery.New(e, delivery.Options{Heartbeat: o.Heartbeat, WriteTimeout: o.WriteTimeout, Logger: o.Logger, Registry: reg})
	if err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	s := &Server{o: o, engine: e, metrics: m, instance: o.Instance, streams: streams, decoding: make(chan struct{}, maxDecoding)}
	s.handler = s.routes()
	return s, nil
}

func setDefault[T int | int64 | time.Duration | string | delivery.WriterMode](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Patterns returns the method and the path of each route, in the form of [http.ServeMux], without those of the page at /docs/.
func (s *Server) Patterns() []string { return slices.Clone(s.patterns) }

// Handler returns the handler of all routes, for use with another HTTP server.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve accepts connections on l until ctx ends. It then rejects new questions, waits for runs and their readers, and
// cancels the remaining runs after the drain time. It returns nil when all connections are closed. It closes l and the
// engine.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, l, s.handler, s.Drain)
}

// Drain rejects new questions and waits for runs, which it cancels when ctx ends.
func (s *Server) Drain(ctx context.Context) error {
	s.draining.Store(true)
	return s.engine.Close(ctx)
}

// idleTimeout is how long a connection may wait for its next request.
const idleTimeout = 2 * time.Minute

// serve serves a handler with the limits of the server. It calls drain before it closes the connections of readers.
func (s *Server) serve(ctx context.Context, l net.Listener, handler http.Handler, drain func(context.Context) error) error {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		handler = s.onlyLocal(handler)
	}
	conns := delivery.NewConns(s.o.StreamWriter, idleTimeout)
	h := &http.Server{
		Handler:           conns.Handler(handler),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       conns.ConnContext,
		ErrorLog:          slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug), // errors that clients cause
	}
	failed := make(chan error, 2)
	go func() { failed <- h.Serve(l) }()
	go func() { failed <- h.Serve(conns) }() // the next requests of connections that had a stream
	select {
	case err := <-failed:
		_ = drain(canceled())
		_ = h.Close()
		conns.Shutdown(canceled())
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	inTime, stop := context.WithTimeout(context.WithoutCancel(ctx), s.o.Drain)
	defer stop()
	if err := drain(inTime); err != nil {
		s.o.Logger.Warn("runs were cancelled to stop in time")
	}
	// The last events were sent; wait a moment until the readers have received them, even if the drain time is over.
	last, stopLast := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stopLast()
	if err := h.Shutdown(last); err != nil {
		_ = h.Close()
	}
	conns.Shutdown(last)
	<-failed //nolint:errcheck // reports only that the server was closed
	<-failed //nolint:errcheck // as before
	return nil
}

// onlyLocal rejects requests for other hosts. Otherwise a web page could read all data by DNS rebinding.
func (s *Server) onlyLocal(h http.Handler) http.Handler {
	main := s.defaultHandler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.ToLower(strings.Trim(host, "[]"))
		ip := net.ParseIP(host)
		if host != "localhost" && (ip == nil || !ip.IsLoopback()) && !slices.Contains(s.o.AllowHosts, host) {
			s.setDeadlines(w, r)
			main.replyFault(w, http.StatusForbidden,
				&fault.Error{Code: fault.InvalidRequest, Field: "Host", Message: "Host: this server answers for localhost only; start it with --allow-host NAME to add a name"})
			return
		}
		h.ServeHTTP(w, r)
	})
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
