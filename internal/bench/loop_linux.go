package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// socket is the connection of a reader: a descriptor that Go's runtime does not know, so that the runtime does nothing when data arrives.
type socket struct{ fd int }

// dial connects to an address of IPv4 from a source address, and waits for at most controlTimeout there and in reads and writes. buffer is the size of the receive
// buffer in bytes; 0: that of the system.
func dial(_ context.Context, addr string, source net.IP, buffer int) (s *socket, err error) {
	to, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	timeout := unix.NsecToTimeval(controlTimeout.Nanoseconds())
	err = errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout),
		unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1))
	if buffer > 0 {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, buffer))
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte(source.To4())})
	}
	if err == nil {
		err = retry(func() error { return unix.Connect(fd, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}) })
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return &socket{fd}, nil
}

// retry repeats a system call that a signal interrupts. If a repeated connect finds that the connection exists, this is no error.
func retry(call func() error) error {
	for {
		switch err := call(); {
		case errors.Is(err, unix.EISCONN):
			return nil
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}

// Read implements [io.Reader].
func (s *socket) Read(b []byte) (n int, err error) {
	err = retry(func() error { n, err = unix.Read(s.fd, b); return err })
	return n, err
}

// Write implements [io.Writer].
func (s *socket) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var part int
		err = retry(func() error { part, err = unix.Write(s.fd, b[n:]); return err })
		n += max(part, 0)
	}
	return n, err
}

// Close implements [io.Closer].
func (s *socket) Close() error { return unix.Close(s.fd) }

// loop reads many sockets from one goroutine. The functions of receivers, and do, do not run at the same time.
type loop struct {
	fd   int
	done chan struct{}

	mu      sync.Mutex
	sockets map[int32]attached
	closed  bool
}

// attached is a socket of a loop.
type attached struct {
	*socket
	receiver
}

func newLoop() (*loop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create", err)
	}
	l := &loop{fd: fd, done: make(chan struct{}), sockets: map[int32]attached{}}
	go l.run()
	return l, nil
}

// run reads what arrives until the loop is closed.
func (l *loop) run() {
	defer close(l.done)
	events, buf := make([]unix.EpollEvent, 1024), make([]byte, 64<<10)
	for l.turn(events, buf) {
	}
	_ = unix.Close(l.fd)
}

// turn waits for data and reads it. It returns false when the loop is closed, at the latest after 100 ms.
func (l *loop) turn(events []unix.EpollEvent, buf []byte) bool {
	n, err := unix.EpollWait(l.fd, events, 100)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || err != nil && !errors.Is(err, unix.EINTR) {
		return false
	}
	for _, e := range events[:max(n, 0)] {
		r := l.sockets[e.Fd]
		if r.socket == nil {
			continue // removed meanwhile
		}
		n, err := unix.Read(int(e.Fd), buf)
		switch {
		case n > 0:
			r.receive(buf[:n], time.Now().UnixNano())
		case n == 0 || !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN):
			l.drop(e.Fd)
			r.end(err)
		}
	}
	return true
}

// add reads a socket from now on. The loop owns it. The caller runs in do.
func (l *loop) add(s *socket, r receiver) error {
	if l.closed {
		return errors.Join(errors.New("the loop is closed"), s.Close())
	}
	fd := int32(s.fd) //nolint:gosec // a descriptor
	l.sockets[fd] = attached{s, r}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, s.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: fd}))
}

// pause stops reading a socket, or with false continues. The caller runs in do.
func (l *loop) pause(s *socket, paused bool) {
	fd := int32(s.fd) //nolint:gosec // a descriptor
	if l.sockets[fd].socket != s {
		return // the server has closed it
	}
	e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: fd}
	if paused {
		e.Events = 0
	}
	_ = unix.EpollCtl(l.fd, unix.EPOLL_CTL_MOD, s.fd, &e) // fails only if it is not there
}

// remove closes a socket, if the loop still has it. The caller runs in do.
func (l *loop) remove(s *socket) {
	if fd := int32(s.fd); l.sockets[fd].socket == s { //nolint:gosec // a descriptor
		l.drop(fd)
	}
}

func (l *loop) drop(fd int32) {
	delete(l.sockets, fd)
	_ = unix.Close(int(fd))
}

// do calls f while the loop waits.
func (l *loop) do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// close closes all sockets and ends the goroutine.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	for fd := range l.sockets {
		l.drop(fd)
	}
	l.mu.Unlock()
	<-l.done
}
