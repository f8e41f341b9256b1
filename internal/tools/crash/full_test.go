package crash_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/disk/disktest"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/forge"
)

// insufficientStorage is the documented code of a request that needs room on a full disk.
const insufficientStorage fault.Code = "INSUFFICIENT_STORAGE"

// TestDiskFull fills the disk while the server runs. Requests that need room get the documented code, deletions work, and when
// there is room again the server goes on without a restart and has everything that it acknowledged.
func TestDiskFull(t *testing.T) {
	skipIfZero(t, *fills, "fills")
	mount := disktest.Small(t, "24m")
	w := newWorld(report.add("full disk"))
	defer w.report(t)
	addr, data := freeAddr(t), filepath.Join(mount, "data")
	p := start(t, addr, data, "--docs", "../../../docs/concepts.md")
	if _, err := p.ready(patience); err != nil {
		t.Fatalf("%v\n%s", err, p.output())
	}
	c, once := newClient(t, addr), quickClient(t, addr)
	ctx := t.Context()
	if _, err := c.CreateStore(ctx, client.VectorStoreRequest{ID: storeID, Name: storeID}); err != nil {
		t.Fatal(err)
	}
	for range *fills {
		for range 3 {
			w.upload(ctx, c)
			w.ask(ctx, c, "forge")
		}
		free := disktest.Fill(t, mount, 0)
		w.testFullDisk(ctx, once, p)
		free()
		if page, err := p.ready(patience); err != nil {
			w.unexplained("there is room, and the server is not ready: %v\n%s\n%s", err, page, p.output())
			return
		}
		w.upload(ctx, c)
		w.ask(ctx, c, "forge")
		w.ask(ctx, c, "knowledge")
		w.verify(ctx, c)
		p.kill()
		p = start(t, addr, data, "--docs", "../../../docs/concepts.md")
		if _, err := p.ready(patience); err != nil {
			t.Fatalf("%v\n%s", err, p.output())
		}
		w.verify(ctx, c)
	}
}

// testFullDisk makes all kinds of requests to a server whose disk is full.
func (w *world) testFullDisk(ctx context.Context, c *client.Client, p *process) {
	w.found.tried++
	err := uploadOnly(ctx, c, "full-"+w.name())
	if fault.CodeOf(err) != insufficientStorage {
		w.unexplained("an upload to a full disk: %v", err)
	} else {
		w.found.refused++
	}
	refused := false
	for range 20 { // the first ones may still fit the last block of a file
		w.found.tried++
		if _, err := c.AskOnce(ctx, forge.Request{Query: "What is a run?", Mode: "direct", NoCache: true}); err != nil {
			if refused = true; fault.CodeOf(err) != insufficientStorage {
				w.unexplained("a question with a full disk: %v", err)
			} else {
				w.found.refused++
			}
		}
	}
	if !refused {
		w.unexplained("questions are answered though there is no room for their runs")
	}
	status, page := get(ctx, p.url+"/readyz")
	for until := time.Now().Add(5 * time.Second); status == http.StatusOK && time.Now().Before(until); { // it may show the state of a second ago
		status, page = get(ctx, p.url+"/readyz")
	}
	if status != http.StatusServiceUnavailable || !strings.Contains(page, string(insufficientStorage)) && !strings.Contains(page, "full") && !strings.Contains(page, "space") {
		w.unexplained("readiness with a full disk: %d %s", status, page)
	}
	w.remove(ctx, c)
	w.deleteRun(ctx, c)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.files {
		if f.state == deleting {
			w.found.unexplained++
			w.failed = append(w.failed, "a file cannot be deleted on a full disk")
		}
	}
	for _, q := range w.asked {
		if q.state == deleting {
			w.found.unexplained++
			w.failed = append(w.failed, "a run cannot be deleted on a full disk")
		}
	}
}

func uploadOnly(ctx context.Context, c *client.Client, name string) error {
	text := strings.Repeat("The ferry leaves at nine. ", 4000)
	_, err := c.Upload(ctx, name+".md", strings.NewReader(text), int64(len(text)), client.UploadOptions{ID: name})
	return err
}
