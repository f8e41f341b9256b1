//go:build linux

package sqlstore_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
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

	_ "github.com/jackc/pgx/v5/stdlib"
)

// errNoPostgres is returned if the programs are missing.
var errNoPostgres = errors.New("PostgreSQL is not installed: scripts/needs.sh installs it")

// cluster is a PostgreSQL of its own in a temporary folder. It does not run as root, because PostgreSQL refuses that.
type cluster struct {
	folder string
	server *exec.Cmd
	schema atomic.Int64
}

// started is the cluster of all tests. TestMain stops it.
var started = sync.OnceValues(func() (*cluster, error) {
	initdb, err := program("initdb")
	if err != nil {
		return nil, err
	}
	postgres, err := program("postgres")
	if err != nil {
		return nil, err
	}
	c := &cluster{}
	if c.folder, err = os.MkdirTemp("", "pg"); err != nil { // short: it holds a socket
		return nil, err
	}
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT} // if a test panics
	if os.Getuid() == 0 {
		if attributes.Credential, err = nobody(); err != nil {
			return c, err
		}
		if err := os.Chown(c.folder, int(attributes.Credential.Uid), int(attributes.Credential.Gid)); err != nil {
			return c, err
		}
	}
	data := filepath.Join(c.folder, "data")
	init := exec.Command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	init.SysProcAttr, init.Dir = attributes, c.folder
	if out, err := init.CombinedOutput(); err != nil {
		return c, fmt.Errorf("initdb: %w: %s", err, out)
	}
	c.server = exec.Command(postgres, "-D", data, "-k", c.folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200")
	c.server.SysProcAttr, c.server.Dir = attributes, c.folder
	log, err := c.server.StderrPipe()
	if err != nil {
		return c, err
	}
	if err := c.server.Start(); err != nil {
		return c, err
	}
	return c, ready(log)
})

// ready waits until the server accepts connections, and then discards what it logs.
func ready(log io.Reader) error {
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

// program finds a program of PostgreSQL, which Debian does not put into the path.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is valid
	if len(found) == 0 {
		return "", errNoPostgres
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

func (c *cluster) source(schema string) string {
	return fmt.Sprintf("host=%s user=postgres dbname=postgres search_path=%s", c.folder, schema)
}

func (c *cluster) stop() {
	if c.server != nil && c.server.Process != nil {
		_ = c.server.Process.Signal(syscall.SIGINT) // fast shutdown
		_ = c.server.Wait()
	}
	_ = os.RemoveAll(c.folder)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if used.Load() {
		if c, _ := started(); c != nil {
			c.stop()
		}
	}
	os.Exit(code)
}

var used atomic.Bool

// postgres returns a function that opens connections to a new schema.
func postgres(t *testing.T) func(t *testing.T) func() *sql.DB {
	used.Store(true)
	c, err := started()
	if errors.Is(err, errNoPostgres) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) func() *sql.DB {
		schema := fmt.Sprint("test", c.schema.Add(1))
		admin := open(t, "pgx", c.source("public"))
		if _, err := admin.Exec("CREATE SCHEMA " + schema); err != nil {
			t.Fatal(err)
		}
		return func() *sql.DB { return open(t, "pgx", c.source(schema)) }
	}
}
