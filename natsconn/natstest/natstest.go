// Package natstest runs NATS servers with JetStream for tests.
package natstest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server in this process. The end of the test stops it.
type Server struct {
	*server.Server
	Options server.Options
}

// New starts a server, whose files are in a temporary folder.
func New(t testing.TB) *Server { return Configured(t, func(*server.Options) {}) }

// Configured is [New] with other options.
func Configured(t testing.TB, change func(*server.Options)) *Server {
	t.Helper()
	s := &Server{Options: server.Options{Host: "127.0.0.1", Port: Ports(t, 1)[0], NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
		JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 1 << 40}} // streams reserve gigabytes that they do not use, and the disk may be small
	change(&s.Options)
	s.Start(t)
	t.Cleanup(s.Stop)
	return s
}

// Start starts a stopped server again, at the same address.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
}

// Run is [Server.Start] for other goroutines than that of the test.
func (s *Server) Run() error {
	o := s.Options
	next, err := server.NewServer(&o)
	if err != nil {
		return err
	}
	next.Start()
	s.Server = next
	if !s.ReadyForConnections(20 * time.Second) {
		return errors.New("NATS does not start")
	}
	return nil
}

// Stop stops the server. Its files remain.
func (s *Server) Stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

// URL returns the address of the server, also while it is stopped.
func (s *Server) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", s.Options.Port) }

// Cluster is a cluster of servers.
type Cluster []*Server

// NewCluster starts three servers that form a cluster, and waits until it is ready.
func NewCluster(t testing.TB) Cluster {
	t.Helper()
	free := Ports(t, 3)
	var routes []*url.URL
	for _, p := range free {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	var c Cluster
	for i, port := range free {
		c = append(c, Configured(t, func(o *server.Options) {
			o.ServerName, o.Routes = fmt.Sprintf("n%d", i), routes
			o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "test", "127.0.0.1", port
		}))
	}
	for began := time.Now(); !c.ready(); {
		if time.Since(began) > time.Minute {
			t.Fatal("the cluster has no leader")
		}
		<-time.After(10 * time.Millisecond)
	}
	return c
}

// ready reports whether the cluster has a leader that knows all servers.
func (c Cluster) ready() bool {
	for _, s := range c {
		if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(c) {
			return true
		}
	}
	return false
}

// URL returns the addresses of all servers, separated by commas.
func (c Cluster) URL() string {
	var urls []string
	for _, s := range c {
		urls = append(urls, s.URL())
	}
	return strings.Join(urls, ",")
}

// Leader returns the server that leads a stream.
func (c Cluster) Leader(t testing.TB, stream string) *Server {
	t.Helper()
	for _, s := range c {
		if s.Running() && s.JetStreamIsStreamLeader("$G", stream) {
			return s
		}
	}
	t.Fatal("the stream has no leader")
	return nil
}

// WaitInSync waits until each server has the whole of a stream, so that any of them may stop.
func (c Cluster) WaitInSync(t testing.TB, stream string) {
	t.Helper()
	began := time.Now()
	for _, s := range c {
		for !s.JetStreamIsStreamCurrent("$G", stream) {
			if time.Since(began) > time.Minute {
				t.Fatal("a server is behind")
			}
			<-time.After(10 * time.Millisecond)
		}
	}
}

// Ports returns free ports.
func Ports(t testing.TB, n int) []int {
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
