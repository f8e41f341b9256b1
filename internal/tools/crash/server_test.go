package crash_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// patience bounds each wait for the server. A wait that takes longer is a failure.
const patience = 90 * time.Second

// process is a running server.
type process struct {
	cmd  *exec.Cmd
	url  string
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; read after done

	mu  sync.Mutex
	log []string
}

// start runs the server on a data folder, with the race detector if the tests have it. It returns before the server listens: see
// [process.ready].
func start(t *testing.T, addr, data string, args ...string) *process {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	p := &process{url: "http://" + addr, done: make(chan struct{})}
	p.cmd = exec.Command(path, append([]string{"serve", "--addr", addr, "--data", data, "--log-format", "text"}, args...)...)
	p.cmd.Env, p.cmd.SysProcAttr = environment(), attributes()
	out, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		p.read(out)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

// environment returns the environment of the test without settings of Sluice.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SLUICE_") {
			env = append(env, v)
		}
	}
	return env
}

func (p *process) read(r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		p.mu.Lock()
		p.log = append(p.log, lines.Text())
		p.mu.Unlock()
	}
}

// output returns what the server has logged so far.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// kill ends the process at once and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// stop ends the process as an operator would.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		p.kill()
		return errors.New("the server did not stop")
	}
}

var errExited = errors.New("the server exited")

// ready waits until the server is ready for questions, and returns the text of its readiness page. A server that stays degraded is
// an error with that text.
func (p *process) ready(within time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	var page string
	for {
		code, body := get(ctx, p.url+"/readyz")
		if page = body; code == http.StatusOK {
			return page, nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return "", errExited
		case <-ctx.Done():
			return page, fmt.Errorf("the server is not ready after %s: %s", within, page)
		}
	}
}

func get(ctx context.Context, url string) (status int, body string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err.Error()
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(raw)
}

// freeAddr returns a loopback address without a listener.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// newClient is a client that outlives restarts of its server.
func newClient(t *testing.T, addr string) *client.Client {
	t.Helper()
	return withRetries(t, addr, 200)
}

// quickClient is a client that hardly repeats a request, for servers that are expected to fail.
func quickClient(t *testing.T, addr string) *client.Client {
	t.Helper()
	return withRetries(t, addr, 1)
}

func withRetries(t *testing.T, addr string, n int) *client.Client {
	t.Helper()
	c, err := client.New("http://"+addr, client.Options{Retries: n, Backoff: 20 * time.Millisecond})
	require.NoError(t, err)
	return c
}

// broken are lines of the log that no scenario explains.
var broken = regexp.MustCompile(`(?i)panic|runtime error|fatal error|goroutine \d+ \[|DATA RACE`)

// faults returns the lines of the server's log that always indicate a bug.
func (p *process) faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, line := range p.log {
		if broken.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}
