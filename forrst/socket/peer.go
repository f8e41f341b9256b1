package socket

// Peer is the process at the other end of a Unix socket, as the kernel reports it.
type Peer struct {
	PID      int32
	UID, GID uint32
}
