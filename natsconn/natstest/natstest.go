// Package natstest runs NATS servers with JetStream for tests. They are processes of their own, because nats-server has data races, which the race
// detector of a test would report.
package natstest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// program returns the path of nats-server in the cache of Go, where it is built if it is not there yet.
var program = sync.OnceValues(func() (string, error) {
	c := exec.Command("go", "tool", "-n", "nats-server")
	var log strings.Builder
	c.Stderr = &log
	path, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("build nats-server: %w: %s", err, log.String())
	}
	return strings.TrimSpace(string(path)), nil
})

// listening are the lines of the log with the ports that a server has chosen.
var listening = regexp.MustCompile(`(Listening for client connections|Starting http monitor) on 127\.0\.0\.1:(\d+)`)

// Server is a NATS server. The end of the test kills it.
type Server struct {
	StoreDir string // of JetStream; empty with [WithConfig]
	config   string // path of the configuration file
	port     string
	monitor  string // address
	process  *exec.Cmd
}

// New starts a server, whose files are in a temporary folder.
func New(t testing.TB) *Server { return Configured(t, "") }

// Configured is [New] with more lines of the configuration file.
func Configured(t testing.TB, lines string) *Server {
	t.Helper()
	store := t.TempDir()
	// Streams reserve gigabytes that they do not use, and the disk may be small.
	s := WithConfig(t, fmt.Sprintf("host: 127.0.0.1\nhttp: \"127.0.0.1:-1\"\nstore_dir: %q\njetstream: {max_file_store: 1TB, max_memory_store: 1TB}\n%s\n", filepath.ToSlash(store), lines))
	s.StoreDir = store
	return s
}

// WithConfig starts a server with the text of a whole configuration file, whose port of clients is replaced by a free one.
func WithConfig(t testing.TB, text string) *Server {
	t.Helper()
	s := &Server{config: filepath.Join(t.TempDir(), "nats.conf"), port: "-1"} // any
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.end((*os.Process).Kill) })
	s.Start(t)
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
	path, err := program()
	if err != nil {
		return err
	}
	s.process = exec.Command(path, "--config", s.config, "--port", s.port)
	s.process.SysProcAttr = attributes()
	log, err := s.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	late := time.AfterFunc(time.Minute, func() { _ = s.process.Process.Kill() })
	defer late.Stop()
	var text strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		m := listening.FindStringSubmatch(lines.Text())
		switch {
		case m != nil && m[1] == "Starting http monitor":
			s.monitor = "127.0.0.1:" + m[2]
		case m != nil && s.port == "-1":
			s.port = m[2]
		case strings.Contains(lines.Text(), "Server is ready"):
			go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the server
			return nil
		}
	}
	_ = s.process.Wait()
	return fmt.Errorf("NATS does not start: %v\n%s", s.process.ProcessState, text.String())
}

// Stop stops the server. Its files remain.
func (s *Server) Stop() {
	s.end(func(p *os.Process) error { return p.Signal(syscall.SIGTERM) })
}

// end ends the process in one way, and waits for it.
func (s *Server) end(by func(*os.Process) error) {
	if s.process == nil || s.process.Process == nil || s.process.ProcessState != nil {
		return
	}
	if by(s.process.Process) != nil { // Windows has no signals
		_ = s.process.Process.Kill()
	}
	_ = s.process.Wait()
}

// URL returns the address of the server, also while it is stopped.
func (s *Server) URL() string { return "nats://127.0.0.1:" + s.port }

// URLOf returns the address with the name and the password of a user.
func (s *Server) URLOf(user, password string) string {
	return fmt.Sprintf("nats://%s:%s@127.0.0.1:%s", user, password, s.port)
}

// Cluster is a cluster of servers.
type Cluster []*Server

// NewCluster starts three servers that form a cluster, and waits until streams can have three replicas.
func NewCluster(t testing.TB) Cluster {
	t.Helper()
	free := Ports(t, 3)
	var routes []string
	for _, p := range free {
		routes = append(routes, fmt.Sprintf(`"nats://127.0.0.1:%d"`, p))
	}
	var c Cluster
	for i, port := range free {
		c = append(c, Configured(t, fmt.Sprintf("server_name: %s\ncluster: {name: test, listen: \"127.0.0.1:%d\", routes: [%s]}", name(i), port, strings.Join(routes, ", "))))
	}
	c.await(t, "a stream with three replicas", func(ctx context.Context, js jetstream.JetStream) bool {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "READY", Replicas: len(c), Storage: jetstream.MemoryStorage})
		return err == nil && js.DeleteStream(ctx, "READY") == nil
	})
	return c
}

// await waits until a condition holds, which is asked of any server that runs.
func (c Cluster) await(t testing.TB, what string, condition func(context.Context, jetstream.JetStream) bool) {
	t.Helper()
	nc, err := nats.Connect(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; <-time.After(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // a cluster without a leader does not reply
		ok := condition(ctx, js)
		cancel()
		if ok {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the cluster does not have ", what)
		}
	}
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
func (c Cluster) Leader(t testing.TB, stream string) (leader *Server) {
	t.Helper()
	c.await(t, "a leader of "+stream, func(ctx context.Context, js jetstream.JetStream) bool {
		s, err := js.Stream(ctx, stream)
		for i := range c {
			if err == nil && s.CachedInfo().Cluster.Leader == name(i) {
				leader = c[i]
			}
		}
		return leader != nil
	})
	return leader
}

// WaitInSync waits until each server has the whole of a stream, so that any of them may stop.
func (c Cluster) WaitInSync(t testing.TB, stream string) {
	t.Helper()
	c.await(t, "all of "+stream+" on each server", func(ctx context.Context, js jetstream.JetStream) bool {
		s, err := js.Stream(ctx, stream)
		if err != nil || len(s.CachedInfo().Cluster.Replicas) != len(c)-1 {
			return false
		}
		for _, r := range s.CachedInfo().Cluster.Replicas {
			if !r.Current || r.Offline {
				return false
			}
		}
		return !slices.ContainsFunc(c, func(s *Server) bool { return !s.healthy(ctx) }) // one that gets a snapshot is not
	})
}

// healthy reports whether a server has caught up with its cluster.
func (s *Server) healthy(ctx context.Context) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.monitor+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// name returns the name of a server of a cluster.
func name(i int) string { return fmt.Sprintf("n%d", i) }

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
