package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. Its text is a number with an optional unit: KB, MB, GB, TB, PB are powers of 1,000, and KiB, MiB,
// GiB, TiB, PiB are powers of 1,024. Units are not case-sensitive.
type Size int64

// units are sorted so that String finds the shortest exact text first.
var units = []struct {
	name  string
	bytes int64
}{
	{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// ParseSize parses a size such as 64KiB, 1.5 MB or 4096. Signs and fractions of a byte are errors.
func ParseSize(text string) (Size, error) {
	number, scale := strings.TrimSpace(text), int64(1)
	for _, u := range units {
		if cut := len(number) - len(u.name); cut > 0 && strings.EqualFold(number[cut:], u.name) {
			number, scale = strings.TrimSpace(number[:cut]), u.bytes
			break
		}
	}
	if number == "" || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("must be a size such as 64KiB or 10MB, not %q", text)
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		if n > math.MaxInt64/scale {
			return 0, fmt.Errorf("%q is too large", text)
		}
		return Size(n * scale), nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("must be a size such as 64KiB or 10MB, not %q", text)
	}
	f *= float64(scale)
	if f >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large", text)
	}
	if f != math.Trunc(f) {
		return 0, fmt.Errorf("%q is not a whole number of bytes", text)
	}
	return Size(f), nil
}

// String returns the shortest text that [ParseSize] parses to the same size.
func (s Size) String() string {
	for _, u := range units {
		if n := int64(s); n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
