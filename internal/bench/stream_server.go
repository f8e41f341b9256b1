package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/delivery"
	"github.com/sluice-rag/sluice/wire/forge"
)

// timeMark precedes the time of append, in Unix nanoseconds, in the text of a token.
const timeMark = '@'

// processUsage holds the resources that a process has used.
type processUsage struct {
	CPU    time.Duration `json:"cpu_ns"`       // user and system time since the start
	Memory int64         `json:"memory_bytes"` // resident, after garbage collection
}

// serveStreams runs one measured server until in ends. It prints two addresses to out: that of the server, and that of a
// handler that returns the processUsage. store is the log of the Sluice server; nil is a log in memory. If profile is not
// empty, the CPU profile of the process is written to that file.
func serveStreams(ctx context.Context, name string, rate float64, store eventlog.Store, profile string, in io.Reader, out io.Writer) error {
	ctx, cancel := whileOpen(ctx, in)
	defer cancel()
	l, control, err := listen(ctx)
	if err != nil {
		return err
	}
	stop, err := startProfile(profile)
	if err != nil {
		return err
	}
	defer stop()
	go func() { _ = http.Serve(control, http.HandlerFunc(usage)) }() //nolint:gosec // the parent is its only client
	fmt.Fprintln(out, l.Addr(), control.Addr())
	if name == serverRaw {
		return serveRaw(ctx, l, rate)
	}
	if !isSluice(name) {
		return serveBare(ctx, l, rate, name == serverChannel)
	}
	engine := engine.New(synthetic{rate}, engine.Options{Store: store, MaxRuns: 1 << 20, Deadline: time.Hour, Grace: time.Nanosecond})
	writer := delivery.NetHTTP
	if name == serverLoop {
		writer = delivery.Loop
	}
	s, err := server.New(engine, server.Options{Protocols: []server.Endpoint{{API: forge.API(), StreamPath: "/api/query/stream", ReplyPath: "/api/query"}}, Drain: time.Second,
		StreamWriter: writer})
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// whileOpen returns a context that is also cancelled at the end of in. The parent process closes in to stop this process.
func whileOpen(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return ctx, cancel
}

// listen opens the listener of the measured server and the listener of its statistics.
func listen(ctx context.Context) (l, control net.Listener, err error) {
	var c net.ListenConfig
	if l, err = c.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, fmt.Errorf("listen: %w", err)
	}
	if control, err = c.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		_ = l.Close()
		return nil, nil, fmt.Errorf("listen: %w", err)
	}
	return l, control, nil
}

func usage(w http.ResponseWriter, r *http.Request) {
	var u processUsage
	if r.URL.Query().Has("memory") {
		runtime.GC()
		debug.FreeOSMemory()
		u.Memory = resident()
	}
	u.CPU = cpuTime()
	_ = json.NewEncoder(w).Encode(u) // fails only if the parent process is gone
}

// resident returns the resident memory of the process in bytes, from /proc, or 0 on systems without /proc.
func resident() int64 {
	var size, pages int64
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(raw), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// ticks calls do at the rate until it fails or ctx ends. It starts at a random time within the first period, so that runs do
// not tick at the same time. With a rate of 0 it only waits for ctx.
func ticks(ctx context.Context, rate float64, do func() error) error {
	if rate <= 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	period := time.Duration(float64(time.Second) / rate)
	next := time.Now().Add(rand.N(period))
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := do(); err != nil {
			return err
		}
		next = next.Add(period)
		timer.Reset(time.Until(next))
	}
}

// timeToken returns the text of a token that holds the time at which it was made.
func timeToken() string {
	return string(strconv.AppendInt([]byte{' ', timeMark}, time.Now().UnixNano(), 10))
}

// synthetic answers each question with an endless stream of tokens.
type synthetic struct{ rate float64 }

// Answer implements [answer.Answerer].
func (s synthetic) Answer(ctx context.Context, r *answer.Recorder) error {
	for _, b := range []event.Body{
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "bench"},
		event.CacheChecked{},
		event.GenerationStarted{Model: "bench"},
	} {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return ticks(ctx, rateOf(r.State().Query, s.rate), func() error {
		return r.Emit(ctx, event.Token{Text: timeToken()})
	})
}

// rateOf returns the rate of a query: 0 for idleQuery.
func rateOf(query string, rate float64) float64 {
	if query == idleQuery {
		return 0
	}
	return rate
}

const idleQuery = "wait"

// serveBare serves the simplest possible handler, which writes and flushes each event. With channel, another goroutine sends
// it the events, as a model's client would; otherwise the handler creates them itself by a timer.
func serveBare(ctx context.Context, l net.Listener, rate float64, channel bool) error {
	h := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var q forge.Request
		if err != nil || json.Unmarshal(body, &q) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		b := &eventWriter{w: w, flusher: w.(http.Flusher)} // net/http's writer is one
		b.flusher.Flush()
		rate := rateOf(q.Query, rate)
		if channel {
			b.relay(r.Context(), rate)
			return
		}
		_ = ticks(r.Context(), rate, func() error { return b.write(timeToken()) })
	})}
	return serveUntil(ctx, h, l)
}

// serveUntil serves until ctx ends, then closes all connections.
func serveUntil(ctx context.Context, s *http.Server, l net.Listener) error {
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// eventWriter writes and flushes events.
type eventWriter struct {
	w       io.Writer
	flusher http.Flusher
	buf     []byte
	n       int
}

func (b *eventWriter) write(text string) error {
	b.n++
	b.buf = strconv.AppendInt(append(b.buf[:0], "id: "...), int64(b.n), 10)
	b.buf = append(b.buf, "\nevent: token\ndata: {\"type\":\"token\",\"content\":\""...)
	b.buf = append(b.buf, text...)
	b.buf = append(b.buf, "\"}\n\n"...)
	_, err := b.w.Write(b.buf)
	b.flusher.Flush()
	return err
}

// relay writes the tokens that another goroutine sends.
func (b *eventWriter) relay(ctx context.Context, rate float64) {
	ctx, cancel := context.WithCancel(ctx)
	tokens := make(chan string, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ticks(ctx, rate, func() error {
			select {
			case tokens <- timeToken():
			case <-ctx.Done():
			}
			return nil
		})
	}()
	defer func() {
		cancel()
		<-done
	}()
	for {
		select {
		case t := <-tokens:
			if b.write(t) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
