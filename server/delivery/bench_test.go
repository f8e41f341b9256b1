//go:build unix

package delivery

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
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// batchesOf divides a run into batches as a broadcast does for perSecond snapshots per second; 0: one batch per event.
func batchesOf(p knowledge.Protocol, bodies []event.Body, perSecond int) [][]event.Event {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	log := []event.Event{{Seq: 1, At: at, Body: event.RunStarted{Run: "run_0123456789", Protocol: knowledge.Name, Question: event.Question{
		Query: "what may I do with it?", Mode: event.Direct, Collection: "default", TopK: 5, Request: json.RawMessage(`{}`)}}}}
	for _, b := range bodies {
		if _, text := b.(event.Token); text {
			at = at.Add(time.Second / answerRate)
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

// BenchmarkEncode encodes the measured answer. An operation is one answer. It also reports the bytes of the body, the number
// of frames, the processor time per frame, and the memory of an encoder in the middle of the answer.
func BenchmarkEncode(b *testing.B) {
	for _, m := range measured {
		batches := batchesOf(m.protocol, answerRun(b), m.perSecond)
		for _, c := range append([]*compression{nil}, compressions...) {
			name := "plain"
			if c != nil {
				name = c.name
			}
			b.Run(m.name+"/"+name, func(b *testing.B) {
				var packets []packet
				spent := processorTime(b)
				for b.Loop() {
					packets = encoded(b, variant{protocol: m.protocol, compression: c}, batches, packets[:0])
				}
				spent = processorTime(b) - spent
				b.ReportMetric(float64(spent.Nanoseconds())/1000/float64(b.N)/float64(len(packets)), "cpu-µs/frame")
				b.ReportMetric(float64(bytesOf(packets)), "B/answer")
				b.ReportMetric(float64(len(packets)), "frames")
				b.ReportMetric(memoryOf(b, variant{protocol: m.protocol, compression: c}, batches), "KiB/encoder")
			})
		}
	}
}

// encoded appends the packets of a run to dst.
func encoded(tb testing.TB, v variant, batches [][]event.Event, dst []packet) []packet {
	tb.Helper()
	e := newEncoder(v, wire.Cursor{}, 0, testMetrics(tb))
	defer e.close()
	for _, batch := range batches {
		var err error
		e.begin(false)
		if dst, err = e.encode(dst, batch); err != nil {
			tb.Fatal(err)
		}
	}
	return dst
}

func bytesOf(packets []packet) int {
	n := 0
	for _, c := range packets {
		n += len(c.data)
	}
	return n
}

// processorTime returns the processor time of the process. Wall-clock time means little on a busy machine.
func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memoryOf returns the memory of an encoder in the middle of an answer, in KiB.
func memoryOf(b *testing.B, v variant, batches [][]event.Event) float64 {
	const n = 20
	b.StopTimer()
	var before, after runtime.MemStats
	encoders := make([]*encoder, n)
	m := testMetrics(b)
	for range 3 { // two collections empty the pools
		runtime.GC()
	}
	runtime.ReadMemStats(&before)
	for i := range encoders {
		encoders[i] = newEncoder(v, wire.Cursor{}, 0, m)
		for _, batch := range batches[:len(batches)/2] {
			encoders[i].begin(true)
			if _, err := encoders[i].encode(nil, batch); err != nil {
				b.Fatal(err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(encoders)
	return float64(after.HeapAlloc-before.HeapAlloc) / n / 1024
}

// TestSizesOfManyTexts: most texts are within the limits, and none exceeds them by more than a tenth. A body is 1 KB larger where the
// compressor refers to an older snapshot; that happened in two of eight texts.
func TestSizesOfManyTexts(t *testing.T) {
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
			bodies := answerOf(t, text.String())
			for _, m := range measured {
				for _, c := range compressions {
					v := variant{protocol: m.protocol, compression: c}
					sizes[m.name+" "+c.name] = append(sizes[m.name+" "+c.name], bytesOf(encoded(t, v, batchesOf(m.protocol, bodies, m.perSecond), nil)))
				}
			}
		}
		for _, m := range measured {
			for compression, limit := range sizeLimits[m.name] {
				all := sizes[m.name+" "+compression]
				slices.Sort(all)
				t.Logf("%s, %s, %s: %d", name, m.name, compression, all)
				if all[each/2] > limit || all[each-1] > limit+limit/10 {
					t.Errorf("%s, %s in %s: bodies of %d bytes, want at most %d", name, m.name, compression, all, limit)
				}
			}
		}
	}
}
