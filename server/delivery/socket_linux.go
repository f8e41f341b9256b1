package delivery

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// pollable reports whether a [poller] can watch a connection, and tryWrite writes to it.
func pollable(c net.Conn) bool {
	_, ok := c.(*net.TCPConn)
	return ok
}

// attempt is a write that does not wait. They are reused, so that a write allocates nothing.
type attempt struct {
	b    []byte
	n    int
	err  error
	call func(fd uintptr)
}

var attempts = sync.Pool{New: func() any {
	a := &attempt{}
	a.call = func(fd uintptr) {
		for {
			if a.n, a.err = unix.Write(int(fd), a.b); !errors.Is(a.err, unix.EINTR) {
				return
			}
		}
	}
	return a
}}

// tryWrite writes what a connection accepts at once, and returns the number of bytes.
func tryWrite(c syscall.RawConn, b []byte) (int, error) {
	if c == nil {
		return 0, nil
	}
	a := attempts.Get().(*attempt)
	defer attempts.Put(a)
	a.b = b
	err := c.Control(a.call) // Write would prepare the runtime to wait for the network
	n := max(a.n, 0)
	switch a.b = nil; {
	case err != nil:
		return 0, err
	case errors.Is(a.err, unix.EAGAIN):
		return 0, nil
	}
	return n, a.err
}

// poller watches connections by epoll. Its goroutine waits for the epoll descriptor in the poller of Go's runtime, like for a socket.
type poller struct {
	mu      sync.Mutex
	file    *os.File // nil: nothing was watched yet
	raw     syscall.RawConn
	fd      int
	last    uint64
	watched map[uint64]func()
}

// open opens the descriptor. The caller holds mu.
func (p *poller) open() error {
	if p.file != nil {
		return nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that Go's runtime polls it
	}
	if err != nil {
		return os.NewSyscallError("epoll_create", err)
	}
	file := os.NewFile(uintptr(fd), "epoll") //nolint:gosec // a descriptor
	raw, err := file.SyscallConn()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	p.file, p.raw, p.fd, p.watched = file, raw, fd, map[uint64]func(){}
	go p.run(raw)
	return nil
}

// run calls the functions of connections until the descriptor is closed.
func (p *poller) run(raw syscall.RawConn) {
	events := make([]unix.EpollEvent, 128)
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			for {
				var err error
				if n, err = unix.EpollWait(int(fd), events, 0); !errors.Is(err, unix.EINTR) {
					return n != 0 || err != nil
				}
			}
		})
		if err != nil || n < 0 {
			return
		}
		for _, e := range events[:n] {
			p.mu.Lock()
			f := p.watched[number(e)]
			delete(p.watched, number(e))
			p.mu.Unlock()
			if f != nil {
				f()
			}
		}
	}
}

// number returns the number of a watched connection. A number is not used again, unlike a descriptor, so an event cannot belong to another one.
func number(e unix.EpollEvent) uint64 { return uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32 } //nolint:gosec // the bits

// watch is [Conns.watch]. Nothing is read.
func (p *poller) watch(c net.Conn, input bool, f func()) (stop func() []byte, err error) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(); err != nil {
		return nil, err
	}
	p.last++
	id, epoll := p.last, p.fd
	e := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: int32(id), Pad: int32(id >> 32)} //nolint:gosec // the bits
	if input {
		e.Events |= unix.EPOLLIN
	}
	failed := raw.Control(func(fd uintptr) { err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, int(fd), &e) })
	if err = errors.Join(failed, os.NewSyscallError("epoll_ctl", err)); err != nil {
		return nil, err
	}
	p.watched[id] = f
	return func() []byte {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watched, id)
		epoll := p.fd
		_ = raw.Control(func(fd uintptr) { _ = unix.EpollCtl(epoll, unix.EPOLL_CTL_DEL, int(fd), nil) }) // fails if the connection is closed
		return nil
	}, nil
}

// close ends the goroutine. No connection may be watched afterwards.
func (p *poller) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		_ = p.file.Close()
		p.fd = -1
	}
}
