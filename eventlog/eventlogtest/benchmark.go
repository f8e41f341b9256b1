package eventlogtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// BenchmarkStore measures a token event in a run of 10,000: it is appended alone and read by one reader that follows the run. A store in
// this process takes about 1 µs and, apart from the growth of logs, allocates nothing.
func BenchmarkStore(b *testing.B, open func(b *testing.B) eventlog.Store) {
	const tokens = 10_000
	ctx := context.Background()
	s := open(b)
	var body event.Body = event.Token{Text: " boundary layer"}
	batch := make([]event.Event, 1) // allocated once, so that allocations of the caller do not count
	put := func(run event.RunID, e event.Event) {
		batch[0] = e
		if err := s.Append(ctx, run, batch...); err != nil {
			b.Fatal(err)
		}
	}
	read := make(chan int)
	runs := 0
	b.ReportAllocs()
	b.ResetTimer() // without the time to open the store
	for left := b.N; left > 0; left -= tokens {
		run := event.RunID(fmt.Sprintf("run-%08d", runs))
		runs++
		put(run, started(run))
		n := event.Seq(min(left, tokens))
		go func() {
			seen := 0
			for es, err := range eventlog.Tail(ctx, s, run, 0) {
				if err != nil {
					b.Error(err)
				}
				seen += len(es)
			}
			read <- seen
		}()
		for seq := event.Seq(2); seq < n+2; seq++ {
			put(run, event.Event{Seq: seq, At: epoch, Body: body})
		}
		put(run, finished(n+2))
		if seen := <-read; seen != int(n)+2 {
			b.Fatalf("%d events read of %d", seen, n+2)
		}
	}
}
