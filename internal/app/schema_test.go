package app_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/turns"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// compiled returns the schema of a document.
func compiled(t *testing.T, doc []byte) *jsonschema.Schema {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("http://sluice.test/schema.json", tree))
	s, err := c.Compile("http://sluice.test/schema.json")
	require.NoError(t, err)
	return s
}

// variants returns the variants of a protocol that send further frames.
func variants(t *testing.T, e server.Endpoint) (all []wire.Protocol) {
	t.Helper()
	all = []wire.Protocol{e.Protocol}
	if linked, ok := e.Protocol.(wire.Linked); ok {
		all = append(all, linked.LinkTo("http://localhost:8000"))
	}
	if e.Variant != nil {
		values := map[string]string{"mode": "delta", "thinking": "true", "include": "file_search_call.results", "include_usage": "true", "citations": "inline"}
		variant, err := e.Variant(e.Protocol, func(name string) string { return values[name] })
		require.NoError(t, err)
		all = append(all, variant)
	}
	return all
}

// framesOf returns the objects in JSON that the variants of a protocol send. Other frames are text.
func framesOf(t *testing.T, e server.Endpoint) (all []map[string]any) {
	t.Helper()
	add := func(data []byte) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if object, ok := v.(map[string]any); err == nil && ok {
			all = append(all, object)
		}
	}
	for _, p := range variants(t, e) {
		_, bytewise := p.(wire.ByteStream)
		for _, log := range wiretest.WithRandom(wiretest.Runs()) {
			if bytewise {
				var g turns.Grammar
				for _, f := range wiretest.Project(p.New(), wiretest.Single(log)) {
					if _, err := g.Write(f.Data); err != nil {
						t.Fatal(err)
					}
				}
				for _, line := range append(g.Lines, string(g.Trailer)) {
					add([]byte(line))
				}
				continue
			}
			for _, f := range wiretest.Project(p.New(), wiretest.Single(log)) {
				add(f.Data)
			}
		}
		if beat, ok := p.(wire.Heartbeater); ok {
			_, data, _ := bytes.Cut(beat.AppendHeartbeat(nil, time.Now()), []byte("data: "))
			add(data)
		}
	}
	return all
}

// TestSchemas compares the frames of each protocol with its schema: each is valid, each form is that of a frame, and a frame of another type is invalid.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, e := range app.Protocols() {
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			doc, err := server.Schema(e.Description())
			require.NoError(t, err)
			s := compiled(t, doc)
			frames := framesOf(t, e)
			if len(frames) == 0 {
				t.Error("no frame was checked")
			}
			for _, f := range frames {
				if err := s.Validate(f); err != nil {
					t.Fatalf("%v\n%.400v", err, f)
				}
				for _, name := range []string{"type", "kind", "object", "jsonrpc"} {
					if is, ok := f[name].(string); ok {
						if f[name] = "nonsense"; s.Validate(f) == nil {
							t.Fatalf("the schema permits a frame with another %s: %.400v", name, f)
						}
						f[name] = is
					}
				}
			}
			for _, form := range forms(t, doc) {
				if !slices.ContainsFunc(frames, func(f map[string]any) bool { return form.Validate(f) == nil }) {
					t.Errorf("no frame has the form %s", form.Location)
				}
			}
			if s.Validate(map[string]any{"nonsense": 1.0}) == nil {
				t.Error("the schema permits every object")
			}
		})
	}
}

// forms returns the forms of the frames in a document, each as a schema.
func forms(t *testing.T, doc []byte) (all []*jsonschema.Schema) {
	t.Helper()
	whole := compiled(t, doc)
	for _, s := range whole.AnyOf {
		if s.Ref != nil {
			s = s.Ref
		}
		all = append(all, s)
	}
	return all
}

// TestDescribed checks that each protocol at which questions are asked has a channel for them in the AsyncAPI document, and that the OpenAPI document has its frames.
func TestDescribed(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), func(*config.Config) {})
	asyncapi := c.reply(http.StatusOK, "default", "GET", "/schemas/asyncapi.json", "")
	channels := asyncapi["channels"].(map[string]any)
	openapi := c.reply(http.StatusOK, "default", "GET", "/openapi.json", "")
	forms := map[string]bool{}
	for name := range openapi["components"].(map[string]any)["schemas"].(map[string]any) {
		forms[strings.ToLower(name)] = true
	}
	runs, _ := json.Marshal(openapi["paths"].(map[string]any)["/runs/{id}/stream"])
	for _, d := range app.Descriptions() {
		if _, ok := channels["ask-"+d.Name]; ok != (d.Ask != "") {
			t.Errorf("%s: questions at %q are described: %t", d.Name, d.Ask, ok)
		}
		if _, ok := channels["read-"+d.Name]; ok != d.Read {
			t.Errorf("%s: reading runs is described: %t", d.Name, ok)
		}
		if _, ok := channels["resume-"+d.Name]; ok != (d.Resume != "") {
			t.Errorf("%s: the stream of a session is described: %t", d.Name, ok)
		}
		if _, ok := channels["follow-"+d.Name]; ok != (d.Follow != "") {
			t.Errorf("%s: the stream of the work is described: %t", d.Name, ok)
		}
		if d.Ask == "" && d.Follow == "" && !d.Read {
			t.Errorf("%s is never spoken", d.Name)
		}
		name := strings.ReplaceAll(d.Name, "-", "") + "event"
		if !forms[name] {
			t.Errorf("%s: the OpenAPI document has no frames", d.Name)
		}
		if read := strings.Contains(strings.ToLower(string(runs)), "/"+name+`"`); read != d.Read {
			t.Errorf("%s: its frames are those of runs: %t", d.Name, read)
		}
	}
}

// TestServedSchemas reads the list of the documents, and each of them.
func TestServedSchemas(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), func(*config.Config) {})
	for name, path := range c.reply(http.StatusOK, "default", "GET", "/schemas", "") {
		doc := c.reply(http.StatusOK, "default", "GET", path.(string), "")
		if text, _ := json.Marshal(doc); name == "asyncapi" && (doc["asyncapi"] != "3.0.0" || !strings.Contains(string(text), `"/v1/responses"`)) {
			t.Errorf("%.300s", text)
		}
	}
	c.reply(http.StatusNotFound, "default", "GET", "/schemas/nothing.json", "")
}
