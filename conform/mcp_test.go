package conform_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice-rag/sluice/conform"
)

// status returns a change of the status of some replies.
func status(when func(*http.Response) bool, code int) func(*http.Response) error {
	return func(r *http.Response) error {
		if when(r) {
			r.StatusCode = code
		}
		return nil
	}
}

// header returns a change of a header of requests.
func header(name string, change func(string) string) func(*http.Request) {
	return func(r *http.Request) {
		if v := r.Header.Get(name); v != "" {
			if v = change(v); v == "" {
				r.Header.Del(name)
				return
			}
			r.Header.Set(name, v)
		}
	}
}

// brokenMCP are faults of servers of MCP, with the check that must fail, and a part of its reason.
func brokenMCP() map[string]brokenServer {
	const id, version = "Mcp-Session-Id", "Mcp-Protocol-Version"
	accepted := func(r *http.Response) bool { return r.StatusCode == http.StatusAccepted }
	start := func(at string) string { at, _, _ = strings.Cut(at, "_"); return at + "_0" }
	other := "" // the id of an event of another stream
	questions := 0
	return map[string]brokenServer{
		"initialize with another id":     {"session", "initialize: want the status 200", nil, events(swap(`"id":"conform-1"`, `"id":"1"`))},
		"an unknown version":             {"session", "want a version", nil, events(swap(`"protocolVersion":"2025-11-25"`, `"protocolVersion":"1999-01-01"`))},
		"no name of the server":          {"session", "serverInfo", nil, events(swap(`"name":"sluice"`, `"nome":"sluice"`))},
		"no capability for tools":        {"session", "capability tools", nil, events(swap(`"tools":{}`, `"tols":{}`))},
		"a session with spaces":          {"session", "visible ASCII", nil, func(r *http.Response) error { r.Header.Set(id, "a b"); return nil }},
		"a notification with status 200": {"session", "want the status 202", nil, status(accepted, 200)},
		"no ping":                        {"session", "ping: want a result", sent(swap(`"method":"ping"`, `"method":"pong"`)), nil},
		"no stream of the session":       {"session", "want a stream, or the status 405", nil, status(isGet, 404)},
		"no such tool":                   {"tools", `want the tool "ask"`, nil, events(swap(`"name":"ask"`, `"name":"answer"`))},
		"no such argument":               {"tools", `want the argument "query"`, nil, events(swap(`"query":{`, `"question":{`))},
		"a tool without a schema":        {"tools", "inputSchema", nil, events(swap(`"inputSchema":`, `"input":`))},
		"a schema that is none":          {"tools", "outputSchema", nil, events(swap(`"outputSchema":{`, `"outputSchema":{"minLength":"x",`))},
		"a schema elsewhere":             {"tools", "inputSchema", nil, events(swap(`"inputSchema":{`, `"inputSchema":{"allOf":[{"$ref":"http://127.0.0.1:1/x.json"}],`))},
		"a tool twice":                   {"tools", "name of its own", nil, events(twice)},
		"pages of tools without an end":  {"tools", "at most 100 pages", sent(swap(`"cursor":"again"`, `"page":2`)), events(swap(`"tools":[`, `"nextCursor":"again","tools":[],"was":[`))},
		"a stream that is cut":           {"stream", "within a frame", nil, whole(func(f []string) []string { return append(f[:3], f[3][:9]) })},
		"a frame that is no JSON":        {"stream", "want JSON", nil, whole(insert("id: x\ndata: hello"))},
		"an id twice":                    {"ids", "other than that", nil, whole(func(f []string) []string { return slices.Insert(f, 2, f[2]) })},
		"the id of another stream": {"ids", "no other stream", nil, events(func(s string) string {
			if f := strings.SplitAfter(s, "\n\n"); len(f) < 5 {
				other = idLine.FindString(f[1])
				return s
			}
			at := strings.LastIndex(s, "id: ")
			return s[:at] + other + s[strings.Index(s[at:], "\n")+at+1:]
		})},
		"progress that does not increase": {"grammar", "above", nil, events(swap(`"progress":2`, `"progress":1`))},
		"progress of another call":        {"grammar", "progress of", nil, events(swap(`"progressToken":"`, `"progressToken":"x`))},
		"the response of another call":    {"grammar", "the response to", nil, whole(change(`"id":"conform-`, `"id":"other-`))},
		"no response":                     {"grammar", "without the response", nil, whole(func(f []string) []string { return f[:len(f)-1] })},
		"a message after the response":    {"grammar", "nothing after", nil, whole(func(f []string) []string { return append(f, f[2]) })},
		"a result and an error":           {"grammar", "a result or an error", nil, whole(change(`"result":`, `"error":{"code":1,"message":"x"},"result":`))},
		"a request to the client":         {"grammar", "no capability for it", nil, whole(insert(`data: {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`))},
		"another version of JSON-RPC":     {"grammar", "JSON-RPC 2.0", nil, whole(change(`"jsonrpc":"2.0"`, `"jsonrpc":"1.0"`))},
		"progress as a text":              {"schema", "progress", nil, events(swap(`"progress":2`, `"progress":"2"`))},
		"a result without content":        {"schema", "content", nil, events(swap(`"content":[`, `"contents":[`))},
		"another result than the schema":  {"schema", "structuredContent", nil, whole(change(`"confidence":`, `"confidence":"x","was":`))},
		"progress without a token": {"progress", "without a token", sent(func(s string) string {
			if strings.Contains(s, `"tools/call"`) && !strings.Contains(s, "_meta") {
				return strings.Replace(s, `"params":{`, `"params":{"_meta":{"progressToken":"t"},`, 1)
			}
			return s
		}), nil},
		"another text when it is read again": {"replay", "want", nil, of(http.MethodGet, events(swap("wörd0", "word0")))},
		"ids without a stream to continue":   {"replay", "want status 200", nil, status(isGet, 404)},
		"ignores Last-Event-ID":              {"resume", "resumed after", header("Last-Event-Id", start), nil},
		"ignores it after a cut":             {"cut", "cut after", header("Last-Event-Id", start), nil},
		"resumes too late":                   {"resume", "resumed after", nil, of(http.MethodGet, whole(func(f []string) []string { return f[1:] }))},
		"loses frames of a slow reader": {"slow", "want", nil, of(http.MethodPost, whole(func(f []string) []string {
			if questions++; questions == 2 {
				return slices.Delete(f, 3, 4)
			}
			return f
		}))},
		"a cancellation with status 200": {"cancel", "want the status 202", nil, status(func(r *http.Response) bool { return accepted(r) && r.Request.ContentLength > 100 }, 200)},
		"does not cancel":                {"cancel", "no result after", sent(swap(`"requestId":"conform`, `"requestId":"other`)), late},
		"never ends":                     {"stream", "no end within", nil, nil},
		"takes bad JSON": {"errors", "bad JSON", sent(func(s string) string {
			if s == `{"` {
				return `{"jsonrpc":"2.0","id":9,"method":"ping"}`
			}
			return s
		}), nil},
		"an unknown method that works":  {"errors", "unknown method", sent(swap(`"method":"no/such"`, `"method":"ping"`)), nil},
		"an unknown tool that works":    {"errors", "unknown tool", sent(swap(`"arguments":{},"name":"no_such_tool"`, `"arguments":{"query":"short question"},"name":"ask"`)), nil},
		"a missing argument that works": {"errors", "missing argument", sent(swap(`"arguments":{},"name":"ask"`, `"arguments":{"query":"short question"},"name":"ask"`)), nil},
		"an unsupported version":        {"errors", "unsupported version", header(version, swap("1999-01-01", "2025-11-25")), nil},
		"an unknown session":            {"errors", "unknown session", header(id, swap("unknown", "")), nil},
		"no session": {"errors", "no session", func(r *http.Request) {
			if r.Header.Get(id) == "" {
				sent(swap(`"method":"tools/list"`, `"method":"ping"`))(r)
			}
		}, nil},
		"a wrong method": {"errors", "wrong method", nil, func(r *http.Response) error {
			if r.Request.Method == http.MethodPut {
				r.StatusCode = 200
			}
			return nil
		}},
		"a session that does not end": {"errors", "after DELETE", func(r *http.Request) {
			if r.Method == http.MethodDelete {
				r.Method, r.URL.Path = http.MethodGet, "/healthz"
			}
		}, nil},
	}
}

// brokenServer is a server that is broken on purpose.
type brokenServer struct {
	check, reason string
	request       func(*http.Request)
	reply         func(*http.Response) error
}

func isGet(r *http.Response) bool { return r.Request.Method == http.MethodGet }

// twice doubles the list of tools.
func twice(s string) string {
	const list = `"tools":[`
	i, j := strings.Index(s, list), strings.LastIndex(s, "]")
	if i < 0 {
		return s
	}
	i += len(list)
	return s[:i] + s[i:j] + "," + s[i:]
}

// late delays the last event of a question by more than the time in which a call may end after it was cancelled.
func late(r *http.Response) error {
	var end string
	err := events(func(s string) string {
		if at := strings.LastIndex(s, "event: "); strings.Contains(s, "progress") {
			s, end = s[:at], s[at:]
		}
		return s
	})(r)
	if end != "" {
		r.Body = io.NopCloser(io.MultiReader(r.Body, pause{r.Request.Context()}, strings.NewReader(end)))
	}
	return err
}

// pause is a body without bytes that ends after a while.
type pause struct{ ctx context.Context }

// Read implements [io.Reader].
func (p pause) Read([]byte) (int, error) {
	select {
	case <-p.ctx.Done():
	case <-time.After(1200 * time.Millisecond):
	}
	return 0, io.EOF
}

// TestBrokenMCP checks that servers of MCP that are broken on purpose are caught.
func TestBrokenMCP(t *testing.T) {
	t.Parallel()
	target := scripted(t)
	for name, test := range brokenMCP() {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if name == "never ends" {
				timeout = time.Second
				test.reply = func(r *http.Response) error {
					if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
						r.Body = endless{r.Body, r.Request.Context()}
					}
					return nil
				}
			}
			url := proxy(t, target, test.request, test.reply)
			r := run(t, "mcp", conform.Options{URL: url, Question: "short question", Timeout: timeout, Only: []string{test.check}})[test.check]
			if r.Status != conform.Fail || !strings.Contains(r.Reason, test.reason) {
				t.Errorf("%s: %s %s; want a failure with %q", test.check, r.Status, r.Reason, test.reason)
			}
			t.Log(r.Reason)
		})
	}
}

// TestOtherMCP checks servers that are made with the official SDK: with streams that are kept, without, with replies of JSON, and without sessions.
func TestOtherMCP(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options mcp.StreamableHTTPOptions
		skipped []string // checks
	}{
		"kept":     {mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}, nil},
		"not kept": {mcp.StreamableHTTPOptions{}, []string{"ids", "replay", "resume", "cut", "slow"}},
		"JSON":     {mcp.StreamableHTTPOptions{JSONResponse: true}, []string{"ids", "progress", "replay", "resume", "cut", "slow", "cancel"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mcp.NewServer(&mcp.Implementation{Name: "other", Version: "1"}, nil)
			type in struct {
				Text string `json:"text"`
			}
			mcp.AddTool(s, &mcp.Tool{Name: "lookup"}, func(ctx context.Context, r *mcp.CallToolRequest, in in) (*mcp.CallToolResult, any, error) {
				if token := r.Params.GetProgressToken(); token != nil {
					for i := range 5 {
						_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(i + 1)})
					}
				}
				if in.Text == "wait" {
					<-ctx.Done()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, ctx.Err()
			})
			mux := http.NewServeMux()
			mux.Handle("/api/tools", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &test.options))
			h := httptest.NewServer(mux)
			t.Cleanup(h.Close)
			o := conform.Options{URL: h.URL + "/api/tools", Question: "hello", Tool: "lookup", Argument: "text", Timeout: time.Minute}
			if name != "JSON" {
				o.CancelQuestion = "wait"
			}
			for _, r := range run(t, "mcp", o) {
				want := conform.OK
				if slices.Contains(test.skipped, r.Name) {
					want = conform.Skip
				}
				if r.Status != want {
					t.Errorf("%s: %s %s; want %s", r.Name, r.Status, r.Reason, want)
				}
			}
		})
	}
}
