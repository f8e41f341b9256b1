package forrst_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

type none = struct{}

type chunks = iter.Seq2[forrst.Chunk, error]

// producer returns a function that yields chunks.
func producer(name string, f func(ctx context.Context, yield func(forrst.Chunk, error) bool)) forrst.Function {
	return forrst.StreamFunc[none, any](name, "1.0.0", func(ctx context.Context, _ none) chunks {
		return func(yield func(forrst.Chunk, error) bool) { f(ctx, yield) }
	})
}

var durations = regexp.MustCompile(`X-Forrst-Duration-Ms: \d+`)

// TestExamples compares the exchanges of the specification's examples, byte by byte.
func TestExamples(t *testing.T) {
	t.Parallel()
	failing := forrst.StreamFunc[prompt, text]("ai.generate", "1.0.0", func(context.Context, prompt) chunks {
		return func(yield func(forrst.Chunk, error) bool) {
			_ = yield(forrst.Data(text{"Starting generation..."}), nil) &&
				yield(forrst.Error(forrst.InternalError, "Generation failed: context limit exceeded", nil), nil)
		}
	})
	ask := `{
  "protocol": { "name": "forrst", "version": "0.1.0" },
  "id": "req_stream",
  "call": {
    "function": %q,
    "version": "1.0.0",
    "arguments": {
      %s
    }
  },
  "extensions": [
    {
      "urn": "urn:forrst:ext:stream",
      "options": {
        "accept": %s
      }
    }
  ]
}`
	for name, c := range map[string]struct {
		s    *forrst.Server
		body string
	}{
		"streaming":      {server(t, forrst.Options{}), fmt.Sprintf(ask, "ai.generate", `"prompt": "Write a short story about a robot"`, "true")},
		"not_streamable": {server(t, forrst.Options{}), fmt.Sprintf(ask, "users.get", `"id": 1`, "true")},
		"failing":        {server(t, forrst.Options{}, failing), fmt.Sprintf(ask, "ai.generate", `"prompt": "Write"`, "true")},
		"not_accepted":   {server(t, forrst.Options{}), fmt.Sprintf(ask, "ai.generate", `"prompt": "Write"`, "false")},
		"capabilities":   {server(t, forrst.Options{}, forrst.Func("users.get", "1.0.0", usersGet)), call("urn:cline:forrst:fn:capabilities", "{}")},
		"describe":       {server(t, forrst.Options{}), call("urn:cline:forrst:fn:describe", `{"function":"users.get"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := post(c.s, c.body)
			var head bytes.Buffer
			fmt.Fprintf(&head, "HTTP/1.1 %d %s\n", w.Code, http.StatusText(w.Code))
			require.NoError(t, w.Header().Write(&head))
			got := strings.ReplaceAll(head.String(), "\r\n", "\n") + "\n" + w.Body.String()
			golden.Check(t, "testdata/"+name+".txt", c.body+"\n\n"+durations.ReplaceAllString(got, "X-Forrst-Duration-Ms: 0"))
		})
	}
}

// TestSampleClient runs the client of the specification against a server.
func TestSampleClient(t *testing.T) {
	t.Parallel()
	node := needs.Program(t, "node")
	ts := httptest.NewServer(server(t, forrst.Options{}))
	defer ts.Close()
	out, err := exec.Command(node, "testdata/run.mjs", ts.URL).Output()
	if err != nil {
		t.Fatal(err, string(out))
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		var e [2]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		got = append(got, string(e[0])+" "+string(e[1]))
	}
	want := []string{`"data" {"status":"connected"}`, `"data" {"content":"Once upon a time"}`, `"data" {"content":", there was a robot"}`,
		`"data" {"content":" named Bolt..."}`, `"progress" {"current":50,"total":100,"percent":50,"message":"Generating story..."}`,
		`"data" {"content":" The end."}`, `"done" {"content":"Once upon a time, there was a robot named Bolt... The end."}`,
		`"complete" {"protocol":{"name":"forrst","version":"0.1.0"},"id":"req_stream","result":{"streamed":true},"extensions":[{"urn":"urn:forrst:ext:stream","data":{"completed":true}}]}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	type y = func(forrst.Chunk, error) bool
	const completed = `complete {"protocol":{"name":"forrst","version":"0.1.0"},"id":"r1","result":{"streamed":true},"extensions":[{"urn":"urn:forrst:ext:stream","data":{"completed":true}}]}`
	failed := func(errorObject, retry string) string {
		return `complete {"protocol":{"name":"forrst","version":"0.1.0"},"id":"r1","result":null,"errors":[` + errorObject + `],"extensions":[{"urn":"urn:forrst:ext:stream","data":{"completed":false}}` + retry + `]}`
	}
	const internal = `error {"code":"INTERNAL_ERROR","message":"internal error","details":null}`
	const retry = `,{"urn":"urn:forrst:ext:retry","data":{"allowed":true,"strategy":"exponential","after":{"value":1,"unit":"second"},"max_attempts":3}}`
	internalComplete := failed(`{"code":"INTERNAL_ERROR","message":"internal error"}`, retry)
	for name, c := range map[string]struct {
		produce func(ctx context.Context, yield y)
		want    []string
	}{
		"nothing":      {func(context.Context, y) {}, []string{completed}},
		"natural end":  {func(_ context.Context, yield y) { yield(forrst.Data(1), nil) }, []string{"data 1", completed}},
		"done null":    {func(_ context.Context, yield y) { yield(forrst.Done(nil), nil) }, []string{"done null", completed}},
		"zero chunk":   {func(_ context.Context, yield y) { yield(forrst.Chunk{}, nil) }, []string{"data null", completed}},
		"after done":   {func(_ context.Context, yield y) { _ = yield(forrst.Done(1), nil) || yield(forrst.Data(2), nil) }, []string{"done 1", completed}},
		"ignores done": {func(_ context.Context, yield y) { yield(forrst.Done(1), nil); yield(forrst.Data(2), nil) }, []string{"done 1", completed}},
		"one line":     {func(_ context.Context, yield y) { yield(forrst.Data("<a>\n\u2028\u0085&"), nil) }, []string{`data "<a>\n\u2028\u0085&"`, completed}},
		"progress": {func(_ context.Context, yield y) {
			for _, p := range [][2]int64{{1, 8}, {1, 0}, {3, 2}, {-1, 8}, {1, -5}, {1, 3}} {
				yield(forrst.Progress(p[0], p[1], ""), nil)
			}
		}, []string{`progress {"current":1,"total":8,"percent":13,"message":null}`, `progress {"current":1,"total":0,"percent":0,"message":null}`,
			`progress {"current":3,"total":2,"percent":150,"message":null}`, `progress {"current":-1,"total":8,"percent":-13,"message":null}`,
			`progress {"current":1,"total":-5,"percent":0,"message":null}`, `progress {"current":1,"total":3,"percent":33,"message":null}`, completed}},
		"error chunk": {func(_ context.Context, yield y) {
			yield(forrst.Error("AI_FULL", "full", map[string]int{"n": 1}), nil)
		}, []string{`error {"code":"AI_FULL","message":"full","details":{"n":1}}`, failed(`{"code":"AI_FULL","message":"full","details":{"n":1}}`, "")}},
		"coded error": {func(_ context.Context, yield y) {
			yield(forrst.Chunk{}, fmt.Errorf("call: %w", forrst.Errorf(forrst.NotFound, "no such model")))
		}, []string{`error {"code":"NOT_FOUND","message":"no such model","details":null}`, failed(`{"code":"NOT_FOUND","message":"no such model"}`, "")}},
		"error":         {func(_ context.Context, yield y) { yield(forrst.Data(1), errors.New("hunter2")) }, []string{internal, internalComplete}},
		"panic":         {func(_ context.Context, yield y) { yield(forrst.Data(1), nil); panic("hunter2") }, []string{"data 1", internal, internalComplete}},
		"panic at once": {func(context.Context, y) { panic("hunter2") }, []string{internal, internalComplete}},
		"not JSON":      {func(_ context.Context, yield y) { yield(forrst.Data(make(chan int)), nil) }, []string{internal, internalComplete}},
		"details not JSON": {func(_ context.Context, yield y) {
			yield(forrst.Error("X", "x", make(chan int)), nil)
		}, []string{internal, internalComplete}},
		"too large": {func(_ context.Context, yield y) { yield(forrst.Data(strings.Repeat("x", 2000)), nil) }, []string{
			`error {"code":"INTERNAL_ERROR","message":"an event is larger than 1000 bytes","details":null}`,
			failed(`{"code":"INTERNAL_ERROR","message":"an event is larger than 1000 bytes"}`, retry)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := server(t, forrst.Options{MaxResponse: 1000}, producer("f", c.produce))
			w := post(s, call("f", "{}", streamExt))
			got, _ := events(t, w.Body)
			var lines []string
			for _, e := range got {
				lines = append(lines, e.name+" "+e.data)
			}
			if diff := cmp.Diff(append([]string{`data {"status":"connected"}`}, c.want...), lines); diff != "" {
				t.Error(diff)
			}
			if err := s.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWithoutStream checks that a streamable function runs once and answers with its result, whatever accept is but true.
func TestWithoutStream(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{`false`, `"true"`, `1`, `null`} {
		runs := 0
		f := producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
			runs++
			_ = yield(forrst.Data(1), nil) && yield(forrst.Done("all"), nil)
		})
		w := post(server(t, forrst.Options{}, f), call("f", "{}", `{"urn":"urn:cline:forrst:ext:stream","options":{"accept":`+accept+`}}`))
		d := parse(t, w.Body.String())
		if w.Code != 200 || string(d.Result) != `"all"` || d.Extensions[0].URN != "urn:cline:forrst:ext:stream" || d.data("stream") != `{"enabled":false}` || runs != 1 {
			t.Errorf("accept %s: %d runs, %s", accept, runs, w.Body)
		}
	}
}

// writes records each write and flush of a response.
type writes struct {
	*httptest.ResponseRecorder
	log []string
}

func (w *writes) Write(b []byte) (int, error) {
	w.log = append(w.log, string(b))
	return w.ResponseRecorder.Write(b)
}

func (w *writes) Flush() { w.log = append(w.log, "flush") }

func TestOneWriteAndFlushPerEvent(t *testing.T) {
	t.Parallel()
	w := &writes{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "/", strings.NewReader(call("ai.generate", `{"prompt":"x"}`, streamExt)))
	r.Header.Set("Content-Type", "application/json")
	server(t, forrst.Options{}).ServeHTTP(w, r)
	if len(w.log) != 16 {
		t.Fatalf("%d writes and flushes", len(w.log))
	}
	for i, s := range w.log {
		if i%2 == 1 && s != "flush" || i%2 == 0 && (strings.Count(s, "\n\n") != 1 || !strings.HasSuffix(s, "\n\n")) {
			t.Errorf("write %d is %q", i, s)
		}
	}
}

// TestClientGone disconnects a real client while the producer waits, and expects its cleanup.
func TestClientGone(t *testing.T) {
	t.Parallel()
	cleaned := make(chan error, 1)
	f := producer("f", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
		defer func() { cleaned <- ctx.Err() }()
		yield(forrst.Data(1), nil)
		<-ctx.Done()
		if yield(forrst.Data(2), nil) {
			cleaned <- errors.New("yield accepts a chunk after the client is gone")
		}
	})
	s := server(t, forrst.Options{}, f)
	ts := httptest.NewServer(s)
	defer ts.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, ts.URL, strings.NewReader(call("f", "{}", streamExt, `{"urn":"urn:forrst:ext:cancellation","options":{"token":"t"}}`)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	if _, err := res.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-cleaned; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// limited is a response that records its write deadline.
type limited struct {
	*httptest.ResponseRecorder
	deadline time.Time
	limits   int
}

func (l *limited) SetWriteDeadline(t time.Time) error {
	l.deadline = t
	l.limits++
	return nil
}

// TestWriteDeadline checks that a stream limits its writes, and that the limit does not stay on the connection.
func TestWriteDeadline(t *testing.T) {
	t.Parallel()
	w := &limited{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("POST", "/", strings.NewReader(call("ai.generate", `{"prompt":"x"}`, streamExt)))
	r.Header.Set("Content-Type", "application/json")
	server(t, forrst.Options{}).ServeHTTP(w, r)
	if w.limits < 2 || !w.deadline.IsZero() {
		t.Errorf("%d write deadlines, the last is %v", w.limits, w.deadline)
	}
}

// TestSlowClient reads a stream that is larger than all buffers only after its producer was held back.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	const n = 300
	word := strings.Repeat("x", 64<<10)
	var yielded, runs atomic.Int32
	held := make(chan struct{})
	f := producer("f", func(_ context.Context, yield func(forrst.Chunk, error) bool) {
		runs.Add(1)
		for i := range n {
			if !yield(forrst.Data(fmt.Sprint(i, word)), nil) {
				return
			}
			if yielded.Add(1) == 5 {
				close(held)
			}
		}
		yield(forrst.Done(n), nil)
	})
	ts := httptest.NewServer(server(t, forrst.Options{}, f))
	defer ts.Close()
	res, err := http.Post(ts.URL, "application/json", strings.NewReader(call("f", "{}", streamExt)))
	require.NoError(t, err)
	defer res.Body.Close()
	<-held
	got, _ := events(t, res.Body)
	if len(got) != n+3 || runs.Load() != 1 {
		t.Fatalf("%d events of %d runs", len(got), runs.Load())
	}
	for i, e := range got[1 : n+1] {
		if !strings.HasPrefix(e.data, fmt.Sprintf("%q", fmt.Sprint(i, "x"))[:len(fmt.Sprint(i))+2]) {
			t.Fatalf("event %d is %.20s", i, e.data)
		}
	}
}

// TestAbandonedCall checks that a plain call ends when its client is gone, and that its token is released.
func TestAbandonedCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := server(t, forrst.Options{}, forrst.Func("f", "1.0.0", func(ctx context.Context, _ none) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}))
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		w := postContext(ctx, s, call("f", "{}", withToken(`"t"`)))
		if w.Body.Len() > 0 {
			t.Errorf("nobody reads %s", w.Body)
		}
		d := parse(t, post(s, call("urn:forrst:ext:cancellation:fn:cancel", `{"token":"t"}`)).Body.String())
		if d.Errors[0].Code != "CANCELLATION_TOO_LATE" {
			t.Error(d)
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestPanickingHooks(t *testing.T) {
	t.Parallel()
	for _, o := range []forrst.Options{
		{Caller: func(context.Context) string { panic("hunter2") }},
		{Authorize: func(context.Context, *forrst.Call) error { panic("hunter2") }},
		{Authorize: func(context.Context, *forrst.Call) error { return errors.New("hunter2") }},
		{Unavailable: func(context.Context) *forrst.CallError { panic("hunter2") }},
	} {
		w := post(server(t, o), call("users.get", `{"id":1}`))
		if d := parse(t, w.Body.String()); w.Code != 500 || d.Errors[0].Code != "INTERNAL_ERROR" || strings.Contains(w.Body.String(), "hunter2") {
			t.Error(w.Code, w.Body)
		}
	}
}
