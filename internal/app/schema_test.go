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
			doc, err := server.Schema(e)
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
