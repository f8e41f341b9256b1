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

// patience bounds the wait for what should take no time at all.
const patience = 10 * time.Second

// side is a process that serves for a measurement, as [Serve], [Provide] and [Relay] do.
type side struct {
	cmd           *exec.Cmd
	stdin         io.Closer
	addr, control string
}

func start(ctx context.Context, exe string, args []string) (*side, error) {
	s := &side{cmd: exec.CommandContext(ctx, exe, args...)}
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	s.cmd.Stderr = &said
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	if _, err := fmt.Fscan(bufio.NewReader(out), &s.addr, &s.control); err != nil {
		err = errors.Join(err, s.stop())
		return nil, fmt.Errorf("start server: %s: %w", strings.TrimSpace(said.String()), err)
	}
	return s, nil
}

func (s *side) stop() error {
	_ = s.stdin.Close() // it is open until here
	return s.cmd.Wait()
}

func (s *side) usage(ctx context.Context, query string) (u Usage, err error) {
	err = getJSON(ctx, "http://"+s.control+"/usage"+query, &u)
	return u, err
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

// program is this program's own server, with a data folder that goes with it.
type program struct {
	cmd *exec.Cmd
	dir string
	url string
}

// serve starts this program's server with its usual settings and what args say, in an environment (nil: this process's).
func serve(ctx context.Context, exe string, env, args []string) (p *program, err error) {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", dir}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = env
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %w", err), os.RemoveAll(dir))
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w", err), os.RemoveAll(dir))
	}
	p = &program{cmd: cmd, dir: dir}
	if p.url, err = listening(out); err == nil {
		err = p.ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// ready waits until the server has indexed its documents.
func (p *program) ready(ctx context.Context) error {
	for {
		if _, err := get(ctx, p.url+"/readyz"); err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ownSettings is the environment without settings and keys, for measurements that no setting is to change.
func ownSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "SLUICE_") || strings.HasPrefix(v, "OPENAI_") || strings.HasPrefix(v, "ANTHROPIC_")
	})
}

// addr is where it listens.
func (p *program) addr() string { return strings.TrimPrefix(p.url, "http://") }

func (p *program) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	return errors.Join(p.cmd.Wait(), os.RemoveAll(p.dir))
}

// cpu is the server's processor time, user and system, as its metrics tell it: in hundredths of a second.
func (p *program) cpu(ctx context.Context) (time.Duration, error) {
	body, err := get(ctx, p.url+"/metrics")
	if err != nil {
		return 0, err
	}
	return cpuOf(body)
}

// cpuOf finds the processor time in figures of the Prometheus text format.
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
	return 0, errors.New("read metrics: they do not tell the processor time")
}

// listening reads what a server says until it says where it listens, and goes on reading.
func listening(out io.Reader) (url string, err error) {
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		if u, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return u, nil
		}
		said = append(said, lines.Text())
	}
	return "", fmt.Errorf("the server did not start: %s", strings.Join(said, "; "))
}
