package natsrpc

import (
	"strconv"
	"testing"
	"time"
)

// TestSentAt checks that the clock of a sender is trusted for at most an hour in the past, and never in the future.
func TestSentAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 18, 9, 30, 0, 0, time.UTC)
	micros := func(at time.Time) string { return strconv.FormatInt(at.UnixMicro(), 10) }
	for header, want := range map[string]time.Time{
		micros(now.Add(-2 * time.Second)):  now.Add(-2 * time.Second),
		micros(now):                        now,
		micros(now.Add(time.Second)):       now,
		micros(now.Add(24 * time.Hour)):    now,
		micros(now.Add(-59 * time.Minute)): now.Add(-59 * time.Minute),
		micros(now.Add(-1000 * time.Hour)): now.Add(-time.Hour),
		"":                                 now, "0": now, "-5": now, "soon": now, "9223372036854775807": now, "99999999999999999999": now,
	} {
		if got := sentAt(header, now); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}
