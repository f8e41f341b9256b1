//go:build linux

package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// preferred is the header with the number of the server that gets a request if it accepts connections.
const preferred = "X-Preferred"

// balancer passes requests on to servers. A request whose server does not accept the connection goes to the next one.
type balancer struct {
	url     string
	servers []*url.URL
	out     [3]atomic.Bool  // servers that get no new requests: see take
	waiting [3]atomic.Int32 // requests that have no reply yet, by server
	next    atomic.Int64
	plain   *http.Transport

	mu    sync.Mutex
	conns map[net.Conn]bool // to the servers
}

func newBalancer(t *testing.T, urls []string) *balancer {
	t.Helper()
	b := &balancer{conns: map[net.Conn]bool{}}
	for _, s := range urls {
		u, err := url.Parse(s)
		require.NoError(t, err)
		b.servers = append(b.servers, u)
	}
	b.plain = &http.Transport{DialContext: b.dial, DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: 20 * time.Second}
	s := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Transport: b, ErrorLog: discard, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(b.servers[0]) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }})
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	b.url = s.URL
	return b
}

// dial notes the connection, so that it can be cut.
func (b *balancer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	n := &noted{c, b}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conns[n] = true
	return n, nil
}

type noted struct {
	net.Conn
	b *balancer
}

func (n *noted) Close() error {
	n.b.mu.Lock()
	delete(n.b.conns, n)
	n.b.mu.Unlock()
	return n.Conn.Close()
}

// cut closes a connection in two, and returns how many.
func (b *balancer) cut() (n int) {
	b.mu.Lock()
	var some []net.Conn
	for c := range b.conns {
		if len(some) <= len(b.conns)/2 {
			some = append(some, c)
		}
	}
	b.mu.Unlock()
	for _, c := range some {
		_ = c.Close()
	}
	return len(some)
}

// take lets a server get no new requests, and waits until it has begun to reply to the ones that it has.
func (b *balancer) take(server int) {
	b.out[server].Store(true)
	for b.waiting[server].Load() > 0 {
		<-time.After(time.Millisecond)
	}
}

// RoundTrip sends a request to the preferred server, or to the next one if that does not accept the connection.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	first, err := strconv.Atoi(r.Header.Get(preferred))
	if err != nil {
		first = int(b.next.Add(1))
	}
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for i := range 2 * len(b.servers) {
		n := (first + i) % len(b.servers)
		b.waiting[n].Add(1)
		if b.out[n].Load() && i < len(b.servers) {
			b.waiting[n].Add(-1)
			continue
		}
		at := r.Clone(r.Context())
		at.URL.Host, at.Host = b.servers[n].Host, b.servers[n].Host
		if r.Body != nil {
			at.Body = io.NopCloser(bytes.NewReader(body))
		}
		res, rerr := b.plain.RoundTrip(at)
		b.waiting[n].Add(-1)
		if op, ok := errors.AsType[*net.OpError](rerr); ok && op.Op == "dial" {
			err = rerr
			continue
		}
		return res, rerr
	}
	return nil, err
}
