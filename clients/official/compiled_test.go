package official_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/clienttest"
	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

// TestCompiledClients compiles the scripts in TypeScript, which holds them to the types of the clients, and runs them against a server whose answers are scripted, a whole
// one, and one with keys.
func TestCompiledClients(t *testing.T) {
	t.Parallel()
	node := needs.Node(t, ".")
	dir := t.TempDir()
	linkPackages(t, dir)
	if out, err := exec.CommandContext(t.Context(), node, "node_modules/typescript/bin/tsc", "-p", "tsconfig.json", "--outDir", dir).CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "*.test.js"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	chats, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = chats.Close() })
	keyed, key, limited := clienttest.Keyed(t)
	cmd := exec.CommandContext(t.Context(), node, append([]string{"--test", "--test-reporter=spec", "--test-timeout=240000"}, scripts...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SLUICE_SCRIPTED="+clienttest.Scripted(t, chats), "SLUICE_URL="+clienttest.Whole(t), "SLUICE_KEYED="+keyed, "SLUICE_TEST_KEY="+key,
		"SLUICE_LIMITED_KEY="+limited, "SLUICE_UISTREAM_GOLDENS="+goldens(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// goldens returns the paths of the golden transcripts of the protocol uistream, as a JSON text.
func goldens(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../wire/uistream/testdata")
	require.NoError(t, err)
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no goldens", err)
	}
	text, err := json.Marshal(paths)
	require.NoError(t, err)
	return string(text)
}

// linkPackages makes the packages that "npm ci" installs available to programs in a folder, whose scripts are modules.
func linkPackages(t *testing.T, dir string) {
	t.Helper()
	modules, err := filepath.Abs("node_modules")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600))
}
