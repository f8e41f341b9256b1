package model

import (
	"context"
	"iter"
)

type idleKey struct{}

// WithIdle returns a context in which [Idle] calls idle. The engine uses it to free a processor slot while a run waits.
func WithIdle(ctx context.Context, idle func(ctx context.Context) (resume func())) context.Context {
	return context.WithValue(ctx, idleKey{}, idle)
}

// Idle reports that the caller computes nothing until it calls resume. Resume may block until a processor slot is free.
func Idle(ctx context.Context) (resume func()) {
	if idle, ok := ctx.Value(idleKey{}).(func(context.Context) func()); ok {
		return idle(ctx)
	}
	return func() {}
}

// Remote is a chat model in another process. Waiting for its stream counts as idle, and so does what the caller does with a piece of text or of reasoning: to pass
// it on takes less time than to wait for a slot.
type Remote struct{ Chat }

// Complete implements [Chat].
func (r Remote) Complete(ctx context.Context, q Request) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		resume := Idle(ctx)
		defer func() { resume() }()
		for p, err := range r.Chat.Complete(ctx, q) {
			if err == nil && p.Call == nil && p.Stop == "" {
				if !yield(p, nil) {
					return
				}
				continue
			}
			resume()
			if !yield(p, err) {
				return
			}
			resume = Idle(ctx)
		}
	}
}
