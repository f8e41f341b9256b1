package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. As text it is a number with an optional unit: KB, MB, GB, TB, PB count in thousands, KiB, MiB, GiB,
// TiB, PiB in 1,024s, and the case of letters does not matter.
type Size int64

// units, largest first, binary before decimal, so that String finds the shortest exact form.
var units = []struct {
	name  string
	bytes int64
}{
	{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// ParseSize reads a size such as 64KiB, 1.5 MB or 4096. A fraction of a byte is an error, and so is a sign.
func ParseSize(text string) (Size, error) {
	number, scale := strings.TrimSpace(text), int64(1)
	for _, u := range units {
		if cut := len(number) - len(u.name); cut > 0 && strings.EqualFold(number[cut:], u.name) {
			number, scale = strings.TrimSpace(number[:cut]), u.bytes
			break
		}
	}
	if number == "" || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("wants a size such as 64KiB or 10MB, not %q", text)
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		if n > math.MaxInt64/scale {
			return 0, fmt.Errorf("%q is too large", text)
		}
		return Size(n * scale), nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("wants a size such as 64KiB or 10MB, not %q", text)
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

// String gives the shortest form that [ParseSize] reads back to the same size.
func (s Size) String() string {
	for _, u := range units {
		if n := int64(s); n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
