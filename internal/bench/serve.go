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
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
)

// mark precedes a token's time of append, in nanoseconds since 1970, in its text.
const mark = '@'

// Usage is what a side's process has used.
type Usage struct {
	CPU    time.Duration `json:"cpu_ns"`       // user and system, since the start
	Memory int64         `json:"memory_bytes"` // resident, after a collection
}

// Serve is the process of one side. It prints its addresses to out and serves until in ends. store is the log of the real
// server, nil for one in memory. With profile, a file of that name gets the process's CPU profile. The path /usage of the
// second address gives its Usage.
func Serve(ctx context.Context, side string, rate float64, store eventlog.Store, profile string, in io.Reader, out io.Writer) error {
	ctx, cancel := whileOpen(ctx, in)
	defer cancel()
	l, control, err := listen(ctx)
	if err != nil {
		return err
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	go func() { _ = http.Serve(control, http.HandlerFunc(usage)) }() //nolint:gosec // the parent is its only client
	fmt.Fprintln(out, l.Addr(), control.Addr())
	if side != Sluice {
		return serveBare(ctx, l, rate, side == Fed)
	}
	engine := engine.New(synthetic{rate}, engine.Options{Store: store, MaxRuns: 1 << 20, Deadline: time.Hour, Grace: time.Nanosecond})
	s, err := server.New(engine, server.Options{Protocols: []wire.Entry{forge.Entry()}, Drain: time.Second})
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// whileOpen gives a context that ends with in too: the parent holds it open for as long as it wants this process.
func whileOpen(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return ctx, cancel
}

// listen opens the two addresses of a process: what is measured, and what tells the parent of it.
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
	var u Usage
	if r.URL.Query().Has("memory") {
		runtime.GC()
		debug.FreeOSMemory()
		u.Memory = resident()
	}
	u.CPU = cpuTime()
	_ = json.NewEncoder(w).Encode(u) // the parent has left
}

// resident is the process's resident memory in bytes, by /proc; 0 where there is none.
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

// ticks calls do at the rate, beginning at a random moment of the first period so that runs do not march in step, until it
// fails or ctx ends. A rate of 0 is silence.
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

func appendToken(dst []byte) []byte {
	return strconv.AppendInt(append(dst, ' ', mark), time.Now().UnixNano(), 10)
}

// synthetic is a model that goes on for ever.
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
		return r.Emit(ctx, event.Token{Text: string(appendToken(nil))})
	})
}

// rateOf is the rate that a question asks for: none for one that waits.
func rateOf(query string, rate float64) float64 {
	if query == idleQuery {
		return 0
	}
	return rate
}

const idleQuery = "wait"

// serveBare is the handler that there is nothing below: it writes each event and flushes it. Its events come from a timer
// of its own or, fed, from another goroutine by a channel, as those of a model do in a program that is put together by hand.
func serveBare(ctx context.Context, l net.Listener, rate float64, fed bool) error {
	h := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var q forge.Request
		if err != nil || json.Unmarshal(body, &q) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		b := &bare{w: w, flusher: w.(http.Flusher)} // net/http's writer is one
		b.flusher.Flush()
		rate := rateOf(q.Query, rate)
		if fed {
			b.relay(r.Context(), rate)
			return
		}
		_ = ticks(r.Context(), rate, func() error { return b.write(string(appendToken(nil))) })
	})}
	return serveUntil(ctx, h, l)
}

// serveUntil serves until ctx ends, and closes all connections.
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

type bare struct {
	w       io.Writer
	flusher http.Flusher
	buf     []byte
	n       int
}

func (b *bare) write(text string) error {
	b.n++
	b.buf = strconv.AppendInt(append(b.buf[:0], "id: "...), int64(b.n), 10)
	b.buf = append(b.buf, "\nevent: token\ndata: {\"type\":\"token\",\"content\":\""...)
	b.buf = append(b.buf, text...)
	b.buf = append(b.buf, "\"}\n\n"...)
	_, err := b.w.Write(b.buf)
	b.flusher.Flush()
	return err
}

// relay writes what another goroutine sends.
func (b *bare) relay(ctx context.Context, rate float64) {
	ctx, cancel := context.WithCancel(ctx)
	tokens := make(chan string, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ticks(ctx, rate, func() error {
			select {
			case tokens <- string(appendToken(nil)):
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
