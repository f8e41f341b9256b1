//go:build linux

package chaos_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// The variables that make this program a NATS server or Sluice.
const (
	asNATS   = "TEST_AS_NATS"
	asSluice = "TEST_AS_SLUICE"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asNATS) != "":
		if err := serveNATS(os.Getenv(asNATS)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case os.Getenv(asSluice) != "":
		ctx, stop := interrupted()
		defer stop()
		os.Exit(cli.Main(ctx, strings.Split(os.Getenv(asSluice), "\n"), cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

// node is the configuration of a NATS server of the cluster.
type node struct {
	Name          string
	Port, Cluster int
	Routes        []string
	Store         string
}

// serveNATS runs a NATS server until the process is killed.
func serveNATS(text string) error {
	var n node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return err
	}
	o := &server.Options{ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, NoLog: true, NoSigs: true, JetStream: true, StoreDir: n.Store, SyncAlways: true}
	o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "chaos", "127.0.0.1", n.Cluster
	for _, r := range n.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: r})
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return errors.New("NATS does not start")
	}
	fmt.Fprintln(os.Stderr, "listening on", n.Port)
	select {}
}

// process is a process that can be killed and started again with the same variables.
type process struct {
	name string
	env  string

	mu  sync.Mutex
	cmd *exec.Cmd
	log strings.Builder // what it wrote to standard error
}

// start starts the process, and returns when it listens.
func (p *process) start() error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), p.env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.mu.Lock()
	p.cmd = cmd
	p.mu.Unlock()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	listening := false
	for !listening && lines.Scan() {
		listening = strings.HasPrefix(lines.Text(), "listening on ")
		p.keep(lines.Text())
	}
	if !listening {
		return fmt.Errorf("%s does not start: %s", p.name, p.said())
	}
	go func() {
		for lines.Scan() {
			p.keep(lines.Text())
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	return nil
}

func (p *process) keep(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.WriteString(time.Now().Format("05.000 ") + line + "\n")
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	_ = cmd.Process.Signal(s)
}

// end sends a signal that ends the process, and waits for the end.
func (p *process) end(s syscall.Signal) error {
	p.signal(s)
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	return cmd.Wait()
}

// group is the servers and their engines.
type group struct {
	servers, nats []*process
	urls          []string // of the servers
	store         string   // URL of the database
	data          []string // folders of the servers
	nodes         string   // addresses of NATS
}

const handbook = "# Harbour\n\nA ship pays 12 euros for each metre of its length. Fishing boats pay nothing.\n\n## Locks\n\nThe north lock opened in 1931.\n"

// startNATS starts the NATS servers of a group.
func startNATS(t *testing.T) *group {
	t.Helper()
	g := &group{}
	ports := natstest.Ports(t, 6)
	var routes, addresses []string
	for i := range 3 {
		routes = append(routes, fmt.Sprintf("127.0.0.1:%d", ports[3+i]))
		addresses = append(addresses, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	g.nodes = strings.Join(addresses, ",")
	for i := range 3 {
		text, err := json.Marshal(node{Name: fmt.Sprint("nats-", i), Port: ports[i], Cluster: ports[3+i], Routes: routes, Store: t.TempDir()})
		require.NoError(t, err)
		g.nats = append(g.nats, &process{name: fmt.Sprint("nats-", i), env: asNATS + "=" + string(text)})
	}
	t.Cleanup(func() {
		for _, p := range g.nats {
			if p.cmd != nil {
				_ = p.end(syscall.SIGKILL)
			}
		}
	})
	var starting sync.WaitGroup
	for _, p := range g.nats {
		starting.Go(func() {
			if err := p.start(); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	return g
}

// startGroup starts the engines and the servers, whose model is at an address. more are further arguments of the servers, which may contain the addresses of
// NATS as NODES.
func startGroup(t *testing.T, model string, more ...string) *group {
	t.Helper()
	g := startNATS(t)
	g.store = postgrestest.URL(t)
	ports := natstest.Ports(t, 3)
	docs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(docs, "harbour.md"), []byte(handbook), 0o600))
	for i := range 3 {
		data := t.TempDir()
		args := []string{"serve", fmt.Sprintf("--addr=127.0.0.1:%d", ports[i]), "--docs=" + docs, "--data=" + data, "--judge=none", "--model-url=" + model, "--no-cache",
			"--deadline=5m", "--grace=5m", "--heartbeat=500ms", "--model-stall=1m", "--log=" + g.nodes, "--log-replicas=3", "--keep-runs-bytes=256MiB", "--store=" + g.store, "--price=default base=0.001", "--max-runs-per-client=1000",
			"--public-url=https://sluice.example.com", "--log-format=text"}
		for _, a := range more {
			args = append(args, strings.ReplaceAll(a, "NODES", g.nodes))
		}
		g.servers = append(g.servers, &process{name: fmt.Sprint("sluice-", i), env: asSluice + "=" + strings.Join(args, "\n")})
		g.urls, g.data = append(g.urls, fmt.Sprintf("http://127.0.0.1:%d", ports[i])), append(g.data, data)
	}
	t.Cleanup(func() {
		for _, p := range g.servers {
			if p.cmd != nil {
				_ = p.end(syscall.SIGKILL)
			}
			if t.Failed() {
				t.Logf("%s:\n%s", p.name, tail(p.said(), 6000))
			}
		}
	})
	for i, p := range g.servers {
		require.NoError(t, p.start())
		require.NoError(t, g.ready(t.Context(), i))
	}
	return g
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// ready waits until a server is ready.
func (g *group) ready(ctx context.Context, i int) error {
	for begun := time.Now(); time.Since(begun) < time.Minute && ctx.Err() == nil; <-time.After(50 * time.Millisecond) {
		res, err := http.Get(g.urls[i] + "/readyz")
		if err != nil {
			continue
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("%s is not ready", g.servers[i].name)
}
