package app_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// compiled returns the schema of a document.
func compiled(t *testing.T, doc []byte) *jsonschema.Schema {
	t.Helper()
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("http://sluice.test/schema.json", tree); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("http://sluice.test/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemas compares the frames of each protocol with its schema. Frames without an object in JSON are text.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, e := range app.Protocols() {
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			doc, err := server.Schema(e.Description())
			if err != nil {
				t.Fatal(err)
			}
			s := compiled(t, doc)
			checked := 0
			for name, log := range wiretest.Runs() {
				for _, f := range wiretest.Project(e.New(), wiretest.Single(log)) {
					v, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.Data))
					if _, object := v.(map[string]any); err != nil || !object {
						continue
					}
					if err := s.Validate(v); err != nil {
						t.Fatalf("%s: %v\n%.400s", name, err, f.Data)
					}
					checked++
				}
			}
			if checked == 0 {
				t.Error("no frame was checked")
			}
			if s.Validate(map[string]any{"nonsense": 1.0}) == nil {
				t.Error("the schema permits every object")
			}
		})
	}
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
		if d.Ask == "" && !d.Read {
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
