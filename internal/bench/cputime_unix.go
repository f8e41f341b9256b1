//go:build unix

package bench

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
)

// cpuTime returns the user and system time of the process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// setSendBuffer sets the size of the send buffer of a socket in bytes.
func setSendBuffer(raw syscall.RawConn, size int) (err error) {
	failed := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, size) })
	return errors.Join(failed, err)
}

// peakMemory returns the largest resident memory in bytes of a process that has ended, or of one of its children if that had more.
func peakMemory(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "linux" {
		return int64(u.Maxrss) << 10 //nolint:unconvert // in KiB; of 32 bits on some systems
	}
	return int64(u.Maxrss) //nolint:unconvert // of 32 bits on some systems
}
