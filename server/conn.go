package server

import (
	"context"
	"net"
	"sync"
)

// gatherConn is a connection whose writes can be gathered: what net/http cuts into several writes, a chunk's head, its
// body and its end, goes out as one, so that a reader gets a frame in one piece and a frame costs one system call.
type gatherConn struct {
	net.Conn
	held bool // only the goroutine that answers the request writes, so no lock is needed
	buf  *[]byte
}

var gatherBufs = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// maxPooled bounds the buffers that are kept for later, in bytes.
const maxPooled = 64 << 10

// Write implements [net.Conn].
func (c *gatherConn) Write(p []byte) (int, error) {
	if !c.held {
		return c.Conn.Write(p)
	}
	*c.buf = append(*c.buf, p...)
	return len(p), nil
}

// hold gathers the writes that follow.
func (c *gatherConn) hold() {
	c.buf = gatherBufs.Get().(*[]byte)
	c.held = true
}

// release writes what was gathered.
func (c *gatherConn) release() error {
	c.held = false
	buf := c.buf
	c.buf = nil
	_, err := c.Conn.Write(*buf)
	putBuf(buf)
	return err
}

func putBuf(buf *[]byte) {
	if cap(*buf) <= maxPooled {
		*buf = (*buf)[:0]
		gatherBufs.Put(buf)
	}
}

type gatherListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l gatherListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatherConn{Conn: c}, nil
}

type connKey struct{}

// connContext lets handlers find their connection.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if g, ok := c.(*gatherConn); ok {
		return context.WithValue(ctx, connKey{}, g)
	}
	return ctx
}
