package conform

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The Model Context Protocol, https://modelcontextprotocol.io/specification/2025-11-25
const (
	mcpPath      = "/mcp"
	mcpHeader    = "Mcp-Session-Id"
	mcpVersion   = "2025-11-25"
	mcpProgress  = "notifications/progress"
	maxToolPages = 100
)

// mcpVersions are the versions that have sessions, which is also what a server may choose.
var mcpVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", mcpVersion}

// mcpSession is a session with a server of MCP.
type mcpSession struct {
	id, version string
	calls       int
	last, asked string            // ids of the last request, and of the last question
	used        map[string]bool   // ids of events in the streams of other requests than questions
	before      map[string]string // ids of first events that only have an id, by that of the next event. A stream is read again after them
	first       map[string]Frame  // of streams that begin otherwise, by its id: a stream that is read again lacks it
	tool        map[string]any    // as it is listed; nil: not read
}

func mcpProtocol() Protocol {
	return Protocol{Name: "mcp", Ask: mcpPath, MCP: true, FreeIDs: true, Grammar: func() Grammar { return &mcpGrammar{} }}
}

// call returns the body of a request, whose id no other request of the session has. With progress, the id is also the token of the progress.
func (s *mcpSession) call(method string, params map[string]any, progress bool) []byte {
	s.calls++
	s.last = fmt.Sprintf("%s-%d", callID, s.calls)
	if progress {
		params["_meta"] = map[string]any{"progressToken": s.last}
	}
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params}) // what was decoded, and strings
	return data
}

// question returns the body of a call of the tool with a question.
func (s *mcpSession) question(o Options, question string, progress bool) []byte {
	body := s.call("tools/call", map[string]any{"name": o.Tool, "arguments": map[string]any{o.Argument: question}}, progress)
	s.asked = s.last
	return body
}

// header sets the headers of a session, and those of its transport.
func (s *mcpSession) header(h http.Header) {
	if h.Set("Accept", "application/json, text/event-stream"); s == nil {
		return
	}
	if s.id != "" {
		h.Set(mcpHeader, s.id)
	}
	if s.version != "" {
		h.Set("MCP-Protocol-Version", s.version)
	}
}

// mcpReply is the reply to a message.
type mcpReply struct {
	status int
	header http.Header
	text   []byte // without a stream
	json   any    // the response of JSON-RPC in the body or in the stream; nil: there is none
}

// String returns the beginning of the reply.
func (r mcpReply) String() string {
	text := r.text
	if r.json != nil {
		text, _ = json.Marshal(r.json) // it was decoded
	}
	return fmt.Sprintf("%d: %.300s", r.status, text)
}

// field returns a member of the response.
func (r mcpReply) field(path string) string { return Frame{JSON: r.json}.field(path) }

// exchange sends a request and reads the reply up to the response. change changes the request; it may be nil.
func (t *tester) exchange(ctx context.Context, method string, body []byte, change func(http.Header)) (r mcpReply, err error) {
	req, err := t.request(ctx, method, mcpPath, body, "")
	if err != nil {
		return r, err
	}
	if change != nil {
		change(req.Header)
	}
	res, err := t.http.Do(req)
	if err != nil {
		return r, err
	}
	defer func() { _ = res.Body.Close() }()
	r = mcpReply{status: res.StatusCode, header: res.Header}
	if strings.HasPrefix(res.Header.Get("Content-Type"), t.media()) {
		frames, err := readEvents(&bounded{r: res.Body}, 0, isResponse)
		for _, f := range frames {
			if t.mcp != nil && f.ID != "" {
				t.mcp.used[f.ID] = true
			}
			if isResponse(f) {
				r.json = f.JSON
			}
		}
		return r, err
	}
	r.text, err = io.ReadAll(io.LimitReader(res.Body, maxReply))
	r.json, _ = jsonschema.UnmarshalJSON(bytes.NewReader(r.text)) // errors may be texts
	return r, err
}

// isResponse reports whether a frame is the response to a request.
func isResponse(f Frame) bool {
	object, _ := f.JSON.(map[string]any)
	return object != nil && object["method"] == nil
}

// begin opens a session, once.
func (t *tester) begin(ctx context.Context) (err error) {
	if t.mcp != nil {
		return nil
	}
	s := &mcpSession{used: map[string]bool{}, before: map[string]string{}, first: map[string]Frame{}}
	t.mcp = s
	defer func() {
		if err != nil {
			t.mcp = nil
		}
	}()
	body := s.call("initialize", map[string]any{"protocolVersion": mcpVersion, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "sluice conform", "version": "1"}}, false)
	r, err := t.exchange(ctx, http.MethodPost, body, nil)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	s.id, s.version = r.header.Get(mcpHeader), r.field("result.protocolVersion")
	result, _ := r.json.(map[string]any)
	result, _ = result["result"].(map[string]any)
	capabilities, _ := result["capabilities"].(map[string]any)
	switch {
	case r.status != http.StatusOK || result == nil || r.field("id") != s.last || r.field("jsonrpc") != "2.0":
		return fmt.Errorf("initialize: want the status 200 and a result for the id %q; got %s", s.last, r)
	case !slices.Contains(mcpVersions, s.version):
		return fmt.Errorf("initialize: want a version of %q; got %.60q", mcpVersions, s.version)
	case r.field("result.serverInfo.name") == "" || r.field("result.serverInfo.version") == "":
		return fmt.Errorf("initialize: want serverInfo with a name and a version; got %s", r)
	case capabilities["tools"] == nil:
		return fmt.Errorf("initialize: want the capability tools; got %s", r)
	case strings.ContainsFunc(s.id, func(c rune) bool { return c < 0x21 || c > 0x7e }):
		return fmt.Errorf("initialize: want visible ASCII characters in the header %s; got %.60q", mcpHeader, s.id)
	}
	r, err = t.exchange(ctx, http.MethodPost, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), nil)
	if err != nil {
		return fmt.Errorf("notifications/initialized: %w", err)
	}
	if r.status != http.StatusAccepted || len(bytes.TrimSpace(r.text)) > 0 {
		return fmt.Errorf("notifications/initialized: want the status 202 and no body; got %s", r)
	}
	return nil
}

// session opens a session, sends a ping in it, and opens its stream for messages that belong to no call.
func (t *tester) session(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	r, err := t.exchange(ctx, http.MethodPost, t.mcp.call("ping", map[string]any{}, false), nil)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	if r.status != http.StatusOK || r.field("id") != t.mcp.last || r.field("result") == "" {
		return fmt.Errorf("ping: want a result for the id %q; got %s", t.mcp.last, r)
	}
	res, err := t.send(ctx, http.MethodGet, mcpPath, nil, "")
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusMethodNotAllowed && (res.StatusCode != http.StatusOK || !strings.HasPrefix(kind, t.media())) {
		return fmt.Errorf("GET: want a stream, or the status 405; got %d and %.60q", res.StatusCode, kind)
	}
	return nil
}

// tools lists the tools. Each must have a name of its own and schemas, and the tool that is asked must have the argument of the question.
func (t *tester) tools(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	seen := map[string]bool{}
	params := map[string]any{}
	for page := 0; page == 0 || params["cursor"] != ""; page++ {
		r, err := t.exchange(ctx, http.MethodPost, t.mcp.call("tools/list", params, false), nil)
		if err != nil {
			return fmt.Errorf("tools/list: %w", err)
		}
		object, _ := r.json.(map[string]any)
		object, _ = object["result"].(map[string]any)
		list, ok := object["tools"].([]any)
		if r.status != http.StatusOK || r.field("id") != t.mcp.last || !ok || page == maxToolPages {
			return fmt.Errorf("tools/list: want a list of tools for the id %q, of at most %d pages; got %s", t.mcp.last, maxToolPages, r)
		}
		for _, listed := range list {
			tool, _ := listed.(map[string]any)
			name := Frame{JSON: listed}.field("name")
			if name == "" || seen[name] {
				return fmt.Errorf("tools/list: want a tool with a name of its own; got %.100q", name)
			}
			seen[name] = true
			for _, member := range []string{"inputSchema", "outputSchema"} {
				if tool[member] == nil && member == "outputSchema" {
					continue
				}
				if _, err := compiled(tool[member]); err != nil || (Frame{JSON: tool[member]}).field("type") != "object" {
					return fmt.Errorf("tools/list: want a JSON Schema of the type object as the %s of %.60q: %w", member, name, err)
				}
			}
			if name == t.o.Tool {
				t.mcp.tool = tool
			}
		}
		params["cursor"] = r.field("result.nextCursor")
	}
	if t.mcp.tool == nil {
		return fmt.Errorf("tools/list: want the tool %q; there are %.300q", t.o.Tool, slices.Sorted(maps.Keys(seen)))
	}
	schema, _ := t.mcp.tool["inputSchema"].(map[string]any)
	if properties, ok := schema["properties"].(map[string]any); ok && properties[t.o.Argument] == nil {
		return fmt.Errorf("tools/list: want the argument %q of the tool %q", t.o.Argument, t.o.Tool)
	}
	return nil
}

// compiled compiles a schema that a server sent. References to other documents are not loaded.
func compiled(schema any) (*jsonschema.Schema, error) {
	const name = "http://schema.invalid/tool.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(name, schema); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// noLoader loads no documents.
type noLoader struct{}

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("%.100q is not loaded", url) }

// structured compares the result of the first question with the schema of the results of the tool.
func (t *tester) structured(ctx context.Context) error {
	if t.mcp.tool == nil {
		if err := t.tools(ctx); err != nil {
			return err
		}
	}
	last := t.live[len(t.live)-1]
	object, _ := last.JSON.(map[string]any)
	result, _ := object["result"].(map[string]any)
	if t.mcp.tool["outputSchema"] == nil || result == nil || result["isError"] == true {
		return nil
	}
	schema, err := compiled(t.mcp.tool["outputSchema"])
	if err == nil {
		err = schema.Validate(result["structuredContent"])
	}
	if err != nil {
		return fmt.Errorf("the structuredContent of %s: %.600s", last, err.Error())
	}
	return nil
}

// progress checks that progress is only reported to a call that has asked for it.
func (t *tester) progress(ctx context.Context) error {
	reports := func(f Frame) bool { return f.field("method") == mcpProgress }
	switch {
	case len(t.live) == 0:
		return errNoStream
	case !slices.ContainsFunc(t.live, reports):
		return errSkip("the tool reports no progress, and the protocol does not ask for it")
	}
	res, err := t.open(ctx, http.MethodPost, mcpPath, t.mcp.question(t.o, t.o.Question, false), "")
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	frames, err := t.read(res.Body, 0, 0)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(frames, reports); i >= 0 {
		return fmt.Errorf("want no progress of a call without a token; got %s", frames[i])
	}
	return t.valid(frames)
}

// primed removes the first event of a stream if it only has an id, as those of the version 2025-11-25 do.
func (s *mcpSession) primed(frames []Frame) []Frame {
	switch {
	case len(frames) == 0:
		return nil
	case frames[0].Data != "":
		s.first[frames[0].ID] = frames[0]
		return frames
	}
	id := frames[0].ID
	frames = frames[1:]
	for i := range frames {
		frames[i].N = i + 1
	}
	if len(frames) > 0 {
		s.before[frames[0].ID] = id
	}
	return frames
}

// stream returns the id of the event after which the whole stream of a call is read again.
func (s *mcpSession) stream(frames []Frame) string {
	if len(frames) == 0 {
		return ""
	}
	return cmp.Or(s.before[frames[0].ID], frames[0].ID)
}

// againMCP reads the stream of a call after an event. A server need not end a stream that was continued, so it is read up to the response.
func (t *tester) againMCP(ctx context.Context, run, after string) ([]Frame, error) {
	if run == "" {
		return nil, errSkip("events have no ids, so the stream cannot be read again")
	}
	body, err := t.resumeMCP(ctx, cmp.Or(after, run))
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	frames, err := readEvents(&bounded{r: body}, 0, isResponse)
	frames = slices.DeleteFunc(frames, func(f Frame) bool { return f.Data == "" })
	if first, ok := t.mcp.first[run]; ok && after == "" {
		frames = append([]Frame{first}, frames...)
	}
	for i := range frames {
		frames[i].N = i + 1
	}
	return frames, err
}

// retry is the time after which a stream is read again that the server believes to be open.
const retry = 50 * time.Millisecond

// resumeMCP opens the stream of a call after an event. A server may refuse it as long as it has not seen that the connection of the stream has ended.
func (t *tester) resumeMCP(ctx context.Context, after string) (io.ReadCloser, error) {
	for {
		res, err := t.send(ctx, http.MethodGet, mcpPath, nil, after)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusOK && strings.HasPrefix(res.Header.Get("Content-Type"), t.media()) {
			return res.Body, nil
		}
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxReply))
		_ = res.Body.Close()
		switch res.StatusCode {
		case http.StatusMethodNotAllowed:
			return nil, errSkip("the server does not continue streams: GET has the status 405")
		case http.StatusConflict:
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("GET after %.60q: the server has the status 409: %.200s", after, text)
			case <-time.After(retry):
			}
		default:
			return nil, fmt.Errorf("GET after %.60q: want status 200 and %s; got %d: %.300s", after, t.media(), res.StatusCode, text)
		}
	}
}

// mcpGrammar checks the messages in the stream of a call: notifications, and the response at the end.
type mcpGrammar struct {
	id       string // of the request, and its token of progress
	progress float64
	ended    bool
}

// Next implements [Grammar].
func (g *mcpGrammar) Next(f Frame) error {
	object, _ := f.JSON.(map[string]any)
	method := f.field("method")
	_, isRequest := object["id"]
	switch {
	case g.ended:
		return fmt.Errorf("want nothing after the response; got %s", f)
	case f.field("jsonrpc") != "2.0":
		return fmt.Errorf("want a message of JSON-RPC 2.0; got %s", f)
	case method != "" && isRequest && method != "ping":
		return fmt.Errorf("want no request %.60q: the client has no capability for it; got %s", method, f)
	case method == mcpProgress:
		var n float64
		_, err := fmt.Sscan(f.field("params.progress"), &n)
		if err != nil || g.progress > 0 && n <= g.progress || f.field("params.progressToken") != g.id {
			return fmt.Errorf("want progress of %q above %g; got %s", g.id, g.progress, f)
		}
		g.progress = n
	case method != "":
	case f.field("id") != g.id || (object["result"] == nil) == (object["error"] == nil):
		return fmt.Errorf("want the response to %q with a result or an error; got %s", g.id, f)
	default:
		g.ended = true
	}
	return nil
}

// End implements [Grammar].
func (g *mcpGrammar) End() error {
	if !g.ended {
		return errors.New("the stream ends without the response")
	}
	return nil
}
