package forrst

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Defaults of the options.
const (
	defaultMaxRequest   = 1 << 20
	defaultMaxResponse  = 10 << 20
	defaultHeartbeat    = 15 * time.Second
	defaultWriteTimeout = time.Minute
	defaultCheckTimeout = 5 * time.Second
)

// Options are the settings of a server. The zero value works.
type Options struct {
	// Service and Version name the service in the replies of the system functions. Default of Service: "forrst".
	Service, Version string
	// Node identifies this process in responses. Empty: it is left out.
	Node string
	// Extensions are run in this order, the first outermost; [Idempotency] and [Async] are the innermost whatever their
	// position. Nil: [Extensions]. Empty: none.
	Extensions []Extension
	// StrictExtensions refuses all extensions that the server does not have. By default those that the protocol does not
	// define are ignored.
	StrictExtensions bool
	// StrictVersions refuses short versions of functions. By default "1" selects the newest stable version 1.x.y.
	StrictVersions bool
	// Caller returns the authenticated caller of a request, from values that your middleware put into its context. Callers
	// cannot cancel the calls of others. Nil: all clients are one caller.
	Caller func(ctx context.Context) string
	// Authorize is called before each call. An error of it refuses the call: use the codes Unauthorized and Forbidden. The
	// arguments are not validated yet.
	Authorize func(ctx context.Context, call *Call) error
	// Unavailable is called before each call of a function other than the system functions. A non-nil result is the reply.
	Unavailable func(ctx context.Context) *CallError
	// Checks are the components of the health function. A nil error is healthy, one of [Degraded] is degraded, and any
	// other is unhealthy; its text is not shown. All of them have 5 seconds.
	Checks map[string]func(ctx context.Context) error
	// MaxRequest and MaxResponse limit documents and events, in bytes. Defaults: 1 MiB and 10 MiB.
	MaxRequest, MaxResponse int64
	// Heartbeat is the time without an event after which a stream gets a comment. Default: 15 s. Negative: never.
	Heartbeat time.Duration
	// WriteTimeout limits each write to a client that does not read: of an event, or of 64 KiB of a document. A write may be cut off
	// after half of it. Default: one minute.
	WriteTimeout time.Duration
	// Logger gets panics and errors without a code, without values of the call. Nil: slog.Default.
	Logger *slog.Logger
}

// Server calls functions over HTTP. It is safe for concurrent use.
type Server struct {
	options    Options
	functions  registry
	extensions []Extension
	checks     *checks
	running    sync.WaitGroup // functions
}

// New returns a server of some functions and of the system functions. It reports every function and extension that is
// wrong.
func New(functions []Function, o Options) (*Server, error) {
	s := &Server{options: withDefaults(o), functions: registry{}, extensions: o.Extensions}
	if o.Extensions == nil {
		s.extensions = Extensions()
	}
	s.extensions = inOrder(s.extensions)
	s.checks = newChecks(s.options.Checks)
	var errs []error
	for _, f := range functions {
		errs = append(errs, s.functions.add(f, false))
	}
	system := s.systemFunctions()
	seen := map[string]bool{}
	for _, e := range s.extensions {
		if urn := canonicalURN(e.URN()); !validURN(e.URN()) || seen[urn] {
			errs = append(errs, fmt.Errorf("forrst: extension %q: the URN is malformed or used twice", e.URN()))
		} else {
			seen[urn] = true
		}
		if p, ok := e.(Provider); ok {
			system = append(system, p.Functions()...)
		}
	}
	for _, f := range system {
		errs = append(errs, s.functions.add(f, true))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func withDefaults(o Options) Options {
	if o.Service == "" {
		o.Service = "forrst"
	}
	if o.MaxRequest <= 0 {
		o.MaxRequest = defaultMaxRequest
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = defaultMaxResponse
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = defaultHeartbeat
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = defaultWriteTimeout
	}
	return o
}

// Wait waits for functions that still run although their callers have their replies. Call it after http.Server.Shutdown.
// It returns the error of the context if that ends first.
func (s *Server) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { // ends with the last function
		defer close(done)
		s.running.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) log() *slog.Logger {
	if s.options.Logger != nil {
		return s.options.Logger
	}
	return slog.Default()
}
