// Package typescript_test runs the TypeScript client's tests against real servers, and holds its types to the server's
// OpenAPI document.
package typescript_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/clienttest"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// TestDocument holds that openapi.json is what a server says of itself, and that the types were made
// from it. "npm run types" brings both up to date.
func TestDocument(t *testing.T) {
	t.Parallel()
	got := document(t)
	if *update {
		if err := os.WriteFile("openapi.json", got, 0o644); err != nil { //nolint:gosec // a file of the source
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("openapi.json is out of date: run \"npm run types\" in clients/typescript (-file +server):\n%.2000s", d)
	}
	if *update {
		return // the types come next
	}
	out, err := exec.Command(program(t, "node"), "scripts/types.mjs", "--check").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// document asks a server for its document, whose version is not the types' business.
func document(t *testing.T) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	clienttest.Open(t, "0").Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var out bytes.Buffer
	if err := json.Indent(&out, w.Body.Bytes(), "", " "); err != nil {
		t.Fatalf("%v: %.200s", err, w.Body)
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n')
}
