package model

import (
	"context"
	"iter"
)

type idleKey struct{}

// WithIdle returns a context in which [Idle] calls idle: a caller's way to learn that work waits for somebody else.
func WithIdle(ctx context.Context, idle func(ctx context.Context) (resume func())) context.Context {
	return context.WithValue(ctx, idleKey{}, idle)
}

// Idle says that nothing is computed until resume is called. Resume may wait until there is a processor for the work.
func Idle(ctx context.Context) (resume func()) {
	if idle, ok := ctx.Value(idleKey{}).(func(context.Context) func()); ok {
		return idle(ctx)
	}
	return func() {}
}

// Remote is a chat model that another machine or process computes: whoever waits for it is idle.
type Remote struct{ Chat }

// Complete implements [Chat].
func (r Remote) Complete(ctx context.Context, q Request) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		resume := Idle(ctx)
		defer func() { resume() }()
		for p, err := range r.Chat.Complete(ctx, q) {
			resume()
			if !yield(p, err) {
				return
			}
			resume = Idle(ctx)
		}
	}
}
