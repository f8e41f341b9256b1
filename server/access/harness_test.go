package access_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/sqlstore"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/output"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/access"
	"github.com/sluice-rag/sluice/server/admin"
	"github.com/sluice-rag/sluice/server/knowledge"
	"github.com/sluice-rag/sluice/wire/forge"
	wireknowledge "github.com/sluice-rag/sluice/wire/knowledge"
)

// site is a server whose requests are authenticated.
type site struct {
	t      testing.TB
	url    string
	path   string // of the key database
	keys   *sqlstore.Store
	access *access.Access
	logs   *output.Buffer
	seen   *output.Buffer // all replies
	clock  *clock
	open   chan struct{} // runs end when it is closed
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// answerer ends each run when open is closed.
type answerer struct{ open chan struct{} }

func (a answerer) Answer(ctx context.Context, _ *answer.Recorder) error {
	select {
	case <-a.open:
	case <-ctx.Done():
	}
	return ctx.Err()
}

var protocols = []server.Endpoint{
	{API: forge.API(), StreamPath: "/api/query/stream", ReplyPath: "/api/query"},
	{API: wireknowledge.API(), StreamPath: "/v1/responses", AlwaysOK: true},
}

func serve(t testing.TB, o access.Options) *site {
	t.Helper()
	s := &site{t: t, logs: &output.Buffer{}, seen: &output.Buffer{}, clock: &clock{at: time.Now()}, open: make(chan struct{})}
	s.path = filepath.Join(t.TempDir(), "keys.db")
	keys, err := sqlstore.Open(t.Context(), s.path)
	require.NoError(t, err)
	s.keys = keys
	logger := slog.New(slog.NewTextHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o.Protocols, o.Logger, o.Now = protocols, logger, s.clock.now
	a, err := access.New(keys, o)
	require.NoError(t, err)
	s.access = a
	e := engine.New(answerer{s.open}, engine.Options{Grace: -1})
	routes := slices.Concat(a.Routes(), knowledge.Routes(knowledge.Options{Engine: e}), admin.Routes(admin.Options{Keys: keys, Now: s.clock.now}))
	srv, err := server.New(e, server.Options{Protocols: protocols, Routes: routes, Logger: logger})
	require.NoError(t, err)
	h := httptest.NewServer(a.Handler(srv.Handler()))
	s.url = h.URL
	t.Cleanup(func() {
		close(s.open)
		h.Close()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		a.Close()
		if err := keys.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// add adds a key of an account and returns its text.
func (s *site) add(account string, change func(*auth.Key), scopes ...auth.Scope) (text, id string) {
	s.t.Helper()
	k := auth.Key{Tenant: "default", Account: account, Scopes: scopes}
	if change != nil {
		change(&k)
	}
	text, k, err := auth.Create(context.Background(), s.keys, k, s.clock.now())
	require.NoError(s.t, err)
	return text, k.ID
}

// reply is the reply to a request.
type reply struct {
	*http.Response
	body string
	Code string `json:"code"`
}

// do sends a request with headers given as pairs.
func (s *site) do(method, path, body string, headers ...string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	_ = res.Header.Write(s.seen)
	_, _ = s.seen.Write(raw)
	r := reply{Response: res, body: string(raw)}
	_ = json.Unmarshal(raw, &r) // not JSON: no code
	return r
}

// expect sends a request and checks the status of the reply.
func (s *site) expect(status int, method, path, body string, headers ...string) reply {
	s.t.Helper()
	r := s.do(method, path, body, headers...)
	if r.StatusCode != status {
		s.t.Errorf("%s %s: %s, want %d: %s", method, path, r.Status, status, r.body)
	}
	return r
}

// ask begins a run with a key and returns its id. The run lasts until the site closes.
func (s *site) ask(key, query string) event.RunID {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/query/stream", strings.NewReader(`{"query":"`+query+`"}`))
	require.NoError(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", key)
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("ask: %s", res.Status)
	}
	return event.RunID(res.Header.Get("Sluice-Run-Id"))
}

func bearer(key string) []string { return []string{"Authorization", "Bearer " + key} }
