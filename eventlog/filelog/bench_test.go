package filelog_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func BenchmarkToken(b *testing.B) {
	eventlogtest.BenchmarkStore(b, func(b *testing.B) eventlog.Store { return open(b, b.TempDir(), filelog.Options{}) })
}

// tail reads a run of 1,000 events to its end.
func tail(b *testing.B, l *filelog.Log, id event.RunID) {
	n := 0
	for es, err := range eventlog.Tail(ctx, l, id, 0) {
		require.NoError(b, err)
		n += len(es)
	}
	if n != 1000 {
		b.Fatalf("%d events", n)
	}
}

func BenchmarkTailHot(b *testing.B) {
	l := open(b, b.TempDir(), filelog.Options{})
	put(b, l, short("a", 1000, at(1)))
	b.ReportAllocs()
	for b.Loop() {
		tail(b, l, "a")
	}
}

// BenchmarkTailCold reads two runs in turn, one of which has room in memory. Their events were written one by one.
func BenchmarkTailCold(b *testing.B) {
	l := open(b, b.TempDir(), filelog.Options{CacheBytes: 1, Sync: filelog.SyncNever})
	runs := [2][]event.Event{short("a", 1000, at(1)), short("b", 1000, at(1))}
	for i := range 1000 {
		for _, es := range runs {
			require.NoError(b, l.Append(ctx, eventlogtest.ID(es), es[i]))
		}
		require.NoError(b, l.Retain(ctx))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tail(b, l, [2]event.RunID{"a", "b"}[i%2])
	}
}

// BenchmarkOpen opens a log of 10,000 runs of 100 events: 110 MB in 14 segments.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	l, err := filelog.Open(dir, filelog.Options{Sync: filelog.SyncNever, SegmentBytes: 8 << 20})
	require.NoError(b, err)
	for i := range 10_000 {
		put(b, l, short(event.RunID(fmt.Sprintf("run-%05d", i)), 100, at(i)))
	}
	require.NoError(b, l.Close())
	for _, how := range []string{"closed", "crashed", "without indexes"} {
		b.Run(strings.ReplaceAll(how, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				idx := files(b, dir, "*.idx")
				for i, f := range idx {
					if how == "without indexes" || how == "crashed" && i == len(idx)-1 {
						require.NoError(b, os.Remove(f))
					}
				}
				b.StartTimer()
				l, err := filelog.Open(dir, filelog.Options{Sync: filelog.SyncNever})
				require.NoError(b, err)
				b.StopTimer()
				if n := len(summaries(b, l)); n != 10_000 {
					b.Fatalf("%d runs", n)
				}
				require.NoError(b, l.Close())
				b.StartTimer()
			}
		})
	}
}
