package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/sse"
)

// withKey sends requests with a key.
type withKey struct{ key string }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+k.key)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects the Go SDK's client to a server until the test ends.
func dial(t *testing.T, url, key string, progress func(*mcp.ProgressNotificationParams)) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if progress != nil {
				progress(r.Params)
			}
		}})
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: withKey{key}}}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// callTool calls a tool and returns its text and its structured content.
func callTool(t *testing.T, s *mcp.ClientSession, name string, arguments map[string]any) (text string, content map[string]any, failed bool) {
	t.Helper()
	p := &mcp.CallToolParams{Name: name, Arguments: arguments}
	p.SetProgressToken("p")
	r, err := s.CallTool(t.Context(), p)
	if err != nil {
		t.Fatalf("%s %v: %v", name, arguments, err)
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil || json.Unmarshal(raw, &content) != nil {
		t.Fatalf("%s: %v %s", name, err, raw)
	}
	return r.Content[0].(*mcp.TextContent).Text, content, r.IsError
}

// openMCP serves a secured server with a vector store of documents, over HTTP.
func openMCP(t *testing.T) (c *city, url, key string) {
	t.Helper()
	c = openSecured(t, t.TempDir())
	for _, name := range []string{"farland-f", "nearland-f", "third-f"} {
		text := strings.ReplaceAll(victimText, "chronicle", name)
		if name == "nearland-f" {
			text = ownText
		}
		c.upload("acme", name, text)
	}
	c.reply(http.StatusOK, "acme", "POST", "/v1/vector_stores", `{"id":"lands","name":"lands","file_ids":["farland-f","nearland-f"]}`)
	srv := httptest.NewServer(c.handler)
	t.Cleanup(srv.Close)
	return c, srv.URL, c.scoped("acme", auth.Ask, auth.Read)
}

// scoped returns a new key of a tenant.
func (c *city) scoped(tenant string, scopes ...auth.Scope) string {
	c.Helper()
	text, _, err := auth.Create(c.Context(), c.keys, auth.Key{Tenant: tenant, Account: "ada", Scopes: scopes}, time.Now())
	require.NoError(c, err)
	return text
}

// TestMCPTools calls each tool with the client of the Go SDK, which checks the results against the schemas.
func TestMCPTools(t *testing.T) {
	t.Parallel()
	_, url, key := openMCP(t)
	notes := make(chan *mcp.ProgressNotificationParams, 1000)
	s := dial(t, url, key, func(p *mcp.ProgressNotificationParams) { notes <- p })
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.OutputSchema == nil || tool.Description == "" {
			t.Errorf("%s lacks a schema or a description", tool.Name)
		}
	}
	if want := []string{"ask", "list_documents", "read_document", "search"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}

	text, answer, failed := callTool(t, s, "ask", map[string]any{"query": "Who keeps Farland?", "collection": "lands"})
	if failed || !strings.Contains(text, "Zelda Quux") || !strings.Contains(text, "[1]") || !strings.Contains(text, "Sources:") {
		t.Fatalf("%t %s", failed, text)
	}
	if answer["run_id"] == "" || len(answer["sources"].([]any)) == 0 || answer["confidence"].(float64) <= 0 || !strings.Contains(answer["content"].(string), "Zelda Quux") {
		t.Errorf("%v", answer)
	}
	var messages []string
	last := 0.0
	patience, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for !strings.HasPrefix(slices.Concat([]string{""}, messages)[len(messages)], "Listed ") { // the last step
		var p *mcp.ProgressNotificationParams
		select {
		case p = <-notes:
		case <-patience.Done():
			t.Fatalf("progress: %q", messages)
		}
		if p.ProgressToken != "p" || p.Progress <= last {
			t.Errorf("%+v follows %v", p, last)
		}
		last = p.Progress
		messages = append(messages, p.Message)
	}
	all := strings.Join(messages, "\n")
	if !strings.Contains(all, "Analyzed the question") || !strings.Contains(all, "Zelda Quux") {
		t.Errorf("progress: %s", all)
	}
	// The run can be read in the other protocols.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/runs/"+answer["run_id"].(string)+"/stream?protocol=forge", nil)
	require.NoError(t, err)
	reply, err := (&http.Client{Transport: withKey{key}}).Do(r)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", reply, err)
	}
	_ = reply.Body.Close()

	text, found, failed := callTool(t, s, "search", map[string]any{"query": "keeper of Nearland", "collection": "lands", "top_k": 1})
	if passages := found["passages"].([]any); failed || len(passages) != 1 || !strings.Contains(text, "Bea Brook") {
		t.Errorf("%t %s", failed, text)
	}
	text, _, failed = callTool(t, s, "read_document", map[string]any{"id": "farland-f"})
	if failed || !strings.Contains(text, "Zelda Quux") {
		t.Errorf("%t %s", failed, text)
	}
	text, page, failed := callTool(t, s, "list_documents", map[string]any{"collection": "files", "limit": 2})
	if failed || len(page["documents"].([]any)) != 2 || page["next_cursor"] == nil {
		t.Errorf("%t %s", failed, text)
	}
	for name, want := range map[string]string{
		`ask {"query":" "}`:                              "query: required",
		`ask {"query":"a","topk":1}`:                     "topk",
		`ask {"query":"a","mode":"fast"}`:                "mode",
		`search {"query":"a","collection":"no"}`:         "no such collection: no",
		`search {"query":"a","collection":"default,no"}`: "no such collection: no",
		`list_documents {"collection":"default,no"}`:     "no such collection: no",
		`read_document {"id":"none"}`:                    "no such document",
		`list_documents {"limit":1000}`:                  "limit",
	} {
		tool, raw, _ := strings.Cut(name, " ")
		var arguments map[string]any
		require.NoError(t, json.Unmarshal([]byte(raw), &arguments))
		if text, _, failed := callTool(t, s, tool, arguments); !failed || !strings.Contains(text, want) || strings.Contains(text, "query: query:") {
			t.Errorf("%s: %t %s", name, failed, text)
		}
	}
}

// TestMCPResources lists the documents page by page and reads them.
func TestMCPResources(t *testing.T) {
	t.Parallel()
	c, url, key := openMCP(t)
	for i := range 20 {
		c.upload("acme", fmt.Sprintf("page-%02d", i), fmt.Sprintf("Page %d is about mosses.", i))
	}
	s := dial(t, url, key, nil)
	uris := map[string]bool{}
	pages := 0
	for cursor, more := "", true; more; pages++ {
		page, err := s.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: cursor})
		require.NoError(t, err)
		for _, r := range page.Resources {
			if uris[r.URI] {
				t.Errorf("%s twice", r.URI)
			}
			uris[r.URI] = true
		}
		cursor, more = page.NextCursor, page.NextCursor != ""
	}
	if pages != 2 || len(uris) != 23 {
		t.Errorf("%d documents on %d pages", len(uris), pages)
	}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "sluice://documents/{id}" {
		t.Errorf("%v, %v", templates, err)
	}
	read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "sluice://documents/farland-f"})
	if err != nil || !strings.Contains(read.Contents[0].Text, "Zelda Quux") || read.CacheScope != "private" {
		t.Errorf("%v, %v", read, err)
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "sluice://documents/none"}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("an unknown document: %v", err)
	}
}

// TestMCPKeys checks the scopes of the tools, and that a session belongs to its account and its tenant.
func TestMCPKeys(t *testing.T) {
	t.Parallel()
	c, url, key := openMCP(t)
	for scope, permitted := range map[auth.Scope][]string{auth.Ask: {"ask"}, auth.Read: {"search", "read_document", "list_documents"}, auth.Write: nil} {
		s := dial(t, url, c.scoped("acme", scope), nil)
		for tool, arguments := range map[string]map[string]any{"ask": {"query": "Who keeps Farland?", "collection": "lands"}, "search": {"query": "Farland", "collection": "lands"},
			"read_document": {"id": "farland-f"}, "list_documents": {"collection": "files"}} {
			text, _, failed := callTool(t, s, tool, arguments)
			if failed == slices.Contains(permitted, tool) || failed && !strings.Contains(text, "lacks the scope") {
				t.Errorf("%s with %s: %t %s", tool, scope, failed, text)
			}
		}
		if _, err := s.ListResources(t.Context(), nil); (err == nil) != (scope == auth.Read) {
			t.Errorf("resources with %s: %v", scope, err)
		}
	}
	s := dial(t, url, key, nil)
	other, _, err := auth.Create(t.Context(), c.keys, auth.Key{Tenant: "acme", Account: "eve", Scopes: []auth.Scope{auth.Ask, auth.Read}}, time.Now())
	require.NoError(t, err)
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_document","arguments":{"id":"farland-f"}}}`
	for name, k := range map[string]struct {
		key    string
		status int
	}{"own": {key, 200}, "another account": {other, 403}, "another tenant": {c.scoped("s-1", auth.Ask, auth.Read), 404}, "no key": {"", 401}} {
		for _, method := range []string{"POST", "DELETE"} {
			if name == "own" && method == "DELETE" {
				continue
			}
			r := httptest.NewRequest(method, "/mcp", strings.NewReader(call))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Mcp-Session-Id", s.ID())
			r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
			if k.key != "" {
				r.Header.Set("Authorization", "Bearer "+k.key)
			}
			w := httptest.NewRecorder()
			if c.handler.ServeHTTP(w, r); w.Code != k.status || k.status != 200 && strings.Contains(w.Body.String(), "Zelda") {
				t.Errorf("%s %s: %d %s", method, name, w.Code, w.Body)
			}
		}
	}
}

// TestMCPErrors: messages that the SDK refuses get errors of JSON-RPC, and an unknown method that of its request.
func TestMCPErrors(t *testing.T) {
	t.Parallel()
	c, url, key := openMCP(t)
	s := dial(t, url, key, nil)
	for name, test := range map[string]struct {
		session, body string
		status, code  int
		id            string
	}{
		"unknown method":              {s.ID(), `{"jsonrpc":"2.0","id":12345678901234567890,"method":"no/such"}`, 200, -32601, "12345678901234567890"},
		"unknown method as a text":    {s.ID(), `{"jsonrpc":"2.0","id":"a","method":"no/such"}`, 200, -32601, `"a"`},
		"unknown notification":        {s.ID(), `{"jsonrpc":"2.0","method":"no/such"}`, 400, -32600, ""},
		"no JSON":                     {s.ID(), `{"`, 400, -32700, ""},
		"no message":                  {s.ID(), `{}`, 400, -32600, ""},
		"session that does not exist": {"unknown", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 404, -32600, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(test.body))
		for header, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + key,
			"Mcp-Session-Id": test.session, "Mcp-Protocol-Version": "2025-06-18"} {
			r.Header.Set(header, value)
		}
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		var got struct {
			JSONRPC string
			ID      json.RawMessage
			Error   struct {
				Code    int
				Message string
			}
		}
		err := json.Unmarshal(w.Body.Bytes(), &got)
		if err != nil || w.Code != test.status || w.Header().Get("Content-Type") != "application/json" || got.JSONRPC != "2.0" || string(got.ID) != test.id || got.Error.Code != test.code || got.Error.Message == "" {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, err)
		}
	}
}

// TestMCPRefusals: requests without a valid key, from a foreign page and over the rate get JSON-RPC errors with the status and the headers of HTTP.
func TestMCPRefusals(t *testing.T) {
	t.Parallel()
	c, _, key := openMCP(t)
	slow, _, err := auth.Create(t.Context(), c.keys, auth.Key{Tenant: "acme", Account: "ada", Scopes: []auth.Scope{auth.Ask}, Rate: auth.Limit{N: 1, Unit: "h"}}, time.Now())
	require.NoError(t, err)
	send := func(body string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		return w
	}
	send("{}", "Authorization", "Bearer "+slow)
	for name, want := range map[string]struct {
		reply  *httptest.ResponseRecorder
		status int
		code   int
		data   string
		header string
		value  string
	}{
		"no key":      {send("{}"), 401, -32010, "UNAUTHENTICATED", "WWW-Authenticate", `Bearer realm="sluice"`},
		"wrong key":   {send("{}", "Authorization", "Bearer x"), 401, -32010, "UNAUTHENTICATED", "WWW-Authenticate", `Bearer realm="sluice", error="invalid_token"`},
		"page":        {send("{}", "Authorization", "Bearer "+key, "Origin", "https://evil.example"), 403, -32010, "FORBIDDEN", "WWW-Authenticate", ""},
		"rate":        {send("{}", "Authorization", "Bearer "+slow), 429, -32010, "OVERLOADED", "Retry-After", "3600"},
		"not allowed": {httptest.NewRecorder(), 405, -32600, "INVALID_REQUEST", "Allow", "DELETE, GET, HEAD, POST"},
	} {
		if name == "not allowed" {
			r := httptest.NewRequest(http.MethodPut, "/mcp", nil)
			r.Header.Set("Authorization", "Bearer "+key)
			c.handler.ServeHTTP(want.reply, r)
		}
		var got struct {
			JSONRPC string
			ID      *json.RawMessage
			Error   struct {
				Code    int
				Message string
				Data    struct{ Code string }
			}
		}
		err := json.Unmarshal(want.reply.Body.Bytes(), &got)
		if err != nil || want.reply.Code != want.status || got.JSONRPC != "2.0" || got.ID != nil || got.Error.Code != want.code || got.Error.Message == "" || got.Error.Data.Code != want.data ||
			want.reply.Header().Get(want.header) != want.value {
			t.Errorf("%s: %d %v %s", name, want.reply.Code, want.reply.Header(), want.reply.Body)
		}
	}
}

// TestMCPWatched: a question that is asked over this protocol is read in another one while it is being answered, and the reader gets the whole answer.
func TestMCPWatched(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	release := sync.OnceFunc(func() { close(gate) })
	slow := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Ada ", "Brook ", "keeps ", "it."}, Next: func(int, []byte) modeltest.Script {
		<-gate
		return modeltest.Script{Tokens: []string{"Ada ", "Brook ", "keeps ", "it."}}
	}})
	t.Cleanup(release)
	c := secured(t, slow)
	c.add("a", "account-a", 0, auth.Ask, auth.Read)
	srv := httptest.NewServer(c.handler)
	t.Cleanup(srv.Close)
	web := &http.Client{Transport: withKey{c.texts["a"]}}
	get := func(path string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		require.NoError(t, err)
		res, err := web.Do(r)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, res, err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res
	}
	begun := make(chan struct{}, 100)
	s := dial(t, srv.URL, c.texts["a"], func(*mcp.ProgressNotificationParams) { begun <- struct{}{} })
	type result struct {
		text, run string
	}
	answered := make(chan result, 1)
	go func() {
		text, content, _ := callTool(t, s, "ask", map[string]any{"query": whoKeeps})
		run, _ := content["run_id"].(string)
		answered <- result{text, run}
	}()
	<-begun
	var list server.RunList
	if err := json.NewDecoder(get("/api/runs").Body).Decode(&list); err != nil || len(list.Runs) != 1 || list.Runs[0].Protocol != "mcp" || list.Runs[0].Status != event.Running {
		t.Fatalf("%+v %v", list, err)
	}
	var names []string
	text := ""
	for ev, err := range sse.NewReader(get("/runs/"+string(list.Runs[0].RunID)+"/stream?protocol=forge").Body, 0).All() {
		require.NoError(t, err)
		if len(names) == 0 {
			select {
			case r := <-answered:
				t.Errorf("the first event was read after the answer %+v", r)
			default:
			}
			release()
		}
		var token struct{ Content string }
		if names = append(names, ev.Name); ev.Name == "token" && json.Unmarshal([]byte(ev.Data), &token) == nil {
			text += token.Content
		}
	}
	r := <-answered
	if r.run != string(list.Runs[0].RunID) || names[0] != "query_analysis" || names[len(names)-1] != "done" || !strings.Contains(text, "Ada Brook keeps it") || !strings.Contains(r.text, "Ada Brook keeps it") {
		t.Errorf("events %q with the text %q; the result %+v", names, text, r)
	}
}

// TestMCPCancel: a call that is cancelled cancels its run.
func TestMCPCancel(t *testing.T) {
	t.Parallel()
	silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
	c := secured(t, silent)
	c.add("a", "account-a", 0, auth.Ask, auth.Read)
	srv := httptest.NewServer(c.handler)
	t.Cleanup(srv.Close)
	s := dial(t, srv.URL, c.texts["a"], nil)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "ask", Arguments: map[string]any{"query": whoKeeps}})
		failed <- err
	}()
	silent.Wait(t, generating)
	cancel()
	if err := <-failed; err == nil {
		t.Error("the call was not cancelled")
	}
	awaitCancelled(t, c)
}

// awaitCancelled waits until the only run has ended, and checks that it was cancelled.
func awaitCancelled(t *testing.T, c *callers) {
	t.Helper()
	list := func() string {
		r := httptest.NewRequest(http.MethodGet, "/api/runs", nil)
		r.Header.Set("Authorization", "Bearer "+c.texts["a"])
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		return w.Body.String()
	}
	var runs struct {
		Runs []struct {
			RunID string `json:"run_id"`
		}
	}
	if err := json.Unmarshal([]byte(list()), &runs); err != nil || len(runs.Runs) != 1 {
		t.Fatalf("%v %s", err, list())
	}
	for _, err := range c.Default.Engine.Events(t.Context(), event.RunID(runs.Runs[0].RunID), 0) { // until the run has ended
		require.NoError(t, err)
	}
	if text := list(); !strings.Contains(text, "cancelled") {
		t.Errorf("the run was not cancelled: %s", text)
	}
}

// TestMCPDisconnect: a call whose client leaves is cancelled after the grace period, here at once.
func TestMCPDisconnect(t *testing.T) {
	t.Parallel()
	silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
	data := t.TempDir()
	ingestDefault(t, data, recordsOf(t, data), "default", farland("Ada Brook"))
	change := func(cfg *config.Config) {
		withModel(silent)(cfg)
		cfg.Runs.Grace = 0
	}
	city, shared := openCity(t, data, change, func(s *app.Shared) error { return s.OpenAccess(t.Context(), "", false) })
	city.secure(shared)
	c := &callers{city, map[string]string{}}
	c.add("a", "account-a", 0, auth.Ask, auth.Read)
	send := func(ctx context.Context, session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+c.texts["a"])
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, r)
		return w
	}
	begun := send(t.Context(), "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session := begun.Header().Get("Mcp-Session-Id")
	if begun.Code != http.StatusOK || session == "" {
		t.Fatalf("%d %s", begun.Code, begun.Body)
	}
	if w := send(t.Context(), session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		send(ctx, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"query":"`+whoKeeps+`"}}}`)
	}()
	silent.Wait(t, generating)
	leave()
	<-left
	awaitCancelled(t, c)
}

// cutting breaks the first stream of a tool call after some bytes, and counts the requests that resume one.
type cutting struct {
	withKey
	cut, resumed atomic.Int32
}

func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Last-Event-ID") != "" {
		c.resumed.Add(1)
	}
	calls := false
	if r.GetBody != nil {
		if b, err := r.GetBody(); err == nil {
			text, _ := io.ReadAll(b)
			calls = strings.Contains(string(text), "tools/call")
		}
	}
	reply, err := c.withKey.RoundTrip(r)
	if err == nil && calls && c.cut.Add(1) == 1 {
		reply.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(reply.Body, 600), iotest.ErrReader(io.ErrUnexpectedEOF)), reply.Body}
	}
	return reply, err
}

// TestMCPResume: a client whose stream breaks resumes it.
func TestMCPResume(t *testing.T) {
	t.Parallel()
	_, url, key := openMCP(t)
	wire := &cutting{withKey: withKey{key}}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: wire}}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	text, _, failed := callTool(t, s, "ask", map[string]any{"query": "Who keeps Farland?", "collection": "lands"})
	if failed || !strings.Contains(text, "Zelda Quux") || wire.resumed.Load() == 0 {
		t.Errorf("%t, resumed %d times: %s", failed, wire.resumed.Load(), text)
	}
}

// TestMCPRevoked: the stream of a session ends soon after its key was revoked, and those of other keys go on.
func TestMCPRevoked(t *testing.T) {
	t.Parallel()
	c, url, key := openMCP(t)
	send := func(method, key, session, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url+"/mcp", strings.NewReader(body))
		require.NoError(t, err)
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		reply, err := withKey{key}.RoundTrip(r)
		if err != nil || reply.StatusCode != http.StatusOK {
			t.Fatal(reply, err)
		}
		t.Cleanup(func() { _ = reply.Body.Close() })
		return reply
	}
	open := func(key string) (ended chan error) {
		t.Helper()
		const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		stream := send(http.MethodGet, key, send(http.MethodPost, key, "", begin).Header.Get("Mcp-Session-Id"), "")
		ended = make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, stream.Body)
			ended <- err
		}()
		return ended
	}
	revoked, other := open(key), open(c.scoped("acme", auth.Ask))
	id, _, err := auth.Parse(key)
	if err == nil {
		err = c.keys.Revoke(t.Context(), id, time.Now())
	}
	require.NoError(t, err)
	select {
	case err := <-revoked:
		t.Logf("the stream ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the stream of the revoked key has not ended")
	}
	select {
	case err := <-other:
		t.Errorf("the stream of another key has ended: %v", err)
	default:
	}
}

// TestMCPSessionsOfSender opens sessions until the server refuses more of them. Other accounts can still open some, and so can the sender when one has ended.
func TestMCPSessionsOfSender(t *testing.T) {
	t.Parallel()
	c, url, key := openMCP(t)
	other, _, err := auth.Create(t.Context(), c.keys, auth.Key{Tenant: "acme", Account: "bob", Scopes: []auth.Scope{auth.Ask}}, time.Now())
	require.NoError(t, err)
	send := func(method, key, session, body string) (status int, opened string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url+"/mcp", strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		reply, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, reply.Body)
		require.NoError(t, errors.Join(err, reply.Body.Close()))
		return reply.StatusCode, reply.Header.Get("Mcp-Session-Id")
	}
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	const limit = 250
	last := ""
	for n := range limit {
		status, id := send(http.MethodPost, key, "", begin)
		if status != http.StatusOK || id == "" {
			t.Fatalf("session %d: %d", n, status)
		}
		last = id
	}
	if status, _ := send(http.MethodPost, key, "", begin); status != http.StatusTooManyRequests {
		t.Errorf("one session too many: %d", status)
	}
	if status, _ := send(http.MethodPost, other, "", begin); status != http.StatusOK {
		t.Errorf("a session of another account: %d", status)
	}
	if status, _ := send(http.MethodDelete, other, last, ""); status != http.StatusForbidden {
		t.Errorf("the end of a session of another account: %d", status)
	}
	if status, _ := send(http.MethodDelete, key, last, ""); status != http.StatusNoContent {
		t.Errorf("the end of a session: %d", status)
	}
	if status, _ := send(http.MethodPost, key, "", begin); status != http.StatusOK {
		t.Errorf("a session after one has ended: %d", status)
	}
}
