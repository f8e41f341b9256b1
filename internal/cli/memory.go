package cli

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// memoryLimit is the soft memory limit in bytes. With the pages of the program itself, the peak stays below 1.2 GiB as long as the
// index and the documents that are being indexed fit.
const memoryLimit = 800 << 20

// limitMemory sets the soft memory limit of the runtime until stop is called, so that garbage does not add to the peak of indexing a
// large document. If the live heap exceeds memoryLimit, the limit is 25 % above the live heap, because the collector would run all
// the time with a lower one. GOMEMLIMIT takes precedence.
func limitMemory() (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	return withLiveHeap(func(live int64) { debug.SetMemoryLimit(max(memoryLimit, live/4*5)) })
}

// garbage is the memory in bytes that a server may leave uncollected in addition to its live heap. With a small heap it is less, and with a
// very large one, whose collection takes longer, it is a quarter of the heap.
const garbage = 256 << 20

// collectorPercent returns the value of GOGC with which a server leaves that much garbage. The argument is the size of its live heap in bytes.
func collectorPercent(live int64) int {
	return int(min(serverPercent, max(25, 100*garbage/max(live, 1))))
}

// limitServerMemory is [limitMemory] for a server or an ingestion. It also adjusts GOGC to the live heap until stop is called, unless GOGC or GOMEMLIMIT are
// set. Vectors can be most of the heap, and a percentage of them would be a lot of garbage.
func limitServerMemory() (stop func()) {
	stopLimit := limitMemory()
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return stopLimit
	}
	last := 0
	stopPercent := withLiveHeap(func(live int64) {
		if p := collectorPercent(live); p != last {
			debug.SetGCPercent(p)
			last = p
		}
	})
	return func() {
		stopPercent()
		stopLimit()
	}
}

// withLiveHeap calls adjust with the size of the live heap in bytes, each second until stop is called.
func withLiveHeap(adjust func(live int64)) (stop func()) {
	done := make(chan struct{})
	var over sync.WaitGroup
	over.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			metrics.Read(live)
			adjust(int64(live[0].Value.Uint64())) //nolint:gosec // a size
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		over.Wait()
	}
}
