package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// limitedRoutes are all routes that a key which is limited to collections may use, besides those that need no key.
var limitedRoutes = []string{
	"POST /api/query/stream", "POST /api/query", "POST /v1/responses", "POST /functions/v1/rag", "POST /v1/rag/sessions/{id}/messages/stream",
	"POST /v1/rag/sessions/{id}/messages", "POST /v1/rag/sessions", "GET /api/runs/{id}", "GET /runs/{id}/stream", "POST /runs/{id}/cancel", "POST /forrst",
	"POST /mcp", "GET /mcp", "DELETE /mcp", "POST /a2a", "POST /openai/v1/chat/completions", "POST /openai/v1/responses", "POST /api/ai/chat", "GET /api/ai/chat/{id}/stream", "POST /api/ai/chat/{id}/stop", "POST /agui", "GET /agui/{id}/stream", "POST /agui/{id}/stop", "POST /v1/chat/completions", "POST /v1/embeddings", "GET /openai/v1/models", "GET /openai/v1/models/{model}",
	"POST /anthropic/v1/messages", "GET /anthropic/v1/models", "GET /anthropic/v1/models/{model}",
	"POST /v1/messages", "POST /anthropic/messages", "POST /openai/chat/completions", "POST /openai/embeddings", "POST /openai/responses", "POST /anthropic/v1/v1/messages", "POST /anthropic/v1/messages/count_tokens",
	"POST /auth/logout", "GET /auth/session",
}

// limited is a server with a key for the vector store farland-s, and data of the same account in another store.
type limited struct {
	*city
	secret string
	run    string // of a question about the other store
}

func openLimited(t *testing.T) limited {
	t.Helper()
	c := openSecured(t, t.TempDir())
	c.account = "site"
	c.upload("acme", "farland-f", victimText)
	c.upload("acme", "nearland-f", ownText)
	for _, name := range []string{"farland", "nearland"} {
		c.reply(http.StatusOK, "acme", "POST", "/v1/vector_stores", `{"id":"`+name+`-s","name":"`+name+`","file_ids":["`+name+`-f"]}`)
	}
	asked := c.reply(http.StatusOK, "acme", "POST", "/api/query", `{"query":"Who keeps Nearland?","collection":"nearland-s","session_id":"near-session"}`)
	secret, k, err := auth.Create(t.Context(), c.keys, auth.Key{Tenant: "acme", Account: "site", Scopes: []auth.Scope{auth.Ask}, Collections: []string{"farland-s"}}, time.Now())
	require.NoError(t, err)
	keys, err := c.keys.List(t.Context())
	if err != nil || !slices.ContainsFunc(keys, func(x auth.Key) bool { return x.ID == k.ID && slices.Equal(x.Collections, k.Collections) }) {
		t.Fatalf("%v, %v", keys, err)
	}
	return limited{c, secret, asked["run_id"].(string)}
}

// send sends a request with the limited key.
func (l limited) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(l.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+l.secret)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	return w
}

// questions are the requests that ask, in each protocol, with COLLECTION in the place of the collection.
var questions = map[string][2]string{
	"forge":            {"/api/query", `{"query":"Who keeps Farland?","collection":"COLLECTION"}`},
	"stream":           {"/api/query/stream", `{"query":"Who keeps Farland?","collection":"COLLECTION","session_id":"s1"}`},
	"knowledge":        {"/v1/responses", `{"input":"Who keeps Farland?","stream":false,"tools":[{"type":"file_search","vector_store_ids":["COLLECTION"]}]}`},
	"ragevents":        {"/functions/v1/rag", `{"question":"Who keeps Farland?","collection":"COLLECTION","stream":false}`},
	"openai chat":      {"/openai/v1/chat/completions", `{"model":"sluice/COLLECTION","messages":[{"role":"user","content":"Who keeps Farland?"}]}`},
	"openai responses": {"/openai/v1/responses", `{"input":"Who keeps Farland?","tools":[{"type":"file_search","vector_store_ids":["COLLECTION"]}]}`},
	"agui":             {"/agui", `{"messages":[{"role":"user","content":"Who keeps Farland?"}],"forwardedProps":{"collection":"COLLECTION"}}`},
	"anthropic":        {"/anthropic/v1/messages", `{"model":"sluice/COLLECTION","max_tokens":100,"messages":[{"role":"user","content":"Who keeps Farland?"}]}`},
	"ai":               {"/api/ai/chat", `{"messages":[{"role":"user","parts":[{"type":"text","text":"Who keeps Farland?"}]}],"collection":"COLLECTION"}`},
	"turns":            {"/v1/rag/sessions/made/messages", `{"content":"Who keeps Farland?","collection":"COLLECTION"}`},
	"forrst": {"/forrst", `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"rag.ask","version":"1.0.0",
		"arguments":{"query":"Who keeps Farland?","collection":"COLLECTION"}}}`},
}

// TestLimitedKey checks that a key with collections asks about these in every protocol, and about no others.
func TestLimitedKey(t *testing.T) {
	t.Parallel()
	l := openLimited(t)
	if w := l.send("POST", "/v1/rag/sessions", `{"session_id":"made"}`); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for name, q := range questions {
		for collection, permitted := range map[string]bool{
			"farland-s": true, "nearland-s": false, "": false, "default": false, "files": false, "none": false, "file:farland-f": false, "farland-s,nearland-s": false, "farland-s, file:nearland-f": false,
		} {
			w := l.send("POST", q[0], strings.ReplaceAll(q[1], "COLLECTION", collection))
			text := w.Body.String()
			if permitted && (w.Code != http.StatusOK || !strings.Contains(text, "Zelda Quux")) {
				t.Errorf("%s about its collection: %d %s", name, w.Code, text)
			}
			invalid := (name == "knowledge" || name == "openai responses") && w.Code == http.StatusBadRequest || w.Code == http.StatusUnprocessableEntity // names of vector stores have a form
			if !permitted && w.Code != http.StatusForbidden && !invalid || strings.Contains(text, "Bea Brook") {
				t.Errorf("%s about %q: %d %s", name, collection, w.Code, text)
			}
		}
	}
	// A question of the account about another collection cannot be asked again, and its run is unknown.
	messages := l.reply(http.StatusOK, "acme", "GET", "/v1/rag/sessions/near-session/messages", "")
	id := messages["messages"].([]any)[0].(map[string]any)["id"].(string)
	if w := l.send("POST", "/v1/rag/sessions/near-session/messages", `{"regenerate":"`+id+`"}`); w.Code != http.StatusForbidden {
		t.Errorf("asked again: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/api/runs/" + l.run, "/runs/" + l.run + "/stream"} {
		if w := l.send("GET", path, ""); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "Nearland") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/api/query/stream", "/forrst", "/v1/responses", "/openai/v1/chat/completions", "/anthropic/v1/messages"} {
		if w := l.send("POST", path, `{}`, "Sluice-Run-Id", l.run); w.Code != http.StatusNotFound {
			t.Errorf("resume at %s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := l.send("POST", "/v1/responses", `{"input":"And now?","stream":false,"previous_response_id":"`+l.run+`","tools":[{"type":"file_search","vector_store_ids":["farland-s"]}]}`); w.Code != http.StatusNotFound {
		t.Errorf("followed a run of another collection: %d %s", w.Code, w.Body)
	}
	own := l.send("POST", "/api/query/stream", strings.ReplaceAll(questions["stream"][1], "COLLECTION", "farland-s")).Header().Get("Sluice-Run-Id")
	for _, protocol := range []string{"events", "turns", "forrst", "openai-chat", "openai-responses", "anthropic", "uistream", "agui", "a2a"} {
		if w := l.send("GET", "/runs/"+own+"/stream?protocol="+protocol, ""); w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("own run in %s: %d %s", protocol, w.Code, w.Body)
		}
	}
}

// TestLimitedRoutes checks that a key with collections can use only the routes of the list, with a header and with the cookie of a login.
func TestLimitedRoutes(t *testing.T) {
	t.Parallel()
	l := openLimited(t)
	login := l.send("POST", "/auth/login", `{"key":"`+l.secret+`"}`)
	if login.Code != http.StatusOK || !strings.Contains(login.Body.String(), `"collections":["farland-s"]`) {
		t.Fatalf("%d %s", login.Code, login.Body)
	}
	cookie := login.Result().Cookies()[0]
	for _, route := range l.routes {
		method, path, _ := strings.Cut(route, " ")
		if path == "/healthz" || path == "/readyz" || path == "/.well-known/agent-card.json" || strings.HasPrefix(path, "/auth/") && path != "/auth/session" { // open
			continue
		}
		path = strings.NewReplacer("{id}", "x", "{message}", "x").Replace(path)
		r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		r.AddCookie(cookie)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		w := httptest.NewRecorder()
		l.handler.ServeHTTP(w, r)
		for kind, code := range map[string]int{"header": l.send(method, path, "").Code, "cookie": w.Code} {
			if refused := code == http.StatusForbidden; refused == slices.Contains(limitedRoutes, route) {
				t.Errorf("%s with a %s: %d", route, kind, code)
			}
		}
	}
	for _, function := range []string{"rag.search", "rag.list_documents", "rag.ingest", "ai.generate", "urn:forrst:ext:async:fn:status", "none"} {
		w := l.send("POST", "/forrst", fmt.Sprintf(`{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":%q,"version":"1.0.0","arguments":{"query":"x","prompt":"x"}}}`, function))
		if w.Code == http.StatusOK || !strings.Contains(w.Body.String(), "FORBIDDEN") && function != "none" && !strings.HasPrefix(function, "urn:") && w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", function, w.Code, w.Body)
		}
	}
	if w := l.send("POST", "/forrst", `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"urn:forrst:fn:ping"}}`); w.Code != http.StatusOK {
		t.Errorf("ping: %d %s", w.Code, w.Body)
	}
}
