package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// maxServerMemory is the documented peak of the server's own resident memory, in bytes: a little below 1.2 GiB.
const maxServerMemory = 1200 << 20

// exhausted is the reason of a file that exceeds a limit. Which limit it exceeds first depends on the machine.
var exhausted = regexp.MustCompile("needs more than 512 MiB of memory to read|reading it took longer than 2s")

// again is a bomb that exceeds the memory at once, on slow and on busy machines too.
const again = "predictor-columns.pdf"

// TestSizeOfBombs gives the server files of package parsetest: some in its folder at start, and a random quarter of all as uploads, since all take minutes; see
// the flag bombs. Each must be read or fail with a reason, the memory of the server must stay within the documented limit, and an ordinary file must be read afterwards. The
// second start must not parse failed files again.
func TestSizeOfBombs(t *testing.T) {
	race.Measure(t)
	skipIfZero(t, *bombs, "bombs")
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	w := newWorld(report.add("bombs"))
	defer w.report(t)
	addr, data, docs := freeAddr(t), filepath.Join(t.TempDir(), "data"), t.TempDir()
	name, ordinary := parsetest.Ordinary()
	folder := map[string][]byte{name: ordinary}
	for _, bomb := range []string{again, "array-long.pdf", "glyph-text.pdf", "commas.csv", "formatting-rebuilt.html", "table-wide.md"} {
		folder[bomb] = parsetest.Bomb(bomb)
	}
	for name, content := range folder {
		require.NoError(t, os.WriteFile(filepath.Join(docs, name), content, 0o600))
	}
	args := []string{"--docs", docs, "--parse-time", "2s"}
	p := start(t, addr, data, args...)
	if _, err := p.ready(2 * patience); err != nil || !exhausted.MatchString(p.output()) {
		t.Fatalf("at start: %v\n%s", err, p.output())
	}
	c := newClient(t, addr)
	n, first := 0, rand.IntN(*bombs)
	for name, content := range parsetest.Bombs() {
		if n++; n%*bombs == first {
			w.found.tried++
			w.explode(t, c, p, name, content)
		}
	}
	if reason, err := ingestOne(t.Context(), c, name, ordinary); reason != "" || err != nil {
		w.unexplained("an ordinary file afterwards: %s, %v", reason, err)
	}
	t.Logf("%d files read, %d refused, the server's peak is %d MiB", w.found.tried-w.found.refused, w.found.refused, p.peak()>>20)
	if err := p.stop(); err != nil {
		w.unexplained("the server's end: %v\n%s", err, p.output())
	}
	w.startAgain(t, addr, data, len(folder[again]), args)
}

// explode uploads a bomb and checks the result.
func (w *world) explode(t *testing.T, c *client.Client, p *process, name string, content []byte) {
	t.Helper()
	if len(content) > parsetest.MaxBytes {
		t.Errorf("%s has %d bytes", name, len(content))
	}
	switch reason, err := ingestOne(t.Context(), c, name, content); {
	case err != nil:
		t.Fatalf("%s: %v\n%s", name, err, p.output())
	case strings.Contains(reason, "failed") || strings.Contains(reason, "unforeseen") || reason == "it could not be indexed":
		w.unexplained("%s: the reason says nothing: %s", name, reason)
	case reason != "":
		w.found.refused++
	}
	if got := p.peak(); got > maxServerMemory || got == 0 {
		t.Fatalf("%s: the server's peak is %d MiB", name, got>>20)
	}
}

// startAgain starts the server a second time. It must not parse the bomb of the given size again, which would change its entry in the file of failures.
func (w *world) startAgain(t *testing.T, addr, data string, size int, args []string) {
	t.Helper()
	kept, err := os.ReadFile(filepath.Join(data, "failures.json"))
	require.NoError(t, err)
	p := start(t, addr, data, args...)
	if _, err := p.ready(2 * patience); err != nil {
		t.Fatalf("the second start: %v\n%s", err, p.output())
	}
	now, err := os.ReadFile(filepath.Join(data, "failures.json"))
	bomb := fmt.Appendf(nil, `"bytes":%d,`, size) // other files may take too long now that did not before
	if err != nil || bytes.Count(kept, bomb) != 1 || bytes.Count(now, bomb) != 1 || !exhausted.MatchString(p.output()) {
		w.unexplained("the second start parsed a bomb again: %s, %v\n%s", now, err, p.output())
	}
}

// ingestOne uploads a file, waits until it is read, and deletes it. It returns the reason if the file failed.
func ingestOne(ctx context.Context, c *client.Client, name string, content []byte) (reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	f, err := c.Upload(ctx, name, bytes.NewReader(content), int64(len(content)), client.UploadOptions{})
	if err != nil {
		return "", err
	}
	if _, err = c.WaitForTask(ctx, f.TaskID, nil); err != nil {
		failed, ok := errors.AsType[*client.TaskError](err)
		if !ok {
			return "", err
		}
		reason = failed.Task.FailureReason
	}
	return reason, c.DeleteFile(ctx, f.ID)
}

// peak is the largest resident memory that the server itself had, in bytes; 0 if it has ended.
func (p *process) peak() int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kb), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
