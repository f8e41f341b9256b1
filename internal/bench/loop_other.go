//go:build !linux

package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// socket is the connection of a reader.
type socket struct {
	net.Conn
	gate sync.Mutex // held while the socket is not read
	held bool
}

// dial connects to an address from a source address. See loop_linux.go.
func dial(ctx context.Context, addr string, source net.IP, buffer int) (*socket, error) {
	c, err := (&net.Dialer{Timeout: controlTimeout, LocalAddr: &net.TCPAddr{IP: source}}).DialContext(ctx, "tcp4", addr)
	if err != nil {
		return nil, err
	}
	if buffer > 0 {
		_ = c.(*net.TCPConn).SetReadBuffer(buffer)
	}
	_ = c.SetDeadline(time.Now().Add(controlTimeout))
	return &socket{Conn: c}, nil
}

// loop reads each socket from a goroutine. The functions of receivers, and do, do not run at the same time.
type loop struct {
	mu      sync.Mutex
	sockets map[*socket]bool
	closed  bool
	work    sync.WaitGroup
}

func newLoop() (*loop, error) { return &loop{sockets: map[*socket]bool{}}, nil }

func (l *loop) add(s *socket, r receiver) error {
	if l.closed {
		return errors.Join(errors.New("the loop is closed"), s.Close())
	}
	l.sockets[s] = true
	_ = s.SetDeadline(time.Time{})
	l.work.Go(func() {
		buf := make([]byte, 4<<10)
		for l.read(s, r, buf) {
		}
	})
	return nil
}

func (l *loop) read(s *socket, r receiver, buf []byte) bool {
	s.gate.Lock()
	s.gate.Unlock() //nolint:staticcheck // it waits while the socket is paused
	n, err := s.Read(buf)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sockets[s] {
		return false
	}
	if n > 0 {
		r.receive(buf[:n], time.Now().UnixNano())
	}
	if err != nil {
		l.remove(s)
		if err == io.EOF {
			err = nil
		}
		r.end(err)
	}
	return err == nil && l.sockets[s]
}

func (l *loop) pause(s *socket, paused bool) {
	if paused == s.held {
		return
	}
	if s.held = paused; paused {
		s.gate.Lock()
	} else {
		s.gate.Unlock()
	}
}

func (l *loop) remove(s *socket) {
	delete(l.sockets, s)
	l.pause(s, false)
	_ = s.Close()
}

func (l *loop) do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *loop) close() {
	l.do(func() {
		l.closed = true
		for s := range l.sockets {
			l.remove(s)
		}
	})
	l.work.Wait()
}
