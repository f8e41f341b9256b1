//go:build linux

// Package weaviatetest runs a real Weaviate for tests, from the binary that make engines builds.
package weaviatetest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Version is the version of Weaviate that deploy/engines pins.
const Version = "1.35.2"

// Server is a Weaviate of its own with a temporary folder.
type Server struct {
	Key     string // API key; empty: none
	binary  string
	folder  string
	ports   [6]int
	name    string
	cluster []*Server // all servers of its cluster; nil: it has none
	process *exec.Cmd
}

// shared is the server of the tests of a process that run at the same time. The last one of them stops it.
var shared struct {
	sync.Mutex
	server *Server
	users  int
}

// URL returns the URL of a server that the tests of the process share; they use tenants of their own. Without the binary, it skips the test.
func URL(t testing.TB) string {
	t.Helper()
	binary := find(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.users == 0 {
		s, err := start(binary, "")
		if err != nil {
			t.Fatal(err)
		}
		shared.server = s
	}
	shared.users++
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.users--; shared.users == 0 {
			shared.server.remove()
		}
	})
	return shared.server.URL()
}

// New starts a server for one test. It demands the API key; empty: none.
func New(t testing.TB, key string) *Server {
	t.Helper()
	s, err := start(find(t), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

// NewCluster starts a cluster of three servers for one test.
func NewCluster(t testing.TB) []*Server {
	t.Helper()
	binary := find(t)
	var all []*Server
	for i := range 3 {
		s, err := prepare(binary, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.remove)
		s.name = fmt.Sprint("node", i+1)
		all = append(all, s)
	}
	for _, s := range all {
		s.cluster = all
	}
	ended := make(chan error)
	go func() { ended <- all[0].Run() }() // it is ready when the others are there
	for deadline := time.Now().Add(time.Minute); !all[0].gossips(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first server of the cluster does not start")
		}
	}
	for _, s := range all[1:] {
		go func() { ended <- s.Run() }()
	}
	for range all {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// gossips reports whether other servers can join the cluster by the server.
func (s *Server) gossips() bool {
	c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(s.ports[2]))
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// URLs returns the URLs of servers, separated by commas.
func URLs(servers []*Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.URL())
	}
	return strings.Join(all, ",")
}

// find returns the path of the binary.
func find(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "sluice", "engines", "weaviate-"+Version, "weaviate-server")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("Weaviate %s is not built: make engines builds it", Version)
	}
	return path
}

// start starts a server with its own ports.
func start(binary, key string) (*Server, error) {
	s, err := prepare(binary, key)
	if err != nil {
		return nil, err
	}
	if err := s.Run(); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func prepare(binary, key string) (*Server, error) {
	folder, err := os.MkdirTemp("", "weaviate")
	if err != nil {
		return nil, err
	}
	s := &Server{binary: binary, folder: folder, Key: key, name: "node1"}
	for !free(s.ports) {
		first := 10000 + 6*rand.IntN(3000)
		for i := range s.ports {
			s.ports[i] = first + i // the last one is that of Raft plus one, as others on the same machine expect
		}
	}
	return s, nil
}

// free reports whether nobody listens on the ports, which are below those that Linux gives to connections: a server can be started again with its ports.
func free(ports [6]int) bool {
	for _, port := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil || port == 0 {
			return false
		}
		_ = l.Close()
	}
	return true
}

// URL returns the URL of the server.
func (s *Server) URL() string { return "weaviate://127.0.0.1:" + strconv.Itoa(s.ports[0]) }

// Run starts the process and waits until it is ready.
func (s *Server) Run() error {
	s.process = exec.Command(s.binary, "--host", "127.0.0.1", "--port", strconv.Itoa(s.ports[0]), "--scheme", "http")
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // if a test panics
	port := func(name string, n int) string { return name + "=" + strconv.Itoa(s.ports[n]) }
	s.process.Env = append(os.Environ(), "PERSISTENCE_DATA_PATH="+filepath.Join(s.folder, "data"), "CLUSTER_HOSTNAME="+s.name, "CLUSTER_ADVERTISE_ADDR=127.0.0.1",
		"CLUSTER_BIND_ADDR=127.0.0.1", port("GRPC_PORT", 1), port("CLUSTER_GOSSIP_BIND_PORT", 2), port("CLUSTER_DATA_BIND_PORT", 3), port("RAFT_PORT", 4),
		port("RAFT_INTERNAL_RPC_PORT", 5), "RAFT_BOOTSTRAP_EXPECT="+strconv.Itoa(max(1, len(s.cluster))), "DISABLE_TELEMETRY=true", "GO_PROFILING_DISABLE=true", "LOG_LEVEL=warning",
		"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED="+strconv.FormatBool(s.Key == ""))
	if s.Key != "" {
		s.process.Env = append(s.process.Env, "AUTHENTICATION_APIKEY_ENABLED=true", "AUTHENTICATION_APIKEY_ALLOWED_KEYS="+s.Key, "AUTHENTICATION_APIKEY_USERS=sluice",
			"AUTHORIZATION_ADMINLIST_ENABLED=true", "AUTHORIZATION_ADMINLIST_USERS=sluice")
	}
	if s.cluster != nil {
		var gossip, raft []string
		for _, other := range s.cluster {
			raft = append(raft, fmt.Sprintf("%s:%d", other.name, other.ports[4]))
			if other != s && other.gossips() {
				gossip = append(gossip, fmt.Sprintf("127.0.0.1:%d", other.ports[2]))
			}
		}
		s.process.Env = append(s.process.Env, "CLUSTER_IN_LOCALHOST=true", "CLUSTER_JOIN="+strings.Join(gossip, ","), "RAFT_JOIN="+strings.Join(raft, ","))
	}
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/v1/.well-known/ready", s.ports[0]))
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-deadline:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("Weaviate does not start: %s", text)
		case <-tick.C:
		}
	}
}

// Stop kills the server.
func (s *Server) Stop() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

func (s *Server) remove() {
	if s.process != nil && s.process.Process != nil && s.process.ProcessState == nil {
		s.Stop()
	}
	_ = os.RemoveAll(s.folder)
}
