package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/anthropic"
	"github.com/sluice-rag/sluice/wire/forge"
)

type silent struct{}

func (silent) Answer(context.Context, *answer.Recorder) error { return nil }

// TestScopeOfEveryRoute walks the table of routes: each declares its scope. A key with only another scope is refused, and one with the
// scope is not.
func TestScopeOfEveryRoute(t *testing.T) {
	t.Parallel()
	e := engine.New(silent{}, engine.Options{})
	undeclared := Route{Method: "GET", Path: "/undeclared", Serve: func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}}
	s, err := New(e, Options{Protocols: []Endpoint{{API: forge.API(), StreamPath: "/api/query/stream", ReplyPath: "/api/query"}}, Routes: []Route{undeclared}})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	scopes := []auth.Scope{auth.Ask, auth.Read, auth.Write, auth.Admin}
	for _, rt := range s.table() {
		if rt.Scope == Open && rt.Path != "/healthz" && rt.Path != "/readyz" {
			t.Errorf("%s needs no key", rt.Path)
		}
		declared := slices.Contains(append(scopes, Open, AnyKey), rt.Scope)
		if declared == (rt.Path == undeclared.Path) {
			t.Errorf("%s %s declares the scope %q", rt.Method, rt.Path, rt.Scope)
		}
		for _, has := range scopes {
			r := httptest.NewRequest(rt.Method, rt.Path, nil)
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Identity{Tenant: "default", Account: "a", Key: "k", Scopes: []auth.Scope{has}})))
			refused := w.Code == http.StatusForbidden
			permitted := has == auth.Admin || has == rt.Scope || rt.Scope == Open || rt.Own && has == auth.Ask // the last one gets 404
			if refused == permitted {
				t.Errorf("%s %s with %s: %d %s", rt.Method, rt.Path, has, w.Code, w.Body)
			}
		}
	}
}

// TestRefusalInTheProtocolOfTheStream: a key that may not read a run gets the error of the protocol in which it asked for the stream.
func TestRefusalInTheProtocolOfTheStream(t *testing.T) {
	t.Parallel()
	e := engine.New(silent{}, engine.Options{})
	defer e.Close(t.Context())
	s, err := New(e, Options{Protocols: []Endpoint{{API: forge.API(), StreamPath: "/api/query/stream"}, {API: anthropic.API(), StreamPath: "/anthropic/v1/messages"}}})
	require.NoError(t, err)
	for protocol, want := range map[string]string{"anthropic": `"permission_error"`, "forge": `"code":`, "none": `"code":`} {
		r := httptest.NewRequest("GET", "/runs/r1/stream?protocol="+protocol, nil)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Identity{Tenant: "default", Account: "a", Key: "k", Scopes: []auth.Scope{auth.Write}})))
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", protocol, w.Code, w.Body)
		}
	}
}
