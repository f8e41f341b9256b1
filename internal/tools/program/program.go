// Package program runs sluice in processes of tests.
package program

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/output"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// Variable has the arguments of sluice, one a line, in processes that [Command] makes.
const Variable = "TEST_OF_SLUICE"

// Main runs the tests of a package, or sluice in a process that [Command] has made. It returns the exit status.
func Main(m *testing.M, sluice func(ctx context.Context, args []string) int) int {
	if args := os.Getenv(Variable); args != "" {
		return sluice(context.Background(), strings.Split(args, "\n"))
	}
	return m.Run()
}

// Command returns a command that runs the program of the test as sluice. The end of the test kills it. The test needs [Main].
func Command(t testing.TB, args ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), Variable+"="+strings.Join(args, "\n"))
	return c
}

// Server is a process of sluice serve.
type Server struct {
	URL     string
	Process *os.Process
	cmd     *exec.Cmd
	ended   chan struct{} // closed when all output is kept

	output output.Buffer
}

// Serve starts sluice serve and waits until it listens and its documents are indexed. The end of the test kills it.
func Serve(t testing.TB, c *exec.Cmd) *Server {
	t.Helper()
	s := &Server{cmd: c, ended: make(chan struct{})}
	c.Stdout = &s.output
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	s.Process = c.Process
	t.Cleanup(s.Kill)
	listening := make(chan string, 1)
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(io.TeeReader(stderr, &s.output)); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				listening <- url
			}
		}
	}()
	select {
	case s.URL = <-listening:
	case <-s.ended:
		t.Fatalf("the server did not start: %s", s.Output())
	}
	AwaitReady(t, s.URL)
	return s
}

// Kill kills the process and waits until its output is kept.
func (s *Server) Kill() {
	_ = s.Process.Kill()
	_ = s.Wait() // it was killed
}

// Wait waits until the process ends.
func (s *Server) Wait() error {
	<-s.ended
	return s.cmd.Wait()
}

// Output returns what the process has written to both outputs so far.
func (s *Server) Output() string { return s.output.String() }

// AwaitReady waits until a server has indexed its documents.
func AwaitReady(t testing.TB, url string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/readyz", nil)
	require.NoError(t, err)
	for {
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}
