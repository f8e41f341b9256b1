package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// BenchmarkFairness measures a question of one client alone and beside another client that always has 900 questions open. Each
// question is answered from an index of this repository's docs. See docs/benchmarks.md.
func BenchmarkFairness(b *testing.B) {
	cfg := config.Default()
	cfg.Store.Data = b.TempDir()
	a, err := app.Open(b.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	defer a.Close()
	if _, err := a.Ingester.Ingest(b.Context(), ingest.Request{Collection: cfg.Store.Collection, Paths: []string{"../../docs"}}, nil); err != nil {
		b.Fatal(err)
	}
	once := func(ctx context.Context, client, query string) error {
		id, err := a.Engine.Ask(ctx, event.Question{Query: query, NoCache: true, Mode: event.Agentic}, engine.Caller{Client: client})
		if err != nil {
			return err
		}
		for _, err := range a.Engine.Events(ctx, id, 0) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	median := func() time.Duration {
		var all []time.Duration
		for i := range 21 {
			start := time.Now()
			require.NoError(b, once(b.Context(), "b", fmt.Sprintf("What happens to a slow reader of run %d?", i)))
			all = append(all, time.Since(start))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	for b.Loop() {
		alone := median()
		ctx, cancel := context.WithCancel(b.Context())
		var wg sync.WaitGroup
		for i := range 900 {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					if err := once(ctx, "a", fmt.Sprintf("How is document %d of %d replaced?", n, i)); err != nil {
						select { // as Retry-After asks
						case <-ctx.Done():
						case <-time.After(time.Second):
						}
					}
				}
			})
		}
		tick := time.NewTicker(10 * time.Millisecond)
		for a.Engine.Live() < 200 {
			<-tick.C
		}
		tick.Stop()
		beside := median()
		cancel()
		wg.Wait()
		b.ReportMetric(float64(alone.Microseconds())/1000, "ms-alone")
		b.ReportMetric(float64(beside.Microseconds())/1000, "ms-beside")
		b.ReportMetric(float64(beside)/float64(alone), "ratio")
	}
}
