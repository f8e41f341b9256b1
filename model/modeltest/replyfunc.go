package modeltest

import (
	"context"
	"iter"
	"sync"

	"github.com/sluice-rag/sluice/model"
)

// ReplyFunc is a model in the process, named qwen, that reasons and then answers with the result of the function. Its limits
// are unknown, and a token has four bytes.
type ReplyFunc func(ctx context.Context, r model.Request) (string, error)

// Name implements [model.Chat].
func (ReplyFunc) Name() string { return "qwen" }

// Limits implements [model.Chat].
func (ReplyFunc) Limits(context.Context) model.Limits { return model.Limits{} }

// Count implements [model.Chat].
func (ReplyFunc) Count(_ context.Context, s string) int { return len(s) / 4 }

// Complete implements [model.Chat].
func (c ReplyFunc) Complete(ctx context.Context, r model.Request) iter.Seq2[model.Piece, error] {
	return func(yield func(model.Piece, error) bool) {
		s, err := c(ctx, r)
		if err != nil {
			yield(model.Piece{}, err)
			return
		}
		_ = yield(model.Piece{Reasoning: "{}"}, nil) && yield(model.Piece{Text: s}, nil) && yield(model.Piece{Stop: model.StopEnd}, nil)
	}
}

// RecordTrace returns a context that records the failures of models in the returned slice, as "error | name > next".
func RecordTrace(ctx context.Context) (context.Context, *[]string) {
	var mu sync.Mutex
	failures := &[]string{}
	return model.WithTrace(ctx, &model.Trace{Failed: func(err error, name, next string) {
		mu.Lock()
		defer mu.Unlock()
		*failures = append(*failures, err.Error()+" | "+name+" > "+next)
	}}), failures
}
