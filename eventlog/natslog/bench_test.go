package natslog_test

import (
	"fmt"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// stores opens the stores that are compared: a writer's, and a reader's in another process.
var stores = []struct {
	name string
	open func(b *testing.B) (writer, reader eventlog.Store)
}{
	{"filelog", func(b *testing.B) (eventlog.Store, eventlog.Store) {
		l, err := filelog.Open(b.TempDir(), filelog.Options{})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, l.Close()) })
		return l, nil
	}},
	{"natslog", func(b *testing.B) (eventlog.Store, eventlog.Store) {
		n := natstest.New(b)
		return open(b, n.URL(), natslog.Options{}), open(b, n.URL(), natslog.Options{})
	}},
	{"natslog_3_nodes", func(b *testing.B) (eventlog.Store, eventlog.Store) {
		c := natstest.NewCluster(b)
		return open(b, c.URL(), natslog.Options{}), open(b, c.URL(), natslog.Options{})
	}},
}

// BenchmarkToken appends tokens as fast as the store takes them, while one reader follows the run.
func BenchmarkToken(b *testing.B) {
	for _, s := range stores {
		b.Run(s.name, func(b *testing.B) {
			eventlogtest.BenchmarkStore(b, func(b *testing.B) eventlog.Store { w, _ := s.open(b); return w })
		})
	}
}

// BenchmarkLatency measures the time from Append to the return of Load at a reader.
func BenchmarkLatency(b *testing.B) {
	for _, s := range stores {
		b.Run(s.name+"/same_server", func(b *testing.B) { w, _ := s.open(b); latency(b, w, w) })
		if s.name != "filelog" {
			b.Run(s.name+"/other_server", func(b *testing.B) { w, r := s.open(b); latency(b, w, r) })
		}
	}
}

func latency(b *testing.B, w, r eventlog.Store) {
	const tokens = 1000
	seq, runs := event.Seq(tokens), 0
	var id event.RunID
	for b.Loop() {
		if seq == tokens { // another run, whose cost is not measured
			b.StopTimer()
			runs++
			id = event.RunID(fmt.Sprint("run-", runs))
			require.NoError(b, w.Append(ctx, id, started(id)))
			require.NoError(b, w.Append(ctx, id, token(2)))
			require.NoError(b, r.Wait(ctx, id, 1))
			seq = 2
			b.StartTimer()
		}
		seq++
		require.NoError(b, w.Append(ctx, id, token(seq)))
		require.NoError(b, r.Wait(ctx, id, seq-1))
		if es, err := r.Load(ctx, id, seq-1); err != nil || len(es) == 0 {
			b.Fatalf("%d events, error %v", len(es), err)
		}
	}
}

// BenchmarkRun writes a whole run of 200 tokens, and is what a question takes longer because of the log.
func BenchmarkRun(b *testing.B) {
	for _, s := range stores {
		b.Run(s.name, func(b *testing.B) {
			w, _ := s.open(b)
			runs := 0
			for b.Loop() {
				runs++
				id := event.RunID(fmt.Sprint("run-", runs))
				for _, e := range log(id, 202) {
					require.NoError(b, w.Append(ctx, id, e))
				}
			}
		})
	}
}
