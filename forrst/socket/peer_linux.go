package socket

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// PeerOf returns the process that opened a connection over a Unix socket. It returns errors.ErrUnsupported for other
// connections and on systems other than Linux.
func PeerOf(conn net.Conn) (Peer, error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{}, errors.ErrUnsupported
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return Peer{}, fmt.Errorf("read the credentials of the peer: %w", err)
	}
	return Peer{cred.Pid, cred.Uid, cred.Gid}, nil
}
