package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

// document is the OpenAPI document with its schemas, to validate replies.
type document struct {
	t        *testing.T
	compiler *jsonschema.Compiler
	paths    map[string]map[string]operation
	raw      string
}

type operation struct {
	Parameters  []struct{ Name, In string }
	RequestBody *struct{ Content map[string]any }
	Responses   map[string]struct{ Content map[string]any }
}

const documentURL = "http://sluice.test/openapi.json"

func openDocument(t *testing.T, s *site) *document {
	t.Helper()
	res := s.do("GET", "/openapi.json", "")
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	d := &document{t: t, compiler: jsonschema.NewCompiler(), raw: slurp(t, res.Body)}
	tree, err := jsonschema.UnmarshalJSON(strings.NewReader(d.raw))
	require.NoError(t, err)
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, d.compiler.AddResource(documentURL, tree))
	var top struct {
		OpenAPI string
		Paths   map[string]map[string]operation
	}
	require.NoError(t, json.Unmarshal([]byte(d.raw), &top))
	if !strings.HasPrefix(top.OpenAPI, "3.1.") {
		t.Errorf("version %q", top.OpenAPI)
	}
	d.paths = top.Paths
	return d
}

// pointer escapes a part of a JSON pointer.
func pointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(s)
}

// holds validates a value against the schema of a route's reply.
func (d *document) holds(what, method, path string, status int, kind, value string) {
	d.t.Helper()
	if err := d.check(fmt.Sprintf("responses/%d/content/%s", status, pointer(kind)), method, path, value); err != nil {
		d.t.Errorf("%s: %v\n%.300s", what, err, value)
	}
}

func (d *document) check(where, method, path, value string) error {
	schema, err := d.compiler.Compile(documentURL + "#/paths/" + pointer(path) + "/" + strings.ToLower(method) + "/" + where + "/schema")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

func TestDocumentListsEveryRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(), engine.Options{}, server.Options{Version: "1.2.3"})
		defer s.close()
		d := openDocument(t, s)
		var routes []string
		for path, methods := range d.paths {
			for method, op := range methods {
				routes = append(routes, strings.ToUpper(method)+" "+path)
				for status, r := range op.Responses {
					for kind := range r.Content {
						if err := d.check("responses/"+status+"/content/"+pointer(kind), method, path, "{}"); err != nil && !strings.Contains(err.Error(), "jsonschema validation failed") {
							t.Errorf("%s %s %s: %v", method, path, status, err)
						}
					}
				}
			}
		}
		slices.Sort(routes)
		want := []string{"GET /api/runs", "GET /api/runs/{id}", "GET /healthz", "GET /readyz", "GET /runs/{id}/stream", "POST /api/query",
			"POST /api/query/stream", "POST /runs/{id}/cancel"}
		if !slices.Equal(routes, want) {
			t.Errorf("routes %v", routes)
		}
		for path, want := range map[string][]string{"/api/query/stream": {"Idempotency-Key", "Last-Event-ID", "Sluice-Run-Id"}, "/runs/{id}/stream": {"Last-Event-ID", "id", "protocol"},
			"/api/runs": {"before", "limit"}} {
			var got []string
			for _, op := range d.paths[path] {
				for _, p := range op.Parameters {
					got = append(got, p.Name)
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s takes %v", path, got)
			}
		}
		if !strings.Contains(d.raw, `"version": "1.2.3"`) {
			t.Error("the version is missing")
		}
	})
}

func TestRequestsAreAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		d := openDocument(t, s)
		for _, body := range []string{`{"query":"x"}`, `{"query":"x","mode":"direct","collection":"c","top_k":3,"session_id":"s","no_cache":true}`, `{"query":"x","no_cache":1}`, `{"query":"x","top_k":0}`,
			`{}`, `{"query":""}`, `{"query":1}`, `{"query":"x","mode":"fast"}`, `{"query":"x","top_k":-1}`, `{"query":"x","top_k":51}`, `[]`,
			`{"query":"x","top_k":1.5}`} {
			for _, path := range asking {
				res := s.do("POST", path, body)
				_ = slurp(t, res.Body)
				err := d.check("requestBody/content/application~1json", "POST", path, body)
				if (res.StatusCode == http.StatusOK) != (err == nil) {
					t.Errorf("%s: the server says %s and the document %v", body, res.Status, err)
				}
			}
		}
	})
}

func TestRepliesAreAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, byQuestion(map[string]script{"all": saying(everything(9, 3)...), "cached": saying(cachedRun()...), "failed": saying(analysed()...)}),
			engine.Options{}, server.Options{})
		defer s.close()
		d := openDocument(t, s)
		const plain = "application/json"
		seen := map[string]bool{}
		run := ""
		for _, q := range []string{"all", "cached", "failed"} {
			res := s.ask(q)
			run = res.Header.Get("Sluice-Run-Id")
			for _, ev := range whole(t, res) {
				seen[ev.Name] = true
				d.holds(ev.Name, "POST", "/api/query/stream", 200, "text/event-stream", ev.Data)
				d.holds(ev.Name, "GET", "/runs/{id}/stream", 200, "text/event-stream", ev.Data)
			}
			res = s.do("POST", "/api/query", question(q))
			d.holds(q, "POST", "/api/query", res.StatusCode, plain, slurp(t, res.Body))
			d.holds(q, "GET", "/api/runs/{id}", 200, plain, slurp(t, s.do("GET", "/api/runs/"+run, "").Body))
		}
		if len(seen) != 15 { // cache_hit and cache_miss count as one of the fourteen types
			t.Errorf("only %v were seen", slices.Sorted(maps.Keys(seen)))
		}
		d.holds("list", "GET", "/api/runs", 200, plain, slurp(t, s.do("GET", "/api/runs?limit=2", "").Body))
		d.holds("health", "GET", "/healthz", 200, plain, slurp(t, s.do("GET", "/healthz", "").Body))
		d.holds("ready", "GET", "/readyz", 200, plain, slurp(t, s.do("GET", "/readyz", "").Body))
		d.holds("cancel", "POST", "/runs/{id}/cancel", 202, plain, slurp(t, s.do("POST", "/runs/"+run+"/cancel", "").Body))
		for _, c := range []struct{ method, path, described, body, headers string }{
			{"POST", "/api/query", "/api/query", "{", ""}, {"POST", "/api/query", "/api/query", question("x"), "Content-Type text/plain"},
			{"POST", "/api/query", "/api/query", question(strings.Repeat("x", 300<<10)), ""}, {"POST", "/api/query", "/api/query", question("x"), "Origin http://evil.example"},
			{"POST", "/api/query/stream", "/api/query/stream", "", "Sluice-Run-Id none"}, {"GET", "/api/runs?limit=x", "/api/runs", "", ""},
			{"GET", "/api/runs/none", "/api/runs/{id}", "", ""}, {"GET", "/runs/none/stream", "/runs/{id}/stream", "", ""},
			{"GET", "/runs/" + run + "/stream", "/runs/{id}/stream", "", "Last-Event-ID x"}, {"POST", "/runs/none/cancel", "/runs/{id}/cancel", "", ""},
		} {
			res := s.do(c.method, c.path, c.body, strings.Fields(c.headers)...)
			d.holds(c.path+" "+c.headers, c.method, c.described, res.StatusCode, plain, slurp(t, res.Body))
		}
		// Values that the schemas do not describe must be rejected.
		for _, wrong := range []string{`{}`, `[]`, `{"type":"token"}`, `{"type":"token","content":1}`, `{"type":"nothing"}`, `{"type":"sources","sources":null}`} {
			if d.check("responses/200/content/text~1event-stream", "POST", "/api/query/stream", wrong) == nil {
				t.Errorf("the document allows %s", wrong)
			}
		}
	})
}
