package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	htmltemplate "html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	texttemplate "text/template"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// TestVariants: the body and the parameters of a request select the variant of the stream.
func TestVariants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bodies, want := talking(100)
		s := inMemory(t, script(func(ctx context.Context, r *answer.Recorder) error {
			for _, b := range bodies {
				time.Sleep(20 * time.Millisecond)
				if err := emit(ctx, r, b); err != nil {
					return err
				}
			}
			return nil
		}), engine.Options{}, throttledOptions)
		defer s.close()
		count := func(res *http.Response) int {
			t.Helper()
			if res.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", res.Status, slurp(t, res.Body))
			}
			seen := snapshots(t, rest(t, res))
			if seen[len(seen)-1].Text != want {
				t.Errorf("text %q", seen[len(seen)-1].Text)
			}
			return len(seen)
		}
		within := func(what string, n, low, high int) {
			t.Helper()
			if n < low || n > high {
				t.Errorf("%s: %d frames, want %d to %d", what, n, low, high)
			}
		}
		usual := s.do("POST", "/throttled", `{"query":"why?"}`)
		run := usual.Header.Get("Sluice-Run-Id")
		resumed := s.do("POST", "/throttled", `{"query":"why?","every":"500ms"}`, "Sluice-Run-Id", run)
		plain := s.do("POST", "/throttled", "", "Sluice-Run-Id", run)
		junk := s.do("POST", "/throttled", "{", "Sluice-Run-Id", run)
		viewed := s.do("GET", "/runs/"+run+"/stream?protocol=throttled&every=500ms", "")
		asked := s.do("POST", "/throttled", `{"query":"why?","every":"500ms"}`)
		parameter := s.do("POST", "/throttled?every=500ms", `{"query":"why?","every":"20ms"}`)
		var wg sync.WaitGroup
		wg.Go(func() { within("as the protocol does", count(usual), 20, 35) })
		wg.Go(func() { within("resumed with a body", count(resumed), 5, 15) })
		wg.Go(func() { within("resumed without a body", count(plain), 20, 35) })
		wg.Go(func() { within("resumed with no question", count(junk), 20, 35) })
		wg.Go(func() { within("viewed", count(viewed), 5, 15) })
		wg.Go(func() { within("asked", count(asked), 5, 15) })
		wg.Go(func() { within("asked with a parameter", count(parameter), 5, 15) })
		wg.Wait()
		for _, res := range []*http.Response{s.do("GET", "/runs/"+run+"/stream?protocol=throttled&every=often", ""),
			s.do("POST", "/throttled?every=often", `{"query":"why?"}`), s.do("POST", "/throttled?every=often", "", "Sluice-Run-Id", run)} {
			if body := slurp(t, res.Body); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"INVALID_REQUEST"`) {
				t.Errorf("%s: %s", res.Status, body)
			}
		}
		res := s.do("POST", "/throttled", `{"query":"why?","once":true}`)
		var once snapshot
		if err := json.Unmarshal([]byte(slurp(t, res.Body)), &once); err != nil || once.Text != want || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v: %v", once, err)
		}
	})
}

// TestFollowUpQuestions: a question that names a previous run gets its history, without citations.
func TestFollowUpQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := make(chan struct{})
		s := inMemory(t, byQuestion(map[string]script{
			"first": saying(everything(2, 1)...), "then": saying(everything(1, 1)...), "slow": stepwise(steps, everything(1, 1)),
			"silent": saying(analysed()...),
			"long":   saying(analysed(event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: strings.Repeat("x", event.MaxHistory-10)})...)}),
			engine.Options{}, throttledOptions)
		defer s.close()
		ask := func(body string, want int) string {
			t.Helper()
			res := s.do("POST", "/throttled", body)
			if text := slurp(t, res.Body); res.StatusCode != want || want != http.StatusOK && !strings.Contains(text, `"wrong":`) {
				t.Fatalf("%s: %s: %.300s", body, res.Status, text)
			}
			return res.Header.Get("Sluice-Run-Id")
		}
		history := func(run string) []event.Message {
			t.Helper()
			es, err := s.engine.Store().Load(t.Context(), event.RunID(run), 0)
			require.NoError(t, err)
			return es[0].Body.(event.RunStarted).History
		}
		after := func(query, run, more string) string {
			return `{"query":"` + query + `","previous":"` + run + `"` + more + `}`
		}
		first := ask(`{"query":"first question"}`, http.StatusOK)
		second := ask(after("then", first, ""), http.StatusOK)
		third := ask(after("then what?", second, `,"history":[{"role":"user","text":"listen"}]`), http.StatusOK)
		want := []event.Message{{Role: "user", Text: "first question"}, {Role: "assistant", Text: " word0 word919"},
			{Role: "user", Text: "then"}, {Role: "assistant", Text: " word0"}, {Role: "user", Text: "listen"}}
		if diff := cmp.Diff(want, history(third)); diff != "" {
			t.Error(diff)
		}
		silent := ask(`{"query":"silent one"}`, http.StatusOK)
		if diff := cmp.Diff([]event.Message{{Role: "user", Text: "silent one"}}, history(ask(after("then", silent, ""), http.StatusOK))); diff != "" {
			t.Error(diff)
		}
		// The oldest turns are dropped if the limits are exceeded.
		long := ask(after("long tale", second, ""), http.StatusOK)
		if got := history(ask(after("then", long, ""), http.StatusOK)); len(got) != 2 || got[0].Text != "long tale" {
			t.Errorf("%d turns", len(got))
		}
		if got := history(ask(after("then", long, `,"history":[{"role":"user","text":"as much as leaves no room"}]`), http.StatusOK)); len(got) != 1 {
			t.Errorf("%d turns", len(got))
		}
		for range 101 {
			third = ask(after("then", third, ""), http.StatusOK)
		}
		if n := len(history(third)); n != event.MaxMessages {
			t.Errorf("%d turns", n)
		}
		ask(after("then", "run_unknown", ""), http.StatusNotFound)
		ask(after("then", "a/b", ""), http.StatusNotFound)
		live := s.do("POST", "/throttled", `{"query":"slow one"}`)
		ask(after("then", live.Header.Get("Sluice-Run-Id"), ""), http.StatusConflict)
		go func() {
			for range everything(1, 1) {
				steps <- struct{}{}
			}
		}()
		_ = slurp(t, live.Body)
		ask(after("then", live.Header.Get("Sluice-Run-Id"), ""), http.StatusOK)
	})
}

// TestSchemasHaveOneName: each type has one schema in the document.
func TestSchemasHaveOneName(t *testing.T) {
	t.Parallel()
	o := throttledOptions
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(), engine.Options{}, o)
		defer s.close()
		var doc struct {
			Paths      map[string]map[string]operation
			Components struct{ Schemas map[string]any }
		}
		require.NoError(t, json.Unmarshal([]byte(slurp(t, s.do("GET", "/openapi.json", "").Body)), &doc))
		for _, name := range []string{"ForgeEvent", "ThrottledEvent", "ForgeToken", "ServerRunList"} {
			if doc.Components.Schemas[name] == nil {
				t.Errorf("no schema %s", name)
			}
		}
		for name := range doc.Components.Schemas {
			if strings.Contains(name, "Type2") || strings.Contains(name, "OneOf") {
				t.Errorf("schema %s", name)
			}
		}
		if _, both := doc.Paths["/throttled"]["post"].Responses["200"].Content["application/json"]; !both {
			t.Error("that a stream's path may answer with one object is not said")
		}
	})
	// Types of two packages with the same name, as two protocols could have.
	o.Routes = []server.Route{{Method: "GET", Path: "/x", Summary: "X", Reply: texttemplate.Template{}},
		{Method: "GET", Path: "/y", Summary: "Y", Reply: htmltemplate.Template{}}}
	var logged bytes.Buffer
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	srv, err := server.New(engine.New(saying(), engine.Options{}), o)
	require.NoError(t, err)
	for path, want := range map[string]int{"/openapi.json": http.StatusInternalServerError, "/healthz": http.StatusOK} {
		w := httptest.NewRecorder()
		if srv.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != want {
			t.Errorf("two types of one name: %s: status %d, want %d", path, w.Code, want)
		}
	}
	if !strings.Contains(logged.String(), "both named") {
		t.Errorf("two types of one name: the log says %q", &logged)
	}
}

// TestUnknownPathsHaveErrorFormOfProtocol: an error for an unknown path has the form of the protocol that has the same first
// segment, or of the first protocol.
func TestUnknownPathsHaveErrorFormOfProtocol(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, nil, engine.Options{}, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
		defer s.close()
		for path, e := range map[string]wire.API{"/v1/none": knowledge.API(), "/v1": knowledge.API(), "/v10": forge.API(), "/api/none": forge.API(), "/none": forge.API()} {
			want, err := json.Marshal(e.Fault(fault.New(fault.NotFound, "no such page; /docs/ lists the routes")))
			require.NoError(t, err)
			res := s.do("GET", path, "")
			if body := strings.TrimSpace(slurp(t, res.Body)); res.StatusCode != 404 || body != string(want) {
				t.Errorf("%s: %s: %s, want %s", path, res.Status, body, want)
			}
		}
	})
}

// TestVariantsAreInTheDocument: the parameters that select a variant are in the document.
func TestVariantsAreInTheDocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, nil, engine.Options{}, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
		defer s.close()
		var names []string
		for _, p := range openDocument(t, s).paths["/runs/{id}/stream"]["get"].Parameters {
			names = append(names, p.In+" "+p.Name)
		}
		for _, want := range []string{"query mode", "query snapshots_per_second", "query protocol"} {
			if !slices.Contains(names, want) {
				t.Errorf("no %s among %q", want, names)
			}
		}
		res := s.do("GET", "/runs/run_1/stream?protocol=knowledge&mode=other", "")
		if body := slurp(t, res.Body); res.StatusCode != 400 || !strings.Contains(body, `"detail":{"field":"mode"}`) {
			t.Errorf("%s, which is not the protocol's: %s", res.Status, body)
		}
	})
}
