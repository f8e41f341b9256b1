package delivery

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// WriterMode says which streams are written by writer loops: see [Conns].
type WriterMode string

// The modes.
const (
	Auto    WriterMode = "auto"    // streams over clear-text HTTP/1.1 on Linux
	NetHTTP WriterMode = "nethttp" // none: the handler of each stream writes it
	Loop    WriterMode = "loop"    // all streams over clear-text HTTP/1.1; outside Linux, a goroutine waits for each client
)

// Conns holds the connections of one HTTP server, and writes the streams of many connections from few goroutines.
//
// When a stream waits for events the first time, Conns takes its connection over from net/http, and the handler returns. At each time exactly
// one of these owns the connection and may write to it:
//
//  1. net/http and the handler, until the handler has returned.
//  2. The worker that steps the stream: it sends what is due and does not wait. Between two steps nobody writes.
//  3. A goroutine of the stream, while the stream is away: the network accepts no more, or the stream has ended. It may wait for the
//     network, up to the write timeout. When the stream has caught up, it gives it back to the workers.
//  4. Conns, when the body has ended: until the next request begins, at most for the idle timeout. Then it gives the connection to
//     net/http, by Accept.
//
// So a slow client costs a goroutine, one write that was not accepted (a frame, or 1,400 bytes of frames), one batch of at most maxBatchBytes and a frame, and the buffer
// of its socket.
//
// HTTP/2, TLS, and logs that are no [eventlog.Notifier] stay with the handler. The request's context lasts until the end of the stream;
// handlers defer [AtEnd] for what else does.
type Conns struct {
	mode   WriterMode
	idle   time.Duration // how long a connection may wait for its next request
	queue  *queue
	poll   poller
	alarms alarms

	returned chan net.Conn // for Accept
	done     chan struct{} // closed by Close
	work     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	taken  map[*taken]struct{}
	parked map[*parked]struct{}
}

// NewConns returns the connections of an HTTP server with an idle timeout. Its handler is wrapped by Handler, its ConnContext is that of Conns,
// and it serves Conns as a listener beside its own. Shutdown must be called.
func NewConns(mode WriterMode, idle time.Duration) *Conns {
	return &Conns{mode: mode, idle: idle, queue: newQueue(), returned: make(chan net.Conn), done: make(chan struct{}),
		taken: map[*taken]struct{}{}, parked: map[*parked]struct{}{}}
}

// conn is the connection of requests. Of HTTP/1.1, one request at a time uses it.
type conn struct {
	net.Conn
	conns *Conns

	cancel    context.CancelFunc // ends the context of the request; nil: the connection cannot be taken over
	unlink    func() bool        // the context does not end with that of net/http any more
	keepAlive bool
	taken     *taken   // nil: net/http owns the connection
	ended     []func() // called when the stream ends
}

type connKey struct{}

// connOf returns the connection of a request; nil: it is not known.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// ConnContext is for [http.Server.ConnContext]. It lets streams write to the connection.
func (c *Conns) ConnContext(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &conn{Conn: nc, conns: c})
}

// AtEnd calls f at the end of the stream that replies to a request, or now if there is no such stream. Handlers that call [Hub.Serve], and those that call
// such handlers, defer AtEnd for what must be done after the reply, because a stream may go on when they have returned.
func AtEnd(ctx context.Context, f func()) {
	if c := connOf(ctx); c != nil && c.taken != nil {
		c.ended = append(c.ended, f)
		return
	}
	f()
}

// Handler returns a handler whose streams may go on when next has returned.
func (c *Conns) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := connOf(r.Context())
		if conn == nil || r.TLS != nil || r.ProtoMajor != 1 || !r.ProtoAtLeast(1, 1) || !c.takes(conn.Conn) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		conn.cancel, conn.keepAlive = cancel, !r.Close
		conn.unlink = context.AfterFunc(r.Context(), cancel)
		defer func() {
			if conn.taken != nil {
				conn.taken.start()
				return
			}
			conn.unlink()
			cancel()
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// mayTake reports whether the connection of a request can be taken over.
func mayTake(r *http.Request) bool {
	c := connOf(r.Context())
	return c != nil && c.cancel != nil
}

func (c *Conns) takes(nc net.Conn) bool {
	return c.mode == Loop || c.mode == Auto && pollable(nc)
}

// add adds a stream, which calls remove at its end. It returns false when the server stops.
func (c *Conns) add(t *taken) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Add(1)
	c.taken[t] = struct{}{}
	return true
}

func (c *Conns) remove(t *taken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.taken, t)
	c.work.Done()
}

// parked is a connection that waits for its next request.
type parked struct {
	conns *Conns
	conn  net.Conn
	timer *time.Timer
	stop  func() []byte
}

// park keeps a connection until its next request begins. Bytes of it may have been read.
func (c *Conns) park(nc net.Conn, read []byte) {
	if p, ok := nc.(*prefixed); ok && len(p.read) == 0 {
		nc = p.Conn
	}
	p := &parked{conns: c, conn: nc}
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	switch {
	case c.closed:
		_ = nc.Close()
		return
	case len(read) > 0:
		p.stop = func() []byte { return read }
		go p.next()
	default:
		p.stop, err = c.watch(nc, true, func() { go p.next() })
	}
	if err != nil {
		_ = nc.Close()
		return
	}
	p.timer = time.AfterFunc(c.idle, p.close)
	c.parked[p] = struct{}{}
}

// leave removes the connection, and reports whether it was parked.
func (p *parked) leave() bool {
	p.conns.mu.Lock()
	defer p.conns.mu.Unlock()
	_, was := p.conns.parked[p]
	delete(p.conns.parked, p)
	return was
}

// next gives the connection to net/http.
func (p *parked) next() {
	if !p.leave() {
		return
	}
	p.timer.Stop()
	nc := p.conn
	if read := p.stop(); len(read) > 0 {
		nc = &prefixed{Conn: nc, read: slices.Clone(read)}
	}
	select {
	case p.conns.returned <- nc:
	case <-p.conns.done:
		_ = nc.Close()
	}
}

func (p *parked) close() {
	if p.leave() {
		p.timer.Stop()
		_ = p.conn.Close()
		p.stop()
	}
}

// prefixed is a connection of which some bytes were read.
type prefixed struct {
	net.Conn
	read []byte
}

// Read implements [io.Reader].
func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.read) == 0 || len(b) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.read)
	p.read = p.read[n:]
	return n, nil
}

// Accept implements [net.Listener]. It returns connections whose stream has ended and whose next request begins.
func (c *Conns) Accept() (net.Conn, error) {
	select {
	case nc := <-c.returned:
		return nc, nil
	case <-c.done:
		return nil, net.ErrClosed
	}
}

// Addr implements [net.Listener].
func (c *Conns) Addr() net.Addr { return &net.TCPAddr{} }

// Close implements [net.Listener]. It closes the connections that wait for a request. Streams go on.
func (c *Conns) Close() error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	all := slices.Collect(maps.Keys(c.parked))
	c.mu.Unlock()
	if again {
		return nil
	}
	close(c.done)
	for _, p := range all {
		p.close()
	}
	return nil
}

// Shutdown waits for streams to end, and aborts those that have not when ctx ends.
func (c *Conns) Shutdown(ctx context.Context) {
	_ = c.Close()
	abort := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for t := range c.taken {
			t.conn.cancel()
			_ = t.conn.Close()
		}
	})
	defer abort()
	c.work.Wait()
	c.poll.close()
	c.alarms.close()
	c.queue.close()
}

// watch calls f once when the peer of a connection has closed it or, with input, has sent something. stop ends that, and returns what was read.
func (c *Conns) watch(nc net.Conn, input bool, f func()) (stop func() []byte, err error) {
	if pollable(nc) {
		return c.poll.watch(nc, input, f)
	}
	return watchRead(nc, input, f), nil
}

// watchRead is watch with a goroutine that reads.
func watchRead(nc net.Conn, input bool, f func()) (stop func() []byte) {
	var b [1]byte
	n, done := 0, make(chan struct{})
	var stopped atomic.Bool
	go func() {
		var err error
		n, err = io.ReadFull(nc, b[:])
		close(done)
		if !stopped.Load() && (input || err != nil) {
			f()
		}
	}()
	return func() []byte {
		stopped.Store(true)
		_ = nc.SetReadDeadline(time.Unix(1, 0)) // ends the read
		<-done
		_ = nc.SetReadDeadline(time.Time{})
		return b[:n]
	}
}
