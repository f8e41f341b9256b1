package ingest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

// peak returns the largest increase of the heap, in bytes, at a garbage collection while do ran.
func peak(do func()) int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtime.GC()
	metrics.Read(live)
	before, most := live[0].Value.Uint64(), uint64(0)
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(live)
			most = max(most, live[0].Value.Uint64())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	do()
	close(done)
	<-stopped
	return int(most) - int(before)
}

// TestSizeOfMemory indexes a text in which each word is different, the most expensive case. That takes about 100 times the size of
// the text, nearly all of it for one batch; a single batch for the whole text would take 280 times its size.
func TestSizeOfMemory(t *testing.T) {
	race.Measure(t)
	const size = 768 << 10
	random := rand.New(rand.NewPCG(1, 1))
	var tokens strings.Builder
	for tokens.Len() < size {
		fmt.Fprintf(&tokens, "%x ", random.Uint32())
	}
	dir := t.TempDir()
	x, err := embedded.Open(t.Context(), filepath.Join(dir, "index"), embedded.Options{})
	require.NoError(t, err)
	path := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(path, []byte(tokens.String()), 0o600))
	g := ingest.New(x, local.New(local.Options{}), ingest.Options{})
	got := peak(func() {
		if _, err := g.IngestFile(t.Context(), ingest.File{Collection: "files", ID: "f", Path: path, Name: "f.txt"}, nil); err != nil {
			t.Error(err)
		}
	})
	require.NoError(t, x.Close())
	t.Logf("%d MB, %d times the text", got>>20, got/size)
	if got > 140*size {
		t.Errorf("%d times a text of %d bytes", got/size, size)
	}
}

// TestDocumentTooLarge ingests documents whose text exceeds the limit of memory.
func TestDocumentTooLarge(t *testing.T) {
	dir := t.TempDir()
	g := ingest.New(newMemory(), nil, ingest.Options{})
	for name, c := range map[string]struct{ text, want string }{
		"paragraphs.txt": {strings.Repeat("a\n\n", 300_000), "holds more than 200000 paragraphs, rows and list items: split it"},
		"items.txt":      {strings.Repeat("- a\n", 300_000), "holds more than 200000 paragraphs, rows and list items: split it"},
		"paragraphs.md":  {strings.Repeat("a\n\n", 300_000), "holds more than 200000 paragraphs, rows and list items: split it"},
		"rows.csv":       {strings.Repeat("a,b\n", 300_000), "holds more than 200000 paragraphs, rows and list items: split it"},
		"sentences.txt":  {strings.Repeat("The sun is up. ", 250_000), "holds more than 200000 sections, passages and sentences: split it"},
		"long.txt":       {strings.Repeat("abcdefghi ", 4<<20), "holds more than 33554432 bytes of text"},
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		_, err := g.IngestFile(t.Context(), ingest.File{Collection: "files", ID: "f", Path: path, Name: name}, nil)
		if e := fault.Public(err); e == nil || e.Code != fault.TooLarge || e.Message != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
