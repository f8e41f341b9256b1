package eventlogtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// Bench measures one token event in steady state: appended by itself and loaded by one reader. A store in this process
// takes 1 µs at most and allocates nothing, its logs' growth amortised. Runs are of 10,000 tokens; beginning and ending
// them is not measured.
func Bench(b *testing.B, open func(b *testing.B) eventlog.Store) {
	const tokens = 10_000
	ctx := context.Background()
	s := open(b)
	var body event.Body = event.Token{Text: " boundary layer"}
	batch := make([]event.Event, 1) // the caller's part is not measured: its slice and its boxed body
	var run event.RunID
	var seq event.Seq
	runs := 0
	b.ReportAllocs()
	for b.Loop() {
		if seq == 0 || seq > tokens {
			b.StopTimer()
			if seq > 0 {
				batch[0] = finished(seq + 1)
				if err := s.Append(ctx, run, batch...); err != nil {
					b.Fatal(err)
				}
			}
			run, seq = event.RunID(fmt.Sprintf("run-%08d", runs)), 1
			runs++
			batch[0] = started(run)
			if err := s.Append(ctx, run, batch...); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		seq++
		batch[0] = event.Event{Seq: seq, At: epoch, Body: body}
		if err := s.Append(ctx, run, batch...); err != nil {
			b.Fatal(err)
		}
		got, err := s.Load(ctx, run, seq-1)
		if err != nil || len(got) != 1 {
			b.Fatalf("load after %d: %d events, error %v", seq-1, len(got), err)
		}
	}
}
