package model

import (
	"context"
	"sync/atomic"
)

// Trace is told what happens in model calls, whoever makes them, in the manner of net/http/httptrace. Its functions may
// be called at once; nil ones are not.
type Trace struct {
	// Failed is told of each model that failed where something else takes its place: next is the model's or the model-free
	// form's name. An error that is returned to the caller is not told.
	Failed func(err error, name, next string)
	// Used is told once for each request that a provider took: what it cost, also if it failed in the end.
	Used func(name string, u Usage)
}

type traceKey struct{}

// WithTrace gives a context whose model calls are told to t, and to no trace of ctx.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

func traceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// Answering gives a context for one request, and what then gives the name of the model that answered it: of a chain, the one
// that was used last; the other name where none was told. All that is told goes to the trace of ctx, too.
func Answering(ctx context.Context) (own context.Context, by func(otherwise string) string) {
	var last atomic.Pointer[string]
	own = WithTrace(ctx, &Trace{
		Failed: func(err error, name, next string) { Failed(ctx, err, name, next) },
		Used: func(name string, u Usage) {
			last.Store(&name)
			Used(ctx, name, u)
		},
	})
	return own, func(otherwise string) string {
		if name := last.Load(); name != nil {
			return *name
		}
		return otherwise
	}
}

// Failed tells the trace of ctx, if there is one, that the model of the name failed and what takes its place.
func Failed(ctx context.Context, err error, name, next string) {
	if t := traceOf(ctx); t != nil && t.Failed != nil {
		t.Failed(err, name, next)
	}
}

// Used tells the trace of ctx, if there is one, what a request to the model of the name cost.
func Used(ctx context.Context, name string, u Usage) {
	if t := traceOf(ctx); t != nil && t.Used != nil {
		t.Used(name, u)
	}
}
