// Package transport connects to the servers of models.
package transport

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// forget is how long a server that could not be reached is not dialled again. It is shorter than the waits between tries,
// and long enough for all that one request asks of a server.
const forget = 200 * time.Millisecond

// New gives a transport for many streams to one server. Whoever asks for a connection right after one that could not be made
// gets the same error: one request may ask a server for several things, and a server that is down costs one attempt.
func New() *http.Transport {
	d := &dialer{dial: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            d.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    256, // of 2 as is usual, each of 100 streams would open a connection of its own
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		DisableCompression:     true, // a stream that is compressed waits in the compressor
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// dialer remembers which addresses could not be reached.
type dialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	failed map[string]failure
}

type failure struct {
	err error
	at  time.Time
}

// DialContext connects, unless that failed a moment ago.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	last, known := d.failed[address]
	d.mu.Unlock()
	if known && time.Since(last.at) < forget {
		return nil, last.err
	}
	conn, err := d.dial(ctx, network, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		delete(d.failed, address)
	case ctx.Err() == nil: // else it was the caller who left
		if d.failed == nil {
			d.failed = map[string]failure{}
		}
		d.failed[address] = failure{err, time.Now()}
	}
	return conn, err
}
