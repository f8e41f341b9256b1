package natslog_test

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// proxy forwards connections to a NATS server, whose replies it can swallow.
type proxy struct {
	listener net.Listener
	target   string
	after    atomic.Pointer[string] // after this text of a client, replies are swallowed; nil: none are
	mute     atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t testing.TB, n *natstest.Server) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: strings.TrimPrefix(n.URL(), "nats://")}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) serve(c net.Conn) {
	s, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = c.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, c, s)
	p.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { p.copy(s, c, p.watch) })
	wg.Go(func() { p.copy(c, s, func([]byte) bool { return !p.mute.Load() }) })
	wg.Wait()
}

// copy copies until a connection is closed, and then closes both.
func (p *proxy) copy(to, from net.Conn, pass func([]byte) bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if !pass(buf[:n]) {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) watch(data []byte) bool {
	if after := p.after.Load(); after != nil && bytes.Contains(data, []byte(*after)) {
		p.mute.Store(true)
	}
	return true
}

// swallow swallows the replies after a text of a client, until cut.
func (p *proxy) swallow(after string) { p.after.Store(&after) }

// cut closes all connections.
func (p *proxy) cut() {
	p.after.Store(nil)
	p.mute.Store(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}
