package official_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

// TestAsyncAPI compares the AsyncAPI document with the schema that AsyncAPI publishes.
func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	needs.Node(t, ".")
	text, err := os.ReadFile("node_modules/@asyncapi/specs/schemas/3.0.0.json")
	require.NoError(t, err)
	published, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	const at = "http://asyncapi.com/definitions/3.0.0/asyncapi.json"
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource(at, published))
	schema, err := c.Compile(at)
	require.NoError(t, err)
	doc, err := server.AsyncAPI(app.Descriptions(), "1.2.3")
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	require.NoError(t, err)
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
	v.(map[string]any)["channels"].(map[string]any)["broken"] = map[string]any{"address": 5.0}
	if schema.Validate(v) == nil {
		t.Error("the schema permits a broken channel")
	}
}
