package wire

import (
	"math"
	"time"
	"unicode/utf8"
)

// Clip shortens s to at most limit bytes. A shortened text ends with an ellipsis, which has
// three of them.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := max(limit-len("…"), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Round rounds to four decimals. What is not a finite number becomes 0.
func Round(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return math.Round(f*1e4) / 1e4
}

// TimeFormat is RFC 3339 in UTC with milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Timestamp formats t as [TimeFormat].
func Timestamp(t time.Time) string { return t.UTC().Format(TimeFormat) }
