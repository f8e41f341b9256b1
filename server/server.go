// Package server is Sluice over HTTP: the routes, their limits, and streams that a reader can leave and resume. What is
// answered and how is the engine's business; how it looks on the wire is that of the protocols.
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Options are the server's settings. The zero value works.
type Options struct {
	Protocols    []wire.Entry         // those that a run can be read in; the first is the default
	Routes       []Route              // more of them
	MaxBody      int64                // bytes of a request's body; default 256 KiB
	MaxQuery     int                  // bytes of a question; default 32 KiB
	MaxHeader    int                  // bytes of a request's header; default 32 KiB
	Heartbeat    time.Duration        // time without a frame before a heartbeat; default 15 s, and 4 s at most before the first token
	BodyTimeout  time.Duration        // how long a request's body may take to come; default 30 s
	WriteTimeout time.Duration        // how long a reader may take nothing; default 30 s
	Drain        time.Duration        // how long Serve waits for runs when it is told to stop; default 30 s
	Logger       *slog.Logger         // default: silent
	Registry     *prometheus.Registry // where metrics are registered; default: a new one
	AllowHosts   []string             // names, besides this machine's own, that requests to a loopback address may be for
	Version      string               // shown in the OpenAPI document
	Instance     string               // shown by the health check; default: a random text
	// Parts gives the state of each part of the server by name. /readyz shows them and answers 503 when one is starting or has
	// failed. Nil: none.
	Parts func(ctx context.Context) map[string]Part
	// Progress tells how far the start is, which /readyz shows with 503. Nil, and a nil result: it is over.
	Progress func(ctx context.Context) *Progress
	// Accept is called before each question. Its error is the reply. Nil: all questions are taken.
	Accept func(ctx context.Context, collection string) error
}

// Server serves an engine.
type Server struct {
	o        Options
	engine   *engine.Engine
	metrics  *metrics
	handler  http.Handler
	instance string
	draining atomic.Bool

	rollsMu sync.Mutex
	rolls   map[form]*roll // those that are being read
}

// beforeToken bounds the heartbeat until the first token of the answer: clients whose read timeout is 5 s, the default of
// httpx, wait for a slow model.
const beforeToken = 4 * time.Second

// heartbeat gives the time without a frame after which a heartbeat is due.
func (s *Server) heartbeat(answering bool) time.Duration {
	if answering {
		return s.o.Heartbeat
	}
	return min(s.o.Heartbeat, beforeToken)
}

// answering tells whether one of the events is the first of the answer's text, or comes after it.
func answering(batch []event.Event) bool {
	for _, e := range batch {
		switch e.Body.(type) {
		case event.Token, event.GenerationFinished, event.RunFinished, event.RunFailed:
			return true
		}
	}
	return false
}

// New makes a server of the engine, which stays the caller's.
func New(e *engine.Engine, o Options) (*Server, error) {
	setDefault(&o.MaxBody, 256<<10)
	setDefault(&o.MaxQuery, 32<<10)
	setDefault(&o.MaxHeader, 32<<10)
	setDefault(&o.Heartbeat, 15*time.Second)
	setDefault(&o.BodyTimeout, 30*time.Second)
	setDefault(&o.WriteTimeout, 30*time.Second)
	setDefault(&o.Drain, 30*time.Second)
	setDefault(&o.Version, "devel")
	setDefault(&o.Instance, rand.Text())
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if len(o.Protocols) == 0 {
		return nil, errors.New("make server: no protocol")
	}
	m, err := newMetrics(o.Registry, e)
	if err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	s := &Server{o: o, engine: e, metrics: m, instance: o.Instance, rolls: map[form]*roll{}}
	s.handler = s.routes()
	return s, nil
}

func setDefault[T int | int64 | time.Duration | string](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Instance is a random text that the health check shows, so that a client can tell this server from another one.
func (s *Server) Instance() string { return s.instance }

// Handler serves the routes, for a caller with a server of its own.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers on l until ctx ends. It then refuses new questions, waits for the runs that are being answered and their
// readers, cancels what is left after the drain time, and returns nil when nothing is open any more. It closes l and the
// engine.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	handler := s.handler
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		handler = s.onlyLocal(handler)
	}
	h := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    s.o.MaxHeader,
		ConnContext:       connContext,
		ErrorLog:          slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug), // of what clients do
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err := <-failed:
		_ = s.engine.Close(canceled())
		_ = h.Close()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	drain, stop := context.WithTimeout(context.WithoutCancel(ctx), s.o.Drain)
	defer stop()
	if err := s.engine.Close(drain); err != nil {
		s.o.Logger.Warn("runs were cancelled to stop in time")
	}
	// The readers have their last events; give them a moment to take them, whatever the drain time has left.
	last, stopLast := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stopLast()
	if err := h.Shutdown(last); err != nil {
		_ = h.Close()
	}
	<-failed //nolint:errcheck // it says only that the server was closed
	return nil
}

// onlyLocal refuses requests that name another host: a page whose name was made to point at this machine would otherwise
// be of the server's own origin, and could read everything.
func (s *Server) onlyLocal(h http.Handler) http.Handler {
	main := port{s, s.o.Protocols[0]}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.ToLower(strings.Trim(host, "[]"))
		ip := net.ParseIP(host)
		if host != "localhost" && (ip == nil || !ip.IsLoopback()) && !slices.Contains(s.o.AllowHosts, host) {
			s.limit(w)
			main.replyFault(w, http.StatusForbidden,
				&fault.Error{Code: fault.InvalidRequest, Field: "Host", Message: "Host: this server answers for localhost; allow-host adds names"})
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
