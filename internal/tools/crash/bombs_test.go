package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// maxServerMemory is the documented peak of the server's own resident memory, in bytes.
const maxServerMemory = 1_288_490_189 // 1.2 GiB

// TestBombs uploads documents that were made to exhaust a parser. Each ends as read or as failed with a reason, the server stays
// within its memory, and an ordinary document is read afterwards.
func TestBombs(t *testing.T) {
	want(t, *bombs, "bombs")
	w := newWorld(report.add("bombs"))
	defer w.report(t)
	addr, data := freeAddr(t), filepath.Join(t.TempDir(), "data")
	p := start(t, addr, data)
	if _, err := p.ready(patience); err != nil {
		t.Fatalf("%v\n%s", err, p.output())
	}
	c := newClient(t, addr)
	if _, err := c.CreateStore(t.Context(), knowledge.VectorStoreRequest{ID: storeID, Name: storeID}); err != nil {
		t.Fatal(err)
	}
	for name, content := range parsetest.Bombs() {
		if w.found.tried == *bombs {
			break
		}
		w.found.tried++
		id := "bomb-" + strconv.Itoa(w.found.tried)
		reason, err := w.explode(t.Context(), c, id, name, content)
		if err != nil {
			w.unexplained("%s: %v", name, err)
		}
		if reason != "" {
			w.found.refused++
		}
		t.Logf("%s (%d bytes): %s; the server's peak is %d MiB", name, len(content), reason, p.peak()>>20)
		select {
		case <-p.done:
			t.Fatalf("the server exited after %s\n%s", name, p.output())
		default:
		}
	}
	w.upload(t.Context(), c)
	w.verify(t.Context(), c)
	if peak := p.peak(); peak > maxServerMemory {
		w.unexplained("the server's memory had a peak of %d MiB", peak>>20)
	}
}

// explode uploads a bomb and waits until it is read, or failed with a reason.
func (w *world) explode(ctx context.Context, c *client.Client, id, name string, content []byte) (reason string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	if _, err := c.Upload(ctx, name, bytes.NewReader(content), int64(len(content)), client.UploadOptions{ID: id}); err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	_, err = c.Wait(ctx, "upload-"+id, nil)
	if failed, ok := errors.AsType[*client.TaskError](err); ok {
		if failed.Error() == "" || strings.Contains(failed.Error(), "internal error") {
			return "", fmt.Errorf("failed without a reason: %w", err)
		}
		return failed.Error(), nil
	}
	return "", err
}

// peak is the largest resident memory that the server itself had, in bytes; 0 where the system does not tell.
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
