package socket

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// Defaults of the options.
const (
	defaultMaxConnections = 1024
	defaultIdleTimeout    = 5 * time.Minute
	defaultReadTimeout    = 10 * time.Second
	defaultGrace          = 10 * time.Second
)

// Options are the settings of [Serve]. The zero value works.
type Options struct {
	// Context authenticates a connection. It returns the context of its calls, with values that forrst.Options.Caller reads.
	// An error closes the connection. [PeerOf] returns the process at the other end of a Unix socket. It may be called concurrently.
	Context func(ctx context.Context, conn net.Conn) (context.Context, error)
	// MaxConnections limits the connections at the same time; further ones wait to be accepted. Default: 1024.
	MaxConnections int
	// IdleTimeout closes connections without a call. Default: 5 minutes.
	IdleTimeout time.Duration
	// ReadTimeout limits the time from the first byte of a request to its last. Default: 10 seconds.
	ReadTimeout time.Duration
	// Grace is how long calls may go on after the end of the context of Serve. Default: 10 seconds.
	Grace time.Duration
}

func withDefaults(o Options) Options {
	if o.MaxConnections <= 0 {
		o.MaxConnections = defaultMaxConnections
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = defaultReadTimeout
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	return o
}

// Serve answers the calls of the connections of a listener, until the context ends or the listener fails. It closes the
// listener and waits for the calls in progress: after Options.Grace they end as if their clients had disconnected. It returns nil
// after the end of the context. Call Server.Wait afterwards. Writes have the timeout of the server.
func Serve(ctx context.Context, l net.Listener, s *forrst.Server, o Options) error {
	o = withDefaults(o)
	calls, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	srv := &server{s: s, o: o, conns: map[*conn]bool{}}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	slots := make(chan struct{}, o.MaxConnections)
	var err error
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		var nc net.Conn
		if nc, err = accept(ctx, l); err != nil {
			break
		}
		srv.running.Go(func() {
			defer func() { <-slots }()
			srv.serve(calls, nc)
		})
	}
	l.Close()
	srv.shutdown(o.Grace, abort)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// accept accepts a connection. It waits while the system has no resources for another one.
func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		nc, err := l.Accept()
		var e net.Error
		if err == nil || errors.Is(err, net.ErrClosed) || !errors.As(err, &e) || !temporary(e) {
			return nc, err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// temporary reports whether Accept may succeed later, as net/http does.
func temporary(e net.Error) bool {
	return e.Temporary() //nolint:staticcheck // there is no other way to learn it
}

type server struct {
	s       *forrst.Server
	o       Options
	running sync.WaitGroup

	mu      sync.Mutex
	conns   map[*conn]bool
	closing bool
}

// shutdown ends the idle connections at once, and the others after their calls.
func (s *server) shutdown(grace time.Duration, abort func()) {
	s.mu.Lock()
	s.closing = true
	for c := range s.conns {
		c.closeIdle()
	}
	s.mu.Unlock()
	timer := time.AfterFunc(grace, abort)
	defer timer.Stop()
	s.running.Wait()
}

// add registers a connection, unless the server is closing.
func (s *server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
	return !s.closing
}

func (s *server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *server) serve(ctx context.Context, nc net.Conn) {
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { nc.Close() })() // ends reads and writes after the grace period
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.o.Context != nil {
		var err error
		if ctx, err = s.authenticate(ctx, nc); err != nil {
			return
		}
	}
	c := &conn{server: s, nc: nc, r: bufio.NewReader(nc), timeout: s.s.WriteTimeout()}
	defer s.remove(c)
	if s.add(c) {
		c.loop(ctx)
	}
}

var errPanic = errors.New("socket: the authentication has panicked")

// authenticate calls the hook of the options. A panic is logged.
func (s *server) authenticate(ctx context.Context, nc net.Conn) (_ context.Context, err error) {
	defer func() {
		if recover() != nil {
			s.s.Logger().Error("panic", "stack", string(debug.Stack()))
			err = errPanic
		}
	}()
	return s.o.Context(ctx, nc)
}

// conn is a connection.
type conn struct {
	server  *server
	nc      net.Conn
	r       *bufio.Reader
	timeout time.Duration // of writes
	out     []byte        // the frame that is written

	mu    sync.Mutex
	busy  bool // with a request or a call
	ended bool // the last frame of the reply is written, or being written
}

// closeIdle ends the wait for a request, if the connection is idle.
func (c *conn) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.busy {
		_ = c.nc.SetReadDeadline(time.Now())
	}
}

// idle waits for the first byte of a request.
func (c *conn) idle() bool {
	c.mu.Lock()
	c.busy = false
	_ = c.nc.SetReadDeadline(time.Now().Add(c.server.o.IdleTimeout))
	c.mu.Unlock()
	if c.server.isClosing() { // later, closeIdle wakes it up
		return false
	}
	if _, err := c.r.Peek(1); err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = true
	return true
}

// loop answers one call after the other.
func (c *conn) loop(ctx context.Context) {
	var buf bytes.Buffer
	for c.idle() {
		received := time.Now()
		_ = c.nc.SetReadDeadline(received.Add(c.server.o.ReadTimeout))
		length, err := readLength(c.r)
		if err != nil {
			return
		}
		in := forrst.Incoming{Received: received}
		if limit := c.server.s.MaxRequest(); length > limit {
			if _, err := io.CopyN(io.Discard, c.r, length); err != nil {
				return
			}
			c.server.s.Refuse(in, forrst.Errorf(forrst.InvalidRequest, "the body is larger than %d bytes", limit), c)
		} else {
			if in.Body, err = readPayload(c.r, &buf, length); err != nil {
				return
			}
			c.call(ctx, in)
		}
		if !c.finished() {
			return
		}
		if buf.Cap() > maxKept {
			buf = bytes.Buffer{} // idle connections must not keep large requests
		}
	}
}

// call answers a call. It ends if the client closes the connection, or sends anything before the reply has ended.
func (c *conn) call(ctx context.Context, in forrst.Incoming) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.ended = false
	_ = c.nc.SetReadDeadline(time.Time{})
	c.mu.Unlock()
	watched := make(chan struct{})
	go func() { // ends with the call
		defer close(watched)
		if _, err := c.r.Peek(1); err != nil && c.waking(err) || c.finished() {
			return
		}
		cancel()
	}()
	c.server.s.Serve(ctx, in, c)
	_ = c.nc.SetReadDeadline(time.Now()) // wakes up the goroutine
	<-watched
}

// waking reports whether a read has ended because its call has.
func (c *conn) waking(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

func (c *conn) finished() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Header implements [forrst.Writer]. Frames have no headers.
func (c *conn) Header() http.Header { return http.Header{} }

// Reply implements [forrst.Writer].
func (c *conn) Reply(_ int, document []byte) error { return c.write(document, true) }

// Begin implements [forrst.Writer].
func (c *conn) Begin() error { return nil }

// Event implements [forrst.Writer].
func (c *conn) Event(event []byte, last bool) error { return c.write(event, last) }

func (c *conn) write(payload []byte, last bool) error {
	var err error
	if c.out, err = appendFrame(c.out[:0], payload); err != nil {
		return err
	}
	if last {
		c.mu.Lock()
		c.ended = true
		c.mu.Unlock()
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(c.timeout))
	_, err = c.nc.Write(c.out)
	if err != nil {
		c.mu.Lock()
		c.ended = false // the connection cannot be used again
		c.mu.Unlock()
	}
	if cap(c.out) > maxKept {
		c.out = nil
	}
	return err
}

// maxKept is the capacity in bytes up to which a buffer is kept for the next frame.
const maxKept = 64 << 10
