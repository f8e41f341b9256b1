package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// listing checks that only the last page is shorter than the limit while other runs are created and deleted.
func listing(t *testing.T, s eventlog.Store) {
	a, ok := s.(eventlog.Archive)
	if !ok {
		t.Skip("the store does not list runs")
	}
	ctx := context.Background()
	var want []event.RunID // the kept runs, newest first
	for i := range 20 {
		id := event.RunID(fmt.Sprintf("run-%03d", i))
		must(t, s.Append(ctx, id, simple(id, 2)...))
		want = slices.Insert(want, 0, id)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	d, canDelete := s.(eventlog.Deleter)
	for g := range 4 {
		wg.Go(func() {
			for n := 0; n < 2000 && !stop.Load(); n++ {
				id := event.RunID(fmt.Sprintf("run-%03d-%d-%d", n%20, g, n)) // between the kept runs in the order of the list
				if err := s.Append(ctx, id, simple(id, 2)...); err != nil {
					t.Error(err)
					return
				}
				if canDelete {
					if err := d.Delete(ctx, id); err != nil && !errors.Is(err, eventlog.ErrRunning) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	const limit = 5
	// A store over a network needs milliseconds for a page, so it is listed fewer times.
	for n, began := 0, time.Now(); n < 200 && (n < 20 || time.Since(began) < 5*time.Second); n++ {
		var got []event.RunID
		for before := event.RunID(""); ; {
			page, err := a.Runs(ctx, before, limit)
			must(t, err)
			for _, sum := range page {
				before = sum.Start.Run
				if len(before) == len("run-000") {
					got = append(got, before)
				}
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("a short page ended the list after %d of %d kept runs: %s", len(got), len(want), got)
		}
	}
}
