package cli

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// garbageBound is the memory of the process, in bytes, from which on garbage is collected more often than is fastest. With the program's
// own pages, the peak stays below 1.2 GiB as long as the index and the documents being indexed fit.
const garbageBound = 800 << 20

// limitGarbage keeps garbage from adding to the peak that indexing a large document takes anyway, until stop is called. What lives may
// take more than the bound, as a large index does: garbage then has a quarter of it, since a limit below what lives would have the
// collector run all the time. The user's own GOMEMLIMIT stands.
func limitGarbage() (stop func()) {
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
			debug.SetMemoryLimit(max(garbageBound, int64(live[0].Value.Uint64())/4*5))
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
