//go:build unix

package bench

import (
	"errors"
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
