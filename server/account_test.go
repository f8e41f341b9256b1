package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

// TestRunsOfOtherAccounts checks that a key with only the scope ask can neither read, stream, follow nor cancel a run of another account: the
// reply is the one to a run that never was.
func TestRunsOfOtherAccounts(t *testing.T) {
	t.Parallel()
	e := engine.New(saying(event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"}, event.CacheChecked{}, event.GenerationStarted{Model: "m"}, event.Token{Text: "secret"}, event.GenerationFinished{Reason: event.StopEnd},
		event.Verified{Claims: []event.Claim{}}, event.Attributed{Sources: []event.Source{}}), engine.Options{})
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	srv, err := server.New(e, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
	require.NoError(t, err)
	do := func(account, method, path, body string, header ...string) *httptest.ResponseRecorder {
		id := auth.Identity{Tenant: auth.DefaultTenant, Account: account, Key: "k", Scopes: []auth.Scope{auth.Ask}}
		r := httptest.NewRequestWithContext(auth.With(t.Context(), id), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if len(header) > 0 {
			r.Header.Set(header[0], header[1])
		}
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, r)
		return w
	}
	run := do("ann", "POST", "/api/query/stream", `{"query":"why?"}`).Header().Get("Sluice-Run-Id")
	never := run[:len(run)-3] + "000"
	for _, c := range []struct {
		method, path, body string
		own                int // status for the account of the run
		header             string
	}{
		{"GET", "/api/runs/ID", "", 200, ""},
		{"GET", "/runs/ID/stream", "", 200, ""},
		{"GET", "/runs/ID/stream?protocol=knowledge", "", 200, ""},
		{"POST", "/runs/ID/cancel", "", 202, ""},
		{"POST", "/api/query/stream", `{"query":"why?"}`, 200, "Sluice-Run-Id"},
		{"POST", "/v1/responses", `{"input":"and?","previous_response_id":"ID"}`, 200, ""},
	} {
		send := func(account, id string) *httptest.ResponseRecorder {
			return do(account, c.method, strings.Replace(c.path, "ID", id, 1), strings.Replace(c.body, "ID", id, 1), c.header, id)
		}
		if w := send("ann", run); w.Code != c.own {
			t.Errorf("%s %s of the own account: %d %s", c.method, c.path, w.Code, w.Body)
		}
		known, unknown := send("eve", run), send("eve", never)
		if known.Code != http.StatusNotFound || strings.ReplaceAll(known.Body.String(), run, never) != unknown.Body.String() {
			t.Errorf("%s %s of another account: %d %s, and of none: %d %s", c.method, c.path, known.Code, known.Body, unknown.Code, unknown.Body)
		}
	}
}
