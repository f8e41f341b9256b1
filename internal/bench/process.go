package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// controlTimeout bounds operations that should take no time.
const controlTimeout = 10 * time.Second

// child is a server process of a measurement. It ends when its standard input is closed.
type child struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	addr    string // of the measured server
	control string // address of the statistics of the process
}

func start(ctx context.Context, exe string, args []string) (*child, error) {
	s := &child{cmd: exec.CommandContext(ctx, exe, args...)}
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	s.cmd.Stderr = &stderr
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	if _, err := fmt.Fscan(bufio.NewReader(out), &s.addr, &s.control); err != nil {
		err = errors.Join(err, s.stop())
		return nil, fmt.Errorf("start server: %s: %w", strings.TrimSpace(stderr.String()), err)
	}
	return s, nil
}

func (s *child) stop() error {
	_ = s.stdin.Close() // fails only if it is closed already
	return s.cmd.Wait()
}

func (s *child) usage(ctx context.Context, query string) (u processUsage, err error) {
	err = getJSON(ctx, "http://"+s.control+"/usage"+query, &u)
	return u, err
}

// begin lets the events of a measured server begin.
func (s *child) begin(ctx context.Context) error {
	_, err := get(ctx, "http://"+s.control+"/begin")
	return err
}

func getJSON(ctx context.Context, url string, dst any) error {
	body, err := get(ctx, url)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, dst); err != nil {
		return fmt.Errorf("read %s: %w", url, err)
	}
	return nil
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("get %s: %s", url, res.Status)
	}
	return body, err
}

// sluiceServer is a process of "sluice serve" with a temporary data folder.
type sluiceServer struct {
	cmd       *exec.Cmd
	dir       string
	url       string
	listening time.Time // when it reported its address
}

// startSluice starts a server with additional arguments, and waits until it is ready. A nil env is the environment of this process.
func startSluice(ctx context.Context, exe string, env, args []string) (p *sluiceServer, err error) {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, append([]string{sluiceCommand, "serve", "--addr", "127.0.0.1:0", "--data", dir}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = env
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w", err), os.RemoveAll(dir))
	}
	p = &sluiceServer{cmd: cmd, dir: dir}
	p.url, err = listening(out)
	p.listening = time.Now()
	if err == nil {
		err = p.ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// ready waits until the server has indexed its documents.
func (p *sluiceServer) ready(ctx context.Context) error {
	for {
		if _, err := get(ctx, p.url+"/readyz"); err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// cleanEnv returns the environment without settings and keys of Sluice, so that they do not affect a measurement.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "SLUICE_") || strings.HasPrefix(v, "OPENAI_") || strings.HasPrefix(v, "ANTHROPIC_")
	})
}

// addr returns the address of the server.
func (p *sluiceServer) addr() string { return strings.TrimPrefix(p.url, "http://") }

func (p *sluiceServer) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	return errors.Join(p.cmd.Wait(), os.RemoveAll(p.dir))
}

// cpu returns the processor time of the server, user and system, from its metrics. The resolution is 10 ms.
func (p *sluiceServer) cpu(ctx context.Context) (time.Duration, error) {
	body, err := get(ctx, p.url+"/metrics")
	if err != nil {
		return 0, err
	}
	return cpuOf(body)
}

// cpuOf parses the processor time from metrics in the Prometheus text format.
func cpuOf(metrics []byte) (time.Duration, error) {
	for line := range bytes.Lines(metrics) {
		if v, ok := bytes.CutPrefix(line, []byte("process_cpu_seconds_total ")); ok {
			seconds, err := strconv.ParseFloat(string(bytes.TrimSpace(v)), 64)
			if err != nil {
				return 0, fmt.Errorf("read metrics: %w", err)
			}
			return time.Duration(seconds * float64(time.Second)), nil
		}
	}
	return 0, errors.New("read metrics: no processor time")
}

// listening reads the output of a server until it reports its address, and discards the rest in the background.
func listening(out io.Reader) (url string, err error) {
	lines := bufio.NewScanner(out)
	var output []string
	for lines.Scan() {
		if u, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return u, nil
		}
		output = append(output, lines.Text())
	}
	return "", fmt.Errorf("start server: %s", strings.Join(output, "; "))
}
