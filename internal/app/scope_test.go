package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// openHandbooks opens a server whose collection is handbooks. The data folder also has the collection of another server, and the tenant acme has uploaded a file.
func openHandbooks(t *testing.T) *city {
	t.Helper()
	data := t.TempDir()
	cfg := config.Default()
	cfg.Store.Data, cfg.Store.Records = data, recordsOf(t, data)
	a, err := app.OpenTenant(t.Context(), cfg, "acme", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for collection, keeper := range map[string]string{"handbooks": "Zelda Quux", "default": "Cy Stranger"} {
		_, e := a.Ingester.IngestDocuments(t.Context(), collection, []ingest.Source{{URI: collection + ".md", Data: []byte("# Farland\n\nThe lighthouse of Farland is kept by " + keeper + ".\n")}}, nil)
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	c := openSecuredWith(t, data, func(c *config.Config) { c.Store.Collection = "handbooks" })
	c.upload("acme", "nearland-f", ownText)
	return c
}

// TestDefaultScope asks without naming a collection in every protocol. The documents of the server's collection and the uploaded files are found, and those of
// another collection are not.
func TestDefaultScope(t *testing.T) {
	t.Parallel()
	c := openHandbooks(t)
	c.reply(http.StatusCreated, "acme", "POST", "/v1/rag/sessions", `{"session_id":"made"}`)
	for name, q := range map[string][2]string{
		"forge":            {"/api/query", `{"query":"QUESTION"}`},
		"empty":            {"/api/query", `{"query":"QUESTION","collection":""}`},
		"knowledge":        {"/v1/responses", `{"input":"QUESTION","stream":false}`},
		"ragevents":        {"/functions/v1/rag", `{"question":"QUESTION","stream":false}`},
		"openai chat":      {"/openai/v1/chat/completions", `{"model":"sluice","messages":[{"role":"user","content":"QUESTION"}]}`},
		"openai responses": {"/openai/v1/responses", `{"input":"QUESTION"}`},
		"agui":             {"/agui", `{"messages":[{"role":"user","content":"QUESTION"}]}`},
		"anthropic":        {"/anthropic/v1/messages", `{"model":"sluice","max_tokens":100,"messages":[{"role":"user","content":"QUESTION"}]}`},
		"ai":               {"/api/ai/chat", `{"messages":[{"role":"user","parts":[{"type":"text","text":"QUESTION"}]}]}`},
		"turns":            {"/v1/rag/sessions/made/messages", `{"content":"QUESTION"}`},
		"ask":              {"/forrst", `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"rag.ask","version":"1.0.0","arguments":{"query":"QUESTION"}}}`},
		"search":           {"/forrst", `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"rag.search","version":"1.0.0","arguments":{"query":"QUESTION"}}}`},
	} {
		for question, keeper := range map[string]string{"Who keeps the lighthouse of Farland?": "Quux", "Who keeps the lighthouse of Nearland?": "Brook"} {
			w := c.request("acme", "POST", q[0], strings.ReplaceAll(q[1], "QUESTION", question))
			if text := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(text, keeper) || strings.Contains(text, "Stranger") {
				t.Errorf("%s, %s %d %s", name, question, w.Code, text)
			}
		}
	}
	for collection, keeper := range map[string]string{"default": "Cy Stranger", "handbooks": "Zelda Quux", "files": "Bea Brook"} {
		if _, text := c.answer("acme", collection, "Who keeps the lighthouse?"); !strings.Contains(text, keeper) {
			t.Errorf("about %s alone: %s", collection, text)
		}
	}
	docs := c.reply(http.StatusOK, "acme", "GET", "/api/documents", "")["documents"].([]any)
	for _, d := range docs {
		doc := d.(map[string]any)
		if _, text := c.answer("acme", fmt.Sprint("file:", doc["id"]), "Who keeps the lighthouse?"); !strings.Contains(text, "kept by") {
			t.Errorf("about %v alone: %s", doc, text)
		}
	}
	if len(docs) != 2 {
		t.Errorf("%d documents are listed: %v", len(docs), docs)
	}
}

// TestDefaultScopeOfLimitedKey asks without naming a collection with keys for some collections: what such a key permits is searched.
func TestDefaultScopeOfLimitedKey(t *testing.T) {
	t.Parallel()
	c := openHandbooks(t)
	for collection, want := range map[string]string{"handbooks": "Zelda Quux", "files": "Bea Brook", "default": ""} {
		secret, _, err := auth.Create(t.Context(), c.keys, auth.Key{Tenant: "acme", Account: "site-" + collection, Scopes: []auth.Scope{auth.Ask}, Collections: []string{collection}}, time.Now())
		require.NoError(t, err)
		w := limited{city: c, secret: secret}.send("POST", "/api/query", `{"query":"Who keeps the lighthouse?"}`)
		text := w.Body.String()
		if want == "" {
			if w.Code != http.StatusForbidden {
				t.Errorf("a key for %s: %d %s", collection, w.Code, text)
			}
			continue
		}
		for _, keeper := range []string{"Zelda Quux", "Bea Brook", "Cy Stranger"} {
			if w.Code != http.StatusOK || strings.Contains(text, keeper) != (keeper == want) {
				t.Errorf("a key for %s: %d %s", collection, w.Code, text)
			}
		}
	}
}

// TestUnknownCollection asks about a collection that does not exist: the error names those that do, to whom may list documents.
func TestUnknownCollection(t *testing.T) {
	t.Parallel()
	c := openHandbooks(t)
	const others = "; there are documents in default, files, handbooks"
	ask := func(secret string) string {
		w := limited{city: c, secret: secret}.send("POST", "/api/query", `{"query":"Who keeps the lighthouse?","collection":"handbook"}`)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "no documents are in the collection handbook") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	for _, key := range []struct {
		auth.Key
		want bool
	}{
		{auth.Key{Scopes: []auth.Scope{auth.Ask, auth.Read}}, true},
		{auth.Key{Scopes: []auth.Scope{auth.Ask}}, false},
		{auth.Key{Scopes: []auth.Scope{auth.Ask}, Collections: []string{"handbook"}}, false},
	} {
		key.Tenant, key.Account = "acme", fmt.Sprint("site", key.Scopes, len(key.Collections))
		secret, _, err := auth.Create(t.Context(), c.keys, key.Key, time.Now())
		require.NoError(t, err)
		if text := ask(secret); strings.Contains(text, others) != key.want || !key.want && strings.Contains(text, "handbooks") {
			t.Errorf("%v: %s", key.Key.Scopes, text)
		}
	}
}

// TestUnknownCollectionAmongOthers asks about a list of collections of which one does not exist, in every protocol: the others are not searched without a word. An empty
// vector store exists.
func TestUnknownCollectionAmongOthers(t *testing.T) {
	t.Parallel()
	c := openHandbooks(t)
	c.reply(http.StatusCreated, "acme", "POST", "/v1/rag/sessions", `{"session_id":"made"}`)
	c.reply(http.StatusOK, "acme", "POST", "/v1/vector_stores", `{"name":"fresh","id":"fresh"}`)
	for name, q := range map[string]struct{ path, body string }{
		"forge":            {"/api/query", `{"query":"QUESTION","collection":"SCOPE"}`},
		"forge stream":     {"/api/query/stream", `{"query":"QUESTION","collection":"SCOPE"}`},
		"knowledge":        {"/v1/responses", `{"input":"QUESTION","stream":false,"tools":[{"type":"file_search","vector_store_ids":["STORE","files"]}]}`},
		"ragevents":        {"/functions/v1/rag", `{"question":"QUESTION","collection":"SCOPE"}`},
		"openai chat":      {"/openai/v1/chat/completions", `{"model":"sluice/SCOPE","messages":[{"role":"user","content":"QUESTION"}]}`},
		"openai responses": {"/openai/v1/responses", `{"input":"QUESTION","collection":"SCOPE"}`},
		"openai tools":     {"/openai/v1/responses", `{"input":"QUESTION","tools":[{"type":"file_search","vector_store_ids":["STORE","files"]}]}`},
		"agui":             {"/agui", `{"messages":[{"role":"user","content":"QUESTION"}],"forwardedProps":{"collection":"SCOPE"}}`},
		"anthropic":        {"/anthropic/v1/messages", `{"model":"sluice/SCOPE","max_tokens":100,"messages":[{"role":"user","content":"QUESTION"}]}`},
		"ai":               {"/api/ai/chat", `{"messages":[{"role":"user","parts":[{"type":"text","text":"QUESTION"}]}],"collection":"SCOPE"}`},
		"turns":            {"/v1/rag/sessions/made/messages", `{"content":"QUESTION","collection":"SCOPE"}`},
		"ask":              {"/forrst", `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"rag.ask","version":"1.0.0","arguments":{"query":"QUESTION","collection":"SCOPE"}}}`},
	} {
		ask := func(store string) *httptest.ResponseRecorder {
			return c.request("acme", "POST", q.path, strings.NewReplacer("QUESTION", "Who keeps the lighthouse of Nearland?", "SCOPE", store+",files", "STORE", store).Replace(q.body))
		}
		if w := ask("handbook"); !strings.Contains(w.Body.String(), "o documents are in the collection handbook; there are documents in default, files, handbooks") || strings.Contains(w.Body.String(), "Brook") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if w := ask("file:none"); !strings.Contains(name, "tools") && name != "knowledge" && (!strings.Contains(w.Body.String(), "o indexed document has the id none") || strings.Contains(w.Body.String(), "Brook")) {
			t.Errorf("%s, with an unknown file: %d %s", name, w.Code, w.Body)
		}
		for _, store := range []string{"fresh", "default", "handbooks"} {
			if w := ask(store); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Brook") {
				t.Errorf("%s, with %s: %d %s", name, store, w.Code, w.Body)
			}
		}
	}
}

// TestUnknownFileAmongOthers names files of which one does not exist or has not been read, in the ways of the protocols other than a scope. The other one is not searched alone.
func TestUnknownFileAmongOthers(t *testing.T) {
	t.Parallel()
	c := openHandbooks(t)
	for name, q := range map[string]struct{ path, body string }{
		"knowledge": {"/v1/responses", `{"stream":false,"input":[{"role":"user","content":[{"type":"input_text","text":"QUESTION"},{"type":"input_file","file_id":"FILE"},{"type":"input_file","file_id":"nearland-f"}]}]}`},
		"one":       {"/v1/responses", `{"stream":false,"input":[{"role":"user","content":[{"type":"input_text","text":"QUESTION"},{"type":"input_file","file_id":"FILE"}]}]}`},
		"search":    {"/forrst", `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"rag.search","version":"1.0.0","arguments":{"query":"QUESTION","collection":"file:FILE,file:nearland-f"}}}`},
	} {
		for file, want := range map[string]string{"none": "none", "nearland-f": "Brook"} {
			w := c.request("acme", "POST", q.path, strings.NewReplacer("QUESTION", "Who keeps the lighthouse of Nearland?", "FILE", file).Replace(q.body))
			if text := w.Body.String(); !strings.Contains(text, want) || file == "none" && (strings.Contains(text, "Brook") || !strings.Contains(text, "o indexed document has the id none") && !strings.Contains(text, "no such document: none")) {
				t.Errorf("%s, file %s: %d %s", name, file, w.Code, text)
			}
		}
	}
}

// TestResumedWithoutCollection resumes runs about a vector store that was deleted meanwhile. A run that has begun continues, and one that has not fails.
func TestResumedWithoutCollection(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	err := a.OpenFiles(t.Context())
	if err == nil {
		_, err = a.Files().CreateStore(t.Context(), files.StoreParams{ID: "tides"})
	}
	require.NoError(t, err)
	s := asked(t, a, event.Question{Query: "Who is the keeper of the Farland lighthouse?", Collection: "default,tides", Mode: event.Direct, NoCache: true})
	whole, err := a.Log.Load(t.Context(), s.Run, 0)
	if err = errors.Join(err, a.Files().DeleteStore(t.Context(), "tides")); err != nil {
		t.Fatal(err)
	}
	analyzed := slices.IndexFunc(whole, func(e event.Event) bool { return e.Body.Kind() == event.KindQueryAnalyzed })
	written := slices.IndexFunc(whole, func(e event.Event) bool { return e.Body.Kind() == event.KindToken })
	for i, cut := range []int{1, analyzed + 1, written + 1, len(whole) - 1} {
		log := slices.Clone(whole[:cut])
		start := log[0].Body.(event.RunStarted)
		start.Run = event.RunID(fmt.Sprintf("run_01kg000000000000000000000%d", i))
		log[0].Body = start
		require.NoError(t, errors.Join(a.Log.Append(t.Context(), start.Run, log...), a.Recover(t.Context(), engine.Recovery{})))
		var got event.State
		for batch, err := range a.Engine.Events(t.Context(), start.Run, 0) {
			require.NoError(t, err)
			for _, e := range batch {
				got.Apply(e)
			}
		}
		switch {
		case cut == 1 && (got.Failure == nil || got.Failure.Code != fault.NoDocuments):
			t.Errorf("a run that has not begun: %v", got.Failure)
		case cut > 1 && (got.Failure != nil || string(got.Text) != string(s.Text)):
			t.Errorf("after %d of %d events: %v, %q", cut, len(whole), got.Failure, got.Text)
		}
	}
}

// TestFailedScopeCheck checks a scope with a context that has ended and with an index that fails: neither means that a collection does not exist.
func TestFailedScopeCheck(t *testing.T) {
	t.Parallel()
	a, _ := open(t, func(*config.Config) {})
	h := handler(t, a)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.CheckScope(ended, "default,files"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := a.CheckScope(t.Context(), "default,files"); err != nil {
		t.Error(err)
	}
	a.BeginIndexing()
	require.NoError(t, a.Index.Close())
	if err := a.CheckScope(t.Context(), "default,files"); fault.Public(err).Code != fault.Index {
		t.Errorf("without an index: %v", err)
	}
	if status, reply := request(t, h, "POST", "/api/query", `{"query":"Who?"}`); !strings.Contains(reply, string(fault.Index)) {
		t.Errorf("a question without an index: %d %s", status, reply)
	}
}
