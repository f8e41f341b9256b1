package model

import (
	"context"
	"sync/atomic"
)

// Trace is a set of hooks for model calls, as in net/http/httptrace. Hooks may be nil and may be called concurrently.
type Trace struct {
	// Failed is called when the named model failed and something else takes over: next is the name of a model or of the
	// rules. It is not called for an error that is returned to the caller.
	Failed func(err error, name, next string)
	// Used is called once per request that a provider accepted, even if the request failed later.
	Used func(name string, u Usage)
}

type traceKey struct{}

// WithTrace returns a context with the trace t, which replaces the trace of ctx.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

func traceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// TrackModel returns a context for one request, and a function that returns the name of the model that answered it, or the
// given default if none did. Calls are forwarded to the trace of ctx.
func TrackModel(ctx context.Context) (traced context.Context, name func(unknown string) string) {
	var last atomic.Pointer[string]
	traced = WithTrace(ctx, &Trace{
		Failed: func(err error, name, next string) { Failed(ctx, err, name, next) },
		Used: func(name string, u Usage) {
			last.Store(&name)
			Used(ctx, name, u)
		},
	})
	return traced, func(unknown string) string {
		if name := last.Load(); name != nil {
			return *name
		}
		return unknown
	}
}

// Failed calls the Failed hook of the trace of ctx, if there is one.
func Failed(ctx context.Context, err error, name, next string) {
	if t := traceOf(ctx); t != nil && t.Failed != nil {
		t.Failed(err, name, next)
	}
}

// Used calls the Used hook of the trace of ctx, if there is one.
func Used(ctx context.Context, name string, u Usage) {
	if t := traceOf(ctx); t != nil && t.Used != nil {
		t.Used(name, u)
	}
}
