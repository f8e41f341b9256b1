package server_test

import (
	"bufio"
	"context"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/delivery"
)

// maxSlow is the memory of a slow reader without compression as docs/concepts.md states it, in bytes.
const maxSlow = 80 << 10

// TestSizeOfSlowReaders: the memory of a reader that does not read is bounded, however many events wait for it. The connections are in memory and have no
// buffers of a kernel.
func TestSizeOfSlowReaders(t *testing.T) {
	race.Measure(t)
	for _, writer := range []delivery.WriterMode{delivery.NetHTTP, delivery.Loop} {
		t.Run(string(writer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { slowReaders(t, writer) })
		})
	}
}

func slowReaders(t *testing.T, writer delivery.WriterMode) {
	const clients, tokens, size = 50, 400, 2000
	s := inMemory(t, script(func(ctx context.Context, r *answer.Recorder) error {
		if err := emit(ctx, r, analysed(event.CacheChecked{}, event.GenerationStarted{})...); err != nil {
			return err
		}
		for range tokens {
			if err := r.Emit(ctx, event.Token{Text: strings.Repeat("x", size)}); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}), engine.Options{Grace: time.Nanosecond}, server.Options{StreamWriter: writer})
	defer s.close()
	res := s.ask("why?")
	synctest.Wait()
	heap := func() int64 {
		synctest.Wait()
		for range 3 { // two collections empty the pools
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse) //nolint:gosec // far below the limit
	}
	before := heap()
	var conns []net.Conn
	for range clients {
		c := s.dial()
		conns = append(conns, c)
		write(t, c, "GET /runs/"+res.Header.Get("Sluice-Run-Id")+"/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		r := bufio.NewReaderSize(c, 16)
		for line := ""; line != "event: token\n"; {
			var err error
			if line, err = r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	if each := (heap() - before) / clients; each > maxSlow {
		t.Errorf("a slow reader takes %d KiB", each>>10)
	} else {
		t.Logf("a slow reader takes %d KiB", each>>10)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	_ = res.Body.Close()
}
