package crash_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// TestKills kills the server at random moments while files are uploaded and deleted and answers are streamed, each in
// a session. After each restart, everything that was acknowledged is there, everything that was deleted is not, and every reader gets the end of its
// run.
func TestKills(t *testing.T) {
	skipIfZero(t, *kills, "kills")
	w := newWorld(report.add("kills"))
	defer w.report(t)
	model := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Ada ", "Brook ", "is ", "the ", "harbour ", "master ", "and ", "the ", "ferry ",
		"leaves ", "at ", "nine ", "⟦1⟧", "."}, Every: 4 * time.Millisecond})
	addr, data := freeAddr(t), filepath.Join(t.TempDir(), "data")
	args := []string{"--docs", "../../../docs/concepts.md", "--model-url", model.URL, "--judge", "none", "--price", "default base=0.01 second=0.001"}
	fund(t, data)
	c := newClient(t, addr)
	p := start(t, addr, data, args...)
	if _, err := p.ready(patience); err != nil {
		t.Fatalf("%v\n%s", err, p.output())
	}
	if _, err := c.CreateStore(t.Context(), client.VectorStoreRequest{ID: storeID, Name: storeID}); err != nil {
		t.Fatal(err)
	}
	for range *kills {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		readers := w.work(ctx, c)
		for range 1 + w.intn(150) {
			<-w.steps
		}
		p.kill()
		for _, line := range p.faults() {
			w.unexplained("the server logged %s", line)
		}
		readers.stop()
		p = start(t, addr, data, args...)
		if _, err := p.ready(patience); err != nil {
			t.Fatalf("%v\n%s", err, p.output())
		}
		readers.wait()
		w.verify(ctx, c)
		cancel()
		if t.Failed() {
			return
		}
	}
	if err := p.stop(); err != nil {
		w.unexplained("the server's end: %v\n%s", err, p.output())
	}
	w.verifyLedger(t, data)
}

// work is the load during the kills.
type work struct {
	ended chan struct{}
	wait  func()
}

// stop lets each worker finish its current request.
func (k *work) stop() { close(k.ended) }

// work starts workers that upload, delete and ask until they are stopped.
func (w *world) work(ctx context.Context, c *client.Client) *work {
	k := &work{ended: make(chan struct{})}
	var all sync.WaitGroup
	again := func(do func()) {
		all.Go(func() {
			for {
				select {
				case <-k.ended:
					return
				case <-ctx.Done():
					return
				default:
					do()
				}
			}
		})
	}
	again(func() { w.upload(ctx, c) })
	again(func() { w.upload(ctx, c); w.remove(ctx, c) })
	again(func() { w.ask(ctx, c, "forge") })
	again(func() { w.talk(ctx, c) })
	again(func() { w.ask(ctx, c, "knowledge"); w.deleteRun(ctx, c) })
	k.wait = all.Wait
	return k
}
