package typescript_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageOfVercelAI compiles the page in the documentation with the packages that it names.
func TestPageOfVercelAI(t *testing.T) {
	t.Parallel()
	node := program(t, "node")
	doc, err := os.ReadFile("../../docs/integrations/vercel-ai.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(doc), "```tsx\n")
	code, _, ended := strings.Cut(code, "\n```\n")
	if !found || !ended {
		t.Fatal("the document has no page")
	}
	dir := t.TempDir()
	if err := linkPackages(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "page.tsx")
	for name, text := range map[string]string{file: code, filepath.Join(dir, "package.json"): `{"type":"module"}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), node, "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--target", "ES2022", "--module", "ESNext", "--moduleResolution", "bundler", "--jsx", "react-jsx",
		"--lib", "ES2022,DOM,DOM.Iterable", "--skipLibCheck", "--typeRoots", filepath.Join(dir, "node_modules/@types"), "--types", "react", file).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
