//go:build !unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime returns 0: the time is unknown on this system.
func cpuTime() time.Duration { return 0 }

// setSendBuffer does nothing on this system.
func setSendBuffer(syscall.RawConn, int) error { return nil }
