// Package clienttest starts servers for the tests of clients.
package clienttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/a2a"
	service "github.com/sluice-rag/sluice/server/knowledge"
	"github.com/sluice-rag/sluice/server/mcp"
	"github.com/sluice-rag/sluice/server/openai"
	"github.com/sluice-rag/sluice/server/rpc"
	chatroutes "github.com/sluice-rag/sluice/server/sessions"
	"github.com/sluice-rag/sluice/session"
)

// listen serves until the test ends.
func listen(t *testing.T, s interface {
	Serve(ctx context.Context, l net.Listener) error
}) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// Whole starts a server as the command does, and returns its address.
func Whole(t *testing.T) (url string) {
	t.Helper()
	return listen(t, Open(t, "test"))
}

// Open makes a server with everything that the command serves, of the default settings and nothing in its folder.
func Open(t *testing.T, version string) *server.Front {
	t.Helper()
	shared, tenants := openTenants(t, version)
	return tenants.Front(shared.Access.Handler)
}

// openTenants opens an empty folder as the command does.
func openTenants(t *testing.T, version string) (*app.Shared, *app.Tenants) {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	ctx := context.WithoutCancel(t.Context())
	shared, err := app.OpenShared(ctx, cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, shared.OpenAccess(ctx, "", false))
	tenants, err := app.OpenTenants(ctx, shared, version, "")
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := errors.Join(tenants.Close(), shared.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return shared, tenants
}

// Keyed starts a server that needs a key, and returns a key that pages of https://page.example may use and one that permits one request an hour.
func Keyed(t *testing.T) (url, key, limited string) {
	t.Helper()
	shared, tenants := openTenants(t, "keyed")
	keys, err := (&app.Records{Data: shared.Config.Store.Data}).Keys(t.Context())
	require.NoError(t, err)
	key, _, err = auth.Create(t.Context(), keys, auth.Key{Tenant: "default", Account: "page", Scopes: []auth.Scope{auth.Ask}, Origins: []string{"https://page.example"}}, time.Now())
	require.NoError(t, err)
	limited, _, err = auth.Create(t.Context(), keys, auth.Key{Tenant: "default", Account: "slow", Scopes: []auth.Scope{auth.Ask}, Rate: auth.Limit{N: 1, Unit: "h"}}, time.Now())
	require.NoError(t, errors.Join(err, keys.Close()))
	return listen(t, tenants.Front(shared.Access.Handler)), key, limited
}

// Scripted starts a server whose runs say what the first word of the question names: short, long, cached, failing, thinking, waiting; or that nothing was
// found. It returns its address. The caller closes the store of chats after the test.
func Scripted(t *testing.T, chats session.Store) (url string) {
	t.Helper()
	sessions := session.New(chats, session.Options{})
	e := engine.New(script{}, engine.Options{MaxRuns: 1000, Ended: sessions.Ended, Deleted: sessions.Deleted})
	sessions.Bind(e)
	t.Cleanup(func() {
		_ = e.Close(t.Context()) // the context has ended: its runs are cancelled
		sessions.Close()
	})
	// Of the service's routes, those of responses need no more than this.
	routes := service.Routes(service.Options{Engine: e, Search: func(context.Context, index.Query) ([]index.Hit, error) { return nil, nil }})
	routes = append(routes, openai.Routes(openai.Options{Engine: e})...)
	routes = append(routes, a2a.Routes(a2a.Options{Engine: e, Asker: server.NewAsker(e, server.Options{Sessions: sessions}), MaxQuery: 4 << 10, Version: "test",
		Page: func(*http.Request) string { return "" }})...)
	routes = append(routes, chatroutes.Routes(sessions)...)
	calls, err := rpc.New(rpc.Options{Engine: e, Asker: server.NewAsker(e, server.Options{Sessions: sessions}), MaxQuery: 4 << 10})
	require.NoError(t, err)
	t.Cleanup(func() { _ = calls.Close(t.Context()) }) // the context has ended: its calls are cancelled
	routes = append(routes, mcp.New(calls, mcp.Options{Version: "test"}).Routes()...)
	s, err := server.New(e, server.Options{Protocols: app.Protocols(), Forms: app.Forms(), Described: app.Described(), Routes: routes, Sessions: sessions, Heartbeat: 20 * time.Millisecond, Drain: time.Millisecond})
	require.NoError(t, err)
	return listen(t, s)
}

// script is an answerer.
type script struct{}

// Answer emits what the question asks for.
func (script) Answer(ctx context.Context, r *answer.Recorder) error {
	word, _, _ := strings.Cut(r.State().Query, " ")
	emit := func(bodies ...event.Body) error {
		for _, b := range bodies {
			if err := r.Emit(ctx, b); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	opening := []event.Body{event.QueryAnalyzed{Complexity: event.Complex, Decomposed: true, Mode: event.Agentic, By: "rules"}}
	switch word {
	case "short":
		return emit(append(opening, answered(9, 2)...)...)
	case "long":
		return emit(append(opening, answered(600, 5)...)...)
	case "cached":
		return emit(append(opening, event.CacheChecked{Hit: true, Similarity: 0.97, Query: "How?", CachedAt: time.Date(2024, 12, 15, 10, 30, 0, 0, time.UTC)},
			event.Token{Text: "One by öne."}, event.Attributed{Sources: sources(3), By: "cache"})...)
	case "failing":
		if err := emit(append(opening, answered(9, 2)[:14]...)...); err != nil {
			return err
		}
		return fault.New(fault.Model, "the model went away")
	case "thinking":
		for i := range 30 {
			opening = append(opening, event.Reasoned{Text: fmt.Sprintf("thöught %d\n", i)})
		}
		return emit(append(opening, answered(9, 2)...)...)
	case "waiting":
		if err := emit(append(opening, answered(9, 2)[:14]...)...); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return fault.New(fault.NoDocuments, "nothing of the kind")
}

// answered is what follows the analysis of a run with each kind of event.
func answered(n, sourced int) []event.Body {
	out := []event.Body{event.CacheChecked{},
		event.RetrievalStarted{Call: 1, Tool: event.ToolSemanticSearch, Query: "authentication", Iteration: 1},
		event.RetrievalFinished{Call: 1, Tool: event.ToolSemanticSearch, Duration: 62, Found: []event.Found{
			{Chunk: "c_1", Level: corpus.Passage, Score: 0.847}, {Chunk: "c_2", Level: corpus.Section, Score: 0.5}}},
		event.Graded{Iteration: 1, Correct: 1, Ambiguous: 1, Action: event.Proceed, By: "rules", Grades: []event.Grade{
			{Chunk: "c_1", Score: 0.87, Class: event.Correct}, {Chunk: "c_2", Score: 0.62, Class: event.Ambiguous}}},
		event.Warned{Code: fault.Model, Message: "the first model did not answer", Step: "rerank"},
		event.Reranked{Method: "colbert", Inputs: 2, TopScore: 4.23, Duration: 85, Outputs: []event.Found{{Chunk: "c_1", Score: 4.23}}},
		event.GenerationStarted{Chunks: sourced, Tokens: 3420, Model: "local"}}
	all := sources(sourced)
	for i := range n {
		out = append(out, event.Token{Text: fmt.Sprintf(" wörd%d 日本\u2028\U0001F600", i*7919%1000)})
		if i%4 == 3 && i/4 < sourced {
			cited := event.Cited{N: i/4 + 1, Chunk: all[i/4].Chunk, Source: &all[i/4]}
			out = append(out, cited)
		}
	}
	return append(out, event.GenerationFinished{Reason: "stop"},
		event.Verified{Confidence: 0.75, By: "rules", Claims: []event.Claim{
			{Text: "It uses “OAuth”.", Verdict: event.Supported}, {Text: "They append.", Verdict: event.PartiallySupported}}},
		event.Attributed{By: "rules", Sources: all},
		event.ModelUsed{Step: "generate", Model: "local", Calls: 1, Input: 100, Output: 9})
}

func sources(n int) []event.Source {
	var out []event.Source
	for i := range n {
		out = append(out, event.Source{N: i + 1, Chunk: corpus.ChunkID(fmt.Sprintf("c_%d", i)), Document: corpus.DocumentID(fmt.Sprintf("d_%d", i)),
			Title: "Title", Name: fmt.Sprintf("näme %d.md", i), Heading: "4.2 Tökens", Level: corpus.Passage, Pages: []int{15, 16}, Ordinal: i,
			Text: strings.Repeat("é\u2028\"\u0085 text ", 40), Score: 0.87, Weight: 1 / float64(n), Cited: i*4 < 9})
	}
	return out
}
