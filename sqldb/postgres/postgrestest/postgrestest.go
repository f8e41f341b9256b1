//go:build linux

// Package postgrestest runs a real PostgreSQL for tests, from the programs of Debian's package.
package postgrestest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sluice-rag/sluice/sqldb/postgres"
)

// unixPort is part of the name of the socket of a server without TCP.
const unixPort = "5432"

// errMissing is returned if the programs are missing.
var errMissing = errors.New("PostgreSQL is not installed: scripts/needs.sh installs it")

// Server is a PostgreSQL of its own in a temporary folder. It does not run as root, because PostgreSQL refuses that.
type Server struct {
	folder   string
	user     *syscall.SysProcAttr
	port     string
	args     []string
	process  *exec.Cmd
	database atomic.Int64
}

// shared is the server of the tests of a process that run at the same time. The last one of them stops it.
var shared struct {
	sync.Mutex
	server *Server
	users  int
}

// URL returns the URL of a new database on a server that the tests of the process share. Without PostgreSQL, it skips the test, except in CI.
func URL(t testing.TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.users == 0 {
		s, err := start(unixPort, nil)
		if err != nil && s != nil {
			s.remove()
		}
		check(t, err)
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
	return shared.server.URL(t)
}

// Open connects to a database until the end of a test.
func Open(t testing.TB, url string) *postgres.Database {
	t.Helper()
	db, err := postgres.Open(t.Context(), url)
	check(t, err)
	t.Cleanup(db.Close)
	return db
}

// New starts a server for one test.
func New(t testing.TB) *Server { return newServer(t, unixPort, nil) }

// TLS starts a server for one test that speaks TLS at a port of 127.0.0.1, and returns the address of a new database without options.
func TLS(t testing.TB, certificate tls.Certificate) string {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	files := map[string]*pem.Block{"server.crt": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, "server.key": {Type: "PRIVATE KEY", Bytes: key}}
	u, err := url.Parse(newServer(t, port, files, "-c", "listen_addresses="+host, "-c", "ssl=on").URL(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.RawQuery = net.JoinHostPort(host, port), ""
	return u.String()
}

// newServer starts a server with files in its data folder, which are named in further arguments or by default.
func newServer(t testing.TB, port string, files map[string]*pem.Block, args ...string) *Server {
	t.Helper()
	s, err := start(port, files, args...)
	t.Cleanup(func() {
		if s != nil {
			s.remove()
		}
	})
	check(t, err)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func start(port string, files map[string]*pem.Block, args ...string) (*Server, error) {
	initdb, err := program("initdb")
	if err != nil {
		return nil, err
	}
	s := &Server{port: port, args: args, user: &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}} // if a test panics
	if s.folder, err = os.MkdirTemp("", "pg"); err != nil {                                     // short: it holds a socket
		return nil, err
	}
	if os.Getuid() == 0 {
		if s.user.Credential, err = nobody(); err != nil {
			return s, err
		}
		if err := os.Chown(s.folder, int(s.user.Credential.Uid), int(s.user.Credential.Gid)); err != nil {
			return s, err
		}
	}
	init := exec.Command(initdb, "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	init.SysProcAttr, init.Dir = s.user, s.folder
	if out, err := init.CombinedOutput(); err != nil {
		return s, fmt.Errorf("initdb: %w: %s", err, out)
	}
	for name, block := range files {
		path := filepath.Join(s.data(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			return s, err
		}
		if c := s.user.Credential; c != nil {
			if err := os.Chown(path, int(c.Uid), int(c.Gid)); err != nil {
				return s, err
			}
		}
	}
	return s, s.run()
}

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// run starts the process and waits until it accepts connections.
func (s *Server) run() error {
	postgres, err := program("postgres")
	if err != nil {
		return err
	}
	args := append([]string{"-D", s.data(), "-k", s.folder, "-p", s.port, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"}, s.args...)
	s.process = exec.Command(postgres, args...)
	s.process.SysProcAttr, s.process.Dir = s.user, s.folder
	log, err := s.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(log)
	var text strings.Builder
	for lines.Scan() {
		if strings.Contains(lines.Text(), "ready to accept connections") {
			go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the server
			return nil
		}
		text.WriteString(lines.Text() + "\n")
	}
	return fmt.Errorf("PostgreSQL does not start: %s", text.String())
}

// Stop stops the server, which ends its connections.
func (s *Server) Stop() {
	_ = s.process.Process.Signal(syscall.SIGINT) // fast shutdown
	_ = s.process.Wait()
}

// Start starts the server after [Server.Stop].
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
}

// URL returns the URL of a new database.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("test", s.database.Add(1))
	Exec(t, s.address("postgres"), "CREATE DATABASE "+name)
	return s.address(name)
}

func (s *Server) address(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s&port=%s", database, s.folder, s.port)
}

// Exec runs statements in a database.
func Exec(t testing.TB, url, statements string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Exec(t.Context(), statements, pgx.QueryExecModeSimpleProtocol)
	if err := errors.Join(err, c.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) remove() {
	if s.process != nil && s.process.Process != nil && s.process.ProcessState == nil {
		s.Stop()
	}
	_ = os.RemoveAll(s.folder)
}

// program finds a program of PostgreSQL, which Debian does not put into the path.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is valid
	if len(found) == 0 {
		return "", errMissing
	}
	return found[len(found)-1], nil
}

// nobody returns a user that is not root.
func nobody() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("no user to run PostgreSQL as")
}
