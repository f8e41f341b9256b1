// Package transporttest is the conformance suite of transports: bindings of package forrst to a network, with both their sides.
package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
)

// Serve starts a server with the transport and returns the client's side. stop ends the server and returns when it has ended; it may
// be called twice.
type Serve func(t testing.TB, s *forrst.Server) (transport client.Transport, stop func())

// Run runs the suite, whose parts run at the same time. The test that calls it must not be parallel: at the end, no goroutine of package
// forrst may be left.
func Run(t *testing.T, serve Serve) {
	s := suite{serve}
	t.Run("suite", func(t *testing.T) {
		t.Run("calls", s.calls)
		t.Run("errors", s.errors)
		t.Run("stream", s.stream)
		t.Run("failed stream", s.failedStream)
		t.Run("samples", s.samples)
		t.Run("cancelled call", s.cancelledCall)
		t.Run("stopped iteration", s.stoppedIteration)
		t.Run("token", s.token)
		t.Run("deadline", s.deadline)
		t.Run("large", s.large)
		t.Run("limit", s.limit)
		t.Run("slow reader", s.slowReader)
		t.Run("concurrent streams", s.concurrentStreams)
		t.Run("shutdown", s.shutdown)
	})
	noGoroutines(t)
}

type suite struct{ serve Serve }

type none = struct{}

type chunks = iter.Seq2[forrst.Chunk, error]

// producer returns a streamable function.
func producer(name string, f func(ctx context.Context, yield func(forrst.Chunk, error) bool)) forrst.Function {
	return forrst.StreamFunc[none, any](name, "1.0.0", func(ctx context.Context, _ none) chunks {
		return func(yield func(forrst.Chunk, error) bool) { f(ctx, yield) }
	})
}

// start starts a server with some functions.
func (s suite) start(t *testing.T, o forrst.Options, functions ...forrst.Function) *client.Client {
	t.Helper()
	c, _ := s.startStop(t, o, functions...)
	return c
}

func (s suite) startStop(t *testing.T, o forrst.Options, functions ...forrst.Function) (*client.Client, func()) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	server, err := forrst.New(functions, o)
	if err != nil {
		t.Fatal(err)
	}
	transport, stop := s.serve(t, server)
	c := client.New(transport, client.Options{})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		stop()
		if err := server.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c, stop
}

// noGoroutines fails the test if a goroutine still runs code of package forrst, other than that of tests. Whoever starts a goroutine
// waits for it, but those that have nothing left to do may still have to return.
func noGoroutines(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	var left string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		left = ""
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "sluice/forrst") && !strings.Contains(stack, "testing.tRunner") {
				left = stack
			}
		}
		if left == "" {
			return
		}
	}
	t.Error("a goroutine is left:\n" + left)
}

type number struct {
	N int `json:"n" minimum:"0"`
}

func (s suite) calls(t *testing.T) {
	t.Parallel()
	c := s.start(t, forrst.Options{Service: "suite"}, forrst.Func("twice", "1.0.0", func(_ context.Context, in number) (number, error) {
		return number{2 * in.N}, nil
	}), forrst.Func("twice", "2.0.0", func(context.Context, number) (string, error) { return "two", nil }))
	ctx := t.Context()
	for i := range 20 {
		out, err := client.Call[number](ctx, c, "twice", number{i}, client.CallOptions{Version: "1.0.0"})
		if err != nil || out.N != 2*i {
			t.Fatal(out, err)
		}
	}
	if out, err := client.Call[string](ctx, c, "twice", nil); err != nil || out != "two" {
		t.Error(out, err)
	}
	if h, err := c.Ping(ctx); err != nil || h.Status != forrst.Healthy {
		t.Error(h, err)
	}
	if h, err := c.Health(ctx, ""); err != nil || h.Status != forrst.Healthy || h.Timestamp.IsZero() {
		t.Error(h, err)
	}
	caps, err := c.Capabilities(ctx)
	if err != nil || caps.Service != "suite" || len(caps.Functions) < 5 || len(caps.Extensions) < 5 {
		t.Error(caps, err)
	}
	d, err := c.Describe(ctx, "twice", "")
	if err != nil || len(d.Versions) != 2 || d.RecommendedVersion != "2.0.0" || len(d.Versions[0].Schema.Arguments) == 0 {
		t.Error(d, err)
	}
}

func (s suite) errors(t *testing.T) {
	t.Parallel()
	c := s.start(t, forrst.Options{}, forrst.Func("f", "1.0.0", func(context.Context, number) (none, error) {
		return none{}, errors.Join(forrst.Errorf("A_ONE", "one").With(map[string]int{"n": 1}), forrst.Errorf("A_TWO", "two"))
	}))
	_, err := c.Do(t.Context(), "f", number{-1})
	var e *client.Error
	if !errors.As(err, &e) || e.Code != forrst.SchemaValidationFailed || e.Pointer != "/call/arguments/n" || e.Status != 422 || len(e.Others) > 0 {
		t.Error(err)
	}
	_, err = c.Do(t.Context(), "f", number{1})
	var details struct{ N int }
	if !errors.As(err, &e) || e.Code != "A_ONE" || e.Status != 400 || len(e.Others) != 1 || e.Others[0].Code != "A_TWO" || e.Decode(&details) != nil || details.N != 1 {
		t.Error(err)
	}
	if _, err = c.Do(t.Context(), "g", nil); client.CodeOf(err) != forrst.FunctionNotFound {
		t.Error(err)
	}
	for _, err := range c.Stream(t.Context(), "f", number{1}) {
		if client.CodeOf(err) != forrst.ExtensionNotApplicable {
			t.Error(err)
		}
	}
}

func (s suite) stream(t *testing.T) {
	t.Parallel()
	const n = 1000
	c := s.start(t, forrst.Options{}, producer("count", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		for i := range n {
			if i == 500 && !yield(forrst.Progress(1, 2, "half"), nil) || !yield(forrst.Data(i).WithID(fmt.Sprint(i)), nil) {
				return
			}
		}
		yield(forrst.Done("all"), nil)
	}))
	for range 2 {
		want := 0
		var last client.Event
		for e, err := range c.Stream(t.Context(), "count", nil) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
			var got int
			switch {
			case e.Kind == client.KindProgress:
				if *e.Progress != (client.Progress{Current: 1, Total: 2, Percent: 50, Message: "half"}) || want != 500 {
					t.Error(e.Progress, want)
				}
			case e.Kind == client.KindData:
				if e.Decode(&got) != nil || got != want || e.ID != fmt.Sprint(want) {
					t.Fatalf("event %d is %s", want, e.Data)
				}
				want++
			}
		}
		if last.Kind != client.KindDone || string(last.Data) != `"all"` || want != n || last.Response == nil {
			t.Errorf("the last event after %d is %v", want, last)
		}
	}
}

func (s suite) failedStream(t *testing.T) {
	t.Parallel()
	c := s.start(t, forrst.Options{}, producer("fail", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		_ = yield(forrst.Data(1), nil) && yield(forrst.Chunk{}, forrst.Errorf("A_FULL", "full").At("/call/arguments"))
	}))
	var events int
	var failed error
	for _, err := range c.Stream(t.Context(), "fail", nil) {
		events++
		failed = err
	}
	var e *client.Error
	if events != 2 || !errors.As(failed, &e) || e.Code != "A_FULL" || e.Pointer != "/call/arguments" {
		t.Error(events, failed)
	}
}

// samples compares the documents and events of the specification's examples with those over HTTP, byte by byte.
func (s suite) samples(t *testing.T) {
	t.Parallel()
	type text struct {
		Content string `json:"content"`
	}
	story := producer("ai.generate", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		parts := []string{"Once upon a time", ", there was a robot", " named Bolt...", " The end."}
		for i, p := range parts {
			if i == 3 && !yield(forrst.Progress(50, 100, "Generating story..."), nil) || !yield(forrst.Data(text{p}), nil) {
				return
			}
		}
		yield(forrst.Done(text{strings.Join(parts, "")}), nil)
	})
	failing := producer("ai.fail", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		_ = yield(forrst.Data(text{"Starting generation..."}), nil) &&
			yield(forrst.Error(forrst.InternalError, "Generation failed: context limit exceeded", nil), nil)
	})
	get := forrst.Func("users.get", "1.0.0", func(context.Context, none) (map[string]string, error) {
		return map[string]string{"name": "Ada <ada@example.org>"}, nil
	})
	server, err := forrst.New([]forrst.Function{story, failing, get}, forrst.Options{})
	if err != nil {
		t.Fatal(err)
	}
	transport, stop := s.serve(t, server)
	defer stop()
	if c, ok := transport.(io.Closer); ok {
		defer c.Close()
	}
	for _, body := range []string{
		sample("ai.generate", "true"), sample("ai.generate", "false"), sample("ai.fail", "true"), sample("users.get", "true"), sample("users.get", "false"), sample("x", "true"),
		`{"protocol":{"name":"forrst","version":"0.1.0"},"id":7}`, `[]`, `{`, ``,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		var got strings.Builder
		for m, err := range transport.Send(t.Context(), client.Outgoing{Body: []byte(body), MaxMessage: 1 << 20}) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Status != 0 && m.Status != w.Code {
				t.Errorf("status %d instead of %d", m.Status, w.Code)
			}
			fmt.Fprintf(&got, "%s\n\n", strings.TrimRight(string(m.Body), "\n"))
		}
		if want := strings.TrimRight(w.Body.String(), "\n"); strings.TrimRight(got.String(), "\n") != want {
			t.Errorf("%s\nis answered with\n%s\ninstead of\n%s", body, got.String(), want)
		}
	}
}

func sample(function, accept string) string {
	return `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"req_stream","call":{"function":"` + function +
		`","version":"1.0.0","arguments":{}},"extensions":[{"urn":"urn:forrst:ext:stream","options":{"accept":` + accept + `}}]}`
}

// end is why a function has ended.
type end struct{ cause error }

// waiting returns functions that wait for the end of their context: one with a reply and one with a stream. Both report that they have
// started and why they ended.
func waiting() (started chan none, ended chan end, functions []forrst.Function) {
	started, ended = make(chan none, 1), make(chan end, 1)
	plain := forrst.Func("wait", "1.0.0", func(ctx context.Context, _ none) (none, error) {
		started <- none{}
		<-ctx.Done()
		ended <- end{context.Cause(ctx)}
		return none{}, ctx.Err()
	})
	stream := producer("stream", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
		yield(forrst.Data("first"), nil)
		started <- none{}
		<-ctx.Done()
		ended <- end{context.Cause(ctx)}
	})
	return started, ended, []forrst.Function{plain, stream}
}

// cancelledCall ends the context of a client, and expects that the function notices it without any write.
func (s suite) cancelledCall(t *testing.T) {
	t.Parallel()
	started, ended, functions := waiting()
	c := s.start(t, forrst.Options{}, functions...)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-started; cancel() }()
		if _, err := c.Do(ctx, "wait", nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-ended
	}
	if _, err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func (s suite) stoppedIteration(t *testing.T) {
	t.Parallel()
	started, ended, functions := waiting()
	c := s.start(t, forrst.Options{}, functions...)
	for e, err := range c.Stream(t.Context(), "stream", nil) {
		if err != nil || string(e.Data) != `"first"` {
			t.Error(e, err)
		}
		<-started
		break
	}
	<-ended
	ctx, cancel := context.WithCancel(t.Context())
	for _, err := range c.Stream(ctx, "stream", nil) {
		if err == nil {
			<-started
			cancel()
		} else if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	cancel()
	<-ended
}

// token cancels a call by its token, from another call.
func (s suite) token(t *testing.T) {
	t.Parallel()
	started, ended, functions := waiting()
	c := s.start(t, forrst.Options{}, functions...)
	token := client.NewID()
	cancelled := make(chan error, 1)
	go func() { <-started; cancelled <- c.Cancel(t.Context(), token) }()
	if _, err := c.Do(t.Context(), "wait", nil, client.CallOptions{Token: token}); client.CodeOf(err) != forrst.Cancelled {
		t.Error(err)
	}
	if err := <-cancelled; err != nil {
		t.Error(err)
	}
	<-ended
	if err := c.Cancel(t.Context(), "unknown"); client.CodeOf(err) != forrst.CancellationTokenUnknown {
		t.Error(err)
	}
}

func (s suite) deadline(t *testing.T) {
	t.Parallel()
	started, ended, functions := waiting()
	c := s.start(t, forrst.Options{}, functions...)
	go func() { <-started; <-started }()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := c.Do(ctx, "wait", nil)
	if client.CodeOf(err) != forrst.DeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	var e *forrst.CallError
	if why := <-ended; !errors.As(why.cause, &e) || e.Code != forrst.DeadlineExceeded {
		t.Error(why)
	}
	<-ctx.Done()
	if _, err := c.Do(ctx, "wait", nil); !errors.Is(err, context.DeadlineExceeded) || client.CodeOf(err) != "" {
		t.Error("a call after the deadline is not sent", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	for _, err = range c.Stream(ctx, "stream", nil) {
		continue
	}
	if client.CodeOf(err) != forrst.DeadlineExceeded {
		t.Error(err)
	}
	<-ended
}

type words struct {
	Text string `json:"text"`
}

func (s suite) large(t *testing.T) {
	t.Parallel()
	const repeats = 4
	c := s.start(t, forrst.Options{}, forrst.Func("repeat", "1.0.0", func(_ context.Context, in words) (words, error) {
		return words{strings.Repeat(in.Text, repeats)}, nil
	}), forrst.StreamFunc[words, any]("events", "1.0.0", func(_ context.Context, in words) chunks {
		return func(yield func(forrst.Chunk, error) bool) {
			for range 2 {
				if !yield(forrst.Data(in.Text+in.Text), nil) {
					return
				}
			}
		}
	}))
	text := strings.Repeat("0123456789", 55_000)
	out, err := client.Call[words](t.Context(), c, "repeat", words{text})
	if err != nil || out.Text != strings.Repeat(text, repeats) {
		t.Error(len(out.Text), err)
	}
	n := 0
	for e, err := range c.Stream(t.Context(), "events", words{text}) {
		var got string
		if err != nil || e.Kind == client.KindData && (e.Decode(&got) != nil || got != text+text) {
			t.Fatal(len(got), err)
		}
		n++
	}
	if n != 3 {
		t.Error(n, "events")
	}
	// A request that is too large is refused, and the next call works.
	if _, err := c.Do(t.Context(), "repeat", words{text + text}); err == nil {
		t.Error("a request over the limit is accepted")
	}
	if _, err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// limit checks that a client refuses messages that are larger than its limit.
func (s suite) limit(t *testing.T) {
	t.Parallel()
	server, err := forrst.New([]forrst.Function{producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		yield(forrst.Done(strings.Repeat("x", 100_000)), nil)
	})}, forrst.Options{})
	if err != nil {
		t.Fatal(err)
	}
	transport, stop := s.serve(t, server)
	c := client.New(transport, client.Options{MaxResponse: 50_000})
	defer stop()
	defer c.Close()
	if _, err := c.Do(t.Context(), "f", nil); !errors.Is(err, client.ErrTooLarge) {
		t.Error(err)
	}
	for _, err := range c.Stream(t.Context(), "f", nil) {
		if !errors.Is(err, client.ErrTooLarge) {
			t.Error(err)
		}
	}
	if _, err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// slowReader reads a stream only after its producer was held back, and expects every event.
func (s suite) slowReader(t *testing.T) {
	t.Parallel()
	const n = 128
	word := strings.Repeat("x", 32<<10)
	held := make(chan none)
	c := s.start(t, forrst.Options{}, producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		for i := range n {
			if i == 4 { // that much fits into the buffers of each transport: those of a Unix socket have 208 KiB
				close(held)
			}
			if !yield(forrst.Data([]string{fmt.Sprint(i), word}), nil) {
				return
			}
		}
	}))
	want := 0
	for e, err := range c.Stream(t.Context(), "f", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if want == 0 {
			<-held
		}
		var got []string
		if e.Kind == client.KindData {
			if e.Decode(&got) != nil || got[0] != fmt.Sprint(want) {
				t.Fatalf("event %d is %.20s", want, e.Data)
			}
			want++
		}
	}
	if want != n {
		t.Error(want, "events")
	}
}

func (s suite) concurrentStreams(t *testing.T) {
	t.Parallel()
	const streams, n = 200, 50
	// All streams are open at the same time: none ends before all have begun.
	var begun sync.WaitGroup
	begun.Add(streams)
	c := s.start(t, forrst.Options{}, producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		begun.Done()
		begun.Wait()
		for i := range n {
			if !yield(forrst.Data(i), nil) {
				return
			}
		}
	}))
	var running sync.WaitGroup
	for range streams {
		running.Go(func() {
			want := 0
			for e, err := range c.Stream(t.Context(), "f", nil) {
				if err != nil {
					t.Error(err)
					return
				}
				if e.Kind == client.KindData {
					if string(e.Data) != fmt.Sprint(want) {
						t.Errorf("event %d is %s", want, e.Data)
					}
					want++
				}
			}
			if want != n {
				t.Error(want, "events")
			}
		})
	}
	running.Wait()
}

// shutdown stops the server during a stream and expects that it is finished.
func (s suite) shutdown(t *testing.T) {
	t.Parallel()
	release := make(chan none)
	c, stop := s.startStop(t, forrst.Options{}, producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		if yield(forrst.Data(1), nil) {
			<-release
			yield(forrst.Done(json.RawMessage("2")), nil)
		}
	}))
	if _, err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan none)
	var last client.Event
	for e, err := range c.Stream(t.Context(), "f", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == client.KindData {
			go func() { defer close(stopped); stop() }()
			close(release)
		}
		last = e
	}
	if string(last.Data) != "2" {
		t.Error(last)
	}
	<-stopped
	if _, err := c.Do(t.Context(), "f", nil); err == nil {
		t.Error("a server that was stopped answers")
	}
}
