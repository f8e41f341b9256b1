// Package official_test runs the official clients of other protocols, unmodified, against the real program.
package official_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const handbook = `# Harbour handbook

## Locks

The north lock was opened in 1932 and takes ships of up to 140 metres.

## Fees

A ship pays 12 euros for each metre of its length.
`

// TestClients runs the scripts, each of which uses one client.
func TestClients(t *testing.T) {
	t.Parallel()
	node := needs.Node(t, ".")
	folder, docs := t.TempDir(), t.TempDir()
	binary := filepath.Join(folder, "sluice")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/sluice").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(docs, "handbook.md"), []byte(handbook), 0o600))
	url := serve(t, binary, "--docs="+docs, "--data="+filepath.Join(folder, "data"))
	t.Run("types of Anthropic", func(t *testing.T) { checkAnthropicTypes(t, node, url) })
	keyed, key := serveKeyed(t, binary, filepath.Join(folder, "keyed"))
	scripts, err := filepath.Glob("*.test.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(script, ".test.mjs"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), node, "--test", "--test-reporter=spec", "--test-timeout=240000", script)
			cmd.Env = append(os.Environ(), "SLUICE_URL="+url, "SLUICE_KEYED="+keyed, "SLUICE_KEY="+key, "SLUICE_BINARY="+binary, "SLUICE_DOCS="+docs, "SLUICE_TEMP="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// serve starts the program as a server until the test ends, and returns its address.
func serve(t *testing.T, binary string, args ...string) (url string) {
	t.Helper()
	s := program.Serve(t, exec.CommandContext(t.Context(), binary, append([]string{"serve", "--addr=127.0.0.1:0"}, args...)...))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the server:\n%s", s.Output())
		}
	})
	return s.URL
}

// serveKeyed starts the program with one key, whose rate is 20 requests a minute. It returns its address and the key.
func serveKeyed(t *testing.T, binary, data string) (url, key string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, "keys", "add", "--data="+data, "--account=ada", "--rate=20/m").Output()
	if err != nil {
		t.Fatalf("add a key: %v", err)
	}
	docs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(docs, "empty.md"), []byte("# Nothing\n"), 0o600))
	return serve(t, binary, "--data="+data, "--docs="+docs), strings.TrimSpace(string(out))
}
