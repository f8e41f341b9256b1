//go:build !linux && !darwin && !freebsd && !windows

package reserve

import "math"

// Free reports unlimited space on systems that it does not know. Whether there is room then shows when the reserve is written.
func Free(string) (int64, error) { return math.MaxInt64, nil }
