package natslog_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/natsconn"
)

// node is a NATS server in this process that can be stopped and started again.
type node struct {
	options server.Options
	server  *server.Server
}

func (n *node) start(t testing.TB) {
	t.Helper()
	if err := n.run(); err != nil {
		t.Fatal(err)
	}
}

func (n *node) run() error {
	o := n.options
	s, err := server.NewServer(&o)
	if err != nil {
		return err
	}
	s.Start()
	n.server = s
	if !s.ReadyForConnections(20 * time.Second) {
		return errors.New("NATS does not start")
	}
	return nil
}

func (n *node) stop() {
	n.server.Shutdown()
	n.server.WaitForShutdown()
}

func (n *node) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", n.options.Port) }

// ports returns free ports.
func ports(t testing.TB, n int) []int {
	t.Helper()
	out := make([]int, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		out[i] = l.Addr().(*net.TCPAddr).Port
	}
	return out
}

// single starts a NATS server with JetStream.
func single(t testing.TB) *node {
	t.Helper()
	n := &node{options: server.Options{Host: "127.0.0.1", Port: ports(t, 1)[0], NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir()}}
	n.start(t)
	t.Cleanup(n.stop)
	return n
}

// nodes is a cluster.
type nodes []*node

// cluster starts three NATS servers that form a cluster.
func cluster(t testing.TB) nodes {
	t.Helper()
	free := ports(t, 6)
	var routes []*url.URL
	for _, p := range free[3:] {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	c := make(nodes, 3)
	for i := range c {
		o := server.Options{ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: free[i], NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(), Routes: routes}
		o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "test", "127.0.0.1", free[3+i]
		c[i] = &node{options: o}
		c[i].start(t)
		t.Cleanup(c[i].stop)
	}
	c.ready(t)
	return c
}

// ready waits until the cluster has a leader that knows all servers.
func (c nodes) ready(t testing.TB) {
	t.Helper()
	for began := time.Now(); ; {
		for _, n := range c {
			if n.server.JetStreamIsLeader() && len(n.server.JetStreamClusterPeers()) == len(c) {
				return
			}
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the cluster has no leader")
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (c nodes) url() string {
	var urls []string
	for _, n := range c {
		urls = append(urls, n.url())
	}
	return strings.Join(urls, ",")
}

// leader returns the server that leads the stream of the runs.
func (c nodes) leader(t testing.TB, stream string) *node {
	t.Helper()
	for _, n := range c {
		if n.server.Running() && n.server.JetStreamIsStreamLeader("$G", stream) {
			return n
		}
	}
	t.Fatal("the stream has no leader")
	return nil
}

// connect connects to NATS.
func connect(t testing.TB, urls string) *natsconn.Conn {
	t.Helper()
	c, err := natsconn.Connect(urls, natsconn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// open opens a log over a connection of its own.
func open(t testing.TB, urls string, o natslog.Options) *natslog.Log {
	t.Helper()
	c := connect(t, urls)
	l, err := natslog.Open(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
