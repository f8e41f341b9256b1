package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/delivery"
	"github.com/sluice-rag/sluice/wire/sse"
)

// TestWriterLoops runs all tests of this package again, with streams that are written by writer loops.
func TestWriterLoops(t *testing.T) {
	if *streamWriter == string(delivery.Loop) {
		t.Skip("this is that run")
	}
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-stream-writer=loop").CombinedOutput() //nolint:gosec // this program
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// onSockets serves on a local port with writer loops, which own the connections on Linux.
func onSockets(t *testing.T, a answer.Answerer, eo engine.Options) *site {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("connections are taken over on Linux")
	}
	return serve(t, a, eo, server.Options{StreamWriter: delivery.Auto})
}

// response reads one response from a connection.
func response(t *testing.T, r *bufio.Reader) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	return res
}

// TestConnectionAfterStream: a connection serves further requests when its stream has ended, also if they were sent during the stream.
func TestConnectionAfterStream(t *testing.T) {
	steps := make(chan struct{})
	bodies := everything(5, 1)
	s := onSockets(t, stepwise(steps, bodies), engine.Options{})
	ask := strings.Replace(rawQuestion, "Connection: close\r\n", "", 1)
	finish := func(res *http.Response) {
		for range bodies {
			steps <- struct{}{}
		}
		whole(t, res)
	}
	c := s.dial()
	defer c.Close()
	r := bufio.NewReader(c)
	for i := range 3 {
		write(t, c, ask)
		res := response(t, r)
		if i == 1 {
			write(t, c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		}
		finish(res)
		if i == 1 {
			if reply := response(t, r); reply.StatusCode != http.StatusOK || slurp(t, reply.Body) == "" {
				t.Errorf("a request during a stream: %s", reply.Status)
			}
		}
	}
	write(t, c, rawQuestion) // it asks to close the connection
	finish(response(t, r))
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last reply: %v", err)
	}
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

// TestClientsOfSocketsLeave: a client that closes its connection, or one half of it, has left, also if it has sent something else before.
func TestClientsOfSocketsLeave(t *testing.T) {
	cancelled := make(chan struct{})
	s := onSockets(t, script(func(ctx context.Context, _ *answer.Recorder) error {
		<-ctx.Done()
		cancelled <- struct{}{}
		return ctx.Err()
	}), engine.Options{Deadline: time.Hour, Grace: time.Nanosecond})
	for name, leave := range map[string]func(c *net.TCPConn) error{
		"close": (*net.TCPConn).Close,
		"half":  (*net.TCPConn).CloseWrite,
		"after bytes": func(c *net.TCPConn) error {
			_, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\n")
			if err != nil {
				return err
			}
			return c.CloseWrite()
		},
		"reset": func(c *net.TCPConn) error {
			if err := c.SetLinger(0); err != nil {
				return err
			}
			return c.Close()
		},
	} {
		c := s.dial().(*net.TCPConn)
		write(t, c, rawQuestion)
		response(t, bufio.NewReader(c))
		if err := leave(c); err != nil {
			t.Fatal(name, err)
		}
		<-cancelled // blocks if the run goes on
		_ = c.Close()
	}
}

// TestSlowSocket: a client that does not read costs neither the run nor other clients anything, and misses nothing.
func TestSlowSocket(t *testing.T) {
	const tokens, size = 4000, 4 << 10 // 16 MB, more than the buffers of a connection
	begin, ended := make(chan struct{}), make(chan struct{})
	s := onSockets(t, script(func(ctx context.Context, r *answer.Recorder) error {
		defer close(ended)
		if err := emit(ctx, r, analysed(event.CacheChecked{}, event.GenerationStarted{})...); err != nil {
			return err
		}
		<-begin
		for i := range tokens {
			if err := r.Emit(ctx, event.Token{Text: fmt.Sprintf("%*d", size, i)}); err != nil {
				return err
			}
		}
		return emit(ctx, r, event.GenerationFinished{Reason: "stop"}, event.Verified{By: "rules", Confidence: 1}, event.Attributed{By: "rules"})
	}), engine.Options{})
	slow := s.dial()
	defer slow.Close()
	write(t, slow, rawQuestion)
	res := response(t, bufio.NewReader(slow))
	other := s.do("GET", "/runs/"+res.Header.Get("Sluice-Run-Id")+"/stream", "")
	close(begin)
	check := func(who string, evs []sse.Event) {
		t.Helper()
		n := 0
		for _, ev := range evs {
			var p struct{ Content string }
			require.NoError(t, json.Unmarshal([]byte(ev.Data), &p))
			for from := 0; from+size <= len(p.Content); from += size { // an event can have several tokens
				if part := p.Content[from : from+size]; strings.TrimSpace(part) != strconv.Itoa(n) {
					t.Fatalf("%s got %.20q as token %d", who, part[size-20:], n)
				}
				n++
			}
		}
		if n != tokens {
			t.Errorf("%s got %d tokens", who, n)
		}
	}
	check("the other client", whole(t, other))
	<-ended
	check("the slow client", whole(t, res))
}

// TestIdleStreamsHaveNoGoroutine: streams that wait for events take none, and all get the events.
func TestIdleStreamsHaveNoGoroutine(t *testing.T) {
	const clients = 200
	steps := make(chan struct{})
	bodies := everything(5, 1)
	s := onSockets(t, stepwise(steps, bodies), engine.Options{})
	res := s.ask("why?")
	before := runtime.NumGoroutine()
	var readers []*bufio.Reader
	for range clients {
		c := s.dial()
		defer c.Close()
		write(t, c, "GET /runs/"+res.Header.Get("Sluice-Run-Id")+"/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
		r := bufio.NewReader(c)
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatal(line, err)
		}
		readers = append(readers, r)
	}
	for runtime.NumGoroutine() > before+clients/4 { // blocks if each stream has a goroutine
		<-time.After(time.Millisecond)
	}
	for range bodies {
		steps <- struct{}{}
	}
	whole(t, res)
	for i, r := range readers {
		text, err := io.ReadAll(r)
		if err != nil || !bytes.Contains(text, []byte("event: done")) || !bytes.HasSuffix(text, []byte("0\r\n\r\n")) {
			t.Fatalf("client %d: %v: %.200q", i, err, text)
		}
	}
}
