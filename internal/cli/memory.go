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
	done := make(chan struct{})
	var over sync.WaitGroup
	over.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			metrics.Read(live)
			debug.SetMemoryLimit(max(memoryLimit, int64(live[0].Value.Uint64())/4*5))
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
