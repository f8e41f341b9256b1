// Package natstest runs NATS servers with JetStream for tests.
package natstest

import (
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server in this process. The end of the test stops it.
type Server struct {
	*server.Server
	options server.Options
}

// New starts a server, whose files are in a temporary folder.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir()}}
	s.Start(t)
	s.options.Port = s.Addr().(*net.TCPAddr).Port
	t.Cleanup(s.Stop)
	return s
}

// Start starts a stopped server again, at the same address.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	o := s.options
	var err error
	if s.Server, err = server.NewServer(&o); err != nil {
		t.Fatal(err)
	}
	s.Server.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("NATS does not start")
	}
}

// Stop stops the server. Its files remain.
func (s *Server) Stop() {
	s.Shutdown()
	s.WaitForShutdown()
}
