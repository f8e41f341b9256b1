package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
)

// callers is a server with keys, and requests with them.
type callers struct {
	*city
	texts map[string]string // of keys, by name
}

// secured opens a server with a document and keys.
func secured(t *testing.T, m *modeltest.Server) *callers {
	t.Helper()
	data := t.TempDir()
	ingestDefault(t, data, recordsOf(t, data), "default", farland("Ada Brook"))
	c, shared := openCity(t, data, withModel(m), func(s *app.Shared) error { return s.OpenAccess(t.Context(), "", false) })
	c.secure(shared)
	return &callers{c, map[string]string{}}
}

// add adds a key.
func (c *callers) add(name, account string, quota int, scopes ...auth.Scope) {
	c.Helper()
	k := auth.Key{Tenant: "default", Account: account, Name: name, Scopes: scopes}
	if quota > 0 {
		k.Quota = auth.Limit{N: quota, Unit: "day"}
	}
	text, _, err := auth.Create(c.Context(), c.keys, k, time.Now())
	require.NoError(c, err)
	c.texts[name] = text
}

// call sends a call with a key, or without one if the name is empty.
func (c *callers) call(name, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/forrst", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if name != "" {
		r.Header.Set("Authorization", "Bearer "+c.texts[name])
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	return w
}

// expect checks the status of a reply and texts in it.
func (c *callers) expect(what string, w *httptest.ResponseRecorder, status int, texts ...string) {
	c.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), `"protocol":{"name":"forrst","version":"0.1.0"}`) {
		c.Errorf("%s: %d, want %d: %s", what, w.Code, status, w.Body)
	}
	for _, text := range texts {
		if !strings.Contains(w.Body.String(), text) {
			c.Errorf("%s: no %s in %s", what, text, w.Body)
		}
	}
}

// TestForrstKeys checks the scopes of the functions, and that accounts cannot reach the runs, sessions and calls of others.
func TestForrstKeys(t *testing.T) {
	t.Parallel()
	c := secured(t, modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Ada", " Brook", " keeps it", "⟦1⟧."}}))
	for name, scopes := range map[string][]auth.Scope{"ask": {auth.Ask}, "read": {auth.Read}, "write": {auth.Write}, "admin": {auth.Admin}} {
		c.add(name, "account-"+name, 0, scopes...)
	}
	c.add("ask too", "account-other", 0, auth.Ask)
	question := callBody("rag.ask", `{"query":"`+whoKeeps+`","session_id":"s"}`, streamed)
	c.expect("without a key", c.call("", question), 401, `"code":"UNAUTHORIZED"`, `"id":null`)
	for name := range c.texts {
		status, code := 403, `lacks the scope ask`
		if strings.HasPrefix(name, "ask") || name == "admin" {
			status, code = 200, ""
		}
		c.expect(name, c.call(name, question), status, code)
		c.expect(name, c.call(name, callBody("ai.generate", `{"prompt":"a"}`)), status, code)
		c.expect(name, c.call(name, callBody("urn:forrst:fn:ping", "{}")), 200)
		c.expect(name, c.call(name, callBody("forrst.capabilities", "{}")), 200)
		c.expect(name, c.call(name, callBody("urn:cline:forrst:ext:cancellation:fn:cancel", `{"token":"t"}`)), 404, "CANCELLATION_TOKEN_UNKNOWN")
	}

	first := c.call("ask", question)
	run := first.Header().Get("Sluice-Run-Id")
	for name, status := range map[string]int{"ask": 200, "read": 200, "admin": 200, "ask too": 404, "write": 403} {
		c.expect(name+" resumes", c.call(name, callBody("rag.ask", "{}"), "Sluice-Run-Id", run), status)
	}
	follow := callBody("rag.ask", `{"query":"Since when?","previous":"`+run+`"}`)
	c.expect("own run", c.call("ask", follow), 200, `"session_id":"s"`)
	c.expect("run of another account", c.call("ask too", follow), 404, "NOT_FOUND")
	// Sessions belong to accounts: the same name is another session.
	c.expect("session", c.call("ask too", callBody("rag.ask", `{"query":"And who keeps it?","session_id":"s"}`)), 200)
	r := httptest.NewRequest(http.MethodGet, "/v1/rag/sessions/s/messages", nil)
	r.Header.Set("Authorization", "Bearer "+c.texts["ask"])
	w := httptest.NewRecorder()
	if c.handler.ServeHTTP(w, r); strings.Contains(w.Body.String(), "And who keeps it?") || !strings.Contains(w.Body.String(), "Since when?") {
		t.Errorf("the messages of the session: %s", w.Body)
	}
}

// TestForrstCancelForeign: a token belongs to an account.
func TestForrstCancelForeign(t *testing.T) {
	t.Parallel()
	silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
	c := secured(t, silent)
	c.add("a", "account-a", 0, auth.Ask)
	c.add("a2", "account-a", 0, auth.Ask)
	c.add("b", "account-b", 0, auth.Ask)
	replied := make(chan *httptest.ResponseRecorder)
	go func() {
		replied <- c.call("a", callBody("rag.ask", `{"query":"`+whoKeeps+`"}`, `{"urn":"urn:forrst:ext:cancellation","options":{"token":"t-1"}}`))
	}()
	silent.Wait(t, generating)
	cancel := callBody("urn:forrst:ext:cancellation:fn:cancel", `{"token":"t-1"}`)
	c.expect("another account", c.call("b", cancel), 404, "CANCELLATION_TOKEN_UNKNOWN")
	c.expect("another key of the account", c.call("a2", cancel), 200)
	c.expect("the call", <-replied, 499, "CANCELLED")
}

// TestForrstQuota: answered questions and generated texts count, refused ones do not.
func TestForrstQuota(t *testing.T) {
	t.Parallel()
	c := secured(t, modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Ada", "⟦1⟧."}}))
	c.add("two", "account-two", 2, auth.Ask)
	c.expect("refused", c.call("two", callBody("rag.ask", `{"query":" "}`)), 400)
	c.expect("refused", c.call("two", callBody("rag.ask", `{"query":"a","previous":"run_01kg0000000000000000000000"}`)), 404)
	c.expect("unknown model", c.call("two", callBody("ai.generate", `{"prompt":"a","model":"x"}`, streamed)), 400, "/call/arguments/model")
	c.expect("white space", c.call("two", callBody("ai.generate", `{"prompt":" "}`, streamed)), 400, "/call/arguments/prompt")
	c.expect("first", c.call("two", callBody("rag.ask", `{"query":"`+whoKeeps+`"}`)), 200)
	c.expect("refused", c.call("two", callBody("ai.generate", `{"prompt":"a","model":"x","x":1}`)), 422)
	c.expect("second", c.call("two", callBody("ai.generate", `{"prompt":"a"}`)), 200)
	for _, function := range []string{callBody("rag.ask", `{"query":"`+whoKeeps+`"}`, streamed), callBody("ai.generate", `{"prompt":"a"}`, streamed)} {
		w := c.call("two", function)
		c.expect("third", w, 429, "RATE_LIMITED", `"QUOTA_EXCEEDED"`)
		if w.Header().Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
}

// TestForrstAsync: a question that runs without its request has the identity of its caller, and a repeated key asks it once.
func TestForrstAsync(t *testing.T) {
	t.Parallel()
	c := secured(t, modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Ada", " Brook", " keeps it", "⟦1⟧."}}))
	c.add("a", "account-a", 2, auth.Ask)
	c.add("b", "account-b", 0, auth.Ask)
	type reply struct {
		Result struct {
			Status, Content string
			RunID           string `json:"run_id"`
			Result          struct {
				Content string
				RunID   string `json:"run_id"`
			}
		}
		Extensions []struct {
			Data struct {
				OperationID string `json:"operation_id"`
			}
		}
	}
	decode := func(w *httptest.ResponseRecorder) (r reply) {
		t.Helper()
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %v: %s", w.Code, err, w.Body)
		}
		return r
	}
	accepted := decode(c.call("a", callBody("rag.ask", `{"query":"`+whoKeeps+`"}`, `{"urn":"urn:forrst:ext:async","options":{"preferred":true}}`)))
	status := callBody("urn:forrst:ext:async:fn:status", fmt.Sprintf(`{"operation_id":%q}`, accepted.Extensions[0].Data.OperationID))
	c.expect("another account", c.call("b", status), 404, "ASYNC_OPERATION_NOT_FOUND")
	var r reply
	for deadline := time.Now().Add(time.Minute); r.Result.Status != "completed"; <-time.After(5 * time.Millisecond) {
		if r = decode(c.call("a", status)); r.Result.Status == "failed" || time.Now().After(deadline) {
			t.Fatalf("%+v", r)
		}
	}
	if !strings.Contains(r.Result.Result.Content, "Ada Brook") {
		t.Errorf("%+v", r)
	}
	c.expect("own run", c.call("a", callBody("rag.ask", "{}"), "Sluice-Run-Id", r.Result.Result.RunID), 200)
	c.expect("run of another account", c.call("b", callBody("rag.ask", "{}"), "Sluice-Run-Id", r.Result.Result.RunID), 404)

	once := callBody("rag.ask", `{"query":"`+whoKeeps+`","no_cache":true}`, `{"urn":"urn:forrst:ext:idempotency","options":{"key":"k-1"}}`)
	first, again := decode(c.call("a", once)), decode(c.call("a", once))
	if first.Result.RunID == "" || first.Result.RunID != again.Result.RunID || first.Result.RunID == r.Result.Result.RunID {
		t.Errorf("%+v, then %+v", first, again)
	}
	c.expect("both count", c.call("a", callBody("rag.ask", `{"query":"`+whoKeeps+`"}`)), 429)
}

// TestForrstClose: a function that runs without a request keeps its tenant open, and ends when the server is closed.
func TestForrstClose(t *testing.T) {
	t.Parallel()
	silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
	c := secured(t, silent)
	c.add("a", "account-a", 0, auth.Ask)
	if !c.Default.Idle() {
		t.Error("not idle")
	}
	c.expect("accepted", c.call("a", callBody("ai.generate", `{"prompt":"a"}`, `{"urn":"urn:forrst:ext:async","options":{"preferred":true}}`)), 200)
	silent.Wait(t, generating)
	if c.Default.Idle() {
		t.Error("idle while a function is running")
	}
	c.close()
	silent.Wait(t, abandoned)
}
