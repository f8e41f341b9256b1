package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/source"
)

// attack is a request with an id of another tenant in one place.
type attack struct {
	route   string // a pattern of the server
	kind    string // of the id that replaces ID in the path, the body and the headers
	path    string // default: the path of the route with the id in it
	body    string
	headers []string
	varies  bool // the reply has ids and times of its own, also if it is an error
	found   bool // the reply is no error: the id is one of a new object, or has no effect
}

// uploadForm is the form of an upload with the id of a file.
const uploadForm = "--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nID\r\n" +
	"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.md\"\r\n\r\nMosses have spores.\r\n--b--\r\n"

// attacks has, for each route, one request for each place of the route at which an id can stand. A route without such a place has none.
var attacks = []attack{
	{route: "POST /api/query/stream", kind: "collection", body: `{"query":"Who keeps Farland?","collection":"ID"}`, varies: true, found: true},
	{route: "POST /api/query/stream", kind: "store", body: `{"query":"Who keeps Farland?","collection":"ID"}`, varies: true, found: true},
	{route: "POST /api/query", kind: "store", body: `{"query":"Who keeps Farland?","collection":"default, ID"}`, varies: true},
	{route: "POST /api/query/stream", kind: "run", body: `{"query":"Who keeps Farland?"}`, headers: []string{"Sluice-Run-Id", "ID"}},
	{route: "POST /api/query/stream", kind: "run", headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "3"}},
	{route: "POST /api/query/stream", kind: "cursor", body: `{"query":"Who keeps Farland?"}`, headers: []string{"Last-Event-ID", "ID"}},
	{route: "POST /api/query", kind: "collection", body: `{"query":"Who keeps Farland?","collection":"ID"}`, varies: true},
	{route: "POST /api/query", kind: "store", body: `{"query":"Who keeps Farland?","collection":"ID"}`, varies: true},
	{route: "POST /api/query", kind: "file", body: `{"query":"Who keeps Farland?","collection":"file:ID"}`, varies: true},
	{route: "POST /api/query", kind: "document", body: `{"query":"Who keeps Farland?","collection":"file:ID"}`, varies: true},
	{route: "POST /api/query", kind: "session", body: `{"query":"Who keeps it?","session_id":"ID"}`, varies: true, found: true},
	{route: "POST /v1/responses", kind: "run", body: `{"input":"Who keeps it?","stream":false,"previous_response_id":"ID"}`},
	{route: "POST /v1/responses", kind: "run", body: `{"input":"Who keeps it?","previous_response_id":"ID"}`},
	{route: "POST /v1/responses", kind: "store", body: `{"input":"Who keeps Farland?","stream":false,"tools":[{"type":"file_search","vector_store_ids":["ID"]}]}`, varies: true, found: true},
	{route: "POST /v1/responses", kind: "file", body: `{"input":"Who keeps Farland?","stream":false,"tools":[{"type":"file_search","vector_store_ids":["file:ID"]}]}`, varies: true, found: true},
	{route: "POST /v1/responses", kind: "run", body: `{"input":"Who?"}`, headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "1.1"}},
	{route: "POST /functions/v1/rag", kind: "collection", body: `{"question":"Who keeps Farland?","collection":"ID"}`, varies: true, found: true},
	{route: "POST /functions/v1/rag", kind: "store", body: `{"question":"Who keeps Farland?","collection":"ID","stream":false}`, varies: true},
	{route: "POST /functions/v1/rag", kind: "file", body: `{"question":"Who keeps Farland?","collection":"file:ID","stream":false}`, varies: true},
	{route: "POST /functions/v1/rag", kind: "session", body: `{"question":"Who keeps it?","session_id":"ID","stream":false}`, varies: true, found: true},
	{route: "POST /functions/v1/rag", kind: "run", headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "2"}},
	{route: "POST /openai/v1/chat/completions", kind: "collection", body: `{"messages":[{"role":"user","content":"Who keeps Farland?"}],"collection":"ID"}`, varies: true},
	{route: "POST /openai/v1/chat/completions", kind: "store", body: `{"model":"sluice/ID","messages":[{"role":"user","content":"Who keeps Farland?"}]}`, varies: true},
	{route: "POST /openai/v1/chat/completions", kind: "file", body: `{"model":"sluice-direct/file:ID","stream":true,"messages":[{"role":"user","content":"Who keeps Farland?"}]}`, varies: true, found: true},
	{route: "POST /openai/v1/chat/completions", kind: "run", body: `{"messages":[{"role":"user","content":"Who?"}]}`, headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "1"}},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=openai-chat&include_usage=true"},
	{route: "POST /openai/v1/responses", kind: "run", body: `{"input":"Who keeps it?","previous_response_id":"ID"}`},
	{route: "POST /openai/v1/responses", kind: "session", body: `{"input":"Who keeps it?","conversation":{"id":"ID"}}`, varies: true, found: true},
	{route: "POST /openai/v1/responses", kind: "store", body: `{"input":"Who keeps Farland?","stream":true,"tools":[{"type":"file_search","vector_store_ids":["ID"]}]}`, varies: true, found: true},
	{route: "POST /openai/v1/responses", kind: "file", body: `{"input":"Who keeps Farland?","collection":"file:ID"}`, varies: true, found: true},
	{route: "POST /openai/v1/responses", kind: "run", body: `{"input":"Who?"}`, headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "1.1"}},
	{route: "GET /openai/v1/responses/{id}", kind: "run"},
	{route: "GET /openai/v1/responses/{id}/input_items", kind: "run"},
	{route: "GET /openai/v1/responses/{id}", kind: "run", path: "/openai/v1/responses/ID?stream=true&starting_after=2"},
	{route: "DELETE /openai/v1/responses/{id}", kind: "run"},
	{route: "POST /openai/v1/responses/{id}/cancel", kind: "run"},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=openai-responses"},
	{route: "POST /anthropic/v1/messages", kind: "collection", body: `{"messages":[{"role":"user","content":"Who keeps Farland?"}],"collection":"ID"}`, varies: true},
	{route: "POST /anthropic/v1/messages", kind: "store", body: `{"model":"sluice/ID","messages":[{"role":"user","content":"Who keeps Farland?"}]}`, varies: true},
	{route: "POST /anthropic/v1/messages", kind: "file", body: `{"model":"sluice-direct/file:ID","stream":true,"messages":[{"role":"user","content":"Who keeps Farland?"}]}`, varies: true, found: true},
	{route: "POST /anthropic/v1/messages", kind: "run", body: `{"messages":[{"role":"user","content":"Who?"}]}`, headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "1"}},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=anthropic&thinking=true"},
	{route: "GET /anthropic/v1/models"},
	{route: "POST /v1/messages"},
	{route: "POST /anthropic/messages"},
	{route: "POST /anthropic/v1/v1/messages"},
	{route: "POST /anthropic/v1/messages/count_tokens"},
	{route: "GET /anthropic/v1/models/{model}", kind: "collection", path: "/anthropic/v1/models/ID"},
	{route: "POST /api/ai/chat", kind: "collection", body: `{"messages":[{"role":"user","parts":[{"type":"text","text":"Who keeps Farland?"}]}],"collection":"ID"}`, varies: true, found: true},
	{route: "POST /api/ai/chat", kind: "session", body: `{"id":"ID","messages":[{"role":"user","parts":[{"type":"text","text":"Who keeps it?"}]}]}`, varies: true, found: true},
	{route: "POST /api/ai/chat", kind: "file", body: `{"messages":[{"role":"user","parts":[{"type":"text","text":"Who keeps Farland?"}]}],"collection":"file:ID"}`, varies: true, found: true},
	{route: "POST /api/ai/chat", kind: "run", body: `{"messages":[{"role":"user","parts":[{"type":"text","text":"Who?"}]}]}`, headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "1"}},
	{route: "GET /api/ai/chat/{id}/stream", kind: "session", found: true},
	{route: "POST /api/ai/chat/{id}/stop", kind: "session", found: true},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=uistream"},
	{route: "POST /agui", kind: "collection", body: `{"messages":[{"role":"user","content":"Who keeps Farland?"}],"forwardedProps":{"collection":"ID"}}`, varies: true, found: true},
	{route: "POST /agui", kind: "session", body: `{"threadId":"ID","messages":[{"role":"user","content":"Who keeps it?"}]}`, varies: true, found: true},
	{route: "POST /agui", kind: "file", body: `{"messages":[{"role":"user","content":"Who keeps Farland?"}],"forwardedProps":{"collection":"file:ID"}}`, varies: true, found: true},
	{route: "POST /agui", kind: "run", body: `{"messages":[{"role":"user","content":"Who?"}]}`, headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "1"}},
	{route: "GET /agui/{id}/stream", kind: "session", found: true},
	{route: "POST /agui/{id}/stop", kind: "session", found: true},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=agui"},
	{route: "POST /a2a", kind: "run", found: true, body: `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"ID"}}`},
	{route: "POST /a2a", kind: "run", found: true, body: `{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{"id":"ID"}}`},
	{route: "POST /a2a", kind: "run", found: true, body: `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"ID"}}`, headers: []string{"Last-Event-ID", "2"}},
	{route: "POST /a2a", kind: "run", found: true, body: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","taskId":"ID","role":"ROLE_USER","parts":[{"text":"Who?"}]}}}`},
	{route: "POST /a2a", kind: "session", varies: true, found: true,
		body: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","contextId":"ID","role":"ROLE_USER","parts":[{"text":"Who keeps it?"}]}}}`},
	{route: "POST /a2a", kind: "collection", varies: true, found: true,
		body: `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Who keeps Farland?"}]},"metadata":{"sluice":{"collection":"ID"}}}}`},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=a2a"},
	{route: "GET /.well-known/agent-card.json"},
	{route: "POST /v1/chat/completions"},
	{route: "POST /v1/embeddings"},
	{route: "POST /openai/chat/completions"},
	{route: "POST /openai/embeddings"},
	{route: "POST /openai/responses"},
	{route: "GET /openai/v1/models"},
	{route: "POST /openai/v1/embeddings", body: `{"input":"Who keeps Farland?"}`},
	{route: "GET /openai/v1/models/{model}", kind: "collection", path: "/openai/v1/models/ID"},
	{route: "POST /v1/rag/sessions/{id}/messages/stream", kind: "other session", body: `{"content":"Who keeps it?"}`},
	{route: "POST /v1/rag/sessions/{id}/messages/stream", kind: "message", path: "/v1/rag/sessions/own-session/messages/stream", body: `{"content":"Who keeps it?","parent":"ID"}`},
	{route: "POST /v1/rag/sessions/{id}/messages/stream", kind: "store", path: "/v1/rag/sessions/own-session/messages/stream", body: `{"content":"Who keeps Farland?","collection":"ID"}`, varies: true},
	{route: "POST /v1/rag/sessions/{id}/messages/stream", kind: "run", path: "/v1/rag/sessions/own-session/messages/stream", body: `{"content":"Who keeps Farland?"}`, headers: []string{"Sluice-Run-Id", "ID"}},
	{route: "POST /v1/rag/sessions/{id}/messages/stream", kind: "run", path: "/v1/rag/sessions/own-session/messages/stream?offset=9", headers: []string{"Sluice-Run-Id", "ID"}},
	{route: "POST /v1/rag/sessions/{id}/messages", kind: "other session", body: `{"content":"Who keeps it?"}`},
	{route: "POST /v1/rag/sessions/{id}/messages", kind: "message", path: "/v1/rag/sessions/own-session/messages", body: `{"regenerate":"ID"}`},
	{route: "POST /v1/rag/sessions/{id}/messages", kind: "question", path: "/v1/rag/sessions/own-session/messages", body: `{"content":"Who keeps it?","edit":"ID"}`},
	{route: "POST /v1/rag/sessions/{id}/messages", kind: "collection", path: "/v1/rag/sessions/own-session/messages", body: `{"content":"Who keeps Farland?","collection":"ID"}`, varies: true},
	{route: "POST /v1/rag/sessions/{id}/messages", kind: "file", path: "/v1/rag/sessions/own-session/messages", body: `{"content":"Who keeps Farland?","collection":"file:ID"}`, varies: true},
	{route: "GET /v1/rag/sessions", kind: "account", path: "/v1/rag/sessions?account=ID", found: true},
	{route: "GET /v1/rag/sessions", kind: "cursor", path: "/v1/rag/sessions?after=ID"},
	{route: "GET /v1/rag/sessions", kind: "word", path: "/v1/rag/sessions?archived=all&account=*&q=ID", found: true},
	{route: "GET /v1/rag/sessions/{id}", kind: "other session"},
	{route: "GET /v1/rag/sessions/{id}", kind: "other session", path: "/v1/rag/sessions/ID?account=victim-account"},
	{route: "PATCH /v1/rag/sessions/{id}", kind: "other session", body: `{"title":"mine"}`},
	{route: "PATCH /v1/rag/sessions/{id}", kind: "message", path: "/v1/rag/sessions/own-session", body: `{"head":"ID"}`},
	{route: "DELETE /v1/rag/sessions/{id}", kind: "other session"},
	{route: "DELETE /v1/rag/sessions/{id}", kind: "other session", path: "/v1/rag/sessions/ID?account=victim-account&runs=keep"},
	{route: "GET /v1/rag/sessions/{id}/messages", kind: "other session"},
	{route: "GET /v1/rag/sessions/{id}/messages", kind: "message", path: "/v1/rag/sessions/own-session/messages?last=ID"},
	{route: "GET /v1/rag/sessions/{id}/messages", kind: "question", path: "/v1/rag/sessions/own-session/messages?before=ID"},
	{route: "GET /v1/rag/sessions/{id}/export", kind: "other session"},
	{route: "GET /v1/rag/sessions/{id}/export", kind: "other session", path: "/v1/rag/sessions/ID/export?format=json&account=victim-account"},
	{route: "PUT /v1/rag/sessions/{id}/messages/{message}/feedback", kind: "message", path: "/v1/rag/sessions/other-session/messages/ID/feedback", body: `{"rating":"bad"}`},
	{route: "PUT /v1/rag/sessions/{id}/messages/{message}/feedback", kind: "message", path: "/v1/rag/sessions/own-session/messages/ID/feedback", body: `{"rating":"bad"}`},
	{route: "DELETE /v1/rag/sessions/{id}/messages/{message}/feedback", kind: "message", path: "/v1/rag/sessions/other-session/messages/ID/feedback"},
	{route: "DELETE /v1/rag/sessions/{id}/messages/{message}/feedback", kind: "message", path: "/v1/rag/sessions/own-session/messages/ID/feedback"},
	{route: "POST /v1/rag/sessions", kind: "other session", body: `{"session_id":"ID"}`, varies: true, found: true},
	{route: "GET /api/runs", kind: "run", path: "/api/runs?before=ID", found: true},
	{route: "GET /api/runs/{id}", kind: "run"},
	{route: "GET /runs/{id}/stream", kind: "run"},
	{route: "GET /runs/{id}/stream", kind: "run", headers: []string{"Last-Event-ID", "3"}},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=knowledge"},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=ragevents"},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=turns&offset=9"},
	{route: "POST /runs/{id}/cancel", kind: "run"},
	{route: "GET /api/accounts/{id}", kind: "account"},
	{route: "GET /api/accounts/{id}/statement", kind: "account"},
	{route: "GET /api/accounts/{id}/statement", kind: "cursor", path: "/api/accounts/ada/statement?before=ID", found: true},
	{route: "GET /api/usage", kind: "account", path: "/api/usage?account=ID"},
	{route: "GET /healthz"},
	{route: "GET /readyz"},
	{route: "GET /metrics"},
	{route: "GET /openapi.json"}, {route: "GET /schemas"}, {route: "GET /schemas/{name}", path: "/schemas/forge.json"},
	{route: "POST /auth/login"},
	{route: "POST /auth/logout"},
	{route: "GET /auth/session"},
	{route: "GET /auth/methods"},
	{route: "GET /auth/oidc/start"},
	{route: "GET /auth/oidc/callback"},
	{route: "GET /auth/oidc/logout"},

	{route: "POST /v1/files", kind: "file", body: uploadForm, headers: []string{"Content-Type", "multipart/form-data; boundary=b"}, varies: true, found: true},
	{route: "POST /v1/files", kind: "md5", body: strings.Replace(uploadForm, "name=\"id\"", "name=\"md5\"", 1), headers: []string{"Content-Type", "multipart/form-data; boundary=b"}},
	{route: "GET /v1/files", kind: "other file", path: "/v1/files?after=ID", found: true},
	{route: "GET /v1/files/{id}", kind: "other file"},
	{route: "GET /v1/files/{id}", kind: "document"},
	{route: "DELETE /v1/files/{id}", kind: "other file"},
	{route: "DELETE /v1/files/{id}", kind: "document"},
	{route: "GET /v1/files/{id}/content", kind: "other file"},
	{route: "GET /v1/files/{id}/content", kind: "document"},
	{route: "POST /v1/files/{id}/content", kind: "other file", body: `{"title":"mine"}`},
	{route: "POST /v1/files/{id}/content", kind: "store", path: "/v1/files/own-f/content", body: `{"vector_store_ids":["ID"]}`},
	{route: "POST /v1/files/{id}/content", kind: "other file", path: "/v1/files/own-f/content", body: `{"related_docs":["ID"]}`, varies: true, found: true},
	{route: "GET /v1/files/{id}/pages", kind: "other file", path: "/v1/files/ID/pages?start_page=1&end_page=1"},
	{route: "GET /v1/tasks/{id}", kind: "task"},
	{route: "GET /v1/tasks/{id}", kind: "store task"},
	{route: "POST /v1/vector_stores", kind: "other file", body: `{"id":"own-t","name":"T","file_ids":["ID"]}`},
	{route: "POST /v1/vector_stores", kind: "store", body: `{"id":"ID","name":"T"}`, varies: true, found: true},
	{route: "GET /v1/vector_stores", kind: "other store", path: "/v1/vector_stores?after=ID", found: true},
	{route: "GET /v1/vector_stores/{id}", kind: "other store"},
	{route: "POST /v1/vector_stores/{id}", kind: "other store", body: `{"name":"mine"}`},
	{route: "POST /v1/vector_stores/{id}", kind: "other file", path: "/v1/vector_stores/own-s", body: `{"join_file_ids":["ID"]}`},
	{route: "POST /v1/vector_stores/{id}", kind: "other file", path: "/v1/vector_stores/own-s", body: `{"left_file_ids":["ID"]}`, varies: true, found: true},
	{route: "DELETE /v1/vector_stores/{id}", kind: "other store"},
	{route: "GET /v1/vector_stores/{id}/files", kind: "other store"},
	{route: "GET /v1/vector_stores/{id}/files", kind: "other file", path: "/v1/vector_stores/own-s/files?after=ID", found: true},
	{route: "POST /v1/vector_stores/{id}/search", kind: "other store", body: `{"query":"Farland"}`},
	{route: "POST /v1/vector_stores/{id}/search", kind: "other file", path: "/v1/vector_stores/own-s/search", varies: true, found: true,
		body: `{"query":"Farland","filters":{"type":"eq","key":"file_id","value":"ID"}}`},
	{route: "GET /v1/vector_stores/{id}/summary", kind: "other store"},

	{route: "GET /v1/responses", kind: "run", path: "/v1/responses?after=ID", varies: true, found: true},
	{route: "GET /v1/responses/{id}", kind: "run"},
	{route: "GET /v1/responses/{id}", kind: "run", path: "/v1/responses/ID?stream=true&starting_after=2"},
	{route: "DELETE /v1/responses/{id}", kind: "run"},
	{route: "POST /v1/responses/{id}/cancel", kind: "run"},
	{route: "POST /forrst", kind: "run", body: callBody("rag.ask", "{}"), headers: []string{"Sluice-Run-Id", "ID"}},
	{route: "POST /forrst", kind: "run", body: callBody("rag.ask", "{}"), headers: []string{"Sluice-Run-Id", "ID", "Last-Event-ID", "3"}},
	{route: "POST /forrst", kind: "cursor", body: callBody("rag.ask", "{}"), headers: []string{"Last-Event-ID", "ID"}},
	{route: "POST /forrst", kind: "run", body: callBody("rag.ask", `{"query":"Who keeps it?","previous":"ID"}`), varies: true},
	{route: "POST /forrst", kind: "collection", body: callBody("rag.ask", `{"query":"Who keeps Farland?","collection":"ID"}`), varies: true},
	{route: "POST /forrst", kind: "store", body: callBody("rag.ask", `{"query":"Who keeps Farland?","collection":"ID"}`), varies: true},
	{route: "POST /forrst", kind: "store", body: callBody("rag.ask", `{"query":"Who keeps Farland?","collection":"ID"}`, streamed), varies: true, found: true},
	{route: "POST /forrst", kind: "file", body: callBody("rag.ask", `{"query":"Who keeps Farland?","collection":"file:ID"}`), varies: true, found: true},
	{route: "POST /forrst", kind: "session", body: callBody("rag.ask", `{"query":"Who keeps it?","session_id":"ID","collection":"default"}`), varies: true, found: true},
	{route: "GET /runs/{id}/stream", kind: "run", path: "/runs/ID/stream?protocol=forrst"},
	{route: "POST /forrst", body: `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"urn:forrst:fn:ping"}}`, varies: true},
	{route: "POST /forrst", kind: "collection", body: callBody("rag.search", `{"query":"Farland","collection":"ID"}`)},
	{route: "POST /forrst", kind: "other store", body: callBody("rag.search", `{"query":"Farland","collection":"ID"}`)},
	{route: "POST /forrst", kind: "other file", body: callBody("rag.search", `{"query":"Farland","collection":"file:ID"}`)},
	{route: "POST /forrst", kind: "document", body: callBody("rag.search", `{"query":"Farland","collection":"file:ID"}`)},
	{route: "POST /forrst", kind: "other store", body: callBody("rag.search", `{"query":"Farland","collection":"own-s,ID"}`)},
	{route: "POST /forrst", kind: "other file", body: callBody("rag.search", `{"query":"Farland","collection":"own-s","filter":{"type":"eq","key":"file_id","value":"ID"}}`), varies: true, found: true},
	{route: "POST /forrst", kind: "collection", body: callBody("documents.list", `{"collection":"ID"}`)},
	{route: "POST /forrst", kind: "other store", body: callBody("documents.list", `{"collection":"ID"}`)},
	{route: "POST /forrst", kind: "other file", body: callBody("documents.list", `{"collection":"files","cursor":"ID"}`), varies: true, found: true},
	{route: "POST /forrst", kind: "other file", body: callBody("documents.get", `{"id":"ID"}`)},
	{route: "POST /forrst", kind: "document", body: callBody("documents.get", `{"id":"ID"}`)},
	{route: "POST /forrst", kind: "collection", body: callBody("documents.get", `{"id":"victim-g","collection":"ID"}`)},
	{route: "POST /forrst", kind: "other file", body: callBody("documents.delete", `{"id":"ID"}`)},
	{route: "POST /forrst", kind: "document", body: callBody("documents.delete", `{"id":"ID"}`)},
	{route: "POST /forrst", kind: "word", body: callBody("documents.ingest", `{"name":"a.md","content":"The lighthouse of Farland is kept by Zelda ID.","id":"own-g"}`), varies: true, found: true},
	{route: "POST /forrst", kind: "run", body: callBody("documents.ingest", `{"name":"a.md","content":"Ferns have spores.","id":"ID"}`), varies: true, found: true},
	{route: "POST /forrst", kind: "session", body: callBody("documents.ingest", `{"name":"a.md","content":"Ferns have spores.","collection":"ID"}`), varies: true, found: true},

	{route: "GET /api/admin/keys"},
	{route: "POST /api/admin/keys", body: `{"scopes":["ask"],"tenant":"acme"}`},
	{route: "POST /api/admin/keys/{id}/rotate", kind: "key", body: `{}`},
	{route: "DELETE /api/admin/keys/{id}", kind: "key"},
	{route: "GET /api/admin/tenants"},
	{route: "POST /api/admin/tenants", kind: "tenant", body: `{"tenant":"ID"}`},
	{route: "GET /api/admin/tenants/{name}", kind: "tenant", path: "/api/admin/tenants/ID"},
	{route: "DELETE /api/admin/tenants/{name}", kind: "tenant", path: "/api/admin/tenants/ID?confirm=ID"},
	{route: "GET /api/admin/accounts", kind: "account", path: "/api/admin/accounts?after=ID", found: true},
	{route: "GET /api/admin/prices"},
	{route: "GET /api/admin/evaluations"},
	{route: "GET /api/suggestions", kind: "collection", path: "/api/suggestions?collection=ID", found: true},
	{route: "GET /api/suggestions", kind: "store", path: "/api/suggestions?collection=ID", found: true},
	{route: "GET /api/suggestions", kind: "document", path: "/api/suggestions?collection=file:ID", found: true},
	{route: "GET /api/sources"},
	{route: "POST /api/sources", kind: "source", body: `{"kind":"folder","location":"/ID"}`},
	{route: "GET /api/sources/{id}", kind: "source"},
	{route: "POST /api/sources/{id}/sync", kind: "source", body: `{"full":true}`},
	{route: "PATCH /api/sources/{id}", kind: "source", body: `{"every":"1h"}`},
	{route: "DELETE /api/sources/{id}", kind: "source"},
	{route: "POST /api/ingestions", kind: "source", body: `{"paths":["/ID"]}`},
	{route: "GET /api/ingestions/{id}/stream", kind: "ingestion"},
	{route: "GET /api/ingestions/{id}/stream", kind: "task"},
	{route: "GET /api/documents", kind: "other store", path: "/api/documents?collection=ID"},
	{route: "GET /api/documents", kind: "word", path: "/api/documents?q=ID", found: true},
	{route: "GET /api/documents/{id}", kind: "other file"},
	{route: "GET /api/documents/{id}", kind: "document"},
	{route: "GET /api/documents/{id}/passages", kind: "other file"},
	{route: "GET /api/documents/{id}/passages", kind: "document"},
	{route: "GET /api/documents/{id}/passages", kind: "chunk", path: "/api/documents/own-f/passages?chunk=ID", found: true},
	{route: "GET /api/documents/{id}/original", kind: "other file"},
	{route: "GET /api/documents/{id}/original", kind: "document"},
	{route: "POST /api/documents/{id}/retry", kind: "other file"},

	{route: "POST /mcp", kind: "run", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"query":"Who keeps it?","previous":"ID"}}}`,
		headers: []string{"Accept", "application/json, text/event-stream", "Mcp-Session-Id", "ID"}},
	{route: "GET /mcp", kind: "run", headers: []string{"Accept", "text/event-stream", "Mcp-Session-Id", "ID", "Last-Event-ID", "ID_0"}},
	{route: "DELETE /mcp", kind: "run", headers: []string{"Mcp-Session-Id", "ID"}},

	{route: "GET /v1/models"},
	{route: "GET /v1/serverstatus"},
	{route: "GET /v1/serverstatus/health"},
}

// TestWall sends requests with the ids of a tenant and the key of another one, and the same requests with ids that never were and the key of
// a third tenant that has the same data as the second. The replies must not differ.
func TestWall(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	wall(t, data, recordsOf(t, data))
}

func wall(t *testing.T, data string, records config.Secret) {
	t.Helper()
	for tenant, text := range map[string]string{"acme": victimText, "s-1": ownText, "s-2": ownText} {
		ingestDefault(t, data, records, tenant, text)
	}
	c := openSecuredWith(t, data, func(cfg *config.Config) { cfg.Store.Records = records })
	ids := victim(c)
	for _, tenant := range []string{"s-1", "s-2"} {
		c.upload(tenant, "own-f", ownText)
		c.reply(http.StatusOK, tenant, "POST", "/v1/vector_stores", `{"id":"own-s","name":"own","file_ids":["own-f"]}`)
		c.answer(tenant, "own-s", "Who keeps Nearland?")
		c.reply(http.StatusOK, tenant, "POST", "/api/query", `{"query":"Who keeps Nearland?","session_id":"own-session"}`)
	}
	before := victimState(c, ids)

	covered := map[string]bool{}
	for _, a := range attacks {
		covered[a.route] = true
		known, never := ids[a.kind][0], ids[a.kind][1]
		got, want := a.send(c, "s-1", known), a.send(c, "s-2", never)
		where := fmt.Sprintf("%s with %s %s", a.route, a.kind, known)
		if diff := cmp.Diff(a.shape(want, never), a.shape(got, known)); diff != "" {
			t.Errorf("%s: the reply differs from that to an id that never was:\n%s", where, diff)
		}
		if isFault := got.Code >= 400; a.kind != "" && isFault == a.found {
			t.Errorf("%s: status %d: %s", where, got.Code, got.Body)
		}
		for _, secret := range []string{"Zelda Quux", "chronicle", "acme", "victim-account"} {
			if strings.Contains(got.Body.String(), secret) {
				t.Errorf("%s: the reply has %q: %s", where, secret, got.Body)
			}
		}
	}
	for _, route := range c.routes {
		if !covered[route] {
			t.Errorf("%s: no attack: add one for each place of an id, or one without an id", route)
		}
		delete(covered, route)
	}
	if len(covered) > 0 {
		t.Errorf("attacks of routes that do not exist: %v", slices.Collect(maps.Keys(covered)))
	}
	if diff := cmp.Diff(before, victimState(c, ids)); diff != "" {
		t.Errorf("the attacked tenant has changed:\n%s", diff)
	}
}

const (
	victimText = "# Farland chronicle\n\nThe lighthouse of Farland is kept by Zelda Quux.\n"
	ownText    = "# Nearland notes\n\nThe lighthouse of Nearland is kept by Bea Brook.\n"
)

// ingestDefault adds a document to the default collection of a tenant, and to a collection of its own, as sluice ingest does.
func ingestDefault(t *testing.T, data string, records config.Secret, tenant, text string) {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data, cfg.Store.Records = data, records
	a, err := app.OpenTenant(t.Context(), cfg, tenant, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	uri := map[bool]string{true: "victim.md", false: "own.md"}[text == victimText]
	for _, collection := range []string{"default", tenant[:1] + "-collection"} {
		if _, err := a.Ingester.IngestDocuments(t.Context(), collection, []ingest.Source{{URI: uri, Name: "chapter.md", Data: []byte(text)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	err = a.OpenFiles(t.Context())
	if err == nil && text == victimText {
		var src source.Source
		if src, err = a.Sources().Add(t.Context(), source.Settings{Kind: "folder", Location: t.TempDir()}, true); err == nil {
			if _, err = a.Sources().Sync(t.Context(), src.ID, source.SyncOptions{}); err == nil {
				_, err = a.Sources().Wait(t.Context(), src.ID)
			}
		}
	}
	if err = errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
}

// victim makes data of every kind and returns, by kind, an id and another one of the same form that never was.
func victim(c *city) map[string][2]string {
	c.Helper()
	c.account = "victim-account"
	defer func() { c.account = "ada" }()
	for _, f := range []string{"victim-f", "victim-g"} {
		c.upload("acme", f, victimText)
	}
	for _, s := range []string{"victim-s", "victim-t"} {
		c.reply(http.StatusOK, "acme", "POST", "/v1/vector_stores", `{"id":"`+s+`","name":"chronicle","file_ids":["victim-f","victim-g"]}`)
	}
	response := c.reply(http.StatusOK, "acme", "POST", "/v1/responses", `{"input":"Who keeps the lighthouse of Farland?","stream":false,"user":"victim-account",
		"tools":[{"type":"file_search","vector_store_ids":["victim-s"]}]}`)
	run := response["id"].(string)
	if text, _ := json.Marshal(response); !bytes.Contains(text, []byte("Zelda Quux")) {
		c.Fatalf("%s", text)
	}
	found := c.reply(http.StatusOK, "acme", "POST", "/api/query", `{"query":"Who keeps the lighthouse of Farland?","session_id":"victim-session"}`)
	other := c.reply(http.StatusOK, "acme", "POST", "/api/query", `{"query":"Who keeps the lighthouse of Farland now?","session_id":"other-session"}`)
	message := event.RunID(other["run_id"].(string))
	document := found["sources"].([]any)[0].(map[string]any)["document_id"].(string)
	source := c.reply(http.StatusOK, "acme", "GET", "/api/sources", "")["sources"].([]any)[0].(map[string]any)
	src, ingestion := source["id"].(string), source["ingestion"].(string)
	keys, err := c.keys.List(c.Context())
	require.NoError(c, err)
	key := keys[slices.IndexFunc(keys, func(k auth.Key) bool { return k.Tenant == "acme" })].ID
	return map[string][2]string{
		"": {}, "tenant": {"acme", "none"}, "key": {key, auth.NewID()}, "run": {run, run[:len(run)-1] + map[bool]string{true: "1", false: "0"}[run[len(run)-1] == '0']},
		"file": {"victim-f", "zombie-f"}, "other file": {"victim-g", "zombie-g"}, "task": {"upload-victim-g", "upload-zombie-g"},
		"store": {"victim-s", "zombie-s"}, "other store": {"victim-t", "zombie-t"}, "store task": {"create-victim-t", "create-zombie-t"},
		"document": {document, "doc_0123456789abcdef"}, "chunk": {found["sources"].([]any)[0].(map[string]any)["chunk_id"].(string), "c_0123456789abcdef"}, "collection": {"a-collection", "b-collection"}, "session": {"victim-session", "zombie-session"}, "other session": {"other-session", "never-session"},
		"word": {"Quux", "Zuux"}, "source": {src, "src-zzzzzzzzzzzz"}, "ingestion": {ingestion, "ing-zzzzzzzzzzzzzzzz"},
		"message": {message.AnswerID(), (message[:len(message)-1] + "~").AnswerID()}, "question": {message.QuestionID(), (message[:len(message)-1] + "~").QuestionID()},
		"account": {"victim-account", "zombie-account"}, "cursor": {"3", "3"}, "md5": {strings.Repeat("0", 32), strings.Repeat("1", 32)},
	}
}

// victimState returns replies that show all data of the attacked tenant.
func victimState(c *city, ids map[string][2]string) map[string]string {
	out := map[string]string{}
	for _, path := range []string{"/api/runs", "/api/sources", "/api/runs/" + ids["run"][0], "/v1/responses/" + ids["run"][0], "/v1/files", "/v1/files/victim-f/content",
		"/v1/files/victim-g/content", "/v1/vector_stores/victim-s", "/v1/vector_stores/victim-t", "/v1/tasks/upload-victim-g",
		"/v1/rag/sessions?account=victim-account", "/v1/rag/sessions/other-session/export?format=json&account=victim-account"} {
		w := c.request("acme", "GET", path, "")
		if w.Code != http.StatusOK {
			c.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
		out[path] = w.Body.String()
	}
	return out
}

// send sends the request with an id.
func (a attack) send(c *city, tenant, id string) *httptest.ResponseRecorder {
	c.Helper()
	method, path, _ := strings.Cut(a.route, " ")
	if a.path != "" {
		path = a.path
	}
	with := strings.NewReplacer("{id}", id, "ID", id).Replace
	headers := slices.Clone(a.headers)
	for i := 1; i < len(headers); i += 2 {
		headers[i] = with(headers[i])
	}
	body := with(a.body)
	if strings.HasPrefix(a.body, "--b") {
		body = strings.Replace(a.body, "\r\n\r\nID", "\r\n\r\n"+id, 1)
	}
	return c.request(tenant, method, with(path), body, headers...)
}

// own matches what differs between two replies that tell of new objects of the sender: ids of runs and requests, and times.
var own = regexp.MustCompile(`[0-9a-z]{26}|[A-Z2-7]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z?|,?"\w*(?:_ms|_at|Ms|seconds|elapsed|time|timestamp|created)":\s*(?:[0-9.]+|"[^"]*")`)

// shape returns the status, the headers and the body of a reply with the id replaced.
func (a attack) shape(w *httptest.ResponseRecorder, id string) []string {
	out := []string{fmt.Sprint(w.Code)}
	if a.kind == "" {
		return out // the reply is one of the process or the own tenant
	}
	for _, name := range slices.Sorted(maps.Keys(w.Header())) {
		if name == "X-Forrst-Duration-Ms" || name == "Content-Length" && a.varies { // the body has ids and times
			continue
		}
		out = append(out, name+": "+strings.Join(w.Header()[name], ", "))
	}
	out = append(out, strings.Split(w.Body.String(), "\n")...)
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], id, "ID")
		if a.varies || w.Code < 400 {
			out[i] = own.ReplaceAllString(out[i], "")
		}
	}
	return out
}

// TestLiveRunOfTenant checks that a tenant with a live run and without readers stays open, and that strangers cannot use the run.
func TestLiveRunOfTenant(t *testing.T) {
	t.Parallel()
	silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
	c := openTenants(t, t.TempDir(), func(c *config.Config) {
		c.Models.Model, c.Models.ModelURL, c.Models.ModelName = []string{"openai"}, []string{silent.URL}, []string{"test-model"}
		c.Runs.Grace, c.Runs.Deadline, c.Tenants.MaxOpenTenants = config.Never, time.Hour, 2
	})
	c.upload("acme", "f", victimText)
	reading, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // the stream is aborted
		r := httptest.NewRequest("POST", "/api/query/stream", strings.NewReader(`{"query":"Who keeps Farland?","collection":"files"}`)).WithContext(
			auth.With(reading, auth.Identity{Tenant: "acme", Account: "ada", Key: "k1", Scopes: auth.Local().Scopes}))
		r.Header.Set("Content-Type", "application/json")
		c.handler.ServeHTTP(httptest.NewRecorder(), r)
	}()
	var run string
	for run == "" {
		if runs := c.reply(http.StatusOK, "acme", "GET", "/api/runs", "")["runs"].([]any); len(runs) > 0 {
			run = runs[0].(map[string]any)["run_id"].(string)
		}
	}
	leave()
	<-done
	status := func() any { return c.reply(http.StatusOK, "acme", "GET", "/api/runs/"+run, "")["status"] }
	never := run[:len(run)-3] + "000"
	for _, stranger := range []string{"beta", "gamma", "delta"} { // each takes the place of the one before
		for _, a := range attacks {
			if a.kind != "run" || a.found {
				continue
			}
			if diff := cmp.Diff(a.shape(a.send(c, stranger, never), never), a.shape(a.send(c, stranger, run), run)); diff != "" {
				t.Errorf("%s with a live run: the reply differs from that to an id that never was:\n%s", a.route, diff)
			}
		}
	}
	if s := status(); s != "running" {
		t.Errorf("the run is %v", s)
	}
	if live := c.reply(http.StatusOK, "beta", "GET", "/healthz", "")["live_runs"]; live != 1.0 {
		t.Errorf("%v live runs", live)
	}
	c.reply(http.StatusAccepted, "acme", "POST", "/runs/"+run+"/cancel", "")
	if stream := c.request("acme", "GET", "/runs/"+run+"/stream", "").Body.String(); !strings.Contains(stream, "CANCELLED") {
		t.Errorf("the stream after the end: %s", stream)
	}
}

// TestTenantsShareNoAnswers asks the same questions in two tenants with the same documents, at the same time and one after the other.
func TestTenantsShareNoAnswers(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	for _, tenant := range []string{"acme", "beta"} {
		c.upload(tenant, "f", victimText)
		c.reply(http.StatusOK, tenant, "POST", "/v1/vector_stores", `{"id":"s","name":"s","file_ids":["f"]}`)
	}
	const body = `{"query":"Who keeps the lighthouse of Farland?","collection":"s"}`
	first := c.reply(http.StatusOK, "acme", "POST", "/api/query", body)
	other := c.reply(http.StatusOK, "beta", "POST", "/api/query", body)
	again := c.reply(http.StatusOK, "acme", "POST", "/api/query", body)
	if first["cached"] != false || other["cached"] != false || again["cached"] != true || first["run_id"] == other["run_id"] {
		t.Errorf("cached: %v in the first tenant, %v in the second, %v again in the first", first["cached"], other["cached"], again["cached"])
	}
	var mu sync.Mutex
	runs := map[string]string{}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			tenant := []string{"acme", "beta"}[i%2]
			run := c.reply(http.StatusOK, tenant, "POST", "/api/query", `{"query":"Which lighthouse does Zelda Quux keep?","collection":"s"}`)["run_id"].(string)
			mu.Lock()
			defer mu.Unlock()
			if other := runs[run]; other != "" && other != tenant {
				t.Errorf("two tenants share the run %s", run)
			}
			runs[run] = tenant
		})
	}
	all.Wait()
	for run, tenant := range runs {
		other := map[string]string{"acme": "beta", "beta": "acme"}[tenant]
		c.reply(http.StatusOK, tenant, "GET", "/api/runs/"+run, "")
		c.reply(http.StatusNotFound, other, "GET", "/api/runs/"+run, "")
	}
}
