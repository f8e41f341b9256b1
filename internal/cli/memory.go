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

// garbage is the memory in bytes that a server may leave uncollected in addition to its live heap. With a small heap it is less, and with a
// very large one, whose collection takes longer, it is a quarter of the heap.
const garbage = 256 << 20

// collectorPercent returns the value of GOGC with which a server leaves that much garbage. The argument is the size of its live heap in bytes.
func collectorPercent(live int64) int {
	return int(min(serverPercent, max(25, 100*garbage/max(live, 1))))
}

// limitServerMemory adjusts the garbage collector of a server or an ingestion to its live heap until stop is called:
//
//   - The soft memory limit is memoryLimit, so that garbage does not add to the peak of indexing a large document. If the live heap is larger, the
//     limit is 25 % above it, because the collector would run all the time with a lower one.
//   - GOGC is [collectorPercent]: a fixed percentage of a large index in memory would be a lot of garbage.
//   - A process that has nothing to do returns its garbage to the system. See [idle].
//
// If GOMEMLIMIT is set, it does nothing, and if GOGC is set, it changes only the limit.
func limitServerMemory() (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	done := make(chan struct{})
	var over sync.WaitGroup
	over.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		var i idle
		percent := 0
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
		for {
			metrics.Read(heap)
			live := int64(heap[0].Value.Uint64()) //nolint:gosec // a size
			debug.SetMemoryLimit(max(memoryLimit, live/4*5))
			if os.Getenv("GOGC") == "" {
				if p := collectorPercent(live); p != percent {
					debug.SetGCPercent(p)
					percent = p
				}
				if i.due(heap[1].Value.Uint64(), uint64(live)) { //nolint:gosec // not negative
					debug.FreeOSMemory()
				}
			}
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

// A process is idle if it allocates at most idleBytes in idleSeconds, as a server does for its open streams. Its garbage is collected if it has allocated at
// least worthBytes and an eighth of its live heap, whose size determines the time of a collection, since the last time.
const (
	idleSeconds = 5
	idleBytes   = 2 << 20
	worthBytes  = 16 << 20
)

// idle tells when an idle process should collect its garbage: the collector itself would begin when the heap has grown to several times its live size, or
// after two minutes, and would keep that much memory for later.
type idle struct {
	seconds   int    // since the beginning
	beginning uint64 // bytes that were allocated before the period without work
	collected uint64 // bytes that were allocated before the last collection
}

// due reports whether it should be collected now. The caller calls it each second with the number of bytes that were allocated since the start, and the
// size of the live heap in bytes.
func (i *idle) due(allocated, live uint64) bool {
	if allocated-i.beginning > idleBytes {
		i.seconds, i.beginning = 0, allocated
		return false
	}
	if i.seconds++; i.seconds < idleSeconds {
		return false
	}
	i.seconds, i.beginning = 0, allocated
	if allocated-i.collected < max(worthBytes, live/8) {
		return false
	}
	i.collected = allocated
	return true
}
