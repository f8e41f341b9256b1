package cli

import "testing"

func TestCollectorPercent(t *testing.T) {
	for live, want := range map[int64]int{0: 300, 50 << 20: 300, 128 << 20: 200, 512 << 20: 50, 1 << 30: 25, 100 << 30: 25} {
		if got := collectorPercent(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}
