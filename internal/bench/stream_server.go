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
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/delivery"
	"github.com/sluice-rag/sluice/wire/forge"
)

// processUsage holds the resources that a process has used.
type processUsage struct {
	CPU    time.Duration `json:"cpu_ns"` // user and system time since the start
	Frames int64         `json:"frames"` // that Sluice has written; 0: another server
	// After garbage collection, if it was requested:
	Memory      int64 `json:"memory_bytes,omitempty"` // resident
	Heap        int64 `json:"heap_bytes,omitempty"`
	Goroutines  int   `json:"goroutines,omitempty"`
	Descriptors int   `json:"descriptors,omitempty"` // open files and sockets
}

// serverOptions are the options of a measured server.
type serverOptions struct {
	name       string // one of servers
	rate       float64
	store      eventlog.Store // of Sluice; nil is a log in memory
	profile    string         // file for the CPU profile; "": none
	sendBuffer int            // of the sockets, in bytes; 0: that of the system
}

// serveStreams runs one measured server until in ends. It prints two addresses to out: that of the server, and that of a
// handler that returns the processUsage. Events begin after a request for the path /begin there.
func serveStreams(ctx context.Context, o serverOptions, in io.Reader, out io.Writer) error {
	ctx, cancel := whileOpen(ctx, in)
	defer cancel()
	l, control, err := listen(ctx, o.sendBuffer)
	if err != nil {
		return err
	}
	stop, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	defer stop()
	registry, begin := prometheus.NewRegistry(), make(chan struct{})
	controls := http.NewServeMux()
	controls.Handle("/usage", usage(registry))
	controls.HandleFunc("/begin", func(http.ResponseWriter, *http.Request) { close(begin) })
	go func() { _ = http.Serve(control, controls) }() //nolint:gosec // the parent is its only client
	fmt.Fprintln(out, l.Addr(), control.Addr())
	if o.name == serverRaw {
		return serveRaw(ctx, l, o.rate, begin)
	}
	if !isSluice(o.name) {
		return serveBare(ctx, l, o.rate, begin, o.name == serverChannel)
	}
	engine := engine.New(synthetic{o.rate, begin}, engine.Options{Store: o.store, MaxRuns: 1 << 20, Deadline: time.Hour, Grace: time.Minute})
	writer := delivery.NetHTTP
	if o.name == serverLoop {
		writer = delivery.Loop
	}
	s, err := server.New(engine, server.Options{Protocols: []server.Endpoint{{API: forge.API(), StreamPath: "/api/query/stream", ReplyPath: "/api/query"}}, Drain: time.Second,
		StreamWriter: writer, Registry: registry})
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

// listen opens the listener of the measured server and the listener of its statistics. The sockets of the first one have send buffers of a size in bytes; 0: that of
// the system.
func listen(ctx context.Context, sendBuffer int) (l, control net.Listener, err error) {
	var c, small net.ListenConfig
	if sendBuffer > 0 {
		small.Control = func(_, _ string, raw syscall.RawConn) error { return setSendBuffer(raw, sendBuffer) }
	}
	if l, err = small.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, fmt.Errorf("listen: %w", err)
	}
	if control, err = c.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		_ = l.Close()
		return nil, nil, fmt.Errorf("listen: %w", err)
	}
	return l, control, nil
}

// usage returns a handler that replies with the processUsage. metrics are those of Sluice, or nil.
func usage(metrics prometheus.Gatherer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		u := processUsage{Frames: framesSent(metrics)}
		if r.URL.Query().Has("memory") {
			debug.FreeOSMemory()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			u.Memory, u.Heap, u.Goroutines = resident(), int64(m.HeapAlloc), runtime.NumGoroutine() //nolint:gosec // far below the limit
			files, _ := os.ReadDir("/proc/self/fd")                                                 // none on systems without /proc
			u.Descriptors = len(files)
		}
		u.CPU = cpuTime()
		_ = json.NewEncoder(w).Encode(u) // fails only if the parent process is gone
	}
}

// framesSent returns the number of frames that were written to clients. Each is one write, unless several have arrived at once.
func framesSent(metrics prometheus.Gatherer) int64 {
	if metrics == nil {
		return 0
	}
	families, _ := metrics.Gather() // those that could be gathered
	for _, f := range families {
		if f.GetName() == "sluice_stream_frames_sent_total" && len(f.GetMetric()) == 1 {
			return int64(f.GetMetric()[0].GetCounter().GetValue())
		}
	}
	return 0
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

// ticks calls do at the rate, with 1, 2 and so on, until it fails or ctx ends, when begin is closed; nil: at once. It starts at a random time within the first period,
// so that runs do not tick at the same time. With a rate of 0 it only waits for ctx.
func ticks(ctx context.Context, rate float64, begin <-chan struct{}, do func(n int64) error) error {
	if rate <= 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	if begin != nil {
		select {
		case <-begin:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	period := time.Duration(float64(time.Second) / rate)
	next := time.Now().Add(rand.N(period))
	for n := int64(1); ; n++ {
		// A sleep takes less processor time than a timer whose channel is selected.
		for d := time.Until(next); d > 0 && ctx.Err() == nil; d = time.Until(next) {
			time.Sleep(min(d, time.Second))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := do(n); err != nil {
			return err
		}
		next = next.Add(period)
	}
}

// timeToken returns the text of token n: the time at which it was made, and its number.
func timeToken(n int64) string { return string(appendMark(make([]byte, 0, maxMark), n)) }

// synthetic answers each question with a stream of tokens. It has no end, unless the question is a finiteQuery.
type synthetic struct {
	rate  float64
	begin <-chan struct{}
}

// eventsBeforeTokens is the number of events of a run before its first token.
const eventsBeforeTokens = 4

// Answer implements [answer.Answerer].
func (s synthetic) Answer(ctx context.Context, r *answer.Recorder) error {
	if err := emit(ctx, r, event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "bench"}, event.CacheChecked{},
		event.GenerationStarted{Model: "bench"}); err != nil {
		return err
	}
	var tokens, size int64
	if _, err := fmt.Sscanf(r.State().Query, finiteQuery, &tokens, &size); err != nil || size < 0 || size > 1<<16 {
		tokens, size = 0, 0
	}
	more := strings.Repeat(".", int(size))
	err := ticks(ctx, rateOf(r.State().Query, s.rate), s.begin, func(n int64) error {
		err := r.Emit(ctx, event.Token{Text: timeToken(n) + more})
		if err == nil && n == tokens {
			return errComplete
		}
		return err
	})
	if !errors.Is(err, errComplete) {
		return err
	}
	return emit(ctx, r, event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{})
}

func emit(ctx context.Context, r *answer.Recorder, bodies ...event.Body) error {
	for _, b := range bodies {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// finiteQuery is the format of a question for an answer with a number of tokens, each with a number of bytes more.
const finiteQuery = "go on for %d tokens of %d bytes"

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
func serveBare(ctx context.Context, l net.Listener, rate float64, begin <-chan struct{}, channel bool) error {
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
			b.relay(r.Context(), rate, begin)
			return
		}
		_ = ticks(r.Context(), rate, begin, func(n int64) error { return b.write(timeToken(n)) })
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
func (b *eventWriter) relay(ctx context.Context, rate float64, begin <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	tokens := make(chan string, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ticks(ctx, rate, begin, func(n int64) error {
			select {
			case tokens <- timeToken(n):
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
