// Package typescript_test runs the TypeScript client's tests against real servers, and holds its types to the server's
// OpenAPI document.
package typescript_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/clienttest"
	"github.com/sluice-rag/sluice/internal/tools/needs"
)

var update = flag.Bool("update", false, "generate src/schema.ts")

// TestDocument checks that the types of src/schema.ts are those of the document of a server. "npm run types" generates them.
func TestDocument(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	clienttest.Open(t, "0").Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %.200s", w.Code, w.Body)
	}
	if _, err := os.ReadFile("src/schema.ts"); err != nil { // a cached result is not used after a change of the file
		t.Fatal(err)
	}
	c := exec.Command(needs.Node(t, "."), "scripts/types.mjs")
	if !*update {
		c.Args = append(c.Args, "--check")
	}
	c.Stdin = w.Body
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
