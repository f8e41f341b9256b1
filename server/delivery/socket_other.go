//go:build !linux

package delivery

import (
	"net"
	"syscall"
)

// pollable reports whether a poller can watch a connection.
func pollable(net.Conn) bool { return false }

// tryWrite writes nothing, so that a goroutine writes.
func tryWrite(syscall.RawConn, []byte) (int, error) { return 0, nil }

// poller watches nothing on this system.
type poller struct{}

func (*poller) watch(net.Conn, bool, func()) (func() []byte, error) { return nil, net.ErrClosed }

func (*poller) close() {}
