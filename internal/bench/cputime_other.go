//go:build !unix

package bench

import (
	"os"
	"syscall"
	"time"
)

// cpuTime returns 0: the time is unknown on this system.
func cpuTime() time.Duration { return 0 }

// peakMemory returns 0: the memory is unknown on this system.
func peakMemory(*os.ProcessState) int64 { return 0 }

// setSendBuffer does nothing on this system.
func setSendBuffer(syscall.RawConn, int) error { return nil }
