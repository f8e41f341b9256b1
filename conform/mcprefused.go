package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Codes of errors of JSON-RPC: https://www.jsonrpc.org/specification#error_object
const (
	codeParse   = -32700
	codeRequest = -32600
	codeMethod  = -32601
	codeParams  = -32602
)

// late is the time after a cancellation from which on a result shows that the call went on.
const late = time.Second

// cancelMCP cancels a call after its first message. Afterwards the stream must end. The specification says that a server should send no response then, and not that
// it ends the stream, so a stream in which nothing follows shows nothing.
func (t *tester) cancelMCP(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	res, err := t.open(ctx, http.MethodPost, mcpPath, t.mcp.question(t.o, cmp.Or(t.o.CancelQuestion, t.o.Question), true), "")
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	var frames []Frame
	var stopped time.Time
	var failed error // of the cancellation
	_, err = readEvents(&bounded{r: res.Body}, 0, func(f Frame) bool {
		if f.Data != "" {
			frames = append(frames, f)
		}
		if len(frames) == 1 && stopped.IsZero() && !isResponse(f) {
			stopped, failed = time.Now(), t.stopMCP(ctx)
		}
		return failed != nil || isResponse(f)
	})
	took := time.Since(stopped)
	switch {
	case failed != nil:
		return failed
	case len(frames) > 0 && stopped.IsZero() && err == nil:
		return errSkip("the response is the first message, so the call had ended before it could be cancelled")
	case err != nil && ctx.Err() != nil && !stopped.IsZero():
		return errSkip("the stream neither ended nor had a response. The specification permits both, so it is not known whether the server cancels")
	case err != nil:
		return err
	case len(frames) == 0:
		return errors.New("want messages; got an empty stream")
	}
	last := frames[len(frames)-1]
	if !isResponse(last) {
		return nil // no response, as the specification says
	}
	if err := t.valid(frames); err != nil {
		return err
	}
	switch {
	case last.field("error") != "" || last.field("result.isError") == "true":
		return nil
	case took > late:
		return fmt.Errorf("want no result after the cancellation; got one %s after it: %s", took.Round(time.Millisecond), last)
	}
	return errSkip("the call had ended before it was cancelled")
}

// stopMCP cancels the last call.
func (t *tester) stopMCP(ctx context.Context) error {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": t.mcp.last, "reason": "conformance check"}}) // strings
	r, err := t.exchange(ctx, http.MethodPost, body, nil)
	if err == nil && r.status != http.StatusAccepted {
		err = fmt.Errorf("notifications/cancelled: want the status 202; got %s", r)
	}
	return err
}

// mcpRefused is a message that must be refused.
type mcpRefused struct {
	name, method string
	body         []byte
	change       func(http.Header)
	status       []int // one of them is the status of the reply; empty: any
	anyError     bool  // every status of 4xx will do
	codes        []int // one of them is the code of the error in the response
	anyCode      bool  // every error will do
	result       bool  // a result that is an error of the tool will do
}

// check checks the reply. id is that of the request; empty: it cannot be read.
func (c mcpRefused) check(r mcpReply, id string) error {
	code := codeOf(r.json)
	switch {
	case c.anyCode && r.field("error.message") != "":
		return nil
	case slices.Contains(c.status, r.status), c.anyError && r.status/100 == 4:
		return nil
	case code != 0 && slices.Contains(c.codes, code) && (id == "" || r.field("id") == id) && r.field("error.message") != "":
		return nil
	case c.result && r.field("result.isError") == "true" && r.field("id") == id:
		return nil
	}
	var want []string
	if len(c.status) > 0 {
		want = append(want, fmt.Sprintf("a status of %d", c.status))
	}
	if c.anyError {
		want = append(want, "a status of 4xx")
	}
	if len(c.codes) > 0 {
		want = append(want, fmt.Sprintf("an error with a code of %d and the id %q", c.codes, id))
	}
	if c.result {
		want = append(want, "a result with isError")
	}
	return fmt.Errorf("%s: want %s; got %s", c.name, strings.Join(want, " or "), r)
}

// refusalsMCP sends messages that must be refused, and ends the session.
func (t *tester) refusalsMCP(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	if t.mcp.tool == nil {
		if err := t.tools(ctx); err != nil {
			return err
		}
	}
	s := t.mcp
	ask := func(name string, arguments any) func() []byte {
		return func() []byte {
			return s.call("tools/call", map[string]any{"name": name, "arguments": arguments}, false)
		}
	}
	ping := func() []byte { return s.call("ping", map[string]any{}, false) }
	type made struct {
		mcpRefused
		of func() []byte // its body with an id; nil: it has none
	}
	list := []made{
		{mcpRefused{name: "bad JSON", body: []byte(`{"`), anyError: true, codes: []int{codeParse}}, nil},
		{mcpRefused{name: "no message", body: []byte(`{}`), anyError: true, codes: []int{codeRequest, codeParse}}, nil},
		{mcpRefused{name: "unknown method", anyError: true, codes: []int{codeMethod}}, func() []byte { return s.call("no/such", map[string]any{}, false) }},
		{mcpRefused{name: "unknown tool", codes: []int{codeParams, codeMethod}, result: true}, ask("no_such_tool", map[string]any{})},
		{mcpRefused{name: "unsupported version", status: []int{http.StatusBadRequest}, change: func(h http.Header) { h.Set("MCP-Protocol-Version", "1999-01-01") }}, ping},
		{mcpRefused{name: "wrong method", method: http.MethodPut, body: []byte(`{}`), status: []int{http.StatusMethodNotAllowed, http.StatusNotFound}}, nil},
	}
	schema, _ := s.tool["inputSchema"].(map[string]any)
	if required, _ := schema["required"].([]any); slices.Contains(required, any(t.o.Argument)) {
		list = append(list, made{mcpRefused{name: "missing argument", codes: []int{codeParams}, result: true}, ask(t.o.Tool, map[string]any{})})
	}
	if s.id != "" {
		list = append(list, made{mcpRefused{name: "unknown session", status: []int{http.StatusNotFound}, change: func(h http.Header) { h.Set(mcpHeader, "unknown") }}, ping},
			made{mcpRefused{name: "no session", anyError: true, change: func(h http.Header) { h.Del(mcpHeader) }, anyCode: true}, func() []byte {
				return s.call("tools/list", map[string]any{}, false)
			}})
	}
	for _, c := range list {
		id := ""
		if c.of != nil {
			c.body = c.of()
			id = s.last
		}
		r, err := t.exchange(ctx, cmp.Or(c.method, http.MethodPost), c.body, c.change)
		if err == nil {
			err = c.check(r, id)
		}
		if err != nil {
			return err
		}
	}
	return t.endMCP(ctx)
}

// endMCP ends the session. A server may refuse that; otherwise the session must be unknown afterwards.
func (t *tester) endMCP(ctx context.Context) error {
	if t.mcp.id == "" {
		return nil
	}
	r, err := t.exchange(ctx, http.MethodDelete, nil, nil)
	if err != nil || r.status == http.StatusMethodNotAllowed {
		return err
	}
	if r.status/100 != 2 {
		return fmt.Errorf("DELETE: want a status of 2xx or 405; got %s", r)
	}
	r, err = t.exchange(ctx, http.MethodPost, t.mcp.call("ping", map[string]any{}, false), nil)
	if err == nil && r.status != http.StatusNotFound {
		err = fmt.Errorf("ping after DELETE: want the status 404; got %s", r)
	}
	t.mcp.id = "" // it has ended
	return err
}
