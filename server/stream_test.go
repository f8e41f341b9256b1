package server_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/sse"
)

func TestStreamHoldsTheWholeRun(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(50, 5)...), engine.Options{}, server.Options{})
	res := s.ask("why?")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform",
		"X-Accel-Buffering": "no", "Vary": "Accept-Encoding"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !event.RunID(res.Header.Get("Sluice-Run-Id")).Valid() {
		t.Errorf("run %q", res.Header.Get("Sluice-Run-Id"))
	}
	w := httptest.NewRecorder()
	w.Header().Set("Vary", "Origin") // as a handler for pages of other origins does
	s.server.Handler().ServeHTTP(w, httptest.NewRequest("HEAD", s.url+"/runs/"+res.Header.Get("Sluice-Run-Id")+"/stream", nil))
	if got := w.Header().Values("Vary"); !slices.Equal(got, []string{"Origin", "Accept-Encoding"}) {
		t.Errorf("a stream varies by %q", got)
	}
	text, names := textAndNames(whole(t, res))
	want := []string{"query_analysis", "cache_miss", "tool_call", "tool_result", "retrieval_start", "retrieval_result", "crag_evaluation",
		"error", "rerank_result", "generation_start", "verification", "sources", "done"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(text, " [1]") {
		t.Errorf("text %q", text)
	}
}

// resumptions are the requests that resume a stream.
var resumptions = map[string]func(s *site, run, after string) *http.Response{
	"POST": func(s *site, run, after string) *http.Response {
		return s.do("POST", "/api/query/stream", "", "Sluice-Run-Id", run, "Last-Event-ID", after)
	},
	"POST with the question again": func(s *site, run, after string) *http.Response {
		return s.do("POST", "/api/query/stream", question("why?"), "Sluice-Run-Id", run, "Last-Event-ID", after)
	},
	"GET": func(s *site, run, after string) *http.Response {
		return s.do("GET", "/runs/"+run+"/stream", "", "Last-Event-ID", after)
	},
	"GET of a protocol": func(s *site, run, after string) *http.Response {
		return s.do("GET", "/runs/"+run+"/stream?protocol=forge", "", "Last-Event-ID", after)
	},
}

// TestResumeAfterEveryEvent: the part before a cut and the part after it are the whole stream, byte for byte.
func TestResumeAfterEveryEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(30, 3)...), engine.Options{}, server.Options{})
		defer s.close()
		run, evs := s.answered("why?")
		text, _ := textAndNames(evs)
		for name, resume := range resumptions {
			for i := range evs {
				after := rest(t, resume(s, run, evs[i].ID))
				both := append(append([]sse.Event{}, evs[:i+1]...), after...)
				if err := new(checker).all(both); err != nil {
					t.Fatalf("%s after %s: %v", name, evs[i].ID, err)
				}
				if got, _ := textAndNames(both); got != text {
					t.Fatalf("%s after %s: text %q, want %q", name, evs[i].ID, got, text)
				}
			}
		}
		// A live client may get the tokens in more events than a late one. The last event is the same.
		again := whole(t, resumptions["GET"](s, run, ""))
		if diff := cmp.Diff(evs[len(evs)-1], again[len(again)-1]); diff != "" {
			t.Error(diff)
		}
	})
}

func everythingText(n int) string {
	text := ""
	for _, b := range tokens(n) {
		text += b.(event.Token).Text
	}
	return text + " [1]"
}

// rawStream sends a request and returns the head of the response and each write to the connection after it.
func rawStream(t *testing.T, c net.Conn, request string) (head string, writes [][]byte) {
	t.Helper()
	go func() { _, _ = io.WriteString(c, request) }()
	buf := make([]byte, 1<<20)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			if head == "" {
				head = string(buf[:n])
			} else {
				writes = append(writes, append([]byte(nil), buf[:n]...))
			}
		}
		if err != nil {
			return head, writes
		}
	}
}

const rawQuestion = "POST /api/query/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 16\r\n\r\n{\"query\":\"why?\"}"

// TestOneWritePerFrame: each frame, however long, is written in one write, as a chunk of HTTP/1.1.
func TestOneWritePerFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bodies := everything(20, 8)
		steps := make(chan struct{})
		s := inMemory(t, stepwise(steps, bodies), engine.Options{}, server.Options{})
		defer s.close()
		go func() {
			for range bodies {
				synctest.Wait() // until each event has reached the reader
				steps <- struct{}{}
			}
		}()
		head, writes := rawStream(t, s.dial(), rawQuestion)
		if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(head, "\r\n\r\n") {
			t.Fatalf("head %q", head)
		}
		if len(writes) < len(bodies) {
			t.Errorf("%d writes for %d events", len(writes), len(bodies))
		}
		last := len(writes) - 1
		if string(writes[last]) != "0\r\n\r\n" {
			t.Errorf("the last write is %q", writes[last])
		}
		for _, w := range writes[:last] {
			body, err := io.ReadAll(http.MaxBytesReader(nil, io.NopCloser(dechunk(w)), 1<<20))
			if err != nil {
				t.Fatalf("a write does not hold whole chunks: %v: %.100q", err, w)
			}
			if !strings.HasPrefix(string(body), "id: ") || !strings.HasSuffix(string(body), "\n\n") {
				t.Errorf("a write does not hold whole frames: %.100q", body)
			}
		}
	})
}

// dechunk returns the content of whole chunks.
func dechunk(b []byte) io.Reader {
	res, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
		strings.NewReader(string(b)+"0\r\n\r\n"))), nil)
	if err != nil {
		panic(err)
	}
	return res.Body
}

// TestEachFrameIsFlushed: compressed or not, a client can read a frame before the next one exists.
func TestEachFrameIsFlushed(t *testing.T) {
	t.Parallel()
	for encoding, open := range map[string]func(io.Reader) (io.Reader, error){
		"":     func(r io.Reader) (io.Reader, error) { return r, nil },
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) },
	} {
		t.Run("as "+encoding, func(t *testing.T) {
			t.Parallel()
			bodies := everything(40, 5)
			steps := make(chan struct{})
			s := serve(t, stepwise(steps, bodies), engine.Options{}, server.Options{})
			res := s.ask("why?", "Accept-Encoding", encoding)
			defer res.Body.Close()
			if got := res.Header.Get("Content-Encoding"); got != encoding {
				t.Fatalf("encoding %q", got)
			}
			steps <- struct{}{} // creating a decoder already reads
			body, err := open(res.Body)
			require.NoError(t, err)
			r := sse.NewReader(body, 0)
			var c checker
			for i := range bodies {
				if i > 0 {
					steps <- struct{}{}
				}
				if _, shown := bodies[i].(event.GenerationFinished); shown {
					continue
				}
				ev, err := r.Next()
				if err != nil {
					t.Fatalf("event %d: %v", i, err)
				}
				require.NoError(t, c.next(ev))
			}
			if ev, err := r.Next(); err != nil || ev.Name != "done" {
				t.Errorf("%v, %v", ev, err)
			}
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

func TestCompressionIsNegotiated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(3, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		run, _ := s.answered("why?")
		for accept, want := range map[string]string{
			"": "", "gzip": "gzip", "zstd": "zstd", "gzip, zstd": "zstd", "GZIP": "gzip", "*": "zstd", "br": "", "identity": "",
			"gzip;q=0": "", "zstd;q=0, gzip": "gzip", "zstd;q=0.1, gzip;q=0.2": "gzip", "gzip;q=1.0, zstd;q=1.0": "zstd",
			"*;q=0": "", "zstd;q=0, *": "gzip", "*, zstd;q=0": "gzip", "gzip;q=0, *;q=0.5": "zstd", "gzip ; q=0.5": "gzip",
			"gzip;q=0.1, identity": "", "gzip, identity;q=0.5": "gzip", "gzip;q=2": "", "gzip;q=-1": "", "gzip;q=x": "", "gzip;q=NaN": "", ",,": "", "gzip, deflate, br, zstd": "zstd",
			"gzip, deflate": "gzip", "gzipped": "", "x-gzip": "",
		} {
			res := s.do("GET", "/runs/"+run+"/stream", "", "Accept-Encoding", accept)
			res.Body.Close()
			if got := res.Header.Get("Content-Encoding"); got != want {
				t.Errorf("%q: %q, want %q", accept, got, want)
			}
		}
	})
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"", "gzip", "zstd"} {
		synctest.Test(t, func(t *testing.T) {
			steps := make(chan struct{})
			bodies := everything(1, 1)
			upToToken := 1 + slices.IndexFunc(bodies, func(b event.Body) bool { _, is := b.(event.Token); return is })
			s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, server.Options{})
			defer s.close()
			first := s.ask("why?")
			defer first.Body.Close()
			go func() { _, _ = io.Copy(io.Discard, first.Body) }()
			// A client that resumes while nothing happens gets only heartbeats: every 4 s before the first token, because clients may
			// have a timeout of 5 s, and every 15 s after it.
			res := s.do("GET", "/runs/"+first.Header.Get("Sluice-Run-Id")+"/stream", "", "Accept-Encoding", encoding, "Last-Event-ID", "1")
			defer res.Body.Close()
			began := time.Now()
			r := bufio.NewReader(decoded(t, res))
			for i := range 3 {
				line, err := r.ReadString('\n')
				if line != ": keep-alive\n" || err != nil {
					t.Fatalf("%s: %q, %v", encoding, line, err)
				}
				_, _ = r.ReadString('\n')
				if got, want := time.Since(began), time.Duration(i+1)*4*time.Second; got != want {
					t.Errorf("%s: after %v, want %v", encoding, got, want)
				}
			}
			go func() {
				for range upToToken {
					steps <- struct{}{}
				}
			}()
			for line := ""; line != "event: token\n"; {
				var err error
				if line, err = r.ReadString('\n'); err != nil {
					t.Fatalf("%s: before a token: %v", encoding, err)
				}
			}
			_, _ = r.ReadString('\n') // its data
			_, _ = r.ReadString('\n')
			began = time.Now()
			if line, err := r.ReadString('\n'); line != ": keep-alive\n" || err != nil || time.Since(began) != 15*time.Second {
				t.Errorf("%s: %q, %v after %v", encoding, line, err, time.Since(began))
			}
		})
	}
}

func decoded(t *testing.T, res *http.Response) io.Reader {
	switch res.Header.Get("Content-Encoding") {
	case "gzip":
		return &lazily{open: func() (io.Reader, error) { return gzip.NewReader(res.Body) }}
	case "zstd":
		r, err := zstd.NewReader(res.Body, zstd.WithDecoderConcurrency(1))
		require.NoError(t, err)
		return r
	}
	return res.Body
}

// lazily opens a reader when it is first read from.
type lazily struct {
	open func() (io.Reader, error)
	r    io.Reader
}

func (l *lazily) Read(b []byte) (n int, err error) {
	if l.r == nil {
		r, err := l.open()
		if err != nil {
			return 0, err
		}
		l.r = r // not set on an error: a nil pointer in an interface is not nil
	}
	return l.r.Read(b)
}

func TestWriteTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(5000, 5)...), engine.Options{}, server.Options{WriteTimeout: 20 * time.Second, Heartbeat: time.Hour})
		defer s.close()
		began := time.Now()
		c := s.dial()
		_, _ = io.WriteString(c, rawQuestion)
		buf := make([]byte, 8<<10)
		_, _ = c.Read(buf) // the header
		for s.engine.Live() > 0 {
			time.Sleep(time.Millisecond) // the run never waits for its client
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the run took %v", took)
		}
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if n := s.readers(); n != 0 {
			t.Errorf("%d streams are still open", n)
		}
		if n, err := c.Read(buf); err == nil {
			t.Errorf("the connection is still open: %d bytes", n)
		}
		c.Close()
	})
}

// readers returns the number of open streams.
func (s *site) readers() int {
	s.t.Helper()
	families, err := s.metrics.Gather()
	require.NoError(s.t, err)
	for _, f := range families {
		if f.GetName() == "sluice_streams_open" {
			return int(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	s.t.Fatal("no such figure")
	return 0
}

// TestLastClientLeaves: whenever the last client disconnects, the run ends after the grace period.
func TestLastClientLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := map[string]script{}
		for n := range 12 {
			steps := make(chan struct{}, n)
			for range n {
				steps <- struct{}{}
			}
			runs[fmt.Sprint(n)] = stepwise(steps, everything(10, 2))
		}
		s := inMemory(t, byQuestion(runs), engine.Options{Deadline: time.Hour, Grace: time.Minute}, server.Options{})
		defer s.close()
		for n := range runs {
			res := s.ask(n)
			synctest.Wait()
			began := time.Now()
			res.Body.Close()
			evs := whole(t, resumeAfter(s, res.Header.Get("Sluice-Run-Id"), time.Minute+time.Second))
			if code := failure(t, evs); code != "CANCELLED" {
				t.Errorf("after %s events: %s", n, code)
			}
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("after %v", took)
			}
		}
	})
}

func resumeAfter(s *site, run string, pause time.Duration) *http.Response {
	time.Sleep(pause)
	return s.do("GET", "/runs/"+run+"/stream", "")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := make(chan struct{}, 100)
		for range 13 {
			steps <- struct{}{}
		}
		s := inMemory(t, stepwise(steps, everything(50, 2)), engine.Options{}, server.Options{})
		defer s.close()
		res := s.ask("why?")
		run := res.Header.Get("Sluice-Run-Id")
		synctest.Wait()
		reply := s.do("POST", "/runs/"+run+"/cancel", "")
		if body := slurp(t, reply.Body); reply.StatusCode != http.StatusAccepted || !strings.Contains(body, `"running"`) {
			t.Errorf("%s: %s", reply.Status, body)
		}
		evs := whole(t, res)
		_, names := textAndNames(evs)
		if code := failure(t, evs); code != "CANCELLED" || strings.Contains(strings.Join(names, " "), "done") {
			t.Errorf("%s: %v", code, names)
		}
		if reply := s.do("POST", "/runs/"+run+"/cancel", ""); reply.StatusCode != http.StatusAccepted || !strings.Contains(slurp(t, reply.Body), `"cancelled"`) {
			t.Errorf("again: %s", reply.Status)
		}
	})
}

func TestPanicEndsOnlyTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, byQuestion(map[string]script{
			"panic": func(ctx context.Context, r *answer.Recorder) error {
				_ = emit(ctx, r, analysed(event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "so far"})...)
				panic("secret")
			},
			"fine": saying(everything(1, 1)...),
		}), engine.Options{}, server.Options{})
		defer s.close()
		_, evs := s.answered("panic")
		if text, _ := textAndNames(evs); failure(t, evs) != "INTERNAL" || text != "so far" || strings.Contains(fmt.Sprint(evs), "secret") {
			t.Errorf("%v", evs)
		}
		s.answered("fine")
	})
}
