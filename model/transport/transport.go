// Package transport holds what the clients of model providers share: connections, timeouts, errors and streams.
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
	memory = 200 * time.Millisecond
	// recentReply is how long after a reply an error is not remembered: a single broken connection says little.
	recentReply = time.Second
)

// New returns a transport for many streams to one server. After a failed request it fails for a moment without a new attempt,
// since one run asks a server for several things and a server that is down should cost one attempt.
func New() http.RoundTripper {
	return &failFast{next: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    256, // with the default of 2, most of 100 streams would open a new connection
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		DisableCompression:     true, // a compressor would delay a stream
		MaxResponseHeaderBytes: 64 << 10,
	}}
}

// failFast remembers the last connection error.
type failFast struct {
	next http.RoundTripper

	mu       sync.Mutex
	err      error
	failed   time.Time
	answered time.Time
}

// RoundTrip implements [http.RoundTripper].
func (r *failFast) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := r.recentError(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // required of a RoundTripper
		}
		return nil, err
	}
	res, err := r.next.RoundTrip(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.err, r.answered = nil, time.Now()
	case req.Context().Err() == nil: // otherwise the caller has cancelled
		r.err, r.failed = err, time.Now()
	}
	return res, err
}

func (r *failFast) recentError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || time.Since(r.failed) >= memory || r.failed.Sub(r.answered) < recentReply {
		return nil
	}
	return r.err
}

// CloseIdleConnections is called by [http.Client].
func (r *failFast) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
