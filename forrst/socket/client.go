package socket

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/forrst/client"
)

const (
	defaultMaxIdle   = 8
	defaultIdleClose = time.Minute
)

// ClientOptions are the settings of a client's side. The zero value works.
type ClientOptions struct {
	// Dial opens a connection. Default: that of net.Dialer. Use that of tls.Dialer for TLS.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxIdle is how many connections are kept for later calls. Default: 8. Negative: none.
	MaxIdle int
	// IdleTimeout is how long they are kept. It should be shorter than that of the server. Default: one minute.
	IdleTimeout time.Duration
}

// Transport sends calls over connections to one address: one for each call at the same time. It is safe for concurrent
// use. Headers are not sent.
type Transport struct {
	network, address string
	o                ClientOptions

	mu     sync.Mutex
	idle   []*link // the last one was used last
	closed bool
}

// New returns a transport to an address of a network of package net, such as "unix" and "tcp". It connects when it is
// used.
func New(network, address string, o ClientOptions) *Transport {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.MaxIdle == 0 {
		o.MaxIdle = defaultMaxIdle
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdleClose
	}
	return &Transport{network: network, address: address, o: o}
}

// link is a connection to a server.
type link struct {
	net.Conn
	r       *bufio.Reader
	watched chan struct{} // closed when the watch of an idle connection has ended
	dead    bool          // set before watched is closed
}

// Send implements [client.Transport].
func (t *Transport) Send(ctx context.Context, out client.Outgoing) iter.Seq2[client.Message, error] {
	return func(yield func(client.Message, error) bool) {
		frame, err := appendFrame(nil, out.Body)
		if err != nil {
			yield(client.Message{}, err)
			return
		}
		l, stop, err := t.write(ctx, frame)
		if err != nil {
			yield(client.Message{}, failure(ctx, err))
			return
		}
		complete := false
		defer func() {
			if stop() && complete {
				t.keep(l)
			} else {
				l.Close()
			}
		}()
		var buf bytes.Buffer
		for !complete {
			payload, err := readFrame(l.r, &buf, out.MaxMessage)
			if err != nil {
				yield(client.Message{}, failure(ctx, err))
				return
			}
			last := client.Last(payload)
			complete = last
			if !yield(client.Message{Body: payload}, nil) {
				return
			}
		}
	}
}

// write sends a request over a connection, which the end of the context closes until stop is called. If a kept connection
// does not take the request, it is sent over another one: a server runs no request that it does not have as a whole.
func (t *Transport) write(ctx context.Context, frame []byte) (l *link, stop func() bool, err error) {
	for {
		var isKept bool
		if l, isKept, err = t.link(ctx); err != nil {
			return nil, nil, err
		}
		stop = context.AfterFunc(ctx, func() { l.Close() })
		if _, err = l.Write(frame); err == nil {
			return l, stop, nil
		}
		stop()
		l.Close()
		if !isKept || ctx.Err() != nil {
			return nil, nil, err
		}
	}
}

// failure returns what a failed read or write means.
func failure(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errTooLarge):
		return client.ErrTooLarge
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return client.ErrBroken
	}
	return err
}

// link returns a kept connection, or a new one.
func (t *Transport) link(ctx context.Context) (l *link, isKept bool, err error) {
	for {
		t.mu.Lock()
		n := len(t.idle)
		if t.closed || n == 0 {
			closed := t.closed
			t.mu.Unlock()
			if closed {
				return nil, false, net.ErrClosed
			}
			break
		}
		l := t.idle[n-1]
		t.idle = t.idle[:n-1]
		t.mu.Unlock()
		_ = l.SetReadDeadline(time.Unix(1, 0)) // ends the watch
		if <-l.watched; !l.dead {
			_ = l.SetReadDeadline(time.Time{})
			return l, true, nil
		}
		l.Close()
	}
	c, err := t.o.Dial(ctx, t.network, t.address)
	if err != nil {
		return nil, false, err
	}
	return &link{Conn: c, r: bufio.NewReader(c)}, false, nil
}

// keep keeps a connection for the next call, and watches it until then.
func (t *Transport) keep(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.idle) >= t.o.MaxIdle {
		l.Close()
		return
	}
	until := time.Now().Add(t.o.IdleTimeout)
	_ = l.SetReadDeadline(until)
	l.watched = make(chan struct{})
	t.idle = append(t.idle, l)
	go func() { // ends with the idle time
		_, err := l.r.Peek(1)
		var e net.Error
		// A server that sends anything or closes the connection makes it useless.
		dead := err == nil || !errors.As(err, &e) || !e.Timeout() || !time.Now().Before(until)
		l.dead = dead
		close(l.watched)
		if dead {
			t.drop(l)
		}
	}()
}

// drop closes a connection that is no longer kept.
func (t *Transport) drop(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.idle {
		if other == l {
			t.idle = append(t.idle[:i], t.idle[i+1:]...)
			break
		}
	}
	l.Close()
}

// Close closes the connections without a call, and waits until they are. Later calls fail.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.closed = true
	idle := t.idle
	t.idle = nil
	t.mu.Unlock()
	for _, l := range idle {
		l.Close()
		<-l.watched
	}
	return nil
}
