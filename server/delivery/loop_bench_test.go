//go:build linux

package delivery

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
)

// BenchmarkLoop appends events to one run with a number of readers, whose streams are written by writer loops. An operation is an event for one reader. The readers
// are sockets that are read when they hold many events, so their share of the processor time is small.
func BenchmarkLoop(b *testing.B) {
	for _, readers := range []int{1, 100} {
		b.Run(fmt.Sprint(readers), func(b *testing.B) { benchmarkLoop(b, readers) })
	}
}

func benchmarkLoop(b *testing.B, readers int) {
	const run, drainEach = "run_0123456789", 100
	log := eventlog.NewMemory()
	seq := event.Seq(0)
	emit := func(body event.Body) {
		seq++
		require.NoError(b, log.Append(b.Context(), run, event.Event{Seq: seq, At: time.Now(), Body: body}))
	}
	emit(event.RunStarted{Run: run, Protocol: forge.Name, Question: event.Question{Query: "why?"}})
	hub, conns := testHub(b, memorySource{log}), NewConns(Loop, time.Minute)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	s := &http.Server{ConnContext: conns.ConnContext, ReadHeaderTimeout: time.Minute, Handler: conns.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hub.Serve(w, r, run, forge.Protocol{}, wire.Cursor{})
	}))}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	var clients []net.Conn
	for range readers {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(b, err)
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			b.Fatal(err)
		}
		if line, err := bufio.NewReaderSize(c, 16).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			b.Fatal(line, err)
		}
		clients = append(clients, c)
	}
	taken := func() int {
		conns.mu.Lock()
		defer conns.mu.Unlock()
		return len(conns.taken)
	}
	for taken() < readers {
		runtime.Gosched()
	}
	sent := func() bool { // what was appended; a worker ends when nothing is left
		conns.queue.mu.Lock()
		defer conns.queue.mu.Unlock()
		return conns.queue.workers == 0
	}
	drain := make([]byte, 1<<20)
	began := processorTime(b)
	b.ReportAllocs()
	b.ResetTimer()
	events := b.N / readers
	for i := range events {
		emit(event.Token{Text: " token"})
		for !sent() {
			runtime.Gosched()
		}
		if i%drainEach == drainEach-1 {
			for _, c := range clients {
				if _, err := c.Read(drain); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	if n := events * readers; n > 0 {
		b.ReportMetric(float64((processorTime(b)-began).Nanoseconds())/float64(n), "cpu-ns/event")
	}
}
