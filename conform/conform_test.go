package conform_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/conform"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/tools/clienttest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

// scripted starts a server whose answers are scripted.
func scripted(t *testing.T) string {
	t.Helper()
	chats, err := sqlstore.Open(t.Context(), t.TempDir()+"/sessions.db")
	require.NoError(t, err)
	t.Cleanup(func() { _ = chats.Close() }) // after the server has ended
	return clienttest.Scripted(t, chats)
}

// run returns the results of the checks by name.
func run(t *testing.T, name string, o conform.Options) map[string]conform.Result {
	t.Helper()
	protocols := conform.Protocols()
	p := protocols[slices.IndexFunc(protocols, func(p conform.Protocol) bool { return p.Name == name })]
	endpoints := app.Descriptions()
	e := endpoints[slices.IndexFunc(endpoints, func(d server.Description) bool { return d.Name == name })]
	schema, err := server.Schema(e)
	require.NoError(t, err)
	o.Schema = schema
	results := map[string]conform.Result{}
	require.NoError(t, conform.Run(t.Context(), p, o, func(r conform.Result) { results[r.Name] = r }))
	return results
}

// TestServer checks the real server in each protocol.
func TestServer(t *testing.T) {
	t.Parallel()
	url := scripted(t)
	for _, p := range conform.Protocols() {
		for _, question := range []string{"short question", "thinking question", "cached question", "failing question"} {
			results := run(t, p.Name, conform.Options{URL: url, Question: question, CancelQuestion: "waiting question", Timeout: time.Minute})
			if want := len(conform.Names()); len(results) != want && (p.MCP || len(results) != want-3) { // three checks are only for MCP
				t.Errorf("%s: %d results", p.Name, len(results))
			}
			for _, r := range results {
				if r.Status != conform.OK && (r.Status != conform.Skip || r.Name != "cut" && !(p.Bytes && r.Name == "ids") && !(p.MCP && r.Name == "progress")) {
					t.Errorf("%s, %s: %s %s: %s", p.Name, question, r.Name, r.Status, r.Reason)
				}
			}
		}
	}
}

// fault changes the frames of a stream, each with its blank line.
type fault func(frames []string) []string

// insert returns a fault that puts a frame before the third.
func insert(frame string) fault {
	return func(f []string) []string { return slices.Insert(f, 2, frame+"\n\n") }
}

var idLine = regexp.MustCompile(`(?m)^id: .*\n`)

// faults are those of streams, with a check that must fail for each.
var faults = map[string]struct {
	check string
	fault fault
}{
	"drops a frame":       {"resume", func(f []string) []string { return slices.Delete(f, 2, 3) }},
	"doubles a frame":     {"ids", func(f []string) []string { return slices.Insert(f, 2, f[2]) }},
	"reorders two frames": {"grammar", func(f []string) []string { f[0], f[1] = f[1], f[0]; return f }},
	"cuts a frame":        {"stream", func(f []string) []string { f[3] = f[3][:len(f[3])/2]; return f[:4] }},
	"forgets ids": {"ids", func(f []string) []string {
		for i := range f {
			f[i] = idLine.ReplaceAllString(f[i], "")
		}
		return f
	}},
	"adds an unknown type":        {"grammar", insert("id: 99999\nevent: surprise\ndata: {\"type\":\"surprise\"}")},
	"adds no kind of the schema":  {"schema", insert("id: 99999\nevent: surprise\ndata: {\"surprise\":1}")},
	"changes the type of a field": {"schema", func(f []string) []string { f[0] = strings.Replace(f[0], `"complex"`, `7`, 1); return f }},
	"has no last frame":           {"grammar", func(f []string) []string { return f[:len(f)-1] }},
	"sends text that is not JSON": {"stream", insert("id: 99999\ndata: hello")},
}

// proxy returns a proxy in front of a server that changes replies.
func proxy(t *testing.T, target string, request func(*http.Request), reply func(*http.Response) error) string {
	t.Helper()
	to, err := url.Parse(target)
	require.NoError(t, err)
	s := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, ModifyResponse: reply, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if request != nil {
			request(r.Out)
		}
	}})
	t.Cleanup(s.Close)
	return s.URL
}

// caught checks that a check fails with a server.
func caught(t *testing.T, protocol, url, check string, timeout time.Duration) {
	t.Helper()
	r := run(t, protocol, conform.Options{URL: url, Question: "short question", CancelQuestion: "waiting question", Timeout: timeout, Only: []string{check}})[check]
	if r.Status != conform.Fail || r.Reason == "" {
		t.Errorf("%s: %s %s; want a failure", check, r.Status, r.Reason)
	}
	t.Log(r.Reason)
}

// bodies changes the whole body of replies of a media type.
func bodies(media string, change func(string) string) func(*http.Response) error {
	return func(r *http.Response) error {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), media) {
			return nil
		}
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		r.Header.Del("Content-Length")
		r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(change(string(data))))
		return nil
	}
}

// swap returns a change of a text.
func swap(old, with string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, with) }
}

// events changes the text of all streams of events.
func events(change func(string) string) func(*http.Response) error {
	return bodies("text/event-stream", change)
}

// json returns a change of replies of JSON.
func json(old, with string) func(*http.Response) error {
	return bodies("application/json", swap(old, with))
}

// sent returns a change of the bodies of requests.
func sent(change func(string) string) func(*http.Request) {
	return func(r *http.Request) {
		if r.Body == nil {
			return
		}
		data, _ := io.ReadAll(r.Body) // a body that is cut is no JSON
		text := change(string(data))
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

// whole changes the frames of long streams of events.
func whole(change func(frames []string) []string) func(*http.Response) error {
	return events(func(s string) string {
		frames := strings.SplitAfter(s, "\n\n")
		if frames = frames[:len(frames)-1]; len(frames) > 4 {
			frames = change(frames)
		}
		return strings.Join(frames, "")
	})
}

// TestBrokenStreams checks that servers with broken streams are caught.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	target := scripted(t)
	for name, test := range faults {
		t.Run(name, func(t *testing.T) {
			caught(t, "forge", proxy(t, target, nil, whole(test.fault)), test.check, time.Minute)
		})
	}
	t.Run("drops frames of a slow reader", func(t *testing.T) {
		n := 0 // of questions: the second is that of the slow reader
		caught(t, "forge", proxy(t, target, nil, func(r *http.Response) error {
			if r.Request.Method != http.MethodPost {
				return nil
			}
			if n++; n < 2 {
				return nil
			}
			return whole(func(f []string) []string { return slices.Delete(f, len(f)-6, len(f)-5) })(r)
		}), "slow", time.Minute)
	})
	t.Run("never ends", func(t *testing.T) {
		caught(t, "forge", proxy(t, target, nil, func(r *http.Response) error {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
				r.Body = endless{r.Body, r.Request.Context()}
			}
			return nil
		}), "stream", time.Second)
	})
}

// at returns the place of the first frame with a text; -1: there is none.
func at(frames []string, text string) int {
	return slices.IndexFunc(frames, func(f string) bool { return strings.Contains(f, text) })
}

// without returns a fault that removes the first frame with a text, if there is one: some runs are started in another protocol.
func without(text string) fault {
	return func(f []string) []string {
		if i := at(f, text); i >= 0 {
			return slices.Delete(f, i, i+1)
		}
		return f
	}
}

// after returns a fault that puts a frame after the first one with a text.
func after(text, frame string) fault {
	return func(f []string) []string { return slices.Insert(f, at(f, text)+1, frame+"\n\n") }
}

// change returns a fault that replaces a text in all frames.
func change(old, with string) fault {
	return func(f []string) []string {
		for i := range f {
			f[i] = strings.ReplaceAll(f[i], old, with)
		}
		return f
	}
}

// TestBrokenProtocols checks that streams are caught that break a rule of their protocol, and only that: they have ids and are the same when they are read again.
func TestBrokenProtocols(t *testing.T) {
	t.Parallel()
	target := scripted(t)
	for _, test := range []struct {
		protocol, name, check, reason string
		fault                         fault
	}{
		{"knowledge", "without the end", "grammar", "last", without("data: {}\n")},
		{"knowledge", "an unknown status", "schema", "status", change(`"status":"in_progress"`, `"status":"busy"`)},
		{"ragevents", "without the last frame", "grammar", "last frame", without(`"phase":"completed"`)},
		{"forrst", "a piece of the answer is missing", "grammar", "", without("wörd0")},
		{"events", "a gap in the numbers", "grammar", "one more", without(`"kind":"graded"`)},
		{"openai-chat", "two finish reasons", "grammar", "only once", func(f []string) []string {
			i := at(f, `"finish_reason":"stop"`)
			return slices.Insert(f, i+1, idLine.ReplaceAllString(f[i], "id: 99999\n"))
		}},
		{"openai-chat", "a role as a number", "schema", "role", change(`"role":"assistant"`, `"role":7`)},
		{"openai-responses", "text after the end", "grammar", "nothing after response.completed", func(f []string) []string {
			return append(f, idLine.ReplaceAllString(f[at(f, `"type":"response.output_text.delta"`)], "id: 99999\n"))
		}},
		{"uistream", "a text without an end", "grammar", "the end of text-start", without(`"type":"text-end"`)},
		{"uistream", "an id as a number", "schema", "id", change(`"type":"text-start","id":"`, `"type":"text-start","id":7,"was":"`)},
		{"agui", "a message without a start", "grammar", "TEXT_MESSAGE_START", without(`"type":"TEXT_MESSAGE_START"`)},
		{"anthropic", "a delta of a block that is not open", "grammar", "content_block_start", after("event: content_block_start",
			"id: 99999\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":99,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}")},
		{"a2a", "a status after the end", "grammar", "nothing after the task", func(f []string) []string {
			return append(f, idLine.ReplaceAllString(f[at(f, `"statusUpdate"`)], "id: 99999\n"))
		}},
		{"a2a", "an artifact without its first chunk", "grammar", "first chunk", without(`"artifactUpdate"`)},
		{"a2a", "another task", "grammar", "in the context", change(`"statusUpdate":{"taskId":"`, `"statusUpdate":{"taskId":"other-`)},
		{"a2a", "another id of the request", "grammar", "JSON-RPC", change(`"id":"conform"`, `"id":null`)},
		{"a2a", "a state of an older version", "schema", "state", change("TASK_STATE_WORKING", "working")},
	} {
		t.Run(test.protocol+" "+test.name, func(t *testing.T) {
			url := proxy(t, target, nil, whole(test.fault))
			results := run(t, test.protocol, conform.Options{URL: url, Question: "short question", Timeout: time.Minute, Only: []string{"stream", "ids", "replay", test.check}})
			for name, r := range results {
				if want := name == test.check; want != (r.Status == conform.Fail) || want && !strings.Contains(r.Reason, test.reason) {
					t.Errorf("%s: %s %s", name, r.Status, r.Reason)
				}
			}
			t.Log(results[test.check].Reason)
		})
	}
}

// TestHeartbeats checks that heartbeats, which have no id and are not sent again, are no fault.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	target := scripted(t)
	for protocol, beat := range map[string]string{"anthropic": "event: ping\ndata: {\"type\":\"ping\"}", "ragevents": `data: {"type":"heartbeat","timestamp":"2026-01-02T03:04:05.000Z"}`} {
		url := proxy(t, target, nil, whole(func(f []string) []string {
			return slices.Insert(slices.Insert(f, len(f)-1, beat+"\n\n"), 1, beat+"\n\n")
		}))
		for _, r := range run(t, protocol, conform.Options{URL: url, Question: "short question", Timeout: time.Minute}) {
			if r.Status != conform.OK {
				t.Errorf("%s: %s %s: %s", protocol, r.Name, r.Status, r.Reason)
			}
		}
	}
}

// endless is a body without an end.
type endless struct {
	io.ReadCloser
	ctx context.Context
}

// Read implements [io.Reader].
func (e endless) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		<-e.ctx.Done()
	}
	return n, err
}

// TestBrokenRequests checks that servers are caught that do not do what requests ask for.
func TestBrokenRequests(t *testing.T) {
	t.Parallel()
	target := scripted(t)
	last := "Last-Event-Id"
	for name, test := range map[string]struct {
		check   string
		request func(*http.Request)
		reply   func(*http.Response) error
	}{
		"ignores Last-Event-ID":  {"resume", func(r *http.Request) { r.Header.Del(last) }, nil},
		"ignores it after a cut": {"cut", func(r *http.Request) { r.Header.Del(last) }, nil},
		"resumes too late": {"resume", nil, func(r *http.Response) error {
			if r.Request.Header.Get(last) == "" {
				return nil
			}
			return whole(func(f []string) []string { return f[1:] })(r)
		}},
		"resumes too early": {"resume", func(r *http.Request) {
			if id := r.Header.Get(last); id == "3" {
				r.Header.Set(last, "2")
			}
		}, nil},
		"errors as HTML": {"errors", nil, func(r *http.Response) error {
			if r.StatusCode >= 400 {
				r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader("<h1>Error</h1>"))
				r.Header.Del("Content-Length")
			}
			return nil
		}},
		"errors with status 200": {"errors", nil, func(r *http.Response) error { r.StatusCode = http.StatusOK; return nil }},
		"errors of another form": {"errors", nil, func(r *http.Response) error {
			if r.StatusCode >= 400 {
				r.ContentLength, r.Body = -1, io.NopCloser(bytes.NewReader([]byte(`{"oops":1}`)))
				r.Header.Del("Content-Length")
			}
			return nil
		}},
		"is another run after a cut": {"cut", func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "run_", "run_0", 1) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			caught(t, "forge", proxy(t, target, test.request, test.reply), test.check, time.Minute)
		})
	}
	t.Run("does not cancel", func(t *testing.T) {
		caught(t, "forge", proxy(t, target, func(r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/cancel") {
				r.Method, r.URL.Path = http.MethodGet, "/healthz"
			}
		}, nil), "cancel", 2*time.Second)
	})
}

// TestBrokenCalls checks that servers of A2A are caught that do not do what calls ask for.
func TestBrokenCalls(t *testing.T) {
	t.Parallel()
	target := scripted(t)
	for name, test := range map[string]struct {
		check   string
		request func(*http.Request)
		reply   func(*http.Response) error
	}{
		"shows a task instead of cancelling it": {"cancel", sent(swap(`"CancelTask"`, `"GetTask"`)), nil},
		"says that it cancelled but does not":   {"cancel", sent(swap(`"CancelTask"`, `"GetTask"`)), json("TASK_STATE_WORKING", "TASK_STATE_CANCELED")},
		"has no such method to resubscribe":     {"replay", sent(swap(`"SubscribeToTask"`, `"tasks/resubscribe"`)), nil},
		"ignores Last-Event-ID":                 {"resume", func(r *http.Request) { r.Header.Del("Last-Event-Id") }, nil},
		"errors of another code":                {"errors", nil, json("-32001", "-32603")},
		"errors of another request":             {"errors", nil, json(`"id":"conform"`, `"id":"other"`)},
		"errors with their own status": {"errors", nil, func(r *http.Response) error {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
				r.StatusCode = http.StatusNotFound
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if strings.HasSuffix(name, "does not") { // only the end of the time shows it
				timeout = 2 * time.Second
			}
			caught(t, "a2a", proxy(t, target, test.request, test.reply), test.check, timeout)
		})
	}
}

// TestAddressOfServer checks that an address without a scheme or a host is refused before any check runs.
func TestAddressOfServer(t *testing.T) {
	for _, address := range []string{"localhost:8000", "ftp://localhost", "http://", "", "a b"} {
		err := conform.Run(t.Context(), conform.Protocols()[0], conform.Options{URL: address}, func(r conform.Result) { t.Errorf("%q: check %s ran", address, r.Name) })
		if err == nil || !strings.Contains(err.Error(), "must be a URL such as http://localhost:8000") {
			t.Errorf("%q: got %v, want an error that shows an address", address, err)
		}
	}
}
