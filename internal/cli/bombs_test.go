package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
)

// maxServer is the peak of resident memory that the server promises for any document, in bytes.
const maxServer = 1200 << 20 // a little below 1.2 GiB

// runningServer is a running program.
type runningServer struct {
	cmd *exec.Cmd
	url string
	log bytes.Buffer // until its folder was indexed
}

// exhausted is the reason of a file that took too much: which limit it meets first depends on the machine.
var exhausted = regexp.MustCompile("needs more than 512 MiB of memory to read|reading it took longer than 5s")

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// startServer runs the program until it listens and its folder is indexed.
func startServer(t *testing.T, program string, args ...string) *runningServer {
	t.Helper()
	s := &runningServer{cmd: exec.Command(program, append([]string{"serve", "--addr", "127.0.0.1:0", "--log-format", "text"}, args...)...)}
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	indexed := false
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.log.WriteString(lines.Text() + "\n")
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			s.url = m[1]
		}
		indexed = indexed || strings.Contains(lines.Text(), "documents are indexed")
		if s.url != "" && indexed {
			go func() {
				for lines.Scan() { // a pipe that nobody reads would stop the server
				}
			}()
			return s
		}
	}
	t.Fatalf("the server did not start:\n%s", s.log.String())
	return nil
}

// peak is the most resident memory that the server has had, in bytes.
func (s *runningServer) peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if err != nil || m == nil {
		t.Fatalf("the server is gone: %v", err)
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10
}

func (s *runningServer) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := s.cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestBombs gives a real server every file of package parsetest: some in its folder at start, all as uploads. Each must be read or fail with
// its reason, the server's memory must stay as promised, and an ordinary file must be read afterwards. The program is built without the race
// detector, whose memory is not the server's.
func TestBombs(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("takes minutes, and reads /proc")
	}
	program := filepath.Join(t.TempDir(), "sluice")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/sluice").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	docs, data := t.TempDir(), t.TempDir()
	name, ordinary := parsetest.Ordinary()
	folder := map[string][]byte{name: ordinary}
	for _, bomb := range []string{"array-long.pdf", "glyph-text.pdf", "commas.csv", "formatting-rebuilt.html", "table-wide.md"} {
		folder[bomb] = parsetest.Bomb(bomb)
	}
	for name, data := range folder {
		if err := os.WriteFile(filepath.Join(docs, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--docs", docs, "--data", data, "--parse-time", "5s"}
	s := startServer(t, program, args...)
	if !exhausted.Match(s.log.Bytes()) {
		t.Errorf("at start:\n%s", s.log.String())
	}
	kept, err := os.ReadFile(filepath.Join(data, "failures.json"))
	if err != nil || !exhausted.Match(kept) {
		t.Errorf("failures that are remembered: %s, %v", kept, err)
	}

	c, err := client.New(s.url, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	completed, failed := 0, 0
	for name, data := range parsetest.Bombs() {
		if len(data) > parsetest.MaxBytes {
			t.Errorf("%s has %d bytes", name, len(data))
		}
		switch reason, err := ingestOne(t.Context(), c, name, data); {
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		case reason == "":
			completed++
		case strings.Contains(reason, "failed") || strings.Contains(reason, "unforeseen") || reason == "it could not be indexed":
			t.Errorf("%s: the reason says nothing: %s", name, reason)
		default:
			failed++
		}
		if got := s.peak(t); got > maxServer {
			t.Fatalf("%s: the server's peak is %d MiB", name, got>>20)
		}
	}
	if completed+failed < 60 {
		t.Errorf("%d files", completed+failed)
	}
	if reason, err := ingestOne(t.Context(), c, name, ordinary); reason != "" || err != nil {
		t.Errorf("an ordinary file afterwards: %s, %v", reason, err)
	}
	t.Logf("%d files read, %d refused, peak %d MiB", completed, failed, s.peak(t)>>20)
	s.stop(t)

	if kept, err = os.ReadFile(filepath.Join(data, "failures.json")); err != nil {
		t.Fatal(err)
	}
	s = startServer(t, program, args...)
	again, err := os.ReadFile(filepath.Join(data, "failures.json"))
	bomb := fmt.Appendf(nil, `"bytes":%d,`, len(folder["array-long.pdf"])) // others may take too long now that did not before
	if err != nil || bytes.Count(kept, bomb) != 1 || bytes.Count(again, bomb) != 1 || !exhausted.Match(s.log.Bytes()) {
		t.Errorf("the second start parsed a bomb again: %s, %v\n%s", again, err, s.log.String())
	}
	s.stop(t)
}

// ingestOne uploads a file, waits until it is read, and deletes it. It gives the reason where the file failed.
func ingestOne(ctx context.Context, c *client.Client, name string, data []byte) (reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	f, err := c.Upload(ctx, name, bytes.NewReader(data), int64(len(data)), client.UploadOptions{})
	if err != nil {
		return "", err
	}
	if _, err = c.Wait(ctx, f.TaskID, nil); err != nil {
		failed, ok := errors.AsType[*client.TaskError](err)
		if !ok {
			return "", err
		}
		reason = failed.Task.FailureReason
	}
	return reason, c.DeleteFile(ctx, f.ID)
}
