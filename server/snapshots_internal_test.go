//go:build unix

package server

import (
	"encoding/json"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// snapshotBatches cuts the run as a pace does: perSecond times a second, and behind what is no text. 0: at each event.
func snapshotBatches(tb testing.TB, p knowledge.Protocol, perSecond int) [][]event.Event {
	tb.Helper()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	log := []event.Event{{Seq: 1, At: at, Body: event.RunStarted{Run: "run_0123456789", Query: "what may I do with it?", Mode: event.Direct, Collection: "default", TopK: 5,
		Protocol: knowledge.Name, Request: json.RawMessage(`{}`)}}}
	for _, b := range SnapshotRun(tb) {
		if _, text := b.(event.Token); text {
			at = at.Add(time.Second / SnapshotRate)
		}
		log = append(log, event.Event{Seq: event.Seq(len(log) + 1), At: at, Body: b})
	}
	var batches [][]event.Event
	from, due := 0, time.Time{}
	cut := func(to int, shown time.Time) {
		batches = append(batches, log[from:to])
		from = to
		if perSecond > 0 {
			due = shown.Add(time.Second / time.Duration(perSecond))
		}
	}
	for i, e := range log {
		if from < i && due.Before(e.At) {
			cut(i, due)
		}
		if !p.Waits(e.Body) || !e.At.Before(due) {
			cut(i+1, e.At)
		}
	}
	return batches
}

// BenchmarkSnapshots makes the frames of the whole answer. An operation is one answer; the figures besides are of its body in
// bytes, its frames, the processor time of one, and what a press holds.
func BenchmarkSnapshots(b *testing.B) {
	forms := []struct {
		name      string
		p         knowledge.Protocol
		perSecond int
	}{{"token", knowledge.Protocol{PerSecond: 100}, 0}, {"20", knowledge.Protocol{PerSecond: 20}, 20}, {"10", knowledge.Protocol{}, 10},
		{"2", knowledge.Protocol{PerSecond: 2}, 2}, {"delta", knowledge.Protocol{Delta: true}, 0}}
	for _, f := range forms {
		batches := snapshotBatches(b, f.p, f.perSecond)
		for _, c := range append([]*coding{nil}, codings...) {
			name := "plain"
			if c != nil {
				name = c.name
			}
			b.Run(f.name+"/"+name, func(b *testing.B) {
				frames, size := 0, 0
				var chunks []chunk
				spent := processorTime(b)
				for b.Loop() {
					pr := newPress(f.p, c, wire.Cursor{}, sum{})
					frames, size = 0, 0
					for _, batch := range batches {
						var err error
						if chunks, err = pr.make(chunks[:0], batch); err != nil {
							b.Fatal(err)
						}
						for _, c := range chunks {
							frames++
							size += len(c.b)
						}
					}
					pr.close()
				}
				spent = processorTime(b) - spent
				b.ReportMetric(float64(spent.Nanoseconds())/1000/float64(b.N)/float64(frames), "cpu-µs/frame")
				b.ReportMetric(float64(size), "B/answer")
				b.ReportMetric(float64(frames), "frames")
				b.ReportMetric(heldBy(b, f.p, c, batches), "KiB/press")
			})
		}
	}
}

// processorTime is what the process has used, since a busy machine says little by its clock.
func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heldBy gives what one press holds in the middle of an answer, in KiB.
func heldBy(b *testing.B, p wire.Protocol, c *coding, batches [][]event.Event) float64 {
	const n = 20
	b.StopTimer()
	var before, after runtime.MemStats
	presses := make([]*press, n)
	for range 3 { // pools are emptied in two turns
		runtime.GC()
	}
	runtime.ReadMemStats(&before)
	for i := range presses {
		presses[i] = &press{p: p, proj: p.New(), coding: c}
		if c != nil {
			presses[i].comp, presses[i].head = c.pool.New().(compressor), true
			presses[i].comp.Reset(&presses[i].out)
		}
		for _, batch := range batches[:len(batches)/2] {
			if _, err := presses[i].make(nil, batch); err != nil {
				b.Fatal(err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(presses)
	return float64(after.HeapAlloc-before.HeapAlloc) / n / 1024
}
