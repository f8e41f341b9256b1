// Package needs finds the programs that tests run. Without them a test is skipped, and in CI, where they must be there, it fails.
package needs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Missing ends a test that cannot run.
func Missing(t testing.TB, reason ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(reason...)
	}
	t.Skip(reason...)
}

// Program returns the path of the first of several programs that is installed.
func Program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, strings.Join(names, " or "), " is not installed")
	return ""
}

// Python returns the path of a Python that has a module: the one of the variable PYTHON, the first in PATH, or the one of the system.
func Python(t testing.TB, module string) string {
	t.Helper()
	for _, name := range []string{os.Getenv("PYTHON"), "python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.CommandContext(t.Context(), path, "-c", "import "+module).Run() == nil {
			return path
		}
	}
	Missing(t, "no Python has the module ", module)
	return ""
}

// Node returns the path of Node for a test that needs the packages of a folder.
func Node(t testing.TB, folder string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder, "node_modules/.package-lock.json")); err != nil {
		Missing(t, fmt.Sprintf("run npm ci in the folder of the test: %v", err))
	}
	return Program(t, "node")
}
