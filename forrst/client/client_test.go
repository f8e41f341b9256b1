package client_test

import (
	"context"
	"iter"
	"log/slog"
	"testing"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

type none = struct{}

type number struct {
	N int `json:"n"`
}

// server has the functions of most tests.
func server(t testing.TB, more ...forrst.Function) *forrst.Server {
	t.Helper()
	count := forrst.StreamFunc[number, number]("count", "1.0.0", func(_ context.Context, in number) iter.Seq2[forrst.Chunk, error] {
		return func(yield func(forrst.Chunk, error) bool) {
			for i := range in.N {
				if !yield(forrst.Data(i), nil) {
					return
				}
			}
			yield(forrst.Done(in), nil)
		}
	})
	s, err := forrst.New(append(more, count), forrst.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return s
}
