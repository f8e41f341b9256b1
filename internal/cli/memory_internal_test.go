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
