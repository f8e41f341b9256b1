package typescript_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/clienttest"
	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

// TestClient compiles the client, its tests and its examples, and runs them against two servers: one that says what the tests
// want to hear, behind a proxy that breaks connections, and a whole one with documents of its own.
func TestClient(t *testing.T) {
	t.Parallel()
	node := needs.Node(t, ".")
	out := compile(t, node)
	tests, err := filepath.Glob(filepath.Join(out, "build/clients/typescript/test/*.test.js"))
	if err != nil || len(tests) == 0 {
		t.Fatal("no tests", err)
	}
	scripted := serveScripts(t)
	keyed, key, limited := clienttest.Keyed(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a client that waits for ever shall fail, and not all tests with it
	defer cancel()
	cmd := exec.CommandContext(ctx, node, append([]string{"--test", "--test-reporter=spec"}, tests...)...)
	cmd.Dir = out
	cmd.Env = append(os.Environ(), "SLUICE_SCRIPTED="+scripted, "SLUICE_PROXY="+serveProxy(t, scripted), "SLUICE_URL="+clienttest.Whole(t), "SLUICE_KEYED="+keyed, "SLUICE_TEST_KEY="+key, "SLUICE_LIMITED_KEY="+limited,
		"SLUICE_EXAMPLE="+filepath.Join(out, "build/examples/knowledge.mjs"), "SLUICE_README="+absolute(t, "README.md"),
		"SLUICE_README_TEST="+absolute(t, "test/readme.test.ts"))
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("node --test: %v\n%s", err, failures(string(text)))
	} else if testing.Verbose() {
		t.Logf("%s", text)
	}
}

// serveScripts starts a server whose runs say what the first word of the question names.
func serveScripts(t *testing.T) string {
	t.Helper()
	chats, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = chats.Close() })
	return clienttest.Scripted(t, chats)
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

// failures leaves the passed tests out of a report.
func failures(report string) string {
	if i := strings.Index(report, "failing tests:"); i >= 0 {
		return report[i:]
	}
	return report
}

// built is the folder that compile makes, for all tests.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// compile makes the package as it is published, and its tests beside it. That the package compiles with the types of a browser
// and no others is what keeps what is Node's alone out of it.
func compile(t *testing.T, node string) string {
	t.Helper()
	built.once.Do(func() { built.dir, built.err = compileAll(node) })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

func compileAll(node string) (string, error) {
	out, err := os.MkdirTemp("", "sluice-typescript-")
	if err != nil {
		return "", err
	}
	manifest, err := os.ReadFile("package.json")
	if err == nil {
		err = os.WriteFile(filepath.Join(out, "package.json"), manifest, 0o600)
	}
	if err != nil {
		return out, err
	}
	errs := make(chan error)
	for project, dir := range map[string]string{"tsconfig.json": "dist", "tsconfig.test.json": "build"} {
		go func() {
			text, err := exec.Command(node, "node_modules/typescript/bin/tsc", "-p", project, "--outDir", filepath.Join(out, dir)).CombinedOutput()
			if err != nil {
				err = fmt.Errorf("compile %s: %w\n%s", project, err, text)
			}
			errs <- err
		}()
	}
	return out, errors.Join(<-errs, <-errs, linkPackages(out))
}

// linkPackages makes the packages that "npm ci" installs available to programs in a folder.
func linkPackages(dir string) error {
	packages, err := filepath.Abs("node_modules")
	if err != nil {
		return err
	}
	return os.Symlink(packages, filepath.Join(dir, "node_modules"))
}

// TestPackageNamesNoRegistry holds that the lock file says what is installed and not from where.
func TestPackageNamesNoRegistry(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil || !strings.Contains(string(lock), `"integrity"`) || strings.Contains(string(lock), `"resolved"`) {
		t.Errorf("package-lock.json: %v, or made without .npmrc", err)
	}
}

// status gives a status to a handler's caller and ends it.
func status(w http.ResponseWriter, code int, after string) {
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"type":"error","code":"OVERLOADED","message":"the proxy answers %d","recoverable":false}`, code)
}
