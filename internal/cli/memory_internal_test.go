package cli

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestCollectorPercent(t *testing.T) {
	for live, want := range map[int64]int{0: 300, 50 << 20: 300, 128 << 20: 200, 512 << 20: 50, 1 << 30: 25, 100 << 30: 25} {
		if got := collectorPercent(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}

// TestLimitServerMemory checks that the percentage follows the live heap, and that stop returns.
func TestLimitServerMemory(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	limit := debug.SetMemoryLimit(math.MaxInt64) // other tests set it too
	percent := debug.SetGCPercent(100)
	defer func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}()
	limitServerMemory()()
	if got := debug.SetGCPercent(100); got == 100 {
		t.Error("the percentage was not set")
	}
	if got := debug.SetMemoryLimit(-1); got < memoryLimit || got == math.MaxInt64 {
		t.Errorf("the limit is %d bytes", got)
	}
}

// TestIdle checks when garbage is collected: once after a period without work, if there may be enough of it.
func TestIdle(t *testing.T) {
	const mib = 1 << 20
	var i idle
	allocated := uint64(50 * mib)
	for _, step := range []struct {
		what             string
		seconds, perTick uint64
		want             int // collections in the step
	}{
		{"work", 30, 8 * mib, 0},
		{"open streams after it", 5, mib / 4, 1},
		{"open streams for a minute", 60, mib / 4, 0},
		{"open streams until much has been allocated", 60, mib / 4, 1},
		{"a question", 1, 20 * mib, 0},
		{"a pause that is too short", 4, 0, 0},
		{"another question", 1, 20 * mib, 0},
		{"a pause", 5, 0, 1},
		{"nothing for an hour", 3600, 0, 0},
	} {
		collections := 0
		for range step.seconds {
			allocated += step.perTick
			if i.due(allocated, 64*mib) {
				collections++
			}
		}
		if collections != step.want {
			t.Errorf("%s: %d collections, want %d", step.what, collections, step.want)
		}
	}
}

// TestIdleLargeHeap checks that a large heap, which takes long to collect, is collected after more work.
func TestIdleLargeHeap(t *testing.T) {
	const mib = 1 << 20
	for worked, want := range map[uint64]bool{50 * mib: false, 200 * mib: true} {
		i, got := idle{beginning: worked}, false
		for range 2 * idleSeconds {
			got = i.due(worked, 1024*mib) || got
		}
		if got != want {
			t.Errorf("after %d MiB: %v, want %v", worked/mib, got, want)
		}
	}
}
