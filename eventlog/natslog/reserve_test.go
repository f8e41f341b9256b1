package natslog_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// TestReserve lets three servers reserve keys at once, for the first time and in place of the same reservation. All of them get the same one. A
// release of the first reservation leaves the second, and a new process of its server removes it.
func TestReserve(t *testing.T) {
	for name, urls := range map[string]func() string{"single": func() string { return natstest.New(t).URL() }, "cluster": func() string { return natstest.NewCluster(t).URL() }} {
		t.Run(name, func(t *testing.T) {
			url := urls()
			var logs []*natslog.Log
			for i := range 3 {
				logs = append(logs, open(t, url, natslog.Options{Server: fmt.Sprint("s", i)}))
			}
			atOnce := func(key string, attempt int, current eventlog.Reservation) eventlog.Reservation {
				t.Helper()
				var got [3]eventlog.Reservation
				var wg sync.WaitGroup
				for i, l := range logs {
					wg.Go(func() {
						var err error
						if got[i], err = l.Reserve(ctx, key, event.RunID(fmt.Sprintf("run%d-%d", attempt, i)), current); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if got[0] != got[1] || got[1] != got[2] || got[0].Seq == current.Seq {
					t.Fatalf("%s: reservations %+v", key, got)
				}
				return got[0]
			}
			for i := range 20 {
				key := fmt.Sprint("key", i)
				first := atOnce(key, 1, eventlog.Reservation{})
				second := atOnce(key, 2, first)
				require.NoError(t, logs[0].Release(ctx, first))
				held, err := logs[0].Reserve(ctx, key, "late", eventlog.Reservation{})
				require.NoError(t, err)
				if held != second {
					t.Errorf("%s is reserved for %+v, want %+v", key, held, second)
				}
				if i%2 == 0 {
					require.NoError(t, logs[1].Release(ctx, second))
				} else {
					require.NoError(t, open(t, url, natslog.Options{Server: second.Server}).Close())
				}
				third, err := logs[0].Reserve(ctx, key, "next", second) // which is no longer there
				require.NoError(t, err)
				if third.Run != "next" || third.Server != "s0" {
					t.Errorf("%s is reserved for %+v after its release", key, third)
				}
			}
		})
	}
}
