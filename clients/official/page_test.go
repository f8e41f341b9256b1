package official_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestPageOfVercelAI compiles the page in the documentation with the packages that it names.
func TestPageOfVercelAI(t *testing.T) {
	t.Parallel()
	node := needs.Node(t, ".")
	doc, err := os.ReadFile("../../docs/integrations/vercel-ai.md")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(doc), "```tsx\n")
	code, _, ended := strings.Cut(code, "\n```\n")
	if !found || !ended {
		t.Fatal("the document has no page")
	}
	dir := t.TempDir()
	linkPackages(t, dir)
	file := filepath.Join(dir, "page.tsx")
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	out, err := exec.CommandContext(t.Context(), node, "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--target", "ES2022", "--module", "ESNext", "--moduleResolution", "bundler", "--jsx", "react-jsx",
		"--lib", "ES2022,DOM,DOM.Iterable", "--skipLibCheck", "--typeRoots", filepath.Join(dir, "node_modules/@types"), "--types", "react", file).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
