//go:build !linux

package socket

import (
	"errors"
	"net"
)

// PeerOf returns errors.ErrUnsupported: only Linux reports the peer of a connection.
func PeerOf(net.Conn) (Peer, error) { return Peer{}, errors.ErrUnsupported }
