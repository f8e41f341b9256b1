package weaviate

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// parallel runs do for 0 … n-1, at most limit at a time, until one fails.
func parallel(ctx context.Context, n, limit int, do func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}
