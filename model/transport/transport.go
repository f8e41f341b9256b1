// Package transport connects to the servers of models.
package transport

import (
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// forget is how long a server that could not be asked is not asked again. It is shorter than the waits between tries, and
	// long enough for all that one request asks of a server.
	forget = 200 * time.Millisecond
	// fresh is how long a server that answered is asked all the same: one connection that breaks says little of it.
	fresh = time.Second
)

// New gives a transport for many streams to one server. Whoever asks right after a request that got no answer gets the same
// error: one run may ask a server for several things, and a server that is down costs one attempt.
func New() http.RoundTripper {
	return &remembering{next: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    256, // of 2 as is usual, each of 100 streams would open a connection of its own
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		DisableCompression:     true, // a stream that is compressed waits in the compressor
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

// remembering remembers a server that could not be asked.
type remembering struct {
	next http.RoundTripper

	mu       sync.Mutex
	err      error
	failed   time.Time
	answered time.Time
}

// RoundTrip asks the server, unless that failed a moment ago.
func (r *remembering) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := r.recent(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper must
		}
		return nil, err
	}
	res, err := r.next.RoundTrip(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.err, r.answered = nil, time.Now()
	case req.Context().Err() == nil: // else it was the caller who left
		r.err, r.failed = err, time.Now()
	}
	return res, err
}

func (r *remembering) recent() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || time.Since(r.failed) >= forget || r.failed.Sub(r.answered) < fresh {
		return nil
	}
	return r.err
}

// CloseIdleConnections is for [http.Client].
func (r *remembering) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
