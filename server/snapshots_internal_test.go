//go:build unix

package server

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// snapshotBatches cuts the run as a pace does: perSecond times a second, and behind what is no text. 0: at each event.
func snapshotBatches(p knowledge.Protocol, bodies []event.Body, perSecond int) [][]event.Event {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	log := []event.Event{{Seq: 1, At: at, Body: event.RunStarted{Run: "run_0123456789", Protocol: knowledge.Name, Question: event.Question{Query: "what may I do with it?", Mode: event.Direct, Collection: "default", TopK: 5, Request: json.RawMessage(`{}`)}}}}
	for _, b := range bodies {
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
		if !p.Coalesces(e.Body) || !e.At.Before(due) {
			cut(i+1, e.At)
		}
	}
	return batches
}

// snapshotForms are the measured forms of a stream.
var snapshotForms = []struct {
	name      string
	p         knowledge.Protocol
	perSecond int
	aims      map[string]int
}{
	{"token", knowledge.Protocol{PerSecond: 100}, 0, SnapshotAims["a snapshot each token"]}, {"20", knowledge.Protocol{PerSecond: 20}, 20, nil},
	{"10", knowledge.Protocol{}, 10, SnapshotAims["10 snapshots a second"]}, {"2", knowledge.Protocol{PerSecond: 2}, 2, nil},
	{"delta", knowledge.Protocol{Delta: true}, 0, SnapshotAims["deltas"]},
}

// BenchmarkSnapshots makes the frames of the whole answer. An operation is one answer; the figures besides are of its body in
// bytes, its frames, the processor time of one, and what a press holds.
func BenchmarkSnapshots(b *testing.B) {
	for _, f := range snapshotForms {
		batches := snapshotBatches(f.p, SnapshotRun(b), f.perSecond)
		for _, c := range append([]*coding{nil}, codings...) {
			name := "plain"
			if c != nil {
				name = c.name
			}
			b.Run(f.name+"/"+name, func(b *testing.B) {
				var chunks []chunk
				spent := processorTime(b)
				for b.Loop() {
					chunks = pressed(b, f.p, c, batches, chunks[:0])
				}
				spent = processorTime(b) - spent
				b.ReportMetric(float64(spent.Nanoseconds())/1000/float64(b.N)/float64(len(chunks)), "cpu-µs/frame")
				b.ReportMetric(float64(bytesOf(chunks)), "B/answer")
				b.ReportMetric(float64(len(chunks)), "frames")
				b.ReportMetric(heldBy(b, f.p, c, batches), "KiB/press")
			})
		}
	}
}

// pressed appends the chunks that a press makes of a run.
func pressed(tb testing.TB, p wire.Protocol, c *coding, batches [][]event.Event, dst []chunk) []chunk {
	tb.Helper()
	pr := newPress(p, c, wire.Cursor{}, sum{})
	defer pr.close()
	for _, batch := range batches {
		var err error
		if dst, err = pr.make(dst, batch); err != nil {
			tb.Fatal(err)
		}
	}
	return dst
}

func bytesOf(chunks []chunk) int {
	n := 0
	for _, c := range chunks {
		n += len(c.b)
	}
	return n
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

// TestSizeOfSnapshotsOfManyTexts checks that most texts meet the target size, and that none exceeds it by more than a tenth. A body is
// 1 KB larger where the compressor refers to an older snapshot; that happened in two of eight texts.
func TestSizeOfSnapshotsOfManyTexts(t *testing.T) {
	race.Measure(t)
	t.Parallel()
	const each = 8
	for _, name := range []string{"squad", "scifact"} {
		set := beir.LoadSet(t, name)
		sizes := map[string][]int{}
		for i := range each {
			var text strings.Builder
			for _, d := range set.Docs[i*len(set.Docs)/each:] {
				if text.WriteString(d.Text + " "); text.Len() > 12_000 {
					break
				}
			}
			bodies := snapshotRun(t, text.String())
			for _, f := range snapshotForms {
				for _, c := range codings {
					sizes[f.name+" "+c.name] = append(sizes[f.name+" "+c.name], bytesOf(pressed(t, f.p, c, snapshotBatches(f.p, bodies, f.perSecond), nil)))
				}
			}
		}
		for _, f := range snapshotForms {
			for coding, aim := range f.aims {
				all := sizes[f.name+" "+coding]
				slices.Sort(all)
				t.Logf("%s, %s, %s: %d", name, f.name, coding, all)
				if all[each/2] > aim || all[each-1] > aim+aim/10 {
					t.Errorf("%s, %s in %s: bodies of %d bytes, want at most %d", name, f.name, coding, all, aim)
				}
			}
		}
	}
}
